"""OpenAI's chat protocol, which many providers and all servers for open models speak.

Chat completions, not responses: every vision model is served by it. `ChatAdapter` is one model of a
provider that speaks the protocol and adds nothing; `ServedModel` one of a server of the user's own.
Written against openai 3.52, November 2026.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from adapters import image_rules
from adapters.api import ApiAdapter, Json, picture_text
from adapters.contract import (
    AdapterInfo,
    Coordinates,
    Generation,
    ImageRule,
    PictureSource,
    Request,
)
from adapters.conversation import Finish, Message, Reply, Text, Usage
from adapters.endpoints import Endpoint
from adapters.faults import Failure, retry_after

if TYPE_CHECKING:
    import httpx2

FINISHES = {"length": Finish.LENGTH, "content_filter": Finish.CONTENT_FILTER}


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    # By SGLang and earlier versions of vLLM, and by vLLM.
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice]
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None


class ChatAdapter(ApiAdapter):
    """One model behind the chat protocol.

    `detail` is sent with every picture if it is given. `extra_body` is added to the body as it is,
    a value of None takes a parameter out.
    """

    spellings: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "top_p": (),
        "seed": (),
        "reasoning_effort": ("reasoning.effort",),
        "repetition_penalty": (),
        "frequency_penalty": (),
        "prompt_cache_key": (),
        "prompt_cache_options": ("prompt_cache_options.mode", "prompt_cache_breakpoint"),
    }
    answers = _Answer

    def __init__(
        self,
        info: AdapterInfo,
        endpoint: Endpoint,
        *,
        timeout_s: float,
        detail: str | None = None,
        extra_body: Mapping[str, object] | None = None,
    ) -> None:
        from openai import AsyncOpenAI

        self._extra = dict(extra_body or {})
        super().__init__(info, endpoint, timeout_s=timeout_s, options=self._extra)
        self._detail = detail
        self._limit = "max_tokens"
        self._client = AsyncOpenAI(
            api_key=endpoint.key or "none",
            base_url=endpoint.url,
            max_retries=0,
            http_client=self.http,
        )

    def _marks(self, request: Request) -> set[int]:
        """The indexes of the messages at whose end the provider's prompt cache is to be written."""
        return set()

    def _greedy(self, generation: Generation) -> bool:
        """Whether temperature 0 is sent where the user asks for none."""
        return True

    def _additions(self, request: Request) -> Json:
        """Parameters beyond those that the user asks for."""
        return {}

    async def _compose(self, request: Request, pictures: PictureSource) -> Json:
        marks = self._marks(request)
        messages = [
            await self._message(message, pictures, number in marks)
            for number, message in enumerate(request.conversation.messages)
        ]
        return {"model": self._info.model, "messages": messages}

    async def _message(self, message: Message, pictures: PictureSource, marked: bool) -> Json:
        if message.role != "user":
            return {"role": message.role, "content": message.text}
        content: list[Json] = []
        for part in message.parts:
            if isinstance(part, Text):
                content.append({"type": "text", "text": part.text})
                continue
            picture = await pictures.encoded(part)
            image: Json = {"url": picture_text(picture, f"data:{picture.media_type};base64,")}
            if self._detail is not None:
                image["detail"] = self._detail
            content.append({"type": "image_url", "image_url": image})
        if marked and content:
            content[-1]["prompt_cache_breakpoint"] = {"mode": "explicit"}
        return {"role": "user", "content": content}

    def _parameters(self, generation: Generation, request: Request) -> Json:
        wanted: Json = {
            self._limit: generation.max_tokens,
            "temperature": generation.temperature,
            "top_p": generation.top_p,
            "seed": generation.seed,
            "reasoning_effort": generation.effort,
        }
        if generation.temperature is None and self._greedy(generation):
            wanted["temperature"] = 0.0
        if generation.thinking_budget is not None:
            self._notify(f"{self._info.name} has no thinking budget (only an effort): not sent")
        wanted |= self._additions(request)
        wanted |= self._extra
        return {name: value for name, value in wanted.items() if value is not None}

    async def _send(self, body: bytes) -> httpx2.Response:
        import httpx2

        return await self._client.post("/chat/completions", content=body, cast_to=httpx2.Response)

    def _learn(self, failure: Failure, sent: Json) -> bool:
        ours = "max_tokens" in sent and "max_tokens" not in self._extra
        if ours and failure.param == "max_tokens" and failure.status == 400:
            self._limit = "max_completion_tokens"
            self._notify(f"{self._info.name} refused max_tokens: max_completion_tokens is sent")
            return True
        return super()._learn(failure, sent)

    def _failure(self, error: Exception) -> Failure | None:
        from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

        if isinstance(error, APITimeoutError):
            return Failure("no answer in time", kind="timeout")
        if isinstance(error, APIConnectionError):
            return Failure(f"no connection ({error.__cause__ or error})", kind="connection")
        if isinstance(error, APIStatusError):
            # vLLM puts the status into `code`; its word is in `type`.
            words = [str(word) for word in (error.code, error.type) if word]
            words = [word for word in words if not word.isdigit()]
            return Failure(
                _server_message(error) + self._hint(error.status_code),
                status=error.status_code,
                code=words[0] if words else "",
                param=str(error.param or ""),
                retry_after_s=retry_after(error.response.headers),
            )
        if isinstance(error, APIError):
            return Failure(f"reply cannot be read ({error})", kind="malformed")
        return None

    def _hint(self, status: int) -> str:
        path = urlsplit(self._info.endpoint or "/v1").path
        return " (base URLs end in /v1 as a rule)" if status == 404 and "/v1" not in path else ""

    def _read(self, answer: _Answer, headers: Mapping[str, str]) -> Reply:
        if not answer.choices:
            raise ValueError("no choices")
        message = answer.choices[0].message
        finish = FINISHES.get(answer.choices[0].finish_reason or "", Finish.STOP)
        return Reply(
            text=message.refusal or message.content or "",
            finish=Finish.REFUSAL if message.refusal else finish,
            usage=_usage(answer.usage),
            model=answer.model or "",
            request_id=headers.get("x-request-id") or answer.id or "",
            reasoning=message.reasoning_content or message.reasoning or "",
        )


