"""Anthropic's Claude models, through the Messages API.

Pictures are sized before they are sent and the API is told to refuse larger ones, because by
default it shrinks them without saying so. Current models refuse sampling parameters, and the SDK
has no arguments for them any more: what the user asks for is put into the body, and left out with a
notice when refused. Written against anthropic 2.11, November 2026.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx2
from anthropic import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncAnthropic

from adapters import model_facts, prices
from adapters.api import ApiAdapter, Json, hosted, malformed
from adapters.contract import Fatal, Generation, PictureSource, Request
from adapters.conversation import Conversation, Finish, Message, Reply, Text, Usage
from adapters.faults import (
    Failure,
    base_url_from,
    cleaner,
    find_key,
    retry_after,
)
from adapters.prefixes import Prefixes

FINISHES = {"max_tokens": Finish.LENGTH, "refusal": Finish.REFUSAL}
CACHE_LIFE_S = 5 * 60.0
# The API takes no empty turn.
EMPTY_REPLY = "(no reply)"


class AnthropicAdapter(ApiAdapter):
    """One Claude model. Raises `Fatal` for a missing key or a bad address.

    An effort of "none" switches thinking off; other efforts are sent as they are, and switch it on
    for models that do not think unless asked.
    """

    spellings: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "top_p": (),
        "thinking": ("budget_tokens",),
        "output_config": ("effort",),
    }

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        concurrency: int = 8,
    ) -> None:
        base_url = base_url_from(base_url, "ANTHROPIC_BASE_URL")
        own = base_url is None or (urlsplit(base_url).hostname or "").endswith("anthropic.com")
        self._facts = model_facts.claude(model)
        self._prefixes = Prefixes(CACHE_LIFE_S)
        key = find_key(api_key, ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"], needed=own)
        self._client = AsyncAnthropic(
            api_key=key or "none",
            # The SDK adds /v1 by itself.
            base_url=(base_url or "https://api.anthropic.com").rstrip("/").removesuffix("/v1"),
            max_retries=0,
            # A timeout of our own also switches off the SDK's refusal of long replies.
            timeout=httpx2.Timeout(timeout_s, connect=min(5.0, timeout_s)),
            # Gateways that know only the older header; the SDK sends the key as a bearer token.
            default_headers=None if own else {"x-api-key": key or "none"},
            open_telemetry=False,
        )
        super().__init__(
            hosted(
                "anthropic",
                model,
                base_url,
                own=own,
                settings={"api": "messages", "oversized_image": "error"},
                concurrency=concurrency,
                context_tokens=prices.context_tokens("anthropic", model),
                image_rule=self._facts.rule,
                coordinates="absolute",
                text_factor=1.2,  # tiktoken counts 15 to 20 % too few for Claude
            ),
            cleaner(key),
        )

    async def close(self) -> None:
        await self._client.close()

    async def _compose(self, request: Request, pictures: PictureSource) -> Json:
        conversation = request.conversation
        marks = self._prefixes.marks(request) if self._worth_caching(conversation) else set()
        system = "\n\n".join(m.text for m in conversation.messages if m.role == "system")
        body: Json = {
            "model": self._info.model,
            "messages": [
                await self._message(message, pictures, number in marks)
                for number, message in enumerate(conversation.messages)
                if message.role != "system"
            ],
        }
        if system:
            body["system"] = [{"type": "text", "text": system}]
        return body

    async def _message(self, message: Message, pictures: PictureSource, marked: bool) -> Json:
        if message.role == "assistant":
            text = message.text if message.text.strip() else EMPTY_REPLY
            return {"role": "assistant", "content": message.native or text}
        content: list[Json] = []
        for part in message.parts:
            if isinstance(part, Text):
                content.append({"type": "text", "text": part.text})
                continue
            picture = await pictures.encoded(part)
            source = {
                "type": "base64",
                "media_type": picture.media_type,
                "data": b64encode(picture.data).decode(),
            }
            transformations = {"oversized_image": "error"}
            content.append({"type": "image", "source": source, "transformations": transformations})
        if marked and content:
            content[-1]["cache_control"] = {"type": "ephemeral"}
        return {"role": "user", "content": content}

    def _worth_caching(self, conversation: Conversation) -> bool:
        """Whether the first round's prefix reaches the length below which nothing is cached."""
        tokens = sum(len(m.text) for m in conversation.messages) / 4 * self._info.text_factor
        count = self._facts.rule.tokens
        tokens += sum(count(p.width, p.height) or 0 for p in conversation.pictures)
        return tokens >= self._facts.cache_minimum

    def _parameters(self, generation: Generation, request: Request) -> Json:
        wanted: Json = {"max_tokens": generation.max_tokens}
        if generation.temperature is not None:
            wanted["temperature"] = generation.temperature
        if generation.top_p is not None:
            wanted["top_p"] = generation.top_p
        if generation.seed is not None:
            self._tell(f"{self._info.name}: Anthropic's API has no seed: not sent")
        budget = generation.thinking_budget
        if budget is not None and budget >= generation.max_tokens:
            raise Fatal("the thinking budget must be below --max-tokens, which counts it as well")
        if budget == 0 or generation.effort == "none":
            wanted["thinking"] = {"type": "disabled"}
        elif budget is not None:
            wanted["thinking"] = {"type": "enabled", "budget_tokens": budget}
        if generation.effort not in {None, "none"}:
            wanted["output_config"] = {"effort": generation.effort}
            if budget is None and self._facts.adaptive and not self._facts.thinks:
                wanted["thinking"] = {"type": "adaptive"}
        return wanted

    async def _send(self, body: Json, parameters: Json) -> Any:
        known = {k: v for k, v in parameters.items() if k not in {"temperature", "top_p"}}
        other = {k: v for k, v in parameters.items() if k in {"temperature", "top_p"}}
        return await self._client.messages.create(**body, **known, extra_body=other or None)

    def _done(self, request: Request, sent: Json) -> None:
        if request.continues and self._worth_caching(request.conversation):
            self._prefixes.wrote(request.conversation)

    def _failure(self, error: Exception) -> Failure | None:
        if isinstance(error, APITimeoutError):
            return Failure("no answer in time", kind="timeout")
        if isinstance(error, APIConnectionError):
            return Failure(f"no connection ({error.__cause__ or error})", kind="connection")
        if isinstance(error, APIStatusError):
            return Failure(
                str(error.api_message or error.body or error),
                status=error.status_code,
                code=error.error_code or error.type or "",
                retry_after_s=retry_after(error.response.headers),
            )
        if isinstance(error, json.JSONDecodeError | APIError):
            return Failure(f"reply is no JSON ({error})", kind="malformed")
        return None

    def _read(self, answer: Any) -> Reply:
        if isinstance(answer, str):
            raise malformed(f"no JSON but {answer!r}")
        text = "".join(block.text for block in answer.content if block.type == "text")
        finish = FINISHES.get(answer.stop_reason, Finish.STOP)
        if answer.stop_reason == "model_context_window_exceeded":
            finish = Finish.LENGTH if text else Finish.TOO_LONG
        return Reply(
            text=text,
            finish=finish,
            usage=_usage(answer.usage),
            model=answer.model or "",
            native=_native(answer.content),
            request_id=getattr(answer, "_request_id", None) or answer.id or "",
        )


def _native(content: list[Any]) -> object:
    """The blocks as they came when there are others than text: thinking must go back unchanged."""
    if all(block.type == "text" for block in content):
        return None
    blocks: list[Json] = [block.to_dict(mode="json") for block in content]
    return [b for b in blocks if b.get("type") != "text" or str(b.get("text", "")).strip()]


def _usage(usage: Any) -> Usage | None:
    if usage is None:
        return None
    read = usage.cache_read_input_tokens or 0
    written = usage.cache_creation_input_tokens or 0
    details = getattr(usage, "output_tokens_details", None)
    return Usage(
        input=(usage.input_tokens or 0) + read + written,
        cached=read,
        cache_write=written,
        output=usage.output_tokens or 0,
        reasoning=getattr(details, "thinking_tokens", None) or 0,
    )
