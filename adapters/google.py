"""Google's Gemini models, through the Gemini API.

The SDK has no timeout by default, sends further billed requests by itself when a reply is cut
(automatic continuation), and raises its HTTP library's own errors, of httpx2 or, where that is
installed, of aiohttp. The prompt cache finds shared prefixes by itself; nothing is marked. Written
against google-genai 3.4, November 2026.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from adapters import image_rules, prices
from adapters.api import ApiAdapter, Json, hosted, malformed
from adapters.contract import Adapter, Fatal, Generation, ImageRule, PictureSource, Request
from adapters.conversation import Finish, Message, Reply, Text, Usage
from adapters.endpoints import Endpoint, find_endpoint, need_model, need_package
from adapters.faults import Failure

if TYPE_CHECKING:
    from google.genai import errors, types

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
    need_package("google.genai", "google-genai")
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
    """`levels`: thinking is set by a level (else by a budget) and temperature is left alone."""

    rule: ImageRule
    levels: bool


def facts_of(model: str, resolution: str | None) -> GeminiFacts:
    """What holds for a Gemini model at a media resolution (None: the provider's default)."""
    if re.match(r"gemini-[12]\.", model):
        few = {"low": 64, "medium": 256}.get(resolution or "")
        return GeminiFacts(
            image_rules.gemini_fixed(few) if few else image_rules.gemini_tiles(), levels=False
        )
    tokens = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}
    return GeminiFacts(image_rules.gemini_fixed(tokens[resolution or "high"]), levels=True)


class GoogleAdapter(ApiAdapter):
    """One Gemini model."""

    spellings: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "top_p": ("topP", "top-p"),
        "seed": (),
        "thinking_level": ("thinkingLevel", "thinking level", "thinking"),
        "thinking_budget": ("thinkingBudget", "thinking budget", "thinking"),
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
        from google import genai
        from google.genai import types

        self._facts = facts_of(model, media_resolution)
        self._resolution = media_resolution
        # A part's own resolution and the moving aliases exist in the older version only.
        version = "v1beta" if media_resolution or model.endswith("-latest") else "v1"
        self._client = genai.Client(
            vertexai=False,
            api_key=endpoint.key or "none",
            http_options=types.HttpOptions(
                base_url=endpoint.url,
                api_version=version,
                timeout=max(1, round(timeout_s * 1000)),
                retry_options=types.HttpRetryOptions(attempts=1),
            ),
        )
        info = hosted(
            endpoint,
            model,
            settings={"api": f"generateContent {version}", "media_resolution": media_resolution},
            concurrency=concurrency,
            context_tokens=prices.context_tokens("google", model),
            image_rule=self._facts.rule,
            coordinates="per-mille",
        )
        super().__init__(info, endpoint)

    async def close(self) -> None:
        await self._client.aio.aclose()
        self._client.close()

    async def _compose(self, request: Request, pictures: PictureSource) -> Json:
        messages = request.conversation.messages
        return {
            "system": "\n\n".join(m.text for m in messages if m.role == "system") or None,
            "contents": [await self._content(m, pictures) for m in messages if m.role != "system"],
        }

    async def _content(self, message: Message, pictures: PictureSource) -> types.Content:
        from google.genai import types

        if message.role == "assistant":
            if message.native is not None:
                # As JSON, because thought signatures are bytes.
                return types.Content.model_validate_json(json.dumps(message.native))
            text = message.text if message.text.strip() else EMPTY_REPLY
            return types.Content(role="model", parts=[types.Part(text=text)])
        parts: list[types.Part] = []
        for part in message.parts:
            if isinstance(part, Text):
                parts.append(types.Part(text=part.text))
                continue
            picture = await pictures.encoded(part)
            parts.append(
                types.Part.from_bytes(
                    data=picture.data,
                    mime_type=picture.media_type,
                    media_resolution=self._level if self._facts.levels else None,
                )
            )
        return types.Content(role="user", parts=parts)

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

    async def _send(self, body: Json, parameters: Json) -> Any:
        from google.genai import types

        plain = {k: v for k, v in parameters.items() if not k.startswith("thinking_")}
        thinking = {k: v for k, v in parameters.items() if k.startswith("thinking_")}
        return await self._client.aio.models.generate_content(
            model=self._info.model,
            contents=body["contents"],
            config=types.GenerateContentConfig(
                **plain,
                system_instruction=body["system"],
                media_resolution=types.MediaResolution(self._level)
                if self._level and not self._facts.levels
                else None,
                thinking_config=types.ThinkingConfig(**thinking) if thinking else None,
                automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
                automatic_continuation=False,
            ),
        )

    def _failure(self, error: Exception) -> Failure | None:
        import httpx2
        from google.genai import errors
        from pydantic import ValidationError

        if isinstance(error, errors.APIError):
            return _api_failure(error)
        if isinstance(error, httpx2.TimeoutException | TimeoutError):
            return Failure("no answer in time", kind="timeout")
        ours = type(error).__module__.partition(".")[0] == "aiohttp"
        if isinstance(error, httpx2.TransportError | OSError) or ours:
            return Failure(f"no connection ({error})", kind="connection")
        if isinstance(
            error, errors.UnknownApiResponseError | json.JSONDecodeError | ValidationError
        ):
            return Failure(f"reply cannot be read ({error})", kind="malformed")
        return None

    def _read(self, answer: Any) -> Reply:
        base = Reply(
            text="",
            finish=Finish.CONTENT_FILTER,
            usage=_usage(answer.usage_metadata),
            model=answer.model_version or "",
            request_id=answer.response_id or "",
        )
        if not answer.candidates:
            if answer.prompt_feedback is None or answer.prompt_feedback.block_reason is None:
                raise malformed("neither candidates nor a block reason")
            return base
        candidate = answer.candidates[0]
        parts = (candidate.content and candidate.content.parts) or []
        text = "".join(part.text for part in parts if part.text and not part.thought)
        reason = str(getattr(candidate.finish_reason, "value", candidate.finish_reason))
        finish = Finish.CONTENT_FILTER if reason in FILTERED else Finish.STOP
        finish = Finish.LENGTH if reason in CUT else finish
        if finish is Finish.STOP and reason != "STOP" and not text:
            raise malformed(f"no text, finish reason {reason}")
        native = None
        if any(part.thought_signature for part in parts):
            native = candidate.content.model_dump(mode="json", exclude_none=True)
        return Reply(
            text, finish, base.usage, base.model, native=native, request_id=base.request_id
        )


def _api_failure(error: errors.APIError) -> Failure:
    plain = error.details.get("error", error.details) if isinstance(error.details, dict) else {}
    details = plain.get("details") if isinstance(plain, dict) else None
    listed = json.dumps(details or [])
    delay = re.search(r'"retryDelay": "([\d.]+)s"', listed)
    reason = re.search(r'"reason": "(\w+)"', listed)
    return Failure(
        str(error.message or error.details),
        status=int(error.code or 500),
        code=reason[1] if reason else str(error.status or ""),
        retry_after_s=float(delay[1]) if delay else None,
        # A day's quota, or none at all, comes back with no waiting of a reasonable length.
        final=bool(re.search(r'"quotaId": "\w*PerDay|"quotaValue": "0"', listed)),
    )


def _usage(usage: Any) -> Usage | None:
    if usage is None:
        return None
    thoughts = usage.thoughts_token_count or 0
    return Usage(
        input=usage.prompt_token_count or 0,
        cached=usage.cached_content_token_count or 0,
        output=(usage.candidates_token_count or 0) + thoughts,
        reasoning=thoughts,
    )
