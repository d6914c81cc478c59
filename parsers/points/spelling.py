"""Write places and answers as models write them; reading gives them back."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from parsers.answer_blocks import Block, group, outside
from parsers.answer_lines import POINTED, Key, KeyedLine, read_fields
from parsers.plans import Between, between
from parsers.records import Operation
from parsers.reply_text import Source, source
from parsers.values import read_operation, written_value

Convention = Literal["absolute", "unit", "per-mille", "per-999"]
"""Units of coordinates: pixels of the picture as sent, fractions of its width and height (0 to 1),
thousandths of them (0 to 1000), or the same counted from 0 to 999."""
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

ALIKE = frozenset({"per-mille", "per-999"})
"""Conventions that are too close to tell which one was meant."""

MOST: dict[Convention, float | None] = {
    "absolute": None,
    "unit": 1.0,
    "per-mille": 1000.0,
    "per-999": 999.0,
}
"""The number for the whole side of the picture; None is its length in pixels."""


def to_pixels(
    point: tuple[float, float], convention: Convention, size: tuple[int, int]
) -> tuple[float, float] | None:
    """Convert a model's coordinates to pixels of a picture of `size`; None if they lie outside it.

    >>> to_pixels((500, 1000), "per-mille", (640, 480)), to_pixels((1.2, 0), "unit", (640, 480))
    ((320.0, 480.0), None)
    """
    across, down = size
    most = MOST[convention]
    limits = (across, down) if most is None else (most, most)
    if not all(0 <= n <= limit for n, limit in zip(point, limits, strict=True)):
        return None
    return point[0] * across / limits[0], point[1] * down / limits[1]


def from_pixels(
    point: tuple[float, float], convention: Convention, size: tuple[int, int]
) -> tuple[float, float]:
    """Convert a point in pixels to a model's coordinates, rounded as models write them.

    Pixels and thousandths are whole numbers; fractions have two decimals (SeeClick), which is too
    coarse to hit every element on a tall page.

    >>> from_pixels((1432.3, 339.1), "per-999", (1920, 1080))
    (745.0, 314.0)
    """
    most = MOST[convention]
    if most is None:
        return (float(round(point[0])), float(round(point[1])))
    digits = 2 if most == 1.0 else 0
    x, y = (round(n * most / side, digits) for n, side in zip(point, size, strict=True))
    return (float(x), float(y))


Point = tuple[float, float]
PlaceSpeller = Callable[[Point | None], str]
"""From a point in a model's coordinates to its place in an answer; None is none."""
Speller = Callable[[Point | None, Operation | None, str], str]
"""From a point, an operation and a value to an answer."""

_DIGITS: dict[Operation, int] = {"CLICK": 4, "TYPE": 3, "SELECT": 2}


def number(of: float) -> str:
    """Return a number without an exponent or needless zeros."""
    return f"{of:.6f}".rstrip("0").rstrip(".")


def place(text: str, before: str = "", after: str = "") -> PlaceSpeller:
    """Return a place as `text` with its numbers for {x} and {y}, or the word None, between two
    texts.

    >>> place("[[{x}, {y}]]", "<box>", "</box>")((3, 4.5)), place("({x}, {y})")(None)
    ('<box>[[3, 4.5]]</box>', 'None')
    """

    def spell(point: Point | None) -> str:
        if point is None:
            return f"{before}None{after}"
        x, y = map(number, point)
        return before + text.replace("{x}", x).replace("{y}", y) + after

    return spell


def above_lines(write_place: PlaceSpeller) -> Speller:
    """Return an answer of a place and the lines ACTION and VALUE."""

    def spell(point: Point | None, operation: Operation | None, value: str) -> str:
        written = written_value(value) if value else "None"
        return f"{write_place(point)}\n\nACTION: {operation or 'NONE'}\n\nVALUE: {written}"

    return spell


def literal(point: Point | None, operation: Operation | None, value: str) -> str:
    """SeeClick's dictionary, which has no word for none."""
    parts = [f'"action_type": {_DIGITS[operation] if operation else 0}']
    if point is not None:
        parts.append(f'"click_point": ({point[0]:.2f},{point[1]:.2f})')
    if value:
        parts.append(f'"value": {literal_text(value)}')
    return "{" + ", ".join(parts) + "}"


