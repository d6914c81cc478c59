"""Objects in a text: JSON, and dictionaries in Python notation.

Neither is evaluated. The number of attempts is limited, and each reads a bounded window of the
text, so parsing takes linear time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

ATTEMPTS = 48
_OBJECT_WINDOW = 65_536
# Numbers stay strings as written: a zip code typed as 10203 must not become 10203.0.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """The reading of a dictionary in a text, with the dictionary's span."""

    content: T
    start: int
    end: int


def read_objects(
    text: str,
    read: Callable[[dict[str, object]], T | None],
    skip: Callable[[int, int], bool] = lambda position, covered: False,
) -> list[Found[T]]:
    """Return the JSON objects, and dictionaries in Python notation, that `read` understands, in
    order; numbers are strings, as written.

    Objects inside one that is understood are part of it. `skip(position, covered)` says of an
    opening brace whether it is part of something else; `covered` is where the last object ended.
    """

    def attempt(position: int, covered: int) -> tuple[T, int] | None:
        if skip(position, covered):
            return None
        found = _object(text, position)
        content = read(found[0]) if found else None
        return None if content is None or found is None else (content, found[1])

    return attempts(text, attempt)


def object_in(text: str) -> dict[str, object] | None:
    """Return the object that a text is, None if it is anything else.

    >>> object_in("{'n': 1.50, 'by': {'name': 'Ohio'}}"), object_in("[1]")
    ({'n': '1.50', 'by': {'name': 'Ohio'}}, None)
    """
    text = text.strip()
    found = _object(text, 0) if text.startswith("{") else None
    return found[0] if found and found[1] == len(text) else None


def _object(text: str, start: int) -> tuple[dict[str, object], int] | None:
    try:
        decoded, length = _DECODER.raw_decode(text[start : start + _OBJECT_WINDOW])
    except (ValueError, RecursionError):
        from parsers.literals import python_object

        return python_object(text, start)
    return decoded, start + length


def attempts(text: str, attempt: Callable[[int, int], tuple[T, int] | None]) -> list[Found[T]]:
    """Return the readings at the first opening braces of a text and at the last ones, in order."""
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
