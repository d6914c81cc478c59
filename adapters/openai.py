"""OpenAI's models, and every server that speaks its chat protocol.

Chat completions, not responses: it serves every vision model and every compatible server. A server
under another address (vLLM, SGLang, llama.cpp, transformers serve) is told to be greedy without a
repetition penalty, because some fill in the checkpoint's sampling defaults for what is not said.
Written against openai 3.52, November 2026.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx2
from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncOpenAI

from adapters import model_facts, prices
from adapters.api import ApiAdapter, Json, hosted, malformed
from adapters.contract import Fatal, Generation, PictureSource, Request
from adapters.conversation import Finish, Message, Reply, Text, Usage
from adapters.faults import (
    Failure,
    base_url_from,
    cleaner,
    find_key,
    retry_after,
)
from adapters.prefixes import Prefixes

FINISHES = {"length": Finish.LENGTH, "content_filter": Finish.CONTENT_FILTER}
CACHE_LIFE_S = 30 * 60.0
# Known to the SDK as arguments; everything else goes into the body as it is.
ARGUMENTS = {
    *("temperature", "top_p", "seed", "reasoning_effort", "max_tokens", "max_completion_tokens"),
    *("frequency_penalty", "prompt_cache_key", "prompt_cache_options"),
}


class OpenAIAdapter(ApiAdapter):
    """One model of OpenAI or of a compatible server.

    `detail` is sent with every picture ("auto" is replaced by what it stands for); a compatible
    server gets it only when given. `extra_body` is added to the body as it is, a value of None
    takes a parameter out. Raises `Fatal` for a missing key, a bad address or detail.
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

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        concurrency: int = 8,
        detail: str | None = None,
        extra_body: Mapping[str, object] | None = None,
    ) -> None:
        base_url = base_url_from(base_url, "OPENAI_BASE_URL")
        self._own = base_url is None or _is_openai(base_url)
        self._facts = model_facts.openai(model) if self._own else None
        self._extra = dict(extra_body or {})
        self._limit = "max_completion_tokens" if self._own else "max_tokens"
        self._prefixes = Prefixes(CACHE_LIFE_S)
        key = find_key(api_key, ["OPENAI_API_KEY"], needed=self._own)
        self._client = AsyncOpenAI(
            api_key=key or "none",
            base_url=base_url or "https://api.openai.com/v1",
            max_retries=0,
            timeout=httpx2.Timeout(timeout_s, connect=min(5.0, timeout_s)),
        )
        rule, coordinates = model_facts.served(model)
        if self._facts is not None:
            detail = self._facts.detail if detail in {None, "auto"} else detail
            coordinates = "absolute"
            try:
                rule = self._facts.rule(str(detail))
            except KeyError:
                raise Fatal(f"{model} takes no pictures with detail '{detail}'") from None
        self._detail = detail
        super().__init__(
            hosted(
                "openai",
                model,
                base_url,
                own=self._own,
                settings={"api": "chat.completions", "detail": detail, "extra_body": self._extra},
                concurrency=concurrency,
                context_tokens=prices.context_tokens("openai", model) if self._own else None,
                image_rule=rule,
                coordinates=coordinates,
            ),
            cleaner(key),
        )

    async def close(self) -> None:
        await self._client.close()

    async def _compose(self, request: Request, pictures: PictureSource) -> Json:
        marks = self._prefixes.marks(request) if self._marking else set()
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
            data = b64encode(picture.data).decode()
            image = {"url": f"data:{picture.media_type};base64,{data}"}
            if self._detail is not None:
                image["detail"] = self._detail
            content.append({"type": "image_url", "image_url": image})
        if marked and content:
            content[-1]["prompt_cache_breakpoint"] = {"mode": "explicit"}
        return {"role": "user", "content": content}

    @property
    def _marking(self) -> bool:
        unrefused = "prompt_cache_options" not in self._refused
        return self._facts is not None and self._facts.marked_cache and unrefused

    def _parameters(self, generation: Generation, request: Request) -> Json:
        greedy = not self._own or (self._facts is not None and self._facts.greedy)
        wanted: Json = {
            self._limit: generation.max_tokens,
            "temperature": generation.temperature,
            "top_p": generation.top_p,
            "seed": generation.seed,
            "reasoning_effort": generation.effort,
        }
        if generation.temperature is None and (greedy or generation.effort == "none"):
            wanted["temperature"] = 0.0
        if generation.thinking_budget is not None:
            self._tell(f"{self._info.name} has no thinking budget (only an effort): not sent")
        if self._own:
            # One key per step: above some fifteen requests a minute a key is spread over machines.
            wanted["prompt_cache_key"] = request.step_id[:64]
            if self._facts is not None and self._facts.marked_cache:
                # Otherwise every request writes its prompt to the cache, at 1.25 times the price.
                wanted["prompt_cache_options"] = {"mode": "explicit"}
        else:
            wanted["repetition_penalty"] = 1.0
            if "repetition_penalty" in self._refused:
                # transformers serve takes 1 + this for it, and else what the checkpoint says.
                wanted["frequency_penalty"] = 0.0
        wanted |= self._extra
        return {name: value for name, value in wanted.items() if value is not None}

    async def _send(self, body: Json, parameters: Json) -> Any:
        known = {name: value for name, value in parameters.items() if name in ARGUMENTS}
        other = {name: value for name, value in parameters.items() if name not in ARGUMENTS}
        return await self._client.chat.completions.create(**body, **known, extra_body=other or None)

    def _done(self, request: Request, sent: Json) -> None:
        if request.continues and "prompt_cache_options" in sent:
            self._prefixes.wrote(request.conversation)

    def _learn(self, failure: Failure, sent: Json) -> bool:
        ours = "max_tokens" in sent and "max_tokens" not in self._extra
        if ours and failure.param == "max_tokens" and failure.status == 400:
            self._limit = "max_completion_tokens"
            self._tell(f"{self._info.name} refused max_tokens: max_completion_tokens is sent")
            return True
        return super()._learn(failure, sent)

    def _failure(self, error: Exception) -> Failure | None:
        if isinstance(error, APITimeoutError):
            return Failure("no answer in time", kind="timeout")
        if isinstance(error, APIConnectionError):
            return Failure(f"no connection ({error.__cause__ or error})", kind="connection")
        if isinstance(error, APIStatusError):
            # vLLM puts the status into `code`; its word is in `type`.
            words = [word for word in (error.code, error.type) if word and not word.isdigit()]
            return Failure(
                _told(error) + self._hint(error.status_code),
                status=error.status_code,
                code=words[0] if words else "",
                param=str(error.param or ""),
                retry_after_s=retry_after(error.response.headers),
            )
        if isinstance(error, json.JSONDecodeError | APIError):
            return Failure(f"reply is no JSON ({error})", kind="malformed")
        return None

    def _hint(self, status: int) -> str:
        path = urlsplit(self._info.endpoint or "/v1").path
        return " (base URLs end in /v1 as a rule)" if status == 404 and "/v1" not in path else ""

    def _read(self, answer: Any) -> Reply:
        if isinstance(answer, str):
            raise malformed(f"no JSON but {answer!r}")
        if not answer.choices:
            raise malformed("no choices")
        choice = answer.choices[0]
        refusal = getattr(choice.message, "refusal", None)
        finish = FINISHES.get(choice.finish_reason, Finish.STOP)
        return Reply(
            text=refusal or choice.message.content or "",
            finish=Finish.REFUSAL if refusal else finish,
            usage=_usage(answer.usage),
            model=answer.model or "",
            request_id=getattr(answer, "_request_id", None) or answer.id or "",
        )


def _told(error: APIStatusError) -> str:
    """What the server said: `message` in OpenAI's body, `detail` in that of a FastAPI server."""
    body = error.body
    if not isinstance(body, dict):
        return json.dumps(body) if isinstance(body, list) else str(body or error)
    told = body.get("message") or body.get("detail")
    return told if isinstance(told, str) else json.dumps(body)


def _is_openai(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == "api.openai.com" or host.endswith((".api.openai.com", ".openai.azure.com"))


def _usage(usage: Any) -> Usage | None:
    if usage is None:
        return None
    before = getattr(usage, "prompt_tokens_details", None)
    after = getattr(usage, "completion_tokens_details", None)
    return Usage(
        input=usage.prompt_tokens or 0,
        cached=getattr(before, "cached_tokens", None) or 0,
        cache_write=getattr(before, "cache_write_tokens", None) or 0,
        output=usage.completion_tokens or 0,
        reasoning=getattr(after, "reasoning_tokens", None) or 0,
    )