class ServedModel(ChatAdapter):
    """A model of a server of the user's own (vLLM, SGLang, llama.cpp, transformers serve).

    Greedy decoding without a repetition penalty is requested explicitly, because some servers use
    the checkpoint's sampling defaults for every parameter that is not sent.
    """

    def _additions(self, request: Request) -> Json:
        if "repetition_penalty" in self._refused:
            # transformers serve takes 1 + this for it, and else what the checkpoint says.
            return {"repetition_penalty": 1.0, "frequency_penalty": 0.0}
        return {"repetition_penalty": 1.0}


_QWEN: dict[str, tuple[int, int, int, Coordinates]] = {
    "qwen2-vl": (28, 3136, 12_845_056, "per-mille"),
    "qwen2.5-vl": (28, 3136, 12_845_056, "absolute"),
    "qwen3-vl": (32, 65_536, 16_777_216, "per-mille"),
}


def served(model: str) -> tuple[ImageRule | None, Coordinates | None]:
    """The picture rule and coordinates of a model behind a compatible server, where known."""
    key = longest(_QWEN, model.lower().rpartition("/")[2].replace("qwen25", "qwen2.5"))
    if key is None:
        return None, None
    factor, least, most, coordinates = _QWEN[key]
    return image_rules.qwen(factor, least, most), coordinates


def longest(names: Iterable[str], model: str) -> str | None:
    """The longest of the names that a model's name begins with."""
    return max((name for name in names if model.startswith(name)), key=len, default=None)


def _server_message(error: Any) -> str:
    """The server's message: `message` in OpenAI's body, `detail` in a FastAPI server's."""
    body = error.body
    if not isinstance(body, dict):
        return json.dumps(body) if isinstance(body, list) else str(body or error)
    message = body.get("message") or body.get("detail")
    return message if isinstance(message, str) else json.dumps(body)


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    before = usage.prompt_tokens_details or _Details()
    after = usage.completion_tokens_details or _Details()
    return Usage(
        input=usage.prompt_tokens or 0,
        cached=before.cached_tokens or 0,
        cache_write=before.cache_write_tokens or 0,
        output=usage.completion_tokens or 0,
        reasoning=after.reasoning_tokens or 0,
    )
