"""Rules of models for resizing pictures and counting their tokens: pure functions.

The formulas are the vendors' own, checked against their published examples:
OpenAI "Images and vision" guide, Anthropic "Vision" and its page on coordinates, Google "Image
understanding" and "Media resolution", Qwen's `smart_resize`; all as of November 2026.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, sqrt

from adapters.contract import ImageRule

Size = tuple[int, int]

OPENAI = "OpenAI, images and vision guide, 2026-11"
CLAUDE = "Anthropic, vision guide, 2026-11"
GEMINI = "Google, media resolution and image understanding guides, 2026-11"
QWEN = "Qwen-VL smart_resize with the published checkpoints' pixel limits, 2026-11"


def within(width: int, height: int, edge: float) -> Size:
    """Return the size scaled down until the long side is at most `edge`, to the nearest pixel."""
    scale = min(1.0, edge / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


def openai_tiles(base: int, tile: int, detail: str = "high") -> ImageRule:
    """gpt-4o and its kind: into 2048 by 2048, short side to 768, tiles of 512 px."""
    if detail == "low":
        return ImageRule(lambda w, h: within(w, h, 512), lambda w, h: base, source=OPENAI)

    def fit(width: int, height: int) -> Size:
        scale = min(1.0, 2048 / max(width, height))
        scale = min(scale, 768 / min(width, height))
        return max(1, round(width * scale)), max(1, round(height * scale))

    def tokens(width: int, height: int) -> int:
        width, height = fit(width, height)
        return base + tile * ceil(width / 512) * ceil(height / 512)

    return ImageRule(fit, tokens, max_side=2048, source=OPENAI)


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

    return ImageRule(fit, tokens, max_side=edge, source=OPENAI)


def claude(edge: int, limit: int) -> ImageRule:
    """Claude: patches of 28 px; the largest size whose padded sides and patches are allowed."""

    def patches(width: int, height: int) -> int:
        return ceil(width / 28) * ceil(height / 28)

    def fit(width: int, height: int) -> Size:
        longest, shortest = max(width, height), min(width, height)

        def at(long: int) -> Size:
            return long, max(1, round(shortest * long / longest))

        def allowed(long: int) -> bool:
            a, b = at(long)
            return ceil(a / 28) * 28 <= edge and patches(a, b) <= limit

        low, high = 1, longest
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if allowed(middle) else (low, middle - 1)
        long, short = at(low)
        return (long, short) if width >= height else (short, long)

    return ImageRule(
        fit,
        lambda w, h: patches(*fit(w, h)),
        max_side=edge,
        # The API takes 10 MB in base64; a quarter of that is the encoding.
        max_bytes=7_500_000,
        source=CLAUDE,
    )


def gemini_fixed(tokens: int) -> ImageRule:
    """Gemini 3 and later: every picture costs the same, whatever its size."""
    return ImageRule(lambda w, h: (w, h), lambda w, h: tokens, max_bytes=7_000_000, source=GEMINI)


def gemini_tiles() -> ImageRule:
    """Gemini 2.5 and before. Google's two pages disagree; the larger number is used.

    One page counts 258 tokens a tile, the other about 2,048 a picture.
    """

    def tokens(width: int, height: int) -> int:
        if max(width, height) <= 384:
            return 258
        tile = max(1, floor(min(width, height) / 1.5))
        return max(2048, 258 * ceil(width / tile) * ceil(height / tile))

    return ImageRule(lambda w, h: (w, h), tokens, max_bytes=7_000_000, source=GEMINI)


def qwen_size(width: int, height: int, factor: int, least: int, most: int) -> Size:
    """Qwen's `smart_resize`: sides in multiples of `factor`, pixels from `least` to `most`."""
    w, h = (round(side / factor) * factor for side in (width, height))
    if w * h > most:
        shrink = sqrt(width * height / most)
        w, h = (max(factor, floor(s / shrink / factor) * factor) for s in (width, height))
    elif w * h < least:
        grow = sqrt(least / (width * height))
        w, h = (ceil(side * grow / factor) * factor for side in (width, height))
    return max(factor, w), max(factor, h)


def qwen(factor: int, least: int, most: int) -> ImageRule:
    """Qwen2-VL and later: sides rounded to multiples of `factor`, pixels within limits.

    `fit` leaves the rounding to the model: it only shrinks to the pixel limit.
    """

    def fit(width: int, height: int) -> Size:
        scale = min(1.0, sqrt(most / (width * height)))
        return max(1, floor(width * scale)), max(1, floor(height * scale))

    def tokens(width: int, height: int) -> int:
        w, h = qwen_size(width, height, factor, least, most)
        return (w // factor) * (h // factor)

    return ImageRule(fit, tokens, source=QWEN)


def qwen_exact(factor: int, least: int, most: int) -> ImageRule:
    """Return the same where the limits are known to be the processor's own: `fit` gives the size it
    uses.

    So a picture is resized once, and a point in the picture sent is a point in the one seen.
    """

    def fit(width: int, height: int) -> Size:
        return qwen_size(width, height, factor, least, most)

    def tokens(width: int, height: int) -> int:
        w, h = fit(width, height)
        return (w // factor) * (h // factor)

    return ImageRule(fit, tokens, source=QWEN)


def pixels(
    most: int | None,
    tokens: Callable[[int, int], int | None] = lambda width, height: None,
    source: str = "the pixel limit that was asked for",
) -> ImageRule:
    """At most this many pixels, aspect ratio kept, for models that resize by an unknown rule.

    `tokens` counts the tokens of a picture of a width and a height, where that is known.
    """

    def fit(width: int, height: int) -> Size:
        scale = min(1.0, sqrt(most / (width * height))) if most else 1.0
        return max(1, floor(width * scale)), max(1, floor(height * scale))

    return ImageRule(fit, tokens, source=source)
