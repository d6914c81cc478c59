"""The pictures that a deployment is asked about, drawn by integer arithmetic without a font.

Every pixel follows from a seed and a name, so the pictures are equal on every machine. Sizes,
places and heights are pixels.
"""

from __future__ import annotations

import hashlib
from itertools import count, permutations
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
QUESTIONS = {
    "code": "Write the digits in the picture, and nothing else.",
    "ladder": "Write every row of digits in the picture from top to bottom, one row a line.",
    "corners": "The picture has four quarters. Name the colour and the digit of each of the four "
    "quarters in reading order, as in: red 1; green 2; blue 3; yellow 4.",
    "grid": "Write all codes in the picture row by row.",
    "order": "Write the digits of each picture in order, separated by blanks.",
    "points": "Click on the square with number {number}.",
    "repeats": "Think of a six-digit number that nobody would guess. Write the number only.",
}
MARKS = {
    (1600, 900): ((0.15, 0.78), (0.83, 0.27), (0.38, 0.88), (0.70, 0.12)),
    (700, 1100): ((0.78, 0.14), (0.21, 0.66), (0.62, 0.90), (0.30, 0.22)),
}
"""Shares of the middles of the marks, by the size of their picture."""

_ROWS = (
    "0E1113151911 0E,040C04040404 0E,0E1101060810 1F,1E01010E0101 1E,02060A121F02 02,"
    "1F101E010111 0E,0608101E1111 0E,1F0102040808 08,0E11110E1111 0E,0E11110F0102 0C"
)
_FONT = [bytes.fromhex(rows.replace(" ", "")) for rows in _ROWS.split(",")]
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


def glyph(digit: str, height: int) -> list[list[int]]:
    """Return how much ink (0 to 255) every pixel of a digit takes, row by row."""
    rows, width = _FONT[int(digit)], (10 * height + 7) // 14

    def shares(size: int, cells: int) -> list[list[tuple[int, int]]]:
        """Return for each pixel the cells that it lies on, with the units of overlap."""
        both = [
            [
                (c, min(cells * (p + 1), size * (c + 1)) - max(cells * p, size * c))
                for c in range(cells)
            ]
            for p in range(size)
        ]
        return [[(c, overlap) for c, overlap in row if overlap > 0] for row in both]

    across, down = shares(width, 5), shares(height, 7)
    area = 7 * 5
    return [
        [
            (2 * 255 * sum(v * h for r, v in ys for c, h in xs if rows[r] >> (4 - c) & 1) + area)
            // (2 * area)
            for xs in across
        ]
        for ys in down
    ]


def picture_digest(image: Image.Image) -> str:
    """Return 16 hex digits that name a picture by its size and its RGB bytes."""
    size = f"{image.width}x{image.height}:".encode()
    return hashlib.sha256(size + image.tobytes()).hexdigest()[:16]


