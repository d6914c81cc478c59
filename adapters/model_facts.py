"""What is known of the providers' models, by the beginning of their names: one table each.

Read in November 2026 from the vendors' guides (vision, reasoning, prompt caching, model pages).
A model that is not here gets the newest row of its provider; what a provider refuses all the same
is dropped with a notice by the adapter, so that a wrong row costs one request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from adapters import image_rules
from adapters.contract import ImageRule

AS_OF = "2026-11-20"

Coordinates = Literal["absolute", "unit", "per-mille"]


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
        """How pictures are sized at a detail. Raises KeyError for one the family does not have."""
        if detail == "auto":
            detail = self.detail
        if self.tiles is not None:
            if detail not in {"low", "high"}:
                raise KeyError(detail)
            return image_rules.openai_tiles(*self.tiles, detail)
        edge, budget = {name: (edge, budget) for name, edge, budget in self.sizes}[detail]
        return image_rules.openai_patches(self.multiplier, edge, budget)


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


def openai(model: str) -> OpenAIFacts:
    """The row of one of OpenAI's own models, fine-tuned ones included."""
    return OPENAI[_longest(OPENAI, model.removeprefix("ft:")) or "gpt-6"]


@dataclass(frozen=True, slots=True)
class ClaudeFacts:
    """`cache_minimum`: a shorter prefix is silently not cached. `thinks`: without being asked."""

    rule: ImageRule
    cache_minimum: int
    thinks: bool
    adaptive: bool


_CACHE_MINIMUM = {(3, 5): 2048, (4, 7): 2048, (4, 8): 1024, (5, 0): 512, (5, 1): 512, (5, 5): 512}


def claude(model: str) -> ClaudeFacts:
    """What holds for a Claude model, by the version in its name (the newest when there is none)."""
    found = re.match(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?!\d)", model)
    version = (int(found[1]), int(found[2] or 0)) if found else (9, 0)
    minimum = _CACHE_MINIMUM.get(version, 1024 if version < (5, 0) else 512)
    if version in {(4, 5), (4, 6)} and "sonnet" not in model:
        minimum = 4096
    if model.startswith("claude-sonnet-5") and version == (5, 0):
        minimum = 1024
    tier = (2576, 4784) if version >= (4, 7) else (1568, 1568)
    return ClaudeFacts(
        image_rules.claude(*tier), minimum, thinks=version >= (5, 0), adaptive=version >= (4, 6)
    )


@dataclass(frozen=True, slots=True)
class GeminiFacts:
    """`levels`: thinking is set by a level (else by a budget) and temperature is left alone."""

    rule: ImageRule
    levels: bool


def gemini(model: str, resolution: str | None) -> GeminiFacts:
    """What holds for a Gemini model at a media resolution (None: the provider's default)."""
    if re.match(r"gemini-[12]\.", model):
        few = {"low": 64, "medium": 256}.get(resolution or "")
        return GeminiFacts(
            image_rules.gemini_fixed(few) if few else image_rules.gemini_tiles(), levels=False
        )
    tokens = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}
    return GeminiFacts(image_rules.gemini_fixed(tokens[resolution or "high"]), levels=True)


_QWEN: dict[str, tuple[int, int, int, Coordinates]] = {
    "qwen2-vl": (28, 3136, 12_845_056, "per-mille"),
    "qwen2.5-vl": (28, 3136, 12_845_056, "absolute"),
    "qwen3-vl": (32, 65_536, 16_777_216, "per-mille"),
}


def served(model: str) -> tuple[ImageRule | None, Coordinates | None]:
    """The picture rule and coordinates of a model behind a compatible server, where known."""
    key = _longest(_QWEN, model.lower().rpartition("/")[2].replace("qwen25", "qwen2.5"))
    if key is None:
        return None, None
    factor, least, most, coordinates = _QWEN[key]
    return image_rules.qwen(factor, least, most), coordinates


def _longest(names: Iterable[str], model: str) -> str | None:
    return max((name for name in names if model.startswith(name)), key=len, default=None)