def json_object(
    key: str, *, y_first: bool = False, tool: str = "", around: tuple[str, str] = ("", "")
) -> Speller:
    """Return a JSON object with the point under a key, with the action and value of a step.

    tool: the name of the tool whose call it is, with its names of actions.
    around: what stands before and after it.
    """

    def spell(point: Point | None, operation: Operation | None, value: str) -> str:
        location: list[float | int] | None = None
        if point is not None:
            location = [int(n) if n == int(n) else n for n in (point[::-1] if y_first else point)]
        action = named(operation) if tool else operation or "none"
        content: dict[str, object] = {"action": action, key: location}
        if value:
            content["text" if tool else "value"] = value
        if tool:
            content = {"name": tool, "arguments": content}
        return json.dumps(content, ensure_ascii=False).join(around)

    return spell


def named(operation: Operation | None) -> str:
    """Return the name of a tool's action."""
    if operation is None:
        return "none"
    return "left_click" if operation == "CLICK" else operation.lower()


def parameters(point: Point | None, operation: Operation | None, value: str) -> str:
    """Return a tool call whose arguments are tags."""
    numbers = "null" if point is None else f"[{number(point[0])}, {number(point[1])}]"
    given = {"action": named(operation), "coordinate": numbers}
    if value:
        given["text"] = value
    inner = "".join(f"<parameter={key}>\n{text}\n</parameter>\n" for key, text in given.items())
    return f"<tool_call>\n<function=computer_use>\n{inner}</function>\n</tool_call>"


def fields(point: Point | None, operation: Operation | None, value: str) -> str:
    """Fields between tabs."""
    numbers = "None" if point is None else f"{number(point[0])},{number(point[1])}"
    typed = f"\tvalue:{written_value(value)}" if value else ""
    return f"action:{operation or 'NONE'}\tpoint:{numbers}{typed}"


def start_box(point: Point | None, operation: Operation | None, value: str) -> str:
    """Return a call with `start_box` after `Action:`."""
    numbers = "None" if point is None else f"({number(point[0])},{number(point[1])})"
    typed = f", content={quoted(value)}" if value else ""
    return f"Action: {(operation or 'CLICK').lower()}(start_box='{numbers}'{typed})"


def pyautogui(point: Point | None, operation: Operation | None, value: str) -> str:
    """Calls of pyautogui, with a browser's function for what pyautogui cannot do."""
    x, y = ("None", "None") if point is None else map(number, point)
    if operation == "SELECT":
        return f"browser.select_option(x={x}, y={y}, value={quoted(value)})"
    typed = f"\npyautogui.write(message={quoted(value)})" if operation == "TYPE" else ""
    return f"pyautogui.click(x={x}, y={y}){typed}"


def short_call(point: Point | None, operation: Operation | None, value: str) -> str:
    """Return a call with the place as its first two arguments."""
    x, y = ("None", "None") if point is None else map(number, point)
    name = {"TYPE": "Write", "SELECT": "Select"}.get(operation or "", "Click")
    return f"{name}({x}, {y}, {quoted(value)})" if value else f"{name}({x}, {y})"


def grounded(point: Point | None, operation: Operation | None, value: str) -> str:
    """CogAgent's last line but one."""
    box = "None"
    if point is not None:
        x, y = map(number, point)
        box = f"[[{x},{y},{x},{y}]]"
    typed = f", text={quoted(value)}" if value else ""
    name = operation or "CLICK"
    return f"Grounded Operation: {name}(box={box}{typed}, element_info='the element')"


def quoted(text: str) -> str:
    """Return a string in single quotes, as in the calls of models."""
    plain = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{plain}'"


def literal_text(text: str) -> str:
    """Quote a text for `read_literals`.

    >>> literal_text('say "so"')
    '"say \\\\"so\\\\""'
    """
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + plain.replace("\n", "\\n").replace("\r", "\\r") + '"'


Numbers = tuple[float, ...]
"""Two numbers for a point, four for a box, x before y."""

Decline = Literal["minus-one", "wait", "failure", "words"]
"""Ways of saying that the element is not there, in addition to the form's word for none:
-1 for every number, the action `wait`, `terminate` with the status `failure`, a sentence."""
DECLINES: tuple[Decline, ...] = get_args(Decline)


