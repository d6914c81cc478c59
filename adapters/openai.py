"""OpenAI's models: what is known of each family, and how they are asked.

The families were read in November 2026 from the vendor's guides (vision, reasoning, prompt caching,
model pages). A model that is not here gets the newest row; the adapter drops what the provider
refuses, with a notice: a wrong row costs one request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, floor, sqrt
from typing import Any, Literal

from adapters import prices, responses
from adapters.api import hosted
from adapters.api_client import Json
from adapters.chat_completions import ChatAdapter, ServedModel, on_record, served
from adapters.contract import Adapter, AdapterInfo, Fatal, ImageRule, Request
from adapters.conversation import Prefixes, Reply
from adapters.endpoints import (
    Endpoint,
    check_headers_in,
    find_endpoint,
    need_model,
    need_package,
)
from adapters.open_models import longest
from adapters.options import Count
from adapters.thinking import thinking_of

HOSTS = ("api.openai.com", "openai.azure.com")
CACHE_LIFE_S = 30 * 60.0
CACHE_MINIMUM = 1024
Size = tuple[int, int]
_GUIDE = "OpenAI, images and vision guide, 2026-11"


def openai_endpoint(base_url: str | None, api_key: str | None) -> Endpoint:
    """Return the endpoint of OpenAI's API. Raises `Fatal` for a missing key or a bad address."""
    check_headers_in("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS")
    return find_endpoint(
        "openai",
        base_url=base_url,
        api_key=api_key,
        default="https://api.openai.com/v1",
        hosts=HOSTS,
        url_variable="OPENAI_BASE_URL",
        key_variables=["OPENAI_API_KEY"],
    )


def openai(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 120.0,
    concurrency: int = 8,
    wire: Literal["chat", "responses"] = "chat",
    detail: str | None = None,
    family: str | None = None,
    min_pixels: Count | None = None,
    max_pixels: Count | None = None,
    extra_body: Mapping[str, object] | None = None,
    recorded_as: str | None = None,
    ends: tuple[str, ...] | None = None,
) -> Adapter:
    """Make an adapter for OpenAI's models, or with `base_url` for any server of its protocols.

    Args:
        wire: how the model is asked: by chat completions, or by the Responses API, where hidden
            reasoning goes back to the model in later rounds.
        detail: sent with every picture ("auto" is replaced by its meaning). A compatible server
            gets it only when given.
        family: the name of the open model that a server of your own runs under another name.
        min_pixels: the size to which your server enlarges smaller pictures, if not as published.
        max_pixels: the size to which your server reduces larger pictures, if not as published.
        extra_body: added to the body unchanged; None as a value removes a parameter.
        recorded_as: on record instead of `base_url`, for a server whose address changes.
        ends: further words for the usual end of a reply (`finish_reason`, or `status`).

    Raises `Fatal` for a missing key, a bad address or detail, and as `served`.
    """
    need_package("openai", "openai")
    model = need_model(model, "openai:gpt-5.4")
    endpoint = openai_endpoint(base_url, api_key)
    if recorded_as is not None:
        if endpoint.is_official:
            raise Fatal(
                "recorded_as replaces the recorded address of your own server: give --base-url"
            )
        endpoint = replace(endpoint, recorded_as=recorded_as)
    facts = facts_of(model) if endpoint.is_official else None
    recorded: Mapping[str, object] = {}
    if facts is None:
        known, recorded = served(model, family=family, least=min_pixels, most=max_pixels)
        rule, coordinates = known.image_rule(), known.coordinates
    else:
        if (family, min_pixels, max_pixels) != (None, None, None):
            raise Fatal(
                "family, min_pixels and max_pixels are facts about a model behind a server of your "
                "own, and OpenAI's are known: leave them out, or name the server with --base-url"
            )
        detail = facts.detail if detail in {None, "auto"} else detail
        coordinates = "absolute"
        try:
            rule = facts.rule(str(detail))
        except KeyError:
            raise Fatal(f"{model} takes no pictures with detail '{detail}'") from None
    over_responses = wire == "responses"
    wire_on_record = responses.on_record if over_responses else on_record
    info = hosted(
        endpoint,
        model,
        settings={**wire_on_record(detail, extra_body), **recorded},
        concurrency=concurrency,
        context_tokens=prices.context_tokens("openai", model) if endpoint.is_official else None,
        thinking=thinking_of(model, extra_body),
        image_rule=rule,
        coordinates=coordinates,
        takes_tools=True,
        cache_minimum=CACHE_MINIMUM if endpoint.is_official else None,
        tiers=(*ChatAdapter.tier_words, *(() if over_responses else ("batch",))),
        cached_shares={"batch": 0.5},
    )
    more: dict[str, Any] = {
        "timeout_s": timeout_s,
        "detail": detail,
        "extra_body": extra_body,
        "ends": ends,
    }
    if facts is None:
        return (ServedResponses if over_responses else ServedModel)(info, endpoint, **more)
    return (OpenAIResponses if over_responses else OpenAIAdapter)(info, endpoint, facts, **more)


