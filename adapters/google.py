"""Google's Gemini models, through the Gemini API.

Calls go through google-genai. With GOOGLE_GENAI_USE_VERTEXAI=true (or GOOGLE_GENAI_USE_ENTERPRISE)
they go to Vertex AI, with the project, location and credentials that the SDK finds in its own
environment variables and files. The prompt cache finds shared prefixes by itself; nothing is
marked. Written against google-genai 3.4, November 2026.
"""

from __future__ import annotations

import math
import os
import re
from binascii import b2a_base64
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import ceil, floor
from typing import TYPE_CHECKING, Any, ClassVar

from adapters import prices
from adapters.api import ApiAdapter, hosted, said_before
from adapters.api_client import LIMIT_S, Json, said_of
from adapters.contract import Adapter, Fatal, Generation, ImageRule, PictureSource, Request
from adapters.conversation import Message, ProviderTool, Reply, Result, Shown, Text, Tier, Tool
from adapters.endpoints import Endpoint, find_endpoint, need_model, need_package
from adapters.event_streams import gemini_answer
from adapters.faults import Failure
from adapters.google_answers import (
    GenerateContentResponse,
    calls_in,
    declaration,
    reply_of,
    response_to,
)
from adapters.registry import load

if TYPE_CHECKING:
    import httpx2
    from google import genai
    from google.genai import types

VERTEX_SWITCHES = ("GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI")
"""Environment variables of google-genai; the first that is set decides."""
RESOLUTIONS = {"low", "medium", "high", "ultra_high"}


