"""Function tools for any server with a tool parser: what is offered, by family and device.

Qwen's models were trained on `computer_use` and `mobile_use`; others get functions of our own, one
for each action.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from adapters.conversation import Tool
from harness.native.looks import Offer
from parsers.native import tools as reading
from parsers.native.spelling import qwen_computer, qwen_mobile
from parsers.points import Convention
from parsers.points.spelling import MOST
from parsers.screen import BEYOND, Device

QWEN = "qwen"
_PAIR = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}
_END = {"type": "string", "enum": ["success", "failure"]}


def offered(
    family: str,
    device: Device,
    has: Sequence[str],
    convention: Convention,
    size: tuple[int, int],
) -> Offer:
    """Return the functions for a family of models.

    has: the names of the actions that the set knows beyond those of its device; `ALONE` offers a
        click and nothing else.
    size: width and height of the picture sent.
    """
    if family == QWEN:
        name, write = ("computer_use", qwen_computer)
        if device == "phone":
            name, write = "mobile_use", qwen_mobile
        further = beside(device, has, BEYOND)
        return Offer(
            tools=(_qwen(name, convention, size), *further),
            write=write,
            convention=convention,
            extras=frozenset(one.name for one in further),
        )
    numbers = f"Places are {_numbers(convention, size)}."
    listed = [
        _function(name, f"{text} {numbers}" if "x" in fields else text, fields)
        for name, (action, text, fields) in _OWN.items()
        if action in (has if has == ALONE else {*_ALWAYS[device], *has})
    ]
    return Offer(tools=tuple(listed), convention=convention)


ALONE = ("click",)
_ALWAYS: Mapping[Device, tuple[str, ...]] = {
    "phone": ("click", "scroll", "type", "key", "wait"),
    "computer": ("click", "double_click", "right_click", "hover", "drag", "scroll", "type", "key"),
    "browser": ("click", "double_click", "right_click", "hover", "drag", "scroll", "type", "key"),
}
_XY = {"x": _NUMBER, "y": _NUMBER}
_OWN: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "click": ("click", "Click or tap a place.", _XY),
    "double_click": ("double_click", "Click a place twice.", _XY),
    "right_click": ("right_click", "Press the right button on a place.", _XY),
    "move": ("hover", "Move the pointer to a place.", _XY),
    "drag": (
        "drag",
        "Drag from one place to another.",
        {**_XY, "to_x": _NUMBER, "to_y": _NUMBER},
    ),
    "scroll": (
        "scroll",
        "Scroll at a place. The direction says where the view goes: down shows what lies below.",
        {**_XY, "direction": {"type": "string", "enum": ["up", "down", "left", "right"]}},
    ),
    "type": ("type", "Type a text.", {"text": _TEXT}),
    "press_keys": (
        "key",
        "Press a key, or several together.",
        {"keys": {"type": "array", "items": _TEXT}},
    ),
    "wait": ("wait", "Wait a second.", {}),
    "long_press": ("long_press", "Press a place for a while.", _XY),
    "choose_option": (
        "choose",
        "Choose an option of a drop-down list, whose options no picture shows.",
        {**_XY, "option": _TEXT},
    ),
    "open_app": ("open_app", "Open an app by its name.", {"name": _TEXT}),
    "press_back": ("back", "Go back.", {}),
    "press_home": ("home", "Go to the home screen.", {}),
    "press_recents": ("recents", "Show the recent apps.", {}),
    "answer": ("answer", "Answer the question of the task.", {"text": _TEXT}),
    "finish": ("complete", "Say that the task is done, or cannot be done.", {"status": _END}),
}


def beside(device: Device, has: Sequence[str], words: Collection[str]) -> tuple[Tool, ...]:
    """Return functions for actions of a set that a vendor's tool has no word for.

    words: the actions beyond clicks and keys that the tool has.
    """
    wanted = set(has).difference(words) if device == "phone" else {"choose"}.intersection(has)
    wanted -= {"answer", "complete", "impossible", *words}
    wanted |= {"answer", "complete"}.difference(words) if "complete" in has else set()
    return tuple(
        _function(name, text, fields)
        for name, (action, text, fields) in _OWN.items()
        if action in wanted
    )


def _function(name: str, description: str, fields: Mapping[str, Any]) -> Tool:
    return Tool(
        name,
        description,
        {
            "type": "object",
            "properties": dict(fields),
            "required": list(fields),
            "additionalProperties": False,
        },
    )


def _numbers(convention: Convention, size: tuple[int, int]) -> str:
    if convention == "absolute":
        return f"pixels of the picture, which is {size[0]} wide and {size[1]} tall"
    if convention == "unit":
        return "shares of the picture's width and height between 0 and 1"
    return f"whole numbers from 0 to {round(MOST[convention] or 0)} across and down the picture"


_QWEN: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "computer_use": (
        "Use a mouse and keyboard to interact with a computer. The screen is in the picture.",
        "Click the middle of an element. A scroll of positive pixels goes up.",
        {
            "keys": {"type": "array", "items": _TEXT, "description": "Keys, for action=key."},
            "text": {**_TEXT, "description": "For action=type and action=answer."},
            "coordinate": {**_PAIR, "description": "x and y, of clicks, moves and drags."},
            "pixels": {**_NUMBER, "description": "For action=scroll and action=hscroll."},
            "time": {**_NUMBER, "description": "Seconds, for action=wait."},
            "status": {**_END, "description": "For action=terminate."},
        },
    ),
    "mobile_use": (
        "Use a touchscreen to interact with a phone. The screen is in the picture.",
        "Tap the middle of an element.",
        {
            "coordinate": {**_PAIR, "description": "x and y, of presses; where a swipe begins."},
            "coordinate2": {**_PAIR, "description": "Where a swipe ends."},
            "text": {**_TEXT, "description": "For the actions key, type, answer and open."},
            "time": {**_NUMBER, "description": "Seconds, for action=wait."},
            "button": {
                "type": "string",
                "enum": ["Back", "Home", "Menu", "Enter"],
                "description": "For action=system_button.",
            },
            "status": {**_END, "description": "For action=terminate."},
        },
    ),
}
"""Qwen's functions: what they are for, how they are used, and their fields next to the action."""


def _qwen(name: str, convention: Convention, size: tuple[int, int]) -> Tool:
    most = MOST[convention]
    across, down = size if most is None else (round(most), round(most))
    use, how, fields = _QWEN[name]
    properties = {"action": {"type": "string", "enum": list(reading.ACTIONS[name])}, **fields}
    return Tool(
        name,
        f"{use} The screen's resolution is {across}x{down}. {how}",
        {"type": "object", "properties": properties, "required": ["action"]},
    )
