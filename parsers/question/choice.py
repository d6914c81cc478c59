"""Read which option a reply chooses: a letter, or the text of an option; never a bare capital in
prose."""

from __future__ import annotations

import re
from collections.abc import Sequence

from parsers.question import LETTERS
from parsers.records import Status

_AROUND = " \t\r\n*_`\"'\u201c\u201d\u2018\u2019"
_ALONE = re.compile(r"[(\[{]?([A-Za-z])[)\]}]?[.):]?")
_SAID = re.compile(
    r"\b(?:answer|choice|option)\b(?:\s+is\b|\s*[:=])?[\s:=*_`\"'(\[]*([A-Z])(?![A-Za-z0-9'])",
    re.IGNORECASE,
)
_LED = re.compile(r"[(\[]?([A-Za-z])(?:[)\].:,]+|\s*[-\u2013\u2014])\s*(.+)", re.DOTALL)


def read_choice(reply: str, options: Sequence[str]) -> tuple[Status, str]:
    """Return the status of a reply and the letter that it chooses, "" unless it was answered.

    A letter beyond the options is `out_of_range`.
    """
    text = reply.strip(_AROUND)
    if not text:
        return Status.EMPTY, ""
    letter = _letter(text, options)
    if letter is None:
        same = [place for place, one in enumerate(options) if _plain(one) == _plain(text)]
        letter = LETTERS[same[0]] if len(same) == 1 else None
    if letter is None:
        return Status.PARSE_ERROR, ""
    if LETTERS.index(letter) >= len(options):
        return Status.OUT_OF_RANGE, ""
    return Status.ANSWERED, letter


def _letter(text: str, options: Sequence[str]) -> str | None:
    if alone := _ALONE.fullmatch(text):
        return alone[1].upper()
    named = [match[1] for match in _SAID.finditer(text) if match[1].isupper()]
    if named:
        return named[-1]
    if led := _LED.fullmatch(text):
        place = LETTERS.index(led[1].upper())
        if place < len(options) and _plain(led[2]) == _plain(options[place]):
            return LETTERS[place]
    return None


def _plain(text: str) -> str:
    return " ".join(text.strip(_AROUND + ".").lower().split())