def text_width(text: str, height: int) -> int:
    """Return the width of digits of this height."""
    return len(text) * ((10 * height + 7) // 14) + (len(text) - 1) * max(1, (4 * height + 7) // 14)


def write(
    image: Image.Image, text: str, x: int, y: int, height: int, ink: Color = (20, 20, 20)
) -> None:
    """Draw digits of a height with their upper left corner at x, y."""
    pixels = image.load()
    assert pixels is not None
    step = (10 * height + 7) // 14 + max(1, (4 * height + 7) // 14)
    for place, digit in enumerate(text):
        for row, levels in enumerate(glyph(digit, height)):
            for column, level in enumerate(levels):
                at = (x + place * step + column, y + row)
                if level and 0 <= at[0] < image.width and 0 <= at[1] < image.height:
                    old = pixels[at]
                    assert isinstance(old, tuple)
                    pixels[at] = tuple(
                        ((255 - level) * o + level * i + 127) // 255
                        for o, i in zip(old, ink, strict=True)
                    )


def _new(width: int, height: int, ground: Color = (236, 236, 236)) -> Image.Image:
    from PIL import Image

    return Image.new("RGB", (width, height), ground)


def _centred(
    image: Image.Image, text: str, x: int, y: int, height: int, ink: Color = (20, 20, 20)
) -> None:
    write(image, text, x - text_width(text, height) // 2, y - height // 2, height, ink)


def code(width: int, height: int, name: str, seed: int = 1) -> Image.Image:
    """Four large digits in the middle."""
    image = _new(width, height)
    text, high = digits(name, 4, seed), min(width // 4, height) // 2
    write(image, text, (width - text_width(text, high)) // 2, (height - high) // 2, high)
    return image


def ladder(width: int, height: int, name: str, seed: int = 1) -> Image.Image:
    """Rows of six digits, every row smaller than the one above."""
    image = _new(width, height)
    for i, high in enumerate(HEIGHTS):
        write(image, digits(f"{name}/{high}", 6, seed), 24, 16 + i * ((height - 24) // 8), high)
    return image


def iso(name: str = "iso", seed: int = 1) -> Image.Image:
    """Rows of digits that differ from the ground in colour only, not in luma."""
    image = _new(448, 224, (200, 90, 90))
    for i, high in enumerate((28, 18, 14, 11)):
        row = digits(f"{name}/{high}", 6, seed)
        write(image, row, 24, 16 + i * ((224 - 24) // 4), high, (66, 147, 147))
    return image


def corner_truth(name: str = "c", seed: int = 1) -> list[tuple[str, str]]:
    """Return the colour and the digit of each quarter in reading order."""
    orders = list(permutations(COLORS))
    named = orders[int(digits(f"{name}/c", 2, seed)) % 24]
    shown = dict.fromkeys(d for d in digits(name, 60, seed) if d in "13478")
    return list(zip(named, shown, strict=False))


def corners(name: str = "c", seed: int = 1, width: int = 960, height: int = 640) -> Image.Image:
    """Four quarters of different colours, with a digit each."""
    image = _new(width, height)
    for i, (color, digit) in enumerate(corner_truth(name, seed)):
        x, y = i % 2 * (width // 2), i // 2 * (height // 2)
        image.paste(COLORS[color], (x, y, x + width // 2, y + height // 2))
        _centred(image, digit, x + width // 4, y + height // 4, height // 6)
    return image


def grid_codes(name: str = "g", seed: int = 1) -> list[str]:
    """Return the twelve codes of `grid`, row by row."""
    return [digits(f"{name}/{r}{c}", 3, seed) for r in range(3) for c in range(4)]


def grid(name: str = "g", seed: int = 1, width: int = 1920, height: int = 1080) -> Image.Image:
    """Four columns and three rows of codes."""
    image = _new(width, height)
    for i, text in enumerate(grid_codes(name, seed)):
        x, y = (2 * (i % 4) + 1) * width // 8, (2 * (i // 4) + 1) * height // 6
        _centred(image, text, x, y, 48)
    return image


def mark_places(width: int, height: int, mirrored: bool = False) -> list[tuple[int, int]]:
    """Return the middles of the marks of a size; `mirrored` gives others, for asking again."""
    places = [(round(x * width), round(y * height)) for x, y in MARKS[width, height]]
    return [(width - x, height - y) for x, y in places] if mirrored else places


def marks(width: int, height: int, mirrored: bool = False) -> Image.Image:
    """Blue squares with white numbers, 1 to 4 in the wide size and 5 to 8 in the tall one."""
    image, side = _new(width, height), max(36, min(width, height) // 18)
    first = 1 if (width, height) == (1600, 900) else 5
    for number, (x, y) in enumerate(mark_places(width, height, mirrored), start=first):
        left, top = x - side // 2, y - side // 2
        image.paste((24, 64, 150), (left, top, left + side, top + side))
        _centred(image, str(number), x, y, side * 2 // 3, (255, 255, 255))
    return image


def noisy(image: Image.Image, name: str, seed: int = 1) -> Image.Image:
    """Add weak noise to every channel: the same size, hundreds of times the bytes."""
    from PIL import Image as images

    plain, noise = image.tobytes(), b""
    for i in count():
        if len(noise) >= len(plain):
            break
        noise += hashlib.shake_256(f"verify-{seed}/{name}/{i}".encode()).digest(65_536)
    added = (min(255, max(0, p + n % 17 - 8)) for p, n in zip(plain, noise, strict=False))
    return images.frombytes("RGB", image.size, bytes(added))
