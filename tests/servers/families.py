"""How many tokens a picture costs in a family of models, and what the model sees of it.

Written from the published rules, apart from the harness's own: an independent expectation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tests.servers.pixels import Size, smart_resize

INTERNVL_TILES = [
    (across, down)
    for across, down in sorted(
        ((i, j) for i in range(1, 13) for j in range(1, 13) if i * j <= 12),
        key=lambda t: t[0] * t[1],
    )
]


@dataclass(frozen=True)
class Seen:
    """What becomes of one picture: its tokens, and the size that the model sees in pixels."""

    tokens: int
    size: Size


def qwen(factor: int, least: int, most: int) -> Callable[[Size], Seen]:
    """Cells of `factor` pixels, between `least` and `most` pixels in all."""

    def rule(size: Size) -> Seen:
        across, down = smart_resize(size, factor, least, most)
        return Seen(across * down // factor**2, (across, down))

    return rule


def internvl(size: Size) -> Seen:
    """Up to 12 tiles of 448, 256 tokens each, and a thumbnail beside several."""
    width, height = size
    best, closest = (1, 1), math.inf
    for across, down in INTERNVL_TILES:
        distance = abs(width / height - across / down)
        roomy = width * height > 0.5 * 448 * 448 * across * down
        if distance < closest or (distance == closest and roomy):
            best, closest = (across, down), distance
    tiles = best[0] * best[1]
    return Seen(256 * (tiles + (tiles > 1)), (448 * best[0], 448 * best[1]))


def gemma3(size: Size) -> Seen:
    """256 tokens for a square of 896, whatever comes."""
    return Seen(256, (896, 896))


def breaks(cell: int, longest: int) -> Callable[[Size], Seen]:
    """Cells of `cell` pixels, a break behind each row; a longest side of `longest`."""

    def rule(size: Size) -> Seen:
        ratio = max(*(side / longest for side in size), 1.0)
        width, height = (math.floor(side / ratio) if ratio > 1 else side for side in size)
        across, down = math.ceil(width / cell), math.ceil(height / cell)
        return Seen((across + 1) * down, (across * cell, down * cell))

    return rule


FAMILIES: dict[str, Callable[[Size], Seen]] = {
    "qwen2.5-vl": qwen(28, 3136, 12_845_056),
    "qwen3-vl": qwen(32, 65_536, 16_777_216),
    "internvl3": internvl,
    "gemma3": gemma3,
    "pixtral": breaks(16, 1024),
    "mistral-small-3.1": breaks(28, 1540),
}
"""The rules of the families that fake deployments serve."""
