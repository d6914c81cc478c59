"""Facts about Gemini models, by their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil, floor

from adapters.contract import ImageRule

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
