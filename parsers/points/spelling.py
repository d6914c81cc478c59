"""Write places and answers as models write them; reading gives them back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Literal, get_args

from parsers.records import Operation
from parsers.values import written_value

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
