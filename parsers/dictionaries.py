"""Objects in a text: JSON, and dictionaries in Python notation.

Neither is evaluated. The number of attempts is limited, and each reads a bounded window of the
text, so parsing takes linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

ATTEMPTS = 48
_OBJECT_WINDOW = 65_536


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; different texts under one name are a list, for neither is the last word."""
    made = dict(pairs)
    if len(made) < len(pairs):
        for name, value in made.items():
            texts = [one for key, one in pairs if key == name and isinstance(one, str)]
            made[name] = texts if len(set(texts)) > 1 else value
    return made


# Numbers stay strings as written: a zip code typed as 10203 must not become 10203.0.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object_of, parse_int=str, parse_float=str, parse_constant=str
)
_PACKED = frozenset(("arguments", "args", "parameters", "params", "function", "action"))
"""Keys whose object may be written as a text, as OpenAI's format has it."""
_PART = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]|```|</', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class FoundDictionary(Generic[T]):
    """The reading of a dictionary in a text, with the dictionary's span."""

    content: T
    start: int
    end: int


def read_objects(
    text: str,
    read: Callable[[dict[str, object]], T | None],
    skip: Callable[[int, int], bool] = lambda position, covered: False,
    *,
    cut: bool = False,
) -> list[FoundDictionary[T]]:
    """Return the JSON objects, and dictionaries in Python notation, that `read` understands, in
    order; numbers are strings, as written.

    Objects inside one that is understood are part of it. `skip(position, covered)` says of an
    opening brace whether it is part of something else; `covered` is where the last object ended.
    Closing brackets may be missing at the end of an object, unless the text is `cut`.
    """

    def attempt(position: int, covered: int) -> tuple[T, int] | None:
        if skip(position, covered):
            return None
        found = _object(text, position, cut=cut)
        content = read(found[0]) if found else None
        return None if content is None or found is None else (content, found[1])

    return attempts(text, attempt)


def object_in(text: str) -> dict[str, object] | None:
    """Return the object that a text is, None if it is anything else.

    >>> object_in("{'n': 1.50, 'by': {'name': 'Ohio'}}"), object_in("[1]")
    ({'n': '1.50', 'by': {'name': 'Ohio'}}, None)
    """
    text = text.strip()
    found = _object(text, 0, cut=True) if text.startswith("{") else None
    return found[0] if found and found[1] == len(text) else None


def _object(text: str, start: int, *, cut: bool) -> tuple[dict[str, object], int] | None:
    found = _decoded(text[start : start + _OBJECT_WINDOW])
    if found is None:
        from parsers.literals import python_object

        if (written := python_object(text, start)) is not None:
            return unpacked(written[0]), written[1]
        closed, length = _closed(text[start : start + _OBJECT_WINDOW]) if not cut else ("", 0)
        found = _decoded(closed) if closed else None
        return None if found is None else (unpacked(found[0]), start + length)
    return unpacked(found[0]), start + found[1]


def _decoded(text: str) -> tuple[dict[str, object], int] | None:
    try:
        return _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None


def unpacked(content: dict[str, object]) -> dict[str, object]:
    """Return a call whose arguments are a JSON text with the object that the text is."""
    for key in _PACKED & content.keys():
        value = content[key]
        if isinstance(value, str) and value.lstrip()[:1] == "{":
            inner = _decoded(value.strip())
            value = inner[0] if inner is not None and inner[1] == len(value.strip()) else value
        if isinstance(value, dict):
            content = {**content, key: unpacked(value)}
    return content


def flat(content: Mapping[str, object]) -> dict[str, object]:
    """Return a call as one object, the keys of its arguments before its own."""
    found = dict(content)
    for key in _PACKED & content.keys():
        if isinstance(value := content[key], dict):
            found |= flat(value)
    return found


def _closed(text: str) -> tuple[str, int]:
    """Return an object with the brackets that are missing at its end or before another bracket, and
    its length in the text; "" if none is missing."""
    pieces: list[str] = []
    opened: list[str] = []
    done, end, missing = 0, len(text.rstrip()), False
    for part in _PART.finditer(text):
        mark = part[0]
        if mark in ("```", "</"):
            end = len(text[: part.start()].rstrip())
            break
        if mark in _CLOSING:
            if len(opened) >= _DEEPEST:
                return "", 0
            opened.append(_CLOSING[mark])
        elif mark in _CLOSING.values():
            if opened[-1] != mark and mark in opened:
                pieces.append(text[done : part.start()])
                done, missing = part.start(), True
                while opened[-1] != mark:
                    pieces.append(opened.pop())
            if opened[-1] != mark:
                return "", 0
            opened.pop()
            if not opened:
                end = part.end()
                break
    pieces.append(text[done:end].rstrip().rstrip(","))
    closed = "".join([*pieces, *reversed(opened)])
    return (closed, end) if missing or opened else ("", 0)


def attempts(
    text: str, attempt: Callable[[int, int], tuple[T, int] | None]
) -> list[FoundDictionary[T]]:
    """Return the readings at the first opening braces of a text and at the last ones, in order."""
    found: list[FoundDictionary[T]] = []
    position, tries = text.find("{"), 0
    while position >= 0:
        after = position + 1
        if (got := attempt(position, found[-1].end if found else 0)) is not None:
            content, after = got
            found.append(FoundDictionary(content, position, after))
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
