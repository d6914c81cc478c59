"""Numbers of locations as models write them, in brackets of any kind or bare."""

from __future__ import annotations

import re

from parsers.elements import says_none
from parsers.points.located import Numbers

NUMBER = r"[-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})"
"""A number in the forms of Mind2Web's protocols."""
_WRITTEN = re.compile(r"[-+]?(?:\d{1,9}(?:\.\d{0,20})?|\.\d{1,20})(?![\w.])")
_NOTHING_ELSE = re.compile(rf"(?:[\s,;()\[\]]|(?<![\w.]){_WRITTEN.pattern})*+")
_TAG = re.compile(r"</?\|?\w{1,20}\|?>")
_AXIS = re.compile(r"\b([xy])[12]?\s{0,2}[=:]")
_NESTED = re.compile(r"[)\]]\s*+,?\s*+[(\[]")
_LONGEST = 400


def number_list(text: str) -> list[str] | None:
    """Return the numbers of a text that is nothing but numbers, brackets, commas and blanks.

    >>> number_list("[[219, 186], (.5)]"), number_list("2 buttons")
    (['219', '186', '.5'], None)
    """
    if len(text) > _LONGEST or not _NOTHING_ELSE.fullmatch(text):
        return None
    return _WRITTEN.findall(text) or None


def places_in(text: str) -> tuple[tuple[Numbers, ...], bool]:
    """Return the locations in the text of a place, tags left out, and whether it says none.

    Two numbers are a point, four a box, and several brackets of four are several boxes. They may be
    named, x before y.

    >>> places_in("<|box_start|>(1,2)<|box_end|>"), places_in("(1,2),(3,4)"), places_in("None")
    ((((1.0, 2.0),), False), (((1.0, 2.0, 3.0, 4.0),), False), ((), True))
    """
    if len(text) > _LONGEST:
        return (), False
    plain = _TAG.sub(" ", text)
    if "".join(_AXIS.findall(plain)) in ("xy", "xyxy"):
        plain = _AXIS.sub(" ", plain)
    written = number_list(plain)
    if written is None:
        words = plain.strip(" \t\n()[]'\"`.")
        return (), bool(words) and len(words) < 20 and says_none(words)
    numbers = tuple(map(float, written))
    if len(numbers) in (2, 4):
        return (numbers,), False
    if len(numbers) % 4 == 0 and len(_NESTED.findall(plain)) == len(numbers) // 4 - 1:
        boxes = (numbers[at : at + 4] for at in range(0, len(numbers), 4))
        return tuple(dict.fromkeys(boxes))[:2], False
    return (), False
