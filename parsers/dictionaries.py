"""Dictionaries in a text: JSON objects, and flat dictionaries in Python notation.

Neither is evaluated. The number of attempts is limited, and each reads a bounded window of the
text, so parsing takes linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = str | float | tuple[float, ...] | None
T = TypeVar("T")

ATTEMPTS = 48
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


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """What was read from a dictionary in a text, with the dictionary's span."""

    content: T
    start: int
    end: int


def read_objects(
    text: str,
    read: Callable[[dict[str, object]], T | None],
    skip: Callable[[int, int], bool] = lambda position, covered: False,
) -> list[Found[T]]:
    """The JSON objects that `read` understands, in order; numbers are strings, as written.

    Objects inside one that is understood are part of it. `skip(position, covered)` says of an
    opening brace whether it is part of something else; `covered` is where the last object ended.
    """

    def attempt(position: int, covered: int) -> tuple[T, int] | None:
        if skip(position, covered):
            return None
        try:
            decoded, length = _DECODER.raw_decode(text[position : position + _OBJECT_WINDOW])
        except (ValueError, RecursionError):
            return None
        content = read(decoded)
        return None if content is None else (content, position + length)

    return _attempts(text, attempt)


def read_literals(text: str) -> list[Found[dict[str, Value]]]:
    """The flat dictionaries in a text, in order.

    Keys are strings, and values are strings, numbers, or tuples (or lists) of numbers; dictionaries
    with anything else are skipped.
    """
    return _attempts(text, lambda position, _: _read(text, position))


def _attempts(text: str, attempt: Callable[[int, int], tuple[T, int] | None]) -> list[Found[T]]:
    """What can be read at the first opening braces of a text and at the last ones, in order."""
    found: list[Found[T]] = []
    position, tries = text.find("{"), 0
    while position >= 0:
        after = position + 1
        if (got := attempt(position, found[-1].end if found else 0)) is not None:
            content, after = got
            found.append(Found(content, position, after))
        tries += 1
        if tries == ATTEMPTS:
            after = max(after, _last_braces(text))
        position = text.find("{", after)
    return found


def _last_braces(text: str) -> int:
    """Where the last opening braces begin that are tried."""
    position = len(text)
    for _ in range(ATTEMPTS):
        position = max(text.rfind("{", 0, position), 0)
    return position


def _read(text: str, start: int) -> tuple[dict[str, Value], int] | None:
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
    return content, tokens.position


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
