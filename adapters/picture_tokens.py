"""The tokens of a picture and the pixels that are seen of it, by family of models.

Formulas of published processors and vendors' guides, read in November 2026. They count the
picture's own tokens: templates add marks around a picture, which differ between servers.
Rules that adapters have themselves are used from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, log, sqrt
from typing import NamedTuple

from adapters.anthropic import image_rule as claude
from adapters.contract import ImageRule
from adapters.google import tiles as gemini_tiles
from adapters.open_models import longest, qwen_size
from adapters.openai import openai_patches, openai_tiles

Size = tuple[int, int]


class Processed(NamedTuple):
    """A picture as a model takes it."""

    tokens: int
    size: Size
    """Size that the model sees, in pixels."""
    tags: int = 0
    """Tokens between its slices, where a template has some."""


Rule = Callable[[int, int], Processed]
"""From width and height in pixels to the picture as a model takes it."""


@dataclass(frozen=True, slots=True)
class Processor:
    """The way a family of models takes pictures.

    limited: the rule with another limit, as a number of pixels in steps of `cell` squared.
    capped: the rule with at most so many tiles; `tiles` is the published number.
    factor: sides are rounded to it before the picture is cut into cells; 0 for other rules.
    """

    rule: Rule
    limited: Callable[[int], Rule] | None = None
    cell: int = 0
    capped: Callable[[int], Rule] | None = None
    tiles: int = 0
    factor: int = 0


def _qwen(factor: int, least: int, most: int) -> Rule:
    def rule(width: int, height: int) -> Processed:
        w, h = qwen_size(width, height, factor, least, most)
        return Processed(w * h // factor**2, (w, h))

    return rule


def _of_qwen(factor: int, least: int, most: int) -> Processor:
    limited = partial(_qwen, factor, least)
    return Processor(limited(most), limited, cell=factor, factor=factor)


def _navit(most: int) -> Rule:
    """Kimi: patches of 14 px, at most so many, padded to whole squares of two by two."""

    def rule(width: int, height: int) -> Processed:
        patches = (width // 14) * (height // 14)
        scale = min(1.0, sqrt(most / patches)) if patches else 1.0
        w, h = int(width * scale), int(height * scale)
        return Processed(ceil(w / 28) * ceil(h / 28), (w, h))

    return rule


def _of_kimi(most: int) -> Processor:
    return Processor(_navit(most), lambda pixels: _navit(pixels // 14**2), cell=14)


def _internvl(most: int) -> Rule:
    """Tiles of 448 px in the nearest aspect ratio, 256 tokens each, and a thumbnail of all."""
    grids = sorted(
        ((i, j) for i in range(1, most + 1) for j in range(1, most // i + 1)),
        key=lambda grid: grid[0] * grid[1],
    )

    def rule(width: int, height: int) -> Processed:
        best, nearest = (1, 1), float("inf")
        for i, j in grids:
            far = abs(width / height - i / j)
            is_large = width * height > 0.5 * 448**2 * i * j
            if far < nearest or (far == nearest and is_large):
                best, nearest = (i, j), far
        count = best[0] * best[1]
        return Processed(256 * (count + (count > 1)), (448 * best[0], 448 * best[1]))

    return rule


def _gemma4(pixels: int) -> Rule:
    """Cells of 48 px: the largest picture of this aspect, enlarged if need be."""

    def rule(width: int, height: int) -> Processed:
        scale = sqrt(pixels / (width * height))
        across, down = (max(1, floor(side * scale / 48)) for side in (width, height))
        return Processed(across * down, (48 * across, 48 * down))

    return rule


def _rows(cell: int, edge: int) -> Rule:
    """Pixtral and its kind: cells of this side, a longest side, a break at the end of a row."""

    def rule(width: int, height: int) -> Processed:
        ratio = max(1.0, width / edge, height / edge)
        across, down = (ceil(floor(side / ratio) / cell) for side in (width, height))
        return Processed((across + 1) * down, (across * cell, down * cell))

    return rule


def _canvas(width: int, height: int, tile: int, most: int) -> tuple[int, int]:
    """Llama: the columns and rows of tiles that a picture fits with the least loss."""

    def scale(grid: Size) -> float:
        return min(tile * grid[0] / width, tile * grid[1] / height)

    grids = [(i, j) for i in range(1, most + 1) for j in range(1, most // i + 1)]
    enlarging = [scale(grid) for grid in grids if scale(grid) >= 1]
    best = min(enlarging) if enlarging else max(map(scale, grids))
    return min((g for g in grids if scale(g) == best), key=lambda g: g[0] * g[1])


def _llama32(width: int, height: int) -> Processed:
    """One token represents a picture, whose features come in with the text."""
    i, j = _canvas(width, height, 560, 4)
    return Processed(1, (560 * i, 560 * j))


def _llama4(most: int) -> Rule:
    def rule(width: int, height: int) -> Processed:
        i, j = _canvas(width, height, 336, most)
        count = i * j
        # Every tile is followed by a separator; start, end and a mark stand around the whole.
        return Processed((145 * count if count > 1 else 0) + 147, (336 * i, 336 * j))

    return rule


def _minicpm(most: int) -> Rule:
    """Slices of about 448² px in cells of 56 px, next to the whole picture."""

    def resized(width: float, height: float, *, grows: bool) -> Size:
        if grows or width * height > 448**2:
            ratio = width / height
            height = int(448 / sqrt(ratio))
            width = int(height * ratio)
        w, h = (max(56, round(side / 56) * 56) for side in (width, height))
        return w, h

    def rule(width: int, height: int) -> Processed:
        w, h = resized(width, height, grows=False)
        source = w * h // 56**2
        several = min(ceil(width * height / 448**2), most)
        if several <= 1:
            return Processed(source, (w, h))
        grids = (
            (i, n // i)
            for n in (several - 1, several, several + 1)
            if 1 < n <= most
            for i in range(1, n + 1)
            if n % i == 0
        )
        i, j = min(grids, key=lambda grid: abs(log(width / height) - log(grid[0] / grid[1])))
        w, h = resized(max(round(width / i), 1), max(round(height / j), 1), grows=True)
        size = i * w, j * h
        return Processed(source + size[0] * size[1] // 56**2, size, tags=2 * i * j + j - 1)

    return rule


def _claude_of_old(width: int, height: int) -> Processed:
    scale = min(1.0, 1568 / max(width, height), sqrt(1_150_000 / (width * height)))
    w, h = width * scale, height * scale
    return Processed(round(w * h / 750), (round(w), round(h)))


def ruled(rule: ImageRule) -> Rule | None:
    """Return the rule of an adapter in this form; None if it does not count tokens."""
    if rule.tokens(448, 448) is None:
        return None

    def seen(width: int, height: int) -> Processed:
        return Processed(rule.tokens(width, height) or 0, rule.fit(width, height))

    return seen


def _fixed(tokens: int, size: Size | None = None) -> Processor:
    return Processor(lambda width, height: Processed(tokens, size or (width, height)))


def _hosted(rule: ImageRule) -> Processor:
    known = ruled(rule)
    assert known is not None
    return Processor(known)


FAMILIES: dict[str, Processor] = {
    "qwen2.5-vl": _of_qwen(28, 3_136, 12_845_056),
    "qwen3-vl": _of_qwen(32, 65_536, 16_777_216),
    # The limits of the checkpoint count two frames.
    "glm-4.5v": _of_qwen(28, 6_272, 5_880_000),
    "kimi-k2.5": _of_kimi(16_384),
    "kimi-vl": _of_kimi(4_096),
    "internvl3": Processor(_internvl(12), capped=_internvl, tiles=12),
    "gemma3": _fixed(256, (896, 896)),
    "gemma4": Processor(_gemma4(280 * 48**2), _gemma4, cell=48),
    "pixtral": Processor(_rows(16, 1024)),
    "mistral-small-3.1": Processor(_rows(28, 1540)),
    "llama-3.2": Processor(_llama32),
    "llama-4": Processor(_llama4(16), capped=_llama4, tiles=16),
    "minicpm-v-4.6": Processor(_minicpm(9), capped=_minicpm, tiles=9),
    "gpt-4o": _hosted(openai_tiles(85, 170)),
    "gpt-5": _hosted(openai_tiles(70, 140)),
    "gpt-5.4-high": _hosted(openai_patches(1.2, 2048, 1536)),
    "claude-4.6": _hosted(claude(1568, 1568)),
    "claude-4.7": _hosted(claude(2576, 4784)),
    "claude, width*height/750": Processor(_claude_of_old),
    "gemini-3": _fixed(1120),
    "gemini-2-tiles": Processor(lambda w, h: Processed(gemini_tiles(w, h), (w, h))),
}
"""By the name that checks and messages have for them."""

_BEGINNINGS = {
    **dict.fromkeys(("qwen2-vl", "qwen2.5-vl", "ui-tars", "uground-v1", "jedi"), "qwen2.5-vl"),
    **dict.fromkeys(("qwen3-vl", "qwen3.", "holo2", "holo3", "mai-ui"), "qwen3-vl"),
    **dict.fromkeys(("glm-4.1v", "glm-4.5v", "glm-4.6v"), "glm-4.5v"),
    **dict.fromkeys(("internvl2", "internvl3"), "internvl3"),
    **dict.fromkeys(("gemma-3", "gemma3"), "gemma3"),
    **dict.fromkeys(("gemma-4", "gemma4"), "gemma4"),
    **dict.fromkeys(("llama-3.2", "llama3.2"), "llama-3.2"),
    **dict.fromkeys(("llama-4", "llama4"), "llama-4"),
    **{name: name for name in ("kimi-k2.5", "kimi-vl", "pixtral", "mistral-small-3.1")},
    "minicpm-v-4": "minicpm-v-4.6",
}


def family_of(name: str) -> str | None:
    """Return the family of an open model by its name (a hub id, a folder); None if unknown.

    >>> family_of("Qwen/Qwen2.5-VL-7B-Instruct"), family_of("my-model")
    ('qwen2.5-vl', None)
    """
    plain = name.lower().rstrip("/").rpartition("/")[2].replace("qwen25", "qwen2.5")
    begins = longest(_BEGINNINGS, plain)
    return None if begins is None else _BEGINNINGS[begins]
