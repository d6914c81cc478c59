"""Locations in JSON objects, in tool calls written as XML, and in SeeClick's dictionaries."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from parsers.calls import read_entries
from parsers.dictionaries import FoundDictionary, attempts
from parsers.elements import says_none
from parsers.literals import LENIENT, LITERAL_WINDOW, Literals, NotLiteral
from parsers.points.lines import NUMBER, places_in
from parsers.points.located import Decline, Locate, Located, Numbers, is_comma, with_lines
from parsers.reply_text import Source

_ONE = re.compile(NUMBER)
_ACTIONS = ("action", "operation", "type", "name", "action_type")
_VALUES = ("value", "text", "content", "option")
_NOWHERE = (None, ((), False))
# Names of tool actions, and the words for them that `read_operation` knows.
_TOOLS = {"mouse_move": "HOVER", "move": "HOVER", "fill": "TYPE", "input_text": "TYPE"}


def in_objects(points: Sequence[str], boxes: Sequence[str], *, y_first: bool = False) -> Locate:
    """Return a reader of JSON objects with a location under one of these keys or `x` and `y`.

    Objects may be bare, fenced, in lists, in tool-call tags, or nested in others (`arguments`,
    `action`). Locations in one list without actions are several places in one answer.
    """
    read = _reader(points, boxes, y_first)

    def locate(reply: Source) -> list[Located]:
        found = read_entries(reply, read)
        located = [replace(one.content, start=one.start, end=one.end) for one in found]
        return with_lines(reply, located, is_comma) if located else []

    return locate


def _reader(
    points: Sequence[str], boxes: Sequence[str], y_first: bool
) -> Callable[[dict[str, object]], Located | None]:
    def read(content: dict[str, object]) -> Located | None:
        flat = _flat(content)
        placed = _placed(flat, points, boxes, y_first)
        inner = [_flat(part) for part in content.values() if isinstance(part, dict)]
        steps = [part for part in inner if _placed(part, points, boxes, y_first) not in _NOWHERE]
        if placed is None or len(steps) > 1:
            return None
        numbers, none = placed
        action = _text(flat, _ACTIONS)
        gives_up = declining(action, flat.get("status"))
        if not numbers and any(_is_null(flat.get(key)) for key in (*points, *boxes)):
            gives_up = "null"
        if action is not None:
            action = _TOOLS.get(action.strip().lower(), action)
        places = (numbers,) if numbers else ()
        value, call = _text(flat, _VALUES), isinstance(content.get("name"), str)
        return Located(0, 0, places, none, action, value, gives_up=gives_up, call=call)

    return read


def _is_null(content: object) -> bool:
    return isinstance(content, list) and bool(content) and all(one is None for one in content)


def declining(action: str | None, status: object) -> Decline | Literal["null"] | None:
    """Return the way of declining that an action is, if it is one; `status` is an argument of
    it."""
    name = (action or "").strip().lower()
    if name == "wait":
        return "wait"
    failed = isinstance(status, str) and status.strip().lower() in ("failure", "fail", "failed")
    return "failure" if name == "terminate" and failed else None


def _flat(content: dict[str, object], depth: int = 3) -> dict[str, object]:
    """Flatten an object; keys of nested objects override those of outer ones."""
    flat: dict[str, object] = {}
    inner: list[dict[str, object]] = []
    for key, value in content.items():
        if isinstance(value, dict) and depth:
            inner.append(_flat(value, depth - 1))
        else:
            flat[str(key).strip().lower()] = value
    for part in inner:
        flat.update(part)
    return flat


def _placed(
    flat: dict[str, object], points: Sequence[str], boxes: Sequence[str], y_first: bool
) -> tuple[Numbers, bool] | None:
    """Return the numbers of an object, and whether it says none; None if it is not an answer."""
    if "x" in points and "x" in flat and "y" in flat:
        pair = [flat["x"], flat["y"]]
        return _numbers(pair, (2,)), pair == [None, None]
    for keys, counts in ((points, (2,)), (boxes, (4,))):
        for key in keys:
            if key == "x" or key not in flat:
                continue
            numbers = _numbers(flat[key], counts)
            if y_first:
                numbers = tuple(
                    n for i in range(0, len(numbers), 2) for n in numbers[i : i + 2][::-1]
                )
            value = flat[key]
            return numbers, value is None or (isinstance(value, str) and says_none(value))
    return None if _text(flat, _ACTIONS[:2]) is None else ((), False)


def _numbers(content: object, counts: Sequence[int]) -> Numbers:
    if isinstance(content, str):
        places, _ = places_in(content)
        return places[0] if len(places) == 1 and len(places[0]) in counts else ()
    if not isinstance(content, list) or len(content) not in counts:
        return ()
    numbers = []
    for item in content:
        # The decoder keeps numbers as strings; quoted numbers must be written the same way.
        if not isinstance(item, str) or not _ONE.fullmatch(item.strip()):
            return ()
        numbers.append(float(item))
    return tuple(numbers) if all(map(math.isfinite, numbers)) else ()


def _text(flat: dict[str, object], keys: Sequence[str]) -> str | None:
    for key in keys:
        value = flat.get(key)
        if isinstance(value, str):
            return value
    return None


def in_literals(reply: Source) -> list[Located]:
    """Read SeeClick's dictionaries: `{"action_type": 4, "click_point": (0.17,0.06)}`."""
    answers = []
    for literal in read_literals(reply.text):
        content = literal.content
        if "action_type" not in content and "click_point" not in content:
            continue
        kind, point = content.get("action_type"), content.get("click_point")
        value = content.get("value")
        if isinstance(value, float):
            value = f"{value:g}"
        answers.append(
            Located(
                literal.start,
                literal.end,
                (point,) if isinstance(point, tuple) and len(point) == 2 else (),
                action=f"{kind:g}" if isinstance(kind, float) else kind or None,  # type: ignore[arg-type]
                value=value if isinstance(value, str) else None,
                exact_value=True,
            )
        )
    return answers


Value = str | float | tuple[float, ...] | None


_MOST_NUMBERS = 8


def read_literals(text: str) -> list[FoundDictionary[dict[str, Value]]]:
    """Return the flat dictionaries in a text, in order.

    Keys are strings, and values are strings, numbers, or tuples (or lists) of numbers; dictionaries
    with anything else are skipped.
    """
    return attempts(text, lambda position, _: _read(text, position))


def _read(text: str, start: int) -> tuple[dict[str, Value], int] | None:
    reader = Literals(text, LENIENT, start, start + LITERAL_WINDOW)

    def entry() -> tuple[str, Value]:
        key = reader.value()
        reader.need(":")
        if not isinstance(key, str):
            raise NotLiteral
        return key, value()

    def value() -> Value:
        for opening, closing in ("()", "[]"):
            if reader.skip(opening):
                numbers = reader.items(closing, lambda: _finite(reader.value()))
                if len(numbers) > _MOST_NUMBERS:
                    raise NotLiteral
                return tuple(numbers)
        plain = reader.value()
        return plain if plain is None or isinstance(plain, str) else _finite(plain)

    try:
        reader.need("{")
        return dict(reader.items("}", entry)), reader.position
    except NotLiteral:
        return None


def _finite(value: object) -> float:
    try:
        if isinstance(value, int | float) and math.isfinite(value) and not isinstance(value, bool):
            return float(value)
    except OverflowError:
        pass
    raise NotLiteral