@dataclass(frozen=True, slots=True)
class Located:
    """An answer, or a part of one: its span, location, operation and value.

    places: the distinct locations; empty if there is none.
    none: True if the answer says that no element matches.
    action, value: as written; None if missing.
    exact_value: True if the value is delimited, and its own quotes belong to it.
    finished: whether nothing of the value can be missing if the reply was cut off.
    gives_up: a way of declining, which says none only where it was agreed on; `null` for every
        number.
    call: whether it is a call of a function.
    """

    start: int
    end: int
    places: tuple[Numbers, ...] = ()
    none: bool = False
    action: str | None = None
    value: str | None = None
    exact_value: bool = False
    finished: bool = True
    gives_up: Decline | Literal["null"] | None = None
    call: bool = False

    @property
    def says_where(self) -> bool:
        """Return True if it says where the element is, or that there is none."""
        return bool(self.places) or self.none

    @property
    def fullness(self) -> int:
        """Return the completeness of the answer: 2 with location and action, 1 with a location."""
        return self.says_where + (self.says_where and self.action is not None)

    def corrected(self, later: Located) -> Located:
        """Return this answer with the parts of `later` replaced."""
        kept = self
        if later.says_where:
            kept = replace(kept, places=later.places, none=later.none)
        if later.action is not None:
            kept = replace(kept, action=later.action)
        if later.value is not None:
            kept = replace(kept, value=later.value, exact_value=later.exact_value)
        return replace(kept, end=later.end, finished=later.finished)


Locate = Callable[[Source], list[Located]]


def first_of(*readers: Locate) -> Locate:
    """Return a reader that looks in several places: the first in which some location stands
    counts."""

    def locate(reply: Source) -> list[Located]:
        found: list[Located] = []
        for reader in readers:
            answers = reader(reply)
            if any(answer.says_where for answer in answers):
                return answers
            found = found or answers
        return found

    return locate


def is_comma(text: str) -> bool:
    """Return True if locations with this between them are a list."""
    return text.strip() == ","


def is_no_correction(text: str) -> bool:
    """Return True if locations with this between them are a list, unless it takes one back."""
    return between(text) is not Between.CORRECTION


def with_lines(
    reply: Source, found: Sequence[Located], is_list: Callable[[str], bool]
) -> list[Located]:
    """Answers of locations and the ACTION and VALUE lines around them.

    Locations with neither an action nor such a line between them are one answer with several places
    if the text between them `is_list`.
    """
    is_line = outside([(one.start, one.end) for one in found])
    lines = [
        field
        for field in read_fields(reply, POINTED)
        if field.key in ("ACTION", "VALUE") and is_line(field.start)
    ]
    starts = [line.start for line in lines]
    of_element: dict[int, Located] = {}
    previous: Located | None = None
    for one in found:
        if (
            previous is not None
            and not (_acts(previous) or _acts(one))
            and bisect_left(starts, previous.end) == bisect_left(starts, one.start)
            and is_list(reply.shadow[previous.end : one.start])
        ):
            # More than two tell no more than two.
            places = tuple(dict.fromkeys((*previous.places, *one.places)))[:2]
            previous = replace(previous, end=one.end, places=places)
        else:
            previous = one
        of_element[previous.start] = previous
    fields = [field for one in of_element.values() for field in _fields(one)]
    blocks = group(sorted([*fields, *lines], key=lambda field: field.start))
    return [_with_block(block, of_element) for block in blocks]


def _acts(one: Located) -> bool:
    return one.action is not None and read_operation(one.action).readable


def _fields(one: Located) -> Iterator[KeyedLine]:
    contents: tuple[tuple[Key, str | None], ...] = (
        ("ELEMENT", ""),
        ("ACTION", one.action),
        ("VALUE", one.value),
    )
    for key, content in contents:
        if content is not None:
            yield KeyedLine(key, source(content), one.start, one.end, True)


def _with_block(block: Block, of_element: Mapping[int, Located]) -> Located:
    element, value = block.fields.get("ELEMENT"), block.fields.get("VALUE")
    one = of_element[element.start] if element else Located(block.start, block.end)
    return replace(
        one,
        start=block.start,
        end=block.end,
        action=block.action.text if block.action else None,
        value=value.content.text if value else None,
        exact_value=value is not None and element is not None and value.start == element.start,
        finished=block.finished,
    )
