"""Google's Gemini models, through the Gemini API.

A call is one POST with the key in a header. Google's SDK cannot send a body that is prepared, and
sends further billed requests by itself when a reply is cut, so it is not used. The prompt cache
finds shared prefixes by itself; nothing is marked. Written against the API's reference and
google-genai 3.4, November 2026.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import quote

import msgspec

from adapters import image_rules, prices
from adapters.api import ApiAdapter, Json, hosted, picture_text, served_on
from adapters.contract import Adapter, Fatal, Generation, ImageRule, PictureSource, Request
from adapters.conversation import Finish, Message, Reply, Text, Tier, Usage
from adapters.endpoints import Endpoint, find_endpoint, need_model
from adapters.faults import Failure, retry_after

if TYPE_CHECKING:
    import httpx2

    from adapters.deferred.contract import Deferring

FILTERED = {
    *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "ESCALATION", "MODEL_ARMOR"),
}
CUT = {"MAX_TOKENS", "CONTINUATION"}
RESOLUTIONS = {"low", "medium", "high", "ultra_high"}
EMPTY_REPLY = "(no reply)"


def google(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 120.0,
    concurrency: int = 8,
    media_resolution: str | None = None,
) -> Adapter:
    """Google's Gemini models. `media_resolution`: low, medium, high, ultra_high (None: the
    provider's default). Raises `Fatal` for a missing key, a bad address or resolution."""
    model = need_model(model, "google:gemini-3.8-flash")
    if media_resolution is not None and media_resolution not in RESOLUTIONS:
        raise Fatal(f"media_resolution is one of {', '.join(sorted(RESOLUTIONS))}")
    endpoint = find_endpoint(
        "google",
        base_url=base_url,
        api_key=api_key,
        default="https://generativelanguage.googleapis.com/",
        hosts=["googleapis.com"],
        url_variable="GOOGLE_GEMINI_BASE_URL",
        key_variables=["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    )
    return GoogleAdapter(
        model,
        endpoint,
        timeout_s=timeout_s,
        concurrency=concurrency,
        media_resolution=media_resolution,
    )


@dataclass(frozen=True, slots=True)
class GeminiFacts:
    """`levels`: thinking is set by a level (else by a budget) and temperature is left alone.
    `cache_minimum`: a shorter prefix is not cached."""

    rule: ImageRule
    levels: bool
    cache_minimum: int = 4096


def facts_of(model: str, resolution: str | None) -> GeminiFacts:
    """What holds for a Gemini model at a media resolution (None: the provider's default)."""
    if re.match(r"gemini-[12]\.", model):
        few = {"low": 64, "medium": 256}.get(resolution or "")
        return GeminiFacts(
            image_rules.gemini_fixed(few) if few else image_rules.gemini_tiles(),
            levels=False,
            cache_minimum=2048,
        )
    tokens = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}
    return GeminiFacts(image_rules.gemini_fixed(tokens[resolution or "high"]), levels=True)


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    finish_reason: str | None = None
    content: Json | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    # Not worth a malformed reply.
    service_tier: object = None


class _Answer(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None
    model_version: str | None = None
    response_id: str | None = None


class GoogleAdapter(ApiAdapter):
    """One Gemini model."""

    spellings: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "top_p": ("topP", "top-p"),
        "seed": (),
        "thinking_level": ("thinkingLevel", "thinking level", "thinking"),
        "thinking_budget": ("thinkingBudget", "thinking budget", "thinking"),
    }
    answers = _Answer
    tier_field = "serviceTier"
    tier_words: ClassVar[Mapping[Tier, str]] = {
        "default": "standard",
        "flex": "flex",
        "priority": "priority",
    }

    def __init__(
        self,
        model: str,
        endpoint: Endpoint,
        *,
        timeout_s: float,
        concurrency: int,
        media_resolution: str | None,
    ) -> None:
        self._facts = facts_of(model, media_resolution)
        self._resolution = media_resolution
        # A part's own resolution and the moving aliases exist in the older version only.
        version = "v1beta" if media_resolution or model.endswith("-latest") else "v1"
        self._root = endpoint.url.rstrip("/")
        self._path = quote(model if "/" in model else f"models/{model}")
        # Tiers are documented for the older version only; the model is the same.
        self._url, self._tier_url = (
            f"{self._root}/{one}/{self._path}:generateContent" for one in (version, "v1beta")
        )
        self._headers = {
            "content-type": "application/json",
            "x-goog-api-key": endpoint.key or "none",
            "x-server-timeout": str(math.ceil(timeout_s)),
        }
        info = hosted(
            endpoint,
            model,
            settings={"api": f"generateContent {version}", "media_resolution": media_resolution},
            concurrency=concurrency,
            context_tokens=prices.context_tokens("google", model),
            image_rule=self._facts.rule,
            coordinates="per-mille",
            cache_minimum=self._facts.cache_minimum,
            tiers=(*self.tier_words, "batch"),
        )
        super().__init__(info, endpoint, timeout_s=timeout_s)

    def deferring(self, folder: Path) -> Deferring:
        """How requests are sent in batches."""
        from adapters.deferred.google import GeminiAccess, GoogleBatches

        key = {"x-goog-api-key": self._headers["x-goog-api-key"]}
        return GoogleBatches(self, GeminiAccess(self.http, self._root, self._path, key))

    async def _compose(self, request: Request, pictures: PictureSource) -> Json:
        messages = request.conversation.messages
        content: Json = {
            "contents": [await self._content(m, pictures) for m in messages if m.role != "system"]
        }
        system = "\n\n".join(m.text for m in messages if m.role == "system")
        if system:
            content["systemInstruction"] = {"role": "user", "parts": [{"text": system}]}
        return content

    async def _content(self, message: Message, pictures: PictureSource) -> Any:
        if message.role == "assistant":
            text = message.text if message.text.strip() else EMPTY_REPLY
            return message.native or {"role": "model", "parts": [{"text": text}]}
        parts: list[Json] = []
        for part in message.parts:
            if isinstance(part, Text):
                parts.append({"text": part.text})
                continue
            picture = await pictures.encoded(part)
            data = {"mimeType": picture.media_type, "data": picture_text(picture)}
            parts.append({"inlineData": data})
            if self._level and self._facts.levels:
                parts[-1]["mediaResolution"] = {"level": self._level}
        return {"role": "user", "parts": parts}

    @property
    def _level(self) -> str | None:
        return f"MEDIA_RESOLUTION_{self._resolution.upper()}" if self._resolution else None

    def _parameters(self, generation: Generation, request: Request) -> Json:
        wanted: Json = {
            "max_output_tokens": generation.max_tokens,
            "temperature": generation.temperature,
            "top_p": generation.top_p,
            "seed": generation.seed,
            "thinking_budget": generation.thinking_budget,
        }
        if generation.temperature is None and not self._facts.levels:
            wanted["temperature"] = 0.0
        if generation.effort is not None:
            if self._facts.levels:
                wanted["thinking_level"] = generation.effort
            else:
                self._notify(f"{self._info.name} has no effort (only a thinking budget): not sent")
        return {name: value for name, value in wanted.items() if value is not None}

    def _body(self, content: Json, parameters: Json) -> Json:
        config = {_camel(name): value for name, value in parameters.items()}
        thinking = {name: config.pop(name) for name in [*config] if name.startswith("thinking")}
        if "thinkingLevel" in thinking:
            thinking["thinkingLevel"] = str(thinking["thinkingLevel"]).upper()
        if thinking:
            config["thinkingConfig"] = thinking
        if self._level and not self._facts.levels:
            config["mediaResolution"] = self._level
        return content | {"generationConfig": config}

    async def _send(self, body: bytes) -> httpx2.Response:
        # Quotes within texts are escaped, so that this is the field.
        url = self._tier_url if b'"serviceTier":' in body else self._url
        response = await self.http.post(url, content=body, headers=self._headers)
        return response.raise_for_status()

    def _failure(self, error: Exception) -> Failure | None:
        import httpx2

        if isinstance(error, httpx2.HTTPStatusError):
            return _status_failure(error.response)
        if isinstance(error, httpx2.TimeoutException):
            return Failure("no answer in time", kind="timeout")
        if isinstance(error, httpx2.RequestError):
            return Failure(f"no connection ({error})", kind="connection")
        return None

    def failed(self, status: int, body: object) -> Failure:
        import httpx2

        return _status_failure(httpx2.Response(status, json=body))

    def _read(self, answer: _Answer, headers: Mapping[str, str]) -> Reply:
        base = Reply(
            text="",
            finish=Finish.CONTENT_FILTER,
            usage=_usage(answer.usage_metadata),
            model=answer.model_version or "",
            request_id=answer.response_id or "",
            tier=_tier(answer.usage_metadata, headers),
        )
        if not answer.candidates:
            if answer.prompt_feedback is None or answer.prompt_feedback.block_reason is None:
                raise ValueError("neither candidates nor a block reason")
            return base
        content = answer.candidates[0].content or {}
        parts = msgspec.convert(content, _Content).parts or []
        text = "".join(part.text for part in parts if part.text and not part.thought)
        thoughts = "".join(part.text for part in parts if part.text and part.thought)
        reason = answer.candidates[0].finish_reason or "none"
        finish = Finish.CONTENT_FILTER if reason in FILTERED else Finish.STOP
        finish = Finish.LENGTH if reason in CUT else finish
        if finish is Finish.STOP and reason != "STOP" and not text:
            raise ValueError(f"no text, finish reason {reason}")
        signed = any(part.thought_signature for part in parts)
        native = content if signed else None
        return replace(base, text=text, finish=finish, native=native, reasoning=thoughts)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _status_failure(response: httpx2.Response) -> Failure:
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        body = None
    plain = body.get("error", body) if isinstance(body, dict) else None
    error: Json = plain if isinstance(plain, dict) else {}
    listed = json.dumps(error.get("details") or [])
    delay = re.search(r'"retryDelay": "(\d+(?:\.\d+)?)s"', listed)
    reason = re.search(r'"reason": "(\w+)"', listed)
    return Failure(
        str(error.get("message") or response.text or response.reason_phrase),
        status=response.status_code,
        code=reason[1] if reason else str(error.get("status") or ""),
        retry_after_s=float(delay[1]) if delay else retry_after(response.headers),
        # A day's quota, or none at all, comes back with no waiting of a reasonable length.
        final=bool(re.search(r'"quotaId": "\w*PerDay|"quotaValue": "0"', listed)),
    )


def _tier(usage: _Usage | None, headers: Mapping[str, str]) -> Tier | Literal[""]:
    """The tier that served: a header says it, or the usage where there are no headers."""
    header = headers.get("x-gemini-service-tier")
    return served_on(header or (usage.service_tier if usage else None))


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    thoughts = usage.thoughts_token_count or 0
    return Usage(
        input=usage.prompt_token_count or 0,
        cached=usage.cached_content_token_count or 0,
        output=(usage.candidates_token_count or 0) + thoughts,
        reasoning=thoughts,
    )
