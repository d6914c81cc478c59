"""The pictures of `vlm-eval verify`, drawn apart from the product: a second opinion on its pixels.

All of it is integer arithmetic, as the product's specification says.
"""

from __future__ import annotations

import hashlib
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.servers.eyes import COLOURS, MARK, cells

Canvas = NDArray[np.int64]
HEIGHTS = (36, 28, 22, 18, 14, 11, 9, 7)
MARKS = {
    (1600, 900): ((15, 78), (83, 27), (38, 88), (70, 12)),
    (700, 1100): ((78, 14), (21, 66), (62, 90), (30, 22)),
}


def digits(name: str, n: int, seed: int) -> str:
    found, block = "", 0
    while len(found) < n:
        raw = hashlib.sha256(f"verify-{seed}/{name}/{block}".encode()).digest()
        found += "".join(str(byte % 10) for byte in raw if byte < 250)
        block += 1
    return found[:n]


def _overlaps(cell_count: int, length: int) -> Canvas:
    """How much of each cell lies in each pixel, on an axis of cell_count * length units."""
    return np.array(
        [
            [
                max(
                    0, min((p + 1) * cell_count, (c + 1) * length) - max(p * cell_count, c * length)
                )
                for c in range(cell_count)
            ]
            for p in range(length)
        ]
    )


def glyph(digit: str, height: int) -> Canvas:
    """Levels of ink, 0 to 255, height x width."""
    width = (10 * height + 7) // 14
    covered = _overlaps(7, height) @ cells(digit).astype(int) @ _overlaps(5, width).T
    return np.asarray((510 * covered + 35) // 70)


def blank(width: int, height: int, colour: tuple[int, int, int] = (236, 236, 236)) -> Canvas:
    return np.full((height, width, 3), colour, dtype=np.int64)


def write(canvas: Canvas, text: str, x: int, y: int, height: int, ink: int = 20) -> None:
    for digit in text:
        level = glyph(digit, height)[..., None]
        width = level.shape[1]
        old = canvas[y : y + height, x : x + width]
        canvas[y : y + height, x : x + width] = ((255 - level) * old + level * ink + 127) // 255
        x += width + max(1, (4 * height + 7) // 14)


def wide(text: str, height: int) -> int:
    gap = max(1, (4 * height + 7) // 14)
    return len(text) * ((10 * height + 7) // 14 + gap) - gap


def centred(canvas: Canvas, text: str, x: int, y: int, height: int, ink: int = 20) -> None:
    write(canvas, text, x - wide(text, height) // 2, y - height // 2, height, ink)


def image(canvas: Canvas) -> Image.Image:
    return Image.fromarray(canvas.astype(np.uint8), "RGB")


def code(width: int, height: int, text: str) -> Image.Image:
    canvas = blank(width, height)
    size = min(width // 4, height) // 2
    write(canvas, text, (width - wide(text, size)) // 2, (height - size) // 2, size)
    return image(canvas)


def ladder(width: int, height: int, name: str, seed: int) -> Image.Image:
    canvas = blank(width, height)
    for i, size in enumerate(HEIGHTS):
        write(canvas, digits(f"{name}/{size}", 6, seed), 24, 16 + i * ((height - 24) // 8), size)
    return image(canvas)


def four_of(name: str, seed: int) -> list[str]:
    return list(dict.fromkeys(d for d in digits(name, 60, seed) if d in "13478"))[:4]


def colours_of(name: str, seed: int) -> tuple[str, ...]:
    return list(permutations(COLOURS))[int(digits(f"{name}/c", 2, seed)) % 24]


def corners(name: str, seed: int, width: int = 960, height: int = 640) -> Image.Image:
    canvas, size = blank(width, height), height // 6
    for i, (colour, digit) in enumerate(
        zip(colours_of(name, seed), four_of(name, seed), strict=True)
    ):
        x, y = i % 2 * width // 2, i // 2 * height // 2
        canvas[y : y + height // 2, x : x + width // 2] = COLOURS[colour]
        left = x + (width // 2 - wide(digit, size)) // 2
        write(canvas, digit, left, y + (height // 2 - size) // 2, size)
    return image(canvas)


def grid(name: str, seed: int, width: int = 1920, height: int = 1080) -> Image.Image:
    canvas = blank(width, height)
    for r in range(3):
        for c in range(4):
            text = digits(f"{name}/{r}{c}", 3, seed)
            x, y = (2 * c + 1) * width // 8, (2 * r + 1) * height // 6
            write(canvas, text, x - wide(text, 48) // 2, y - 24, 48)
    return image(canvas)


def marks(width: int, height: int) -> Image.Image:
    canvas, side = blank(width, height), max(36, min(width, height) // 18)
    first = 1 if width > height else 5
    for i, (across, down) in enumerate(MARKS[width, height]):
        x, y = width * across // 100, height * down // 100
        left, top = x - side // 2, y - side // 2
        canvas[top : top + side, left : left + side] = MARK
        size = side * 2 // 3
        text = str(first + i)
        write(canvas, text, x - wide(text, size) // 2, y - size // 2, size, 255)
    return image(canvas)
