"""Literals in a text, as Python writes them: str, int, float, bool and None.

Nothing is evaluated, and Python's own parser never sees a model's text: every version of
Python reads the same, without warnings. A literal may follow a sign or be in brackets.

Models write what Python could not read. `LENIENT` accepts raw line breaks and apostrophes inside of
quotes, typographic quotes, broken escapes, and `true` for `True`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import TypeVar

from parsers.actions import Value

DEPTH = 20
"""Most brackets inside one another, with those around all of it."""
DIGITS = 1_000
"""Longest number that is read, in characters: fewer than Python's own limit, which can be set."""

T = TypeVar("T")
_BLANK = re.compile(r"(?:[ \t\f\n]|#[^\n]*+|\\\n)*+")
_D = r"[0-9](?:_?[0-9])*+"
_TOKEN = (
    r"|(?P<number>(?:0[xX](?:_?[0-9a-fA-F])++|0[oO](?:_?[0-7])++|0[bB](?:_?[01])++"
    rf"|(?:{_D}(?:\.(?:{_D})?)?|\.{_D})(?:[eE][+-]?{_D})?)(?![\w.]))"
    r"|(?P<name>[A-Za-z_]\w*+)|(?P<mark>[(),=+\-{}\[\]:])"
)
PYTHON = re.compile(
    r"(?P<text>(?P<prefix>[rRuU]?)(?:"
    r"'''(?:[^'\\]|\\.|'(?!''))*+'''"
    r'|"""(?:[^"\\]|\\.|"(?!""))*+"""'
    r"|'(?!'')(?:[^'\\\n]|\\.)*+'"
    r'|"(?!"")(?:[^"\\\n]|\\.)*+"))' + _TOKEN,
    re.DOTALL,
)
LENIENT = re.compile(
    r"(?P<text>(?P<prefix>)(?:"
    r"'(?:[^'\\]|\\.|(?<=\w)'(?=\w))*+'"
    r'|"(?:[^"\\]|\\.)*+"'
    r"|\u2018(?:[^\u2018\u2019\\]|\\.|(?<=\w)\u2019(?=\w))*+\u2019"
    r"|\u201c(?:[^\u201c\u201d\\]|\\.)*+\u201d))" + _TOKEN,
    re.DOTALL,
)
_CONSTANTS: Mapping[str, Value] = {"True": True, "False": False, "None": None}
_PLAIN: Mapping[str, bool | None] = {"true": True, "false": False, "none": None, "null": None}
_SPELLINGS: Mapping[str, Value] = {**_PLAIN}
_ESCAPE = re.compile(
    r"\\(\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^{}]*+\}|.)", re.DOTALL
)
_ESCAPED = {
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
    "'": "'",
    '"': '"',
    "\\": "\\",
    "\n": "",
}


class NotLiteral(Exception):
    """The text does not continue as wanted."""