def google(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 120.0,
    concurrency: int = 8,
    media_resolution: str | None = None,
    ends: tuple[str, ...] | None = None,
) -> Adapter:
    """Make an adapter for Gemini, through the Gemini API or Vertex AI.

    Args:
        media_resolution: low, medium, high or ultra_high; None is the provider's default.
        ends: further words for the usual end of a reply (`finish_reason`).

    Raises `Fatal` for a missing key, a bad address or resolution.
    """
    need_package("google.genai", "google-genai")
    model = need_model(model, "google:gemini-3.8-flash")
    if media_resolution is not None and media_resolution not in RESOLUTIONS:
        raise Fatal(f"media_resolution is one of {', '.join(sorted(RESOLUTIONS))}")
    vertex = next((os.environ[name] for name in VERTEX_SWITCHES if name in os.environ), "")
    on_vertex = vertex.lower() in {"true", "1"}
    endpoint = find_endpoint(
        "google",
        base_url=base_url,
        api_key=api_key,
        default=f"https://{'aiplatform' if on_vertex else 'generativelanguage'}.googleapis.com/",
        hosts=["googleapis.com"],
        url_variable=f"GOOGLE_{'VERTEX' if on_vertex else 'GEMINI'}_BASE_URL",
        key_variables=["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        needs_key=not on_vertex,
    )
    return GoogleAdapter(
        model,
        endpoint,
        # On Vertex AI the SDK chooses between the environment's key, project and credentials.
        api_key=api_key if on_vertex else endpoint.key or "none",
        on_vertex=on_vertex,
        timeout_s=timeout_s,
        concurrency=concurrency,
        media_resolution=media_resolution,
        ends=ends,
    )


class GoogleAdapter(ApiAdapter):
    """One Gemini model."""

    spellings: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "temperature": (),
        "top_p": ("topP", "top-p"),
        "seed": (),
        "thinking_level": ("thinkingLevel", "thinking level", "thinking"),
        "thinking_budget": ("thinkingBudget", "thinking budget", "thinking"),
    }
    answers = GenerateContentResponse
    streaming: ClassVar[Mapping[str, object]] = {"stream": True}
    strict = True
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
        api_key: str | None,
        on_vertex: bool,
        concurrency: int,
        media_resolution: str | None,
        **more: Any,
    ) -> None:
        """`more` are the options of `ApiAdapter`."""
        self._facts = facts_of(model, media_resolution)
        self._resolution = media_resolution
        self._api_key, self._on_vertex = api_key, on_vertex
        # A part's own resolution and the moving aliases exist in the older version only.
        beta = media_resolution or model.endswith("-latest")
        self._version = "v1beta1" if on_vertex else "v1beta" if beta else "v1"
        info = hosted(
            endpoint,
            model,
            settings={
                "api": f"{'Vertex AI ' * on_vertex}generateContent {self._version}",
                "media_resolution": media_resolution,
            },
            concurrency=concurrency,
            context_tokens=prices.context_tokens("google", model),
            image_rule=self._facts.rule,
            coordinates="per-mille",
            takes_tools=True,
            cache_minimum=self._facts.cache_minimum,
            tiers=() if on_vertex else (*self.tier_words, "batch"),
        )
        super().__init__(info, endpoint, **more)
        self.http.event_hooks = {"request": [self._to_stream]}

    @cached_property
    def client(self) -> genai.Client:
        """The SDK's client. Raises `Fatal` if Vertex AI lacks a project or credentials."""
        from google import genai
        from google.genai.types import HttpOptions

        endpoint = self._endpoint
        return genai.Client(
            enterprise=self._on_vertex,
            api_key=self._api_key,
            http_options=HttpOptions(
                base_url=endpoint.custom_url if self._on_vertex else endpoint.url,
                api_version=self._version,
                timeout=math.ceil(1000 * self._timeout_s),
                httpx_async_client=self.http,
            ),
        )

    def deferring(self) -> Any:
        """Return the way to send requests in batches."""
        made = load("adapters.batches.google:GoogleBatches")
        return made(self, self._endpoint, lambda: self.client)

    async def listed(self) -> dict[str, str]:
        """Return what the server's list of models says of this one; {} if it says nothing."""
        url = f"{self._endpoint.url.rstrip('/')}/{self._version}/models"
        call = self.http.get(url, headers={"x-goog-api-key": self._endpoint.key or "none"})
        answer = await self.attempt(call, min(self._timeout_s, LIMIT_S))
        if isinstance(answer, Failure):
            return {}
        return said_of(self._info.model, answer.content, answer.headers)

    async def _compose(self, request: Request, pictures: PictureSource) -> Json:
        messages, tools = request.conversation.messages, request.conversation.tools
        calls: list[Json] = []
        content: Json = {"contents": []}
        for message in messages:
            if message.role != "system":
                content["contents"].append(await self._content(message, pictures, calls))
                calls = calls_in(message.native)
        system = "\n\n".join(m.text for m in messages if m.role == "system")
        if system:
            content["systemInstruction"] = {"role": "user", "parts": [{"text": system}]}
        own = [dict(tool.entry) for tool in tools if isinstance(tool, ProviderTool)]
        functions = [declaration(tool) for tool in tools if isinstance(tool, Tool)]
        if tools:
            content["tools"] = [*own, *([{"functionDeclarations": functions}] if functions else [])]
        return content

    async def _content(self, message: Message, pictures: PictureSource, calls: list[Json]) -> Any:
        """Return a turn. `calls` are those of the turn before: its results answer them in order."""
        if message.role == "assistant":
            text = said_before(message)
            return message.native or {"role": "model", "parts": [{"text": text}]}
        parts: list[Json] = []
        waiting = iter(calls)
        for part in message.parts:
            if isinstance(part, Result):
                shown = [await self._shown(one, pictures) for one in part.parts]
                parts.append(response_to(next(waiting, {}), part, shown))
                continue
            parts.append(await self._shown(part, pictures))
            if "inlineData" in parts[-1] and self._level and self._facts.levels:
                parts[-1]["mediaResolution"] = {"level": self._level}
        return {"role": "user", "parts": parts}

    async def _shown(self, part: Shown, pictures: PictureSource) -> Json:
        if isinstance(part, Text):
            return {"text": part.text}
        picture = await pictures.encoded(part)
        data = b2a_base64(picture.data, newline=False).decode()
        return {"inlineData": {"mimeType": picture.media_type, "data": data}}

    @property
    def _level(self) -> str | None:
        return f"MEDIA_RESOLUTION_{self._resolution.upper()}" if self._resolution else None

    def _temperature(self, generation: Generation) -> float | None:
        usual = None if self._facts.levels else 0.0
        return usual if generation.temperature is None else generation.temperature

    def _parameters(self, generation: Generation, request: Request) -> Json:
        wanted: Json = {
            "max_output_tokens": generation.max_tokens,
            "temperature": self._temperature(generation),
            "top_p": generation.top_p,
            "seed": generation.seed,
            "thinking_budget": generation.thinking_budget,
        }
        if generation.effort is not None:
            if self._facts.levels:
                wanted["thinking_level"] = generation.effort
            else:
                self._notify(f"{self._info.name} has no effort (only a thinking budget): not sent")
        return {name: value for name, value in wanted.items() if value is not None}

    def _body(self, content: Json, parameters: Json) -> Json:
        config = {_camel(name): value for name, value in parameters.items() if name != "stream"}
        thinking = {name: config.pop(name) for name in [*config] if name.startswith("thinking")}
        if "thinkingLevel" in thinking:
            thinking["thinkingLevel"] = str(thinking["thinkingLevel"]).upper()
        if thinking:
            config["thinkingConfig"] = thinking
        if self._level and not self._facts.levels:
            config["mediaResolution"] = self._level
        return content | {"generationConfig": config}

    def _send(self, body: Json) -> Awaitable[httpx2.Response]:
        from google.genai import types

        # The whole body goes as an extra, in place of an empty content: the SDK types nothing anew,
        # and what Google signed goes back unchanged, with fields that the SDK does not know. Tiers
        # and tools are documented for the older version only.
        needs_beta = not self._on_vertex and (self.tier_field in body or "tools" in body)
        options = types.HttpOptions(extra_body=body, api_version="v1beta" if needs_beta else None)
        config = _config_type()(
            http_options=options,
            should_return_http_response=True,
            automatic_continuation=False,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        return self._generated(config)

    async def _generated(self, config: types.GenerateContentConfig) -> httpx2.Response:
        import httpx2
        from google.auth.exceptions import GoogleAuthError, TransportError
        from google.genai import types

        try:
            answer = await self.client.aio.models.generate_content(
                model=self._info.model, contents=types.Content(), config=config
            )
        except (GoogleAuthError, ValueError) as error:
            if isinstance(error, TransportError):
                raise
            raise Fatal(self.clean(f"{self.speaker}: {error}")) from None
        raw: Any = answer.sdk_http_response
        return httpx2.Response(200, headers=raw.headers, content=raw.body)

    async def _to_stream(self, request: httpx2.Request) -> None:
        """Ask for a stream where the server demands it: it has its own address, and the SDK's
        method for it hands out no bytes."""
        path, _, method = request.url.path.rpartition(":")
        if self._streams and method == "generateContent":
            request.url = request.url.copy_with(
                path=f"{path}:streamGenerateContent", query=b"alt=sse"
            )

    def _demands_stream(self, failure: Failure) -> bool:
        # Where there are streams only, the other address is unknown; Google's errors have a code.
        is_unknown = failure.status in {404, 405} and not failure.code
        return super()._demands_stream(failure) or (
            is_unknown and self._endpoint.address is not None
        )

    def _joined(self, stream: Iterable[Json]) -> Json:
        return gemini_answer(stream)

    def _failure(self, error: Exception) -> Failure | None:
        import httpx2
        from google.auth.exceptions import TransportError

        if isinstance(error, httpx2.HTTPStatusError):
            response = error.response
            return self.failed(response.status_code, response.content, response.headers)
        if isinstance(error, httpx2.TimeoutException):
            return Failure("no answer in time", kind="timeout")
        if isinstance(error, httpx2.RequestError | TransportError):
            return Failure(f"no connection ({error})", kind="connection")
        return None

    def _read(self, answer: GenerateContentResponse, headers: Mapping[str, str]) -> Reply:
        reply = reply_of(answer, headers, self._finish)
        return replace(reply, usage=self._counted(answer.usage_metadata, reply.usage, reply.text))


@cache
def _config_type() -> type[types.GenerateContentConfig]:
    """Return the SDK's configuration, quick to convert.

    The SDK looks up each of forty fields by `in` first, and a record lists all of its own for that.
    """
    from google.genai import types

    class Config(types.GenerateContentConfig):
        def __contains__(self, name: object) -> bool:
            return False

    return Config


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_GUIDES = "Google, media resolution and image understanding guides, 2026-11"


@dataclass(frozen=True, slots=True)
class GeminiFacts:
    """`levels`: thinking is set by a level (else by a budget) and temperature is left alone.
    `cache_minimum`: a shorter prefix is not cached."""

    rule: ImageRule
    levels: bool
    cache_minimum: int = 4096


def facts_of(model: str, resolution: str | None) -> GeminiFacts:
    """Return the facts of a Gemini model at a media resolution (None: the provider's default)."""
    if re.match(r"gemini-[12]\.", model):
        few = {"low": 64, "medium": 256}.get(resolution or "")
        return GeminiFacts(
            _fixed(few) if few else _tiles(),
            levels=False,
            cache_minimum=2048,
        )
    tokens = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}
    return GeminiFacts(_fixed(tokens[resolution or "high"]), levels=True)


def _fixed(tokens: int) -> ImageRule:
    """Gemini 3 and later: every picture costs the same, whatever its size."""
    return ImageRule(lambda w, h: (w, h), lambda w, h: tokens, max_bytes=7_000_000, source=_GUIDES)


def tiles(width: int, height: int) -> int:
    """Return the tokens of a picture's tiles in Gemini 2.5 and before, 258 each."""
    if max(width, height) <= 384:
        return 258
    tile = max(1, floor(min(width, height) / 1.5))
    return 258 * ceil(width / tile) * ceil(height / tile)


def _tiles() -> ImageRule:
    """Gemini 2.5 and before. Google's two pages disagree: one counts tiles, the other about 2,048
    tokens a picture. A cost limit needs the larger number; `tiles` alone is what usage shows."""

    def tokens(width: int, height: int) -> int:
        return 258 if max(width, height) <= 384 else max(2048, tiles(width, height))

    return ImageRule(lambda w, h: (w, h), tokens, max_bytes=7_000_000, source=_GUIDES)
