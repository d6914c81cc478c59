"""Parse and write answers by coordinates.

Models trained to point have their own answer formats (`FORMS`). The parser of each is strict about
what counts as a location, and lenient about fences, prose, tags and thinking around it. Coordinates
are converted to pixels by the convention that the model's adapter declares, never guessed from
their size.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from parsers.dictionaries import literal_text
from parsers.locations import (
    Locate,
    Located,
    in_lines,
    in_literals,
    in_objects,
    in_tags,
)
from parsers.operations import OperationReading, read_operation
from parsers.plans import choose_answer
from parsers.records import Operation, Status
from parsers.reply_text import Nothing, open_reply, refuses
from parsers.values import clean_value, taken_value, written_value

Convention = Literal["absolute", "unit", "per-mille"]
"""Units of coordinates: pixels of the picture as sent, or fractions (0 to 1) or thousandths of its
width and height."""
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

Form = Literal[
    "plain", "seeclick", "qwen-vl", "qwen2-vl", "qwen2.5-vl", "qwen3-vl", "computer-use", "gemini"
]
FORMS: tuple[Form, ...] = get_args(Form)

USUAL: dict[Form, Convention] = {
    "plain": "absolute",
    "seeclick": "unit",
    "qwen-vl": "per-mille",
    "qwen2-vl": "per-mille",
    "qwen2.5-vl": "absolute",
    "qwen3-vl": "per-mille",
    "computer-use": "absolute",
    "gemini": "per-mille",
}
"""The convention of the models that a form comes from (see their papers, READMEs and guides)."""

_LOCATE: dict[Form, Locate] = {
    "plain": in_lines,
    "seeclick": in_literals,
    "qwen-vl": in_tags,
    "qwen2-vl": in_tags,
    "qwen2.5-vl": in_objects(("point_2d", "coordinate"), ("bbox_2d",)),
    "qwen3-vl": in_objects(("point_2d", "coordinate"), ("bbox_2d",)),
    "computer-use": in_objects(("coordinate", "x"), ()),
    "gemini": in_objects(("point",), ("box_2d",), y_first=True),
}
_CLASSES: dict[str, Operation] = {"4": "CLICK", "3": "TYPE", "2": "SELECT"}
_DIGITS: dict[Operation, int] = {"CLICK": 4, "TYPE": 3, "SELECT": 2}


@dataclass(frozen=True, slots=True)
class PointAnswer:
    """The parsed content of one reply, in the model's own coordinates.

    status: `answered` with a point, `none` if the model said so, `no_element` for an answer without
        a location, `ambiguous` for one with several, else why nothing could be parsed.
    point: (x, y); the centre if the model gave a box.
    box: (left, top, right, bottom) if the model gave one.
    """

    status: Status
    point: tuple[float, float] | None = None
    box: tuple[float, float, float, float] | None = None
    operation: Operation | None = None
    value: str = ""
    flags: tuple[str, ...] = ()


def read_point(text: str, form: Form, *, finish: str = "stop") -> PointAnswer:
    """Parse a reply in a form. No text raises an exception, and parsing takes linear time.

    Of several answers one counts (see `plans`), flagged `multiple`; several locations in one answer
    (a list of boxes, for example) are `ambiguous`. `finish` is as in `read_answer`: of a reply that
    was cut off (`length`) only complete answers count.

    >>> read_point('{"action_type": 4, "click_point": (0.17,0.06)}', "seeclick").point
    (0.17, 0.06)

    Raises `ValueError` for an unknown `finish`.
    """
    reply = open_reply(text, finish)
    if isinstance(reply, Nothing):
        return PointAnswer(reply.status, flags=reply.flags)
    answers = _LOCATE[form](reply)

    def is_whole(answer: Located) -> bool:
        operation = _operation(answer, form)
        takes_value = operation.operation in ("TYPE", "SELECT")
        return not reply.cut or (operation.readable and (answer.finished or not takes_value))

    parts = [answer for answer in answers if not _operation(answer, form).several] or answers
    fullest = max((part.fullness for part in parts), default=0)
    answer, flags = choose_answer(
        parts, reply, lambda part: part.fullness == fullest and is_whole(part)
    )
    if answer is None:
        if reply.cut:
            return PointAnswer(Status.TRUNCATED)
        return PointAnswer(Status.REFUSAL if refuses(reply.shadow) else Status.PARSE_ERROR)
    return _answer(answer, _operation(answer, form), flags)


def _answer(answer: Located, operation: OperationReading, flags: set[str]) -> PointAnswer:
    written = answer.value or ""
    cleaned = " ".join(written.split()) if answer.exact_value else clean_value(written)
    value, missing = taken_value(operation.operation, cleaned)
    flags = {*flags, *operation.flags(named=answer.action is not None), *missing}
    rest = (operation.operation, value, tuple(sorted(flags)))
    if len(answer.places) > 1:
        return PointAnswer(Status.AMBIGUOUS, None, None, *rest)
    if answer.none:
        return PointAnswer(Status.NONE, None, None, *rest)
    if not answer.places:
        if not operation.readable:
            return PointAnswer(Status.PARSE_ERROR, None, None, *rest)
        return PointAnswer(Status.NO_ELEMENT, None, None, *rest)
    numbers = answer.places[0]
    if len(numbers) == 2:
        return PointAnswer(Status.ANSWERED, (numbers[0], numbers[1]), None, *rest)
    left, top, right, bottom = numbers
    centre = ((left + right) / 2, (top + bottom) / 2)
    return PointAnswer(Status.ANSWERED, centre, (left, top, right, bottom), *rest)


def _operation(answer: Located, form: Form) -> OperationReading:
    if answer.action is None:
        return OperationReading()
    if form == "seeclick":
        return OperationReading(_CLASSES.get(answer.action))
    return read_operation(answer.action.strip())


def to_pixels(
    point: tuple[float, float], convention: Convention, size: tuple[int, int]
) -> tuple[float, float] | None:
    """Convert a model's coordinates to pixels of a picture of `size`; None if they lie outside it.

    >>> to_pixels((500, 1000), "per-mille", (640, 480)), to_pixels((1.2, 0), "unit", (640, 480))
    ((320.0, 480.0), None)
    """
    across, down = size
    most = _MOST[convention]
    limits = (across, down) if most is None else (most, most)
    if not all(0 <= n <= limit for n, limit in zip(point, limits, strict=True)):
        return None
    return point[0] * across / limits[0], point[1] * down / limits[1]


_MOST: dict[Convention, float | None] = {"absolute": None, "unit": 1.0, "per-mille": 1000.0}


def from_pixels(
    point: tuple[float, float], convention: Convention, size: tuple[int, int]
) -> tuple[float, float]:
    """Convert a point in pixels to a model's coordinates, rounded as models write them.

    Pixels and thousandths are whole numbers; fractions have two decimals (SeeClick), which is too
    coarse to hit every element on a tall page.
    """
    most = _MOST[convention]
    if most is None:
        return (float(round(point[0])), float(round(point[1])))
    digits = 2 if most == 1.0 else 0
    x, y = (round(n * most / side, digits) for n, side in zip(point, size, strict=True))
    return (float(x), float(y))


def spell_point(
    form: Form, point: tuple[float, float] | None, operation: Operation | None, value: str
) -> str:
    """Write an answer in a form, so that `read_point` reads it back; a point of None says none.

    SeeClick has no word for none; its answer then has no location. The forms do not preserve
    everything: line breaks and runs of blanks become one blank, and a value that is itself a word
    for "no value" (None, N/A, null) is read as missing.
    """
    return _SPELL[form](point, operation, value if operation in ("TYPE", "SELECT") else "")


Spell = Callable[[tuple[float, float] | None, Operation | None, str], str]


def _number(number: float) -> str:
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _lines(location: str, operation: Operation | None, value: str) -> str:
    written = written_value(value) if value else "None"
    return f"ELEMENT: {location}\n\nACTION: {operation or 'NONE'}\n\nVALUE: {written}"


def _spell_plain(point: tuple[float, float] | None, operation: Operation | None, value: str) -> str:
    location = f"{_number(point[0])}, {_number(point[1])}" if point else "None"
    return _lines(location, operation, value)


def _spell_tags(opening: str, closing: str) -> Spell:
    def spell(point: tuple[float, float] | None, operation: Operation | None, value: str) -> str:
        if point is None:
            return _lines("None", operation, value)
        pair = f"({_number(point[0])},{_number(point[1])})"
        return _lines(f"{opening}{pair},{pair}{closing}", operation, value)

    return spell


def _spell_seeclick(
    point: tuple[float, float] | None, operation: Operation | None, value: str
) -> str:
    parts = [f'"action_type": {_DIGITS[operation] if operation else 0}']
    if point is not None:
        parts.append(f'"click_point": ({point[0]:.2f},{point[1]:.2f})')
    if value:
        parts.append(f'"value": {literal_text(value)}')
    return "{" + ", ".join(parts) + "}"


def _spell_object(key: str, *, y_first: bool = False, tool: str = "") -> Spell:
    def spell(point: tuple[float, float] | None, operation: Operation | None, value: str) -> str:
        location: list[float | int] | None = None
        if point is not None:
            location = [int(n) if n == int(n) else n for n in (point[::-1] if y_first else point)]
        content: dict[str, object] = {"action": _named(operation, tool), key: location}
        if value:
            content["text" if tool else "value"] = value
        if tool:
            content = {"name": tool, "arguments": content}
        return json.dumps(content, ensure_ascii=False)

    return spell


def _named(operation: Operation | None, tool: str) -> str:
    if operation is None:
        return "none"
    return {"CLICK": "left_click"}.get(operation, operation.lower()) if tool else operation


_SPELL: dict[Form, Spell] = {
    "plain": _spell_plain,
    "seeclick": _spell_seeclick,
    "qwen-vl": _spell_tags("<ref>the element</ref><box>", "</box>"),
    "qwen2-vl": _spell_tags("<|box_start|>", "<|box_end|>"),
    "qwen2.5-vl": _spell_object("point_2d"),
    "qwen3-vl": _spell_object("point_2d"),
    "computer-use": _spell_object("coordinate", tool="computer"),
    "gemini": _spell_object("point", y_first=True),
}