class Literals:
    """Reads literals and marks one after the other; each method raises `NotLiteral` if it cannot.

    text: what tokens are looked for in, with `pattern`, up to `end`.
    written: what the content of quotes is taken from, `text` unless given.
    """

    def __init__(
        self,
        text: str,
        pattern: re.Pattern[str],
        start: int,
        end: int,
        *,
        written: str | None = None,
    ) -> None:
        self.position = start
        self._text, self._pattern, self._end = text, pattern, min(end, len(text))
        self._written = text if written is None else written
        self._repairs = pattern is LENIENT
        self._ahead: re.Match[str] | None = None
        self._looked = False

    def items(self, closing: str, read: Callable[[], T]) -> list[T]:
        """Read what is between commas, up to a closing mark."""
        found: list[T] = []
        while not self.skip(closing):
            found.append(read())
            if not self.skip(","):
                self.need(closing)
                break
        return found

    def is_over(self) -> bool:
        """Return True if nothing but a comment follows."""
        return _BLANK.fullmatch(self._text, self.position) is not None

    def is_text(self) -> bool:
        """Return True if a text in quotes comes next."""
        token = self._peek()
        return token is not None and token.lastgroup == "text"

    def _peek(self) -> re.Match[str] | None:
        """Return the next token; None at the end, and before what is none."""
        if not self._looked:
            blank = _BLANK.match(self._text, self.position, self._end)
            start = blank.end() if blank else self.position
            self._ahead = self._pattern.match(self._text, start, self._end)
            self._looked = True
        return self._ahead

    def _move(self, position: int) -> None:
        self.position, self._looked = position, False

    def _next(self, kind: str) -> re.Match[str] | None:
        """Return the next token if it is of this kind."""
        token = self._peek()
        if token is None or token.lastgroup != kind:
            return None
        self._move(token.end())
        return token

    def skip(self, mark: str) -> bool:
        token = self._peek()
        if token is None or token["mark"] != mark:
            return False
        self._move(token.end())
        return True

    def need(self, mark: str) -> None:
        if not self.skip(mark):
            raise NotLiteral

    def keyword(self) -> str | None:
        before = self.position
        name = self._next("name")
        if name is None:
            return None
        if name["name"] not in _CONSTANTS and self.skip("="):
            return name["name"]
        self._move(before)
        return None

    def written(self) -> str | bool | None:
        """Read a literal, a number as the text that it is written as, or a word without quotes."""
        sign = "-" if self.skip("-") else ""
        if number := self._next("number"):
            return sign + number["number"]
        if sign:
            raise NotLiteral
        if name := self._next("name"):
            word = name["name"].lower()
            return _PLAIN[word] if word in _PLAIN else name["name"]
        return str(self._literal())

    def value(self, depth: int = 1, *, signed: bool = False) -> Value:
        token = self._peek()
        mark = token["mark"] if token else None
        if mark == "(" and depth < DEPTH:
            self.need("(")
            value = self.value(depth + 1, signed=signed)
            self.need(")")
            return value
        if mark in ("-", "+") and not signed:
            self.need(mark)
            value = self.value(depth, signed=True)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise NotLiteral
            return -value if mark == "-" else value
        return self._literal()

    def _literal(self) -> Value:
        if text := self._next("text"):
            parts = [self._content(text)]
            while text := self._next("text"):
                parts.append(self._content(text))
            return "".join(parts)
        if number := self._next("number"):
            return _number(number["number"])
        if name := self._next("name"):
            for constants in (_CONSTANTS, _SPELLINGS)[: 1 + self._repairs]:
                if name["name"] in constants:
                    return constants[name["name"]]
        raise NotLiteral

    def _content(self, token: re.Match[str]) -> str:
        start, end = token.span("text")
        prefix = token["prefix"]
        start += len(prefix)
        quotes = 3 if not self._repairs and self._text[start : start + 3] in ("'''", '"""') else 1
        content = self._written[start + quotes : end - quotes]
        if prefix in ("r", "R"):
            return content
        return _ESCAPE.sub(self._unescaped, content) if "\\" in content else content

    def _unescaped(self, match: re.Match[str]) -> str:
        code = match[1]
        if code in _ESCAPED:
            return _ESCAPED[code]
        character = _character(code)
        if character is not None:
            return character
        if code[0] in "xuUN" and not self._repairs:
            raise NotLiteral
        return match[0]


def _character(code: str) -> str | None:
    """Return the character of an escape without its backslash; None for an invalid one."""
    if code[0] in "01234567":
        return chr(int(code, 8))
    if code[0] == "N" and len(code) > 1:
        try:
            found = unicodedata.lookup(code[2:-1])
        except KeyError:
            return None
        return found if len(found) == 1 else None
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else None
    return None


def _number(token: str) -> int | float:
    if len(token) > DIGITS:
        raise NotLiteral
    try:
        if token[:2].lower() in ("0x", "0o", "0b") or not re.search(r"[.eE]", token):
            return int(token, 0)
        return float(token)
    except ValueError:
        raise NotLiteral from None


LITERAL_WINDOW = 8_192
"""Longest dictionary that is read, in characters."""


def python_object(text: str, start: int) -> tuple[dict[str, object], int] | None:
    """Return the dictionary that begins at `start`, and where it ends; numbers as written."""
    reader = Literals(text, LENIENT, start, start + LITERAL_WINDOW)

    def value(depth: int) -> object:
        if depth < DEPTH:
            if reader.skip("{"):
                return dict(reader.items("}", lambda: entry(depth + 1)))
            for opening, closing in ("[]", "()"):
                if reader.skip(opening):
                    return reader.items(closing, lambda: value(depth + 1))
        return reader.written()

    def entry(depth: int) -> tuple[str, object]:
        key = reader.written()
        reader.need(":")
        return str(key), value(depth)

    try:
        reader.need("{")
        return dict(reader.items("}", lambda: entry(1))), reader.position
    except NotLiteral:
        return None
