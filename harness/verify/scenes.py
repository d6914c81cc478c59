"""The pictures that a deployment is asked about, drawn by integer arithmetic without a font.

Every pixel follows from a seed and a name, so the pictures are equal on every machine. Sizes,
places and heights are pixels.
"""

from __future__ import annotations

import hashlib
from functools import cache
from itertools import chain, count, permutations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

    Color = tuple[int, int, int]

SIZES = ((448, 448), (1000, 620), (2688, 1792), (560, 2240), (1920, 1080))
HEIGHTS = (36, 28, 22, 18, 14, 11, 9, 7)
COLORS = {
    "red": (214, 40, 40),
    "green": (40, 160, 70),
    "blue": (40, 80, 214),
    "yellow": (240, 206, 40),
}
MARKS = {
    (1600, 900): ((0.15, 0.78), (0.83, 0.27), (0.38, 0.88), (0.70, 0.12)),
    (700, 1100): ((0.78, 0.14), (0.21, 0.66), (0.62, 0.90), (0.30, 0.22)),
}
"""Shares of the middles of the marks, by the size of their picture: 1 to 4, and 5 to 8."""
_INK, _GROUND = (20, 20, 20), (236, 236, 236)
_ROWS = (
    "0E11131519110E,040C040404040E,0E11010608101F,1E01010E01011E,02060A121F0202,"
    "1F101E0101110E,0608101E11110E,1F010204080808,0E11110E11110E,0E11110F01020C"
)
_FONT = [bytes.fromhex(rows) for rows in _ROWS.split(",")]
"""A byte for each of the seven rows of a digit; its five low bits are the cells."""


def digits(name: str, n: int, seed: int = 1) -> str:
    """Return n digits that follow from a name and a seed."""
    found = ""
    for i in count():
        row = hashlib.sha256(f"verify-{seed}/{name}/{i}".encode()).digest()
        found += "".join(str(byte % 10) for byte in row if byte < 250)
        if len(found) >= n:
            return found[:n]
    raise AssertionError("never reached")