def openai_tiles(base: int, tile: int, detail: str = "high") -> ImageRule:
    """gpt-4o and its kind: into 2048 by 2048, short side to 768, tiles of 512 px."""
    if detail == "low":
        return ImageRule(lambda w, h: within(w, h, 512), lambda w, h: base, source=_GUIDE)

    def fit(width: int, height: int) -> Size:
        scale = min(1.0, 2048 / max(width, height))
        scale = min(scale, 768 / min(width, height))
        return max(1, round(width * scale)), max(1, round(height * scale))

    def tokens(width: int, height: int) -> int:
        width, height = fit(width, height)
        return base + tile * ceil(width / 512) * ceil(height / 512)

    return ImageRule(fit, tokens, max_side=2048, source=_GUIDE)


def openai_patches(multiplier: float, edge: int, budget: int | None) -> ImageRule:
    """Newer models: patches of 32 px, a longest side, and for most a budget of patches.

    Over the budget a picture is scaled to sides close to whole patches.
    """

    def patches(width: float, height: float) -> int:
        return ceil(width / 32) * ceil(height / 32)

    def fit(width: int, height: int) -> Size:
        width, height = within(width, height, edge)
        if budget is None or patches(width, height) <= budget:
            return width, height
        scale = sqrt(32 * 32 * budget / (width * height))
        across, down = width * scale / 32, height * scale / 32
        scale *= min(floor(across) / across if across >= 1 else 1.0, floor(down) / down)
        return max(1, floor(width * scale)), max(1, floor(height * scale))

    def tokens(width: int, height: int) -> int:
        # 2592 must stay 2592 where the product is a hair above it.
        return ceil(round(patches(*fit(width, height)) * multiplier, 6))

    return ImageRule(fit, tokens, max_side=edge, source=_GUIDE)


