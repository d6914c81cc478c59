"""Eyes of a scripted model: they read digits, colours and marks from the pixels of a picture.

Lines are found by projection, digits by matching 5x7 cells, so a fault in what a server does to a
picture changes what is read, and nobody has to say how.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.float64]
Spans = list[tuple[int, int]]

FONT = {
    "0": "0E 11 13 15 19 11 0E",
    "1": "04 0C 04 04 04 04 0E",
    "2": "0E 11 01 06 08 10 1F",
    "3": "1E 01 01 0E 01 01 1E",
    "4": "02 06 0A 12 1F 02 02",
    "5": "1F 10 1E 01 01 11 0E",
    "6": "06 08 10 1E 11 11 0E",
    "7": "1F 01 02 04 08 08 08",
    "8": "0E 11 11 0E 11 11 0E",
    "9": "0E 11 11 0F 01 02 0C",
}
COLOURS = {
    "red": (214, 40, 40),
    "green": (40, 160, 70),
    "blue": (40, 80, 214),
    "yellow": (240, 206, 40),
}
MARK = (24, 64, 150)


def cells(digit: str) -> Pixels:
    """The 7x5 cells of a digit, 1 for ink."""
    rows = [int(row, 16) for row in FONT[digit].split()]
    return np.array([[row >> (4 - column) & 1 for column in range(5)] for row in rows], float)


def _template(digit: str) -> Pixels:
    """The cells that hold ink: the 1 is narrower than the others."""
    whole = cells(digit)
    return whole[:, whole.any(axis=0)]


TEMPLATES = {digit: _template(digit) for digit in FONT}


@dataclass(frozen=True)
class Row:
    """A row of digits: what is read, and where its middle and ends lie, in pixels."""

    text: str
    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True)
class Eyes:
    """Half of the digits of `weakest` pixels (h0) are read, with odds (h/h0)^(1/spread)."""

    weakest: float = 4.0
    spread: float = 0.1
    seed: int = 0

    def rows(self, picture: Image.Image) -> list[Row]:
        """Every code in the picture, row by row; a gap wider than a digit parts two codes."""
        ink = _ink(picture)
        found: list[Row] = []
        for top, bottom in _spans(ink.max(axis=1) > 0.35):
            band = ink[top:bottom]
            glyphs = _spans(band.max(axis=0) > 0.35)
            glyphs = [(a, b) for a, b in glyphs if b - a <= 3 * (bottom - top)]
            for code in _codes(glyphs, bottom - top):
                text = "".join(self._digit(band[:, a:b], b == band.shape[1]) for a, b in code)
                found.append(Row(text, code[0][0], top, code[-1][1], bottom))
        return found

    def quarters(self, picture: Image.Image) -> list[tuple[str, str]]:
        """The colour and the digit of each quarter, in reading order."""
        image = np.asarray(picture.convert("RGB"), float)
        half, answers = image.shape[0] // 2, []
        for strip in (image[:half], image[half:]):
            width = strip.shape[1]
            for x in (width // 10, width - 1 - width // 10):
                ground = np.median(
                    strip[half // 4 : -half // 4, max(x - 4, 0) : x + 4], axis=(0, 1)
                )
                like = np.abs(strip - ground).max(axis=2) < 40
                left, right = _around(like.mean(axis=0) > 0.35, x)
                # Where two quarters meet, a JPEG mixes their colours.
                edge = max(1, half // 40)
                left, right = (left, right - edge) if x < width // 2 else (left + edge, right)
                region = strip[edge:-edge, left:right]
                ink = np.clip(np.abs(region - ground).max(axis=2) / 160, 0, 1)
                answers.append((nearest(ground), self._one_digit(ink)))
        return answers

    def marks(self, picture: Image.Image) -> dict[str, tuple[float, float]]:
        """The middle of each blue square by its number, in pixels. Large as they are, numbers are
        read surely; small patches that are squeezed are not seen as squares."""
        image = np.asarray(picture.convert("RGB"), np.int16)
        blue = np.ones(image.shape[:2], bool)
        for channel, level in enumerate(MARK):
            blue &= np.abs(image[..., channel] - level) < 60
        found: dict[str, tuple[float, float]] = {}
        for top, bottom in _spans(np.atleast_1d(blue.any(axis=1))):
            for left, right in _spans(np.atleast_1d(blue[top:bottom].any(axis=0))):
                wide, high = right - left, bottom - top
                is_square = max(wide, high) <= 1.25 * min(wide, high)
                if min(wide, high) < 6 or (wide * high < 32**2 and not is_square):
                    continue
                square = image[top:bottom, left:right]
                ink = np.clip((square[..., 0] - MARK[0]) / (255 - MARK[0]), 0, 1)
                edge = max(1, min(ink.shape) // 12)
                number = _cropped(ink[edge:-edge, edge:-edge])
                if number.size:
                    middle = (left + right) / 2, (top + bottom) / 2
                    found.setdefault(_likeliest(number, 1.0), middle)
        return found

    def _one_digit(self, ink: Pixels) -> str:
        """The digit that all ink of a region makes up; "" where there is none."""
        band = _cropped(ink)
        is_cut = bool(ink[:, -1].max() > 0.35)
        return self._digit(band, is_cut) if band.size else ""

    def _digit(self, ink: Pixels, is_cut: bool) -> str:
        # Resizing pales ink; how tall a digit is, its own darkest spot decides.
        paled = ink / max(float(ink.max()), 0.1)
        high, wide = float(paled.max(axis=1).sum()), float(paled.max(axis=0).sum())
        best = _likeliest(ink, min(1.0, (wide + 0.5) / (high * 5 / 7)) if is_cut else 1.0)
        drawn = hashlib.sha256(f"{self.seed}".encode() + ink.tobytes()).digest()
        odds = (high / self.weakest) ** (1 / self.spread)
        if drawn[0] / 256 < odds / (1 + odds):
            return best
        return str(drawn[1] % 10)


def nearest(colour: Pixels) -> str:
    """The nearest name of a colour."""
    return min(COLOURS, key=lambda name: float(np.abs(colour - COLOURS[name]).sum()))


def _cropped(ink: Pixels) -> Pixels:
    """The part of a region that has ink."""
    lines, columns = np.flatnonzero(ink.max(axis=1) > 0.35), np.flatnonzero(ink.max(axis=0) > 0.35)
    if not len(lines):
        return ink[:0]
    return ink[lines[0] : lines[-1] + 1, columns[0] : columns[-1] + 1]


def _likeliest(ink: Pixels, share: float) -> str:
    """The digit that ink is most like; `share` is how much of its width can be seen."""
    patch = Image.fromarray(ink.astype(np.float32))
    shrunk: dict[int, Pixels] = {}
    likeness = dict[str, float]()
    for digit in FONT:
        template = TEMPLATES[digit]
        if share < 1.0:
            template = cells(digit)[:, : max(1, round(5 * share))]
        width = template.shape[1]
        if width not in shrunk:
            small = np.asarray(patch.resize((width, 7), Image.Resampling.BOX))
            shrunk[width] = small - small.mean()
        a, b = shrunk[width], template - template.mean()
        norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
        likeness[digit] = float((a * b).sum()) / norm if norm else -1.0
    return max(likeness, key=lambda digit: likeness[digit])


def _ink(picture: Image.Image) -> Pixels:
    """How far each pixel is from the ground, the most frequent grey, as a share of the most."""
    red, green, blue = (np.asarray(band, np.int16) for band in picture.convert("RGB").split())
    grey = red + green + blue
    far = np.abs(grey - np.bincount(np.ravel(grey)).argmax())
    most = int(far.max())
    return far / most if most > 120 else np.zeros(far.shape)


def _around(columns: NDArray[np.bool_], x: int) -> tuple[int, int]:
    """The span that holds column x; the columns between, where digits lie, count as part of it."""
    there = np.flatnonzero(columns)
    if not len(there):
        return 0, len(columns)
    return int(there[0]), int(there[-1]) + 1


def _spans(flags: NDArray[np.bool_]) -> Spans:
    """Where runs of true begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(int), [0]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _codes(glyphs: Spans, height: int) -> list[Spans]:
    """Glyphs in groups: a gap as wide as the digits are high parts them."""
    groups: list[Spans] = []
    for left, right in glyphs:
        if groups and left - groups[-1][-1][1] < height:
            groups[-1].append((left, right))
        else:
            groups.append([(left, right)])
    return groups
