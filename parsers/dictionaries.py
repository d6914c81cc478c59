"""Dictionaries in a text: JSON objects, and flat dictionaries in Python notation.

Neither is evaluated. The number of attempts is limited, and each reads a bounded window of the
text, so parsing takes linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

Value = str | float | tuple[float, ...] | None

ATTEMPTS = 24
_OBJECT_ATTEMPTS = 48
_OBJECT_WINDOW = 65_536
_LITERAL_WINDOW = 8_192
# Numbers stay strings as written: a zip code typed as 10203 must not become 10203.0.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+')"
    r"|(?P<number>[-+]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?![\w.]))"
    r"|(?P<mark>[{}()\[\],:])|(?P<none>None|null)\b)",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def json_objects(text: str) -> list[tuple[int, int, dict[str, object]]]:
    """The outermost JSON objects of a text, as (start, end, content), in order.

    Only the last ones if there are very many. Numbers are strings, as written.
    """
    objects: list[tuple[int, int, dict[str, object]]] = []
    for position in opening_braces(text, _OBJECT_ATTEMPTS):
        decoded = decode_object(text, position)
        if decoded is not None and isinstance(content := decoded[0], dict):
            end = position + decoded[1]
            objects = [later for later in objects if later[0] >= end]
            objects.insert(0, (position, end, content))
    return objects


def opening_braces(text: str, attempts: int = ATTEMPTS) -> Iterator[int]:
    """The positions of opening braces, last first."""
    position = len(text)
    for _ in range(attempts):
        position = text.rfind("{", 0, position)
        if position < 0:
            return
        yield position


def decode_object(text: str, position: int) -> tuple[object, int] | None:
    """The JSON value that starts at a position, and its length; None if there is none."""
    window = text[position : position + _OBJECT_WINDOW]
    try:
        return _DECODER.raw_decode(window)
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Literal:
    """A dictionary in a text, with its span."""

    content: dict[str, Value]
    start: int
    end: int


def read_literals(text: str) -> list[Literal]:
    """The last dictionaries in a text, in order.

    Keys are strings, and values are strings, numbers, or tuples (or lists) of numbers; dictionaries
    with anything else are skipped.
    """
    literals = [
        literal for start in opening_braces(text) if (literal := _read(text, start)) is not None
    ]
    return literals[::-1]


def _read(text: str, start: int) -> Literal | None:
    tokens = _Tokens(text, start)
    content: dict[str, Value] = {}
    try:
        tokens.mark("{")
        while not tokens.skip("}"):
            key = tokens.text()
            tokens.mark(":")
            content[key] = tokens.value()
            if not tokens.skip(","):
                tokens.mark("}")
                break
    except _NotOfThisForm:
        return None
    return Literal(content, start, tokens.position)


class _NotOfThisForm(Exception):
    pass


class _Tokens:
    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._end = min(len(text), start + _LITERAL_WINDOW)
        self.position = start

    def _next(self, kind: str) -> str | None:
        match = _TOKEN.match(self._text, self.position, self._end)
        if match is None or match.lastgroup != kind:
            return None
        self.position = match.end()
        return match[kind]

    def skip(self, mark: str) -> bool:
        before = self.position
        if self._next("mark") == mark:
            return True
        self.position = before
        return False

    def mark(self, mark: str) -> None:
        if not self.skip(mark):
            raise _NotOfThisForm

    def text(self) -> str:
        quoted = self._next("text")
        if quoted is None:
            raise _NotOfThisForm
        return _ESCAPE.sub(_unescaped, quoted[1:-1])

    def value(self) -> Value:
        if (number := self._next("number")) is not None:
            return float(number)
        if self._next("none") is not None:
            return None
        for opening, closing in ("()", "[]"):
            if self.skip(opening):
                return self._numbers(closing)
        return self.text()

    def _numbers(self, closing: str) -> tuple[float, ...]:
        numbers: list[float] = []
        while not self.skip(closing):
            number = self._next("number")
            if number is None or len(numbers) == 8:
                raise _NotOfThisForm
            numbers.append(float(number))
            if not self.skip(","):
                self.mark(closing)
                break
        return tuple(numbers)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)


def literal_text(text: str) -> str:
    """Quote a text so that `read_literals` reads it back.

    >>> literal_text('say "so"')
    '"say \\\\"so\\\\""'
    """
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + plain.replace("\n", "\\n").replace("\r", "\\r") + '"'