def within(width: int, height: int, edge: float) -> Size:
    """Return the size scaled down until the long side is at most `edge`, to the nearest pixel."""
    scale = min(1.0, edge / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


@dataclass(frozen=True, slots=True)
class OpenAIFacts:
    """A family of OpenAI's models.

    `greedy`: takes temperature 0. `marked_cache`: caches only what is marked, and charges for
    writing. `tiles` is (base, tile) tokens for the 512-px rule; else `multiplier` and, per detail,
    (longest side, patch budget) for the 32-px rule. `detail` is what the provider's `auto` means.
    """

    detail: str = "high"
    greedy: bool = False
    marked_cache: bool = False
    tiles: tuple[int, int] | None = None
    multiplier: float = 1.2
    sizes: tuple[tuple[str, int, int | None], ...] = ()

    def rule(self, detail: str) -> ImageRule:
        """Return the picture rule of a detail. Raises KeyError if the family lacks the detail."""
        if detail == "auto":
            detail = self.detail
        if self.tiles is not None:
            if detail not in {"low", "high"}:
                raise KeyError(detail)
            return openai_tiles(*self.tiles, detail)
        edge, budget = {name: (edge, budget) for name, edge, budget in self.sizes}[detail]
        return openai_patches(self.multiplier, edge, budget)


def _same(edge: int, budget: int) -> tuple[tuple[str, int, int | None], ...]:
    return tuple((name, edge, budget) for name in ("low", "high"))


_LOW = ("low", 512, None)
_WIDE: tuple[tuple[str, int, int | None], ...] = (
    _LOW,
    ("high", 65535, 2500),
    ("original", 65535, None),
)

# The vendor's table has no row for gpt-5-mini, gpt-5-nano, gpt-4.1-nano and o4-mini's limits (taken
# as gpt-4.1-mini's), nor for gpt-6-sol, gpt-6-luna and gpt-6.1 (taken as gpt-6-astra's).
OPENAI: dict[str, OpenAIFacts] = {
    "gpt-4": OpenAIFacts(greedy=True, tiles=(85, 170)),
    "chatgpt-4o": OpenAIFacts(greedy=True, tiles=(85, 170)),
    "gpt-4o-mini": OpenAIFacts(greedy=True, tiles=(2833, 5667)),
    "gpt-4.1-mini": OpenAIFacts(greedy=True, multiplier=1.62, sizes=_same(2048, 6144)),
    "gpt-4.1-nano": OpenAIFacts(greedy=True, multiplier=2.46, sizes=_same(2048, 6144)),
    "o1": OpenAIFacts(tiles=(75, 150)),
    "o3": OpenAIFacts(tiles=(75, 150)),
    "o4-mini": OpenAIFacts(multiplier=1.72, sizes=_same(2048, 6144)),
    "gpt-5": OpenAIFacts(tiles=(70, 140)),
    "gpt-5-mini": OpenAIFacts(sizes=_same(2048, 6144)),
    "gpt-5-nano": OpenAIFacts(multiplier=1.5, sizes=_same(2048, 6144)),
    "gpt-5.2": OpenAIFacts(sizes=_same(2048, 6144)),
    "gpt-5.3": OpenAIFacts(sizes=_same(2048, 6144)),
    "gpt-5.4": OpenAIFacts(
        sizes=(("low", 2048, 6144), ("high", 2048, 2500), ("original", 6000, 10000))
    ),
    "gpt-5.5": OpenAIFacts(
        "original", sizes=(_LOW, ("high", 2048, 2500), ("original", 6000, 10000))
    ),
    "gpt-5.6": OpenAIFacts(
        "original",
        marked_cache=True,
        sizes=(_LOW, ("high", 2048, 2500), ("original", 65535, None)),
    ),
    "gpt-6": OpenAIFacts("original", marked_cache=True, sizes=_WIDE),
}


def facts_of(model: str) -> OpenAIFacts:
    """Return the row of one of OpenAI's own models, fine-tuned ones included."""
    return OPENAI[longest(OPENAI, model.removeprefix("ft:")) or "gpt-6"]


class OpenAIAdapter(ChatAdapter):
    """One of OpenAI's own models."""

    limit = "max_completion_tokens"

    def __init__(
        self, info: AdapterInfo, endpoint: Endpoint, facts: OpenAIFacts, **more: Any
    ) -> None:
        """`more` are the options of `ChatAdapter`."""
        super().__init__(info, endpoint, **more)
        self.zero = facts.greedy
        self.prefixes = Prefixes(CACHE_LIFE_S) if facts.marked_cache else None

    def _additions(self, request: Request) -> Json:
        # One key per step: above some fifteen requests a minute a key is spread over machines.
        added: Json = {"prompt_cache_key": request.unit_id[:64]}
        if self.prefixes is not None:
            # Otherwise every request writes its prompt to the cache, at 1.25 times the price.
            added["prompt_cache_options"] = {"mode": "explicit"}
        return added

    def _done(self, request: Request, reply: Reply) -> None:
        if self.prefixes and request.continues and "prompt_cache_options" in reply.sent:
            self.prefixes.wrote(request.conversation)


class OpenAIResponses(responses.ResponsesWire, OpenAIAdapter):
    """One of OpenAI's own models over the Responses wire."""


class ServedResponses(responses.ResponsesWire, ServedModel):
    """A model of a server of the user's own over the Responses wire."""