@cache
def glyph(digit: str, height: int) -> list[list[int]]:
    """Return how much ink (0 to 255) every pixel of a digit takes, row by row."""
    width = (10 * height + 7) // 14
    across, down = _overlaps(width, 5), _overlaps(height, 7)
    inked = [
        [sum(units for cell, units in xs if row >> (4 - cell) & 1) for xs in across]
        for row in _FONT[int(digit)]
    ]
    return [
        [(510 * sum(units * inked[cell][x] for cell, units in ys) + 35) // 70 for x in range(width)]
        for ys in down
    ]


def _overlaps(size: int, cells: int) -> list[list[tuple[int, int]]]:
    """Return for each pixel the cells that it shares units with, and how many."""
    return [
        [
            (c, min(cells * (p + 1), size * (c + 1)) - max(cells * p, size * c))
            for c in range(cells)
            if cells * p < size * (c + 1) and size * c < cells * (p + 1)
        ]
        for p in range(size)
    ]


def picture_digest(image: Image.Image) -> str:
    """Return 16 hex digits that name a picture by its size and its RGB bytes."""
    size = f"{image.width}x{image.height}:".encode()
    return hashlib.sha256(size + image.tobytes()).hexdigest()[:16]


def _write(image: Image.Image, text: str, x: int, y: int, height: int, ink: Color = _INK) -> None:
    """Draw digits of a height on a ground of one colour, with their upper left corner at x, y."""
    from PIL import Image as images

    step = (10 * height + 7) // 14 + _gap(height)
    for place, digit in enumerate(text):
        levels, at = glyph(digit, height), (x + place * step, y)
        inked = images.frombytes("L", (len(levels[0]), height), bytes(chain.from_iterable(levels)))
        ground = image.getpixel(at)
        assert isinstance(ground, tuple)
        bands = [
            inked.point([((255 - level) * old + level * new + 127) // 255 for level in range(256)])
            for old, new in zip(ground, ink, strict=True)
        ]
        image.paste(images.merge("RGB", bands), at)


def _gap(height: int) -> int:
    return max(1, (4 * height + 7) // 14)


def _width(text: str, height: int) -> int:
    return len(text) * ((10 * height + 7) // 14) + (len(text) - 1) * _gap(height)


def _centred(image: Image.Image, text: str, x: int, y: int, height: int, ink: Color = _INK) -> None:
    _write(image, text, x - _width(text, height) // 2, y - height // 2, height, ink)


def corner_truth(name: str = "c", seed: int = 1) -> list[tuple[str, str]]:
    """Return the colour and the digit of each quarter in reading order."""
    named = list(permutations(COLORS))[int(digits(f"{name}/c", 2, seed)) % 24]
    shown = dict.fromkeys(d for d in digits(name, 60, seed) if d in "13478")
    return list(zip(named, shown, strict=False))


def grid_codes(name: str = "g", seed: int = 1) -> list[str]:
    """Return the twelve codes of a grid, row by row."""
    return [digits(f"{name}/{r}{c}", 3, seed) for r in range(3) for c in range(4)]


def ladder_rows(name: str, seed: int = 1) -> list[str]:
    """Return the rows of digits of a ladder, the largest first."""
    return [digits(f"{name}/{high}", 6, seed) for high in HEIGHTS]


def mark_places(width: int, height: int, mirrored: bool = False) -> list[tuple[int, int]]:
    """Return the middles of the marks of a size; `mirrored` gives others, for asking again."""
    places = [(round(x * width), round(y * height)) for x, y in MARKS[width, height]]
    return [(width - x, height - y) for x, y in places] if mirrored else places


def draw(what: str, seed: int = 1) -> Image.Image:
    """Draw a picture by its kind, its size and the name that its digits follow from.

    Kinds: `code` (four large digits), `noisy` (a code under weak noise: the same size, hundreds of
    times the bytes), `ladder` (rows of ever smaller digits), `corners` (quarters of four colours,
    a digit in each), `grid` (four columns and three rows of codes), `marks` (blue squares with
    white numbers; the name `mirrored` moves them).

    >>> draw("ladder 448x448 small").size
    (448, 448)
    """
    from PIL import Image

    kind, size, name = [*what.split(" "), ""][:3]
    width, height = map(int, size.split("x"))
    image = Image.new("RGB", (width, height), _GROUND)
    match kind:
        case "code" | "noisy":
            text, high = digits(name, 4, seed), min(width // 4, height) // 2
            x, y = (width - _width(text, high)) // 2, (height - high) // 2
            _write(image, text, x, y, high)
            return _noisy(image, seed) if kind == "noisy" else image
        case "ladder":
            step = (height - 24) // 8
            for i, (high, row) in enumerate(zip(HEIGHTS, ladder_rows(name, seed), strict=True)):
                _write(image, row, 24, 16 + i * step, high)
        case "corners":
            w, h = width // 2, height // 2
            for i, (color, digit) in enumerate(corner_truth(name, seed)):
                x, y = i % 2 * w, i // 2 * h
                image.paste(COLORS[color], (x, y, x + w, y + h))
                _centred(image, digit, x + width // 4, y + height // 4, height // 6)
        case "grid":
            for i, text in enumerate(grid_codes(name, seed)):
                x, y = (2 * (i % 4) + 1) * width // 8, (2 * (i // 4) + 1) * height // 6
                _centred(image, text, x, y, 48)
        case _:
            side, first = max(36, min(width, height) // 18), 1 if width > height else 5
            places = mark_places(width, height, name == "mirrored")
            for number, (x, y) in enumerate(places, start=first):
                left, top = x - side // 2, y - side // 2
                image.paste((24, 64, 150), (left, top, left + side, top + side))
                _centred(image, str(number), x, y, side * 2 // 3, (255, 255, 255))
    return image


def _noisy(image: Image.Image, seed: int) -> Image.Image:
    """Add noise of -8 to 8 to every channel."""
    from PIL import Image as images
    from PIL import ImageChops

    drawn = b"".join(
        hashlib.shake_256(f"verify-{seed}/n/{i}".encode()).digest(65_536)
        for i in range(3 * image.width * image.height // 65_536 + 1)
    )
    noise = images.frombytes("RGB", image.size, drawn.translate(bytes(n % 17 for n in range(256))))
    return ImageChops.add(image, noise, offset=-8)
