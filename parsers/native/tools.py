"""The calls of each tool as acts in neutral words.

Undeclared fields are ignored. What cannot be read becomes a `bad` act, never an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from parsers.actions import mended
from parsers.native import ToolAct, ToolUse, Word
from parsers.screen import DIRECTIONS, Point

MOST_ACTS = 1_000
"""More acts of a reply than these are not read."""
_NUMBER = re.compile(r"[-+]?\d{1,9}(?:\.\d{0,20})?")
MODIFIERS = {
    "ctrl": "ctrl",
    "control": "ctrl",
    "alt": "alt",
    "option": "alt",
    "shift": "shift",
    "cmd": "cmd",
    "command": "cmd",
    "meta": "cmd",
    "super": "cmd",
    "win": "cmd",
}
Fields = Mapping[str, Any]
Reader = Callable[[Fields], ToolAct]
"""Reads the arguments of a call."""


class Unreadable(ValueError):
    """A call whose arguments cannot be read."""


def acts_of(
    calls: Sequence[ToolUse], read: Callable[[ToolUse], Iterator[ToolAct]]
) -> list[ToolAct]:
    """Return the acts of a reply in the order of output, each with the number of its call."""
    found: list[ToolAct] = []
    for number, call in enumerate(calls):
        try:
            if not isinstance(call.arguments, Mapping):
                raise Unreadable("the arguments are no object")
            for act in read(call):
                found.append(replace(act, call=number, place=len(found)))
                if len(found) == MOST_ACTS:
                    return found
        except Unreadable as error:
            found.append(ToolAct("bad", text=str(error), call=number, place=len(found)))
    return found


def qwen(call: ToolUse) -> Iterator[ToolAct]:
    """Read a call of Qwen's `computer_use` or `mobile_use`, or of another function."""
    known = QWEN.get(call.name)
    if known is None:
        yield from functions(call)
        return
    action = call.arguments.get("action")
    if not isinstance(action, str):
        raise Unreadable("action: expected a text")
    if action not in known:
        yield failed(f"Error: there is no action '{mended(action)[:80]}'.")
        return
    yield known[action](call.arguments)


def functions(call: ToolUse) -> Iterator[ToolAct]:
    """Read a call of a function of our own (`harness.native.functions`)."""
    known = OWN.get(call.name)
    wrong = f"Error: there is no function '{mended(call.name)[:80]}'."
    yield known(call.arguments) if known else failed(wrong)


def failed(text: str) -> ToolAct:
    """Return a call that does nothing but to be answered with an error."""
    return ToolAct("unknown", text=text)


def chord(keys: Sequence[str]) -> str:
    """Return keys that are pressed together in one spelling, modifiers first.

    >>> chord(["S", "CTRL"]), chord(["Return"])
    ('ctrl+s', 'enter')
    """
    plain = [key.strip().lower() for key in keys if key.strip()]
    held = [MODIFIERS[key] for key in plain if key in MODIFIERS]
    rest = [_KEYS.get(key, key) for key in plain if key not in MODIFIERS]
    return "+".join([*held, *rest])


_KEYS = {"return": "enter", "esc": "escape", "del": "delete"}


@dataclass(frozen=True, slots=True)
class Form:
    """A call that says one act in the fields it is declared with, for reading and for writing.

    at, to: the fields of places, `x,y`, or one that has a pair; "" for none.
    said: the field with the text of the act, which is `text` without one.
    needed: whether a call without the place cannot be read.
    lasts: the field with the seconds that it takes, and how many where there is none.
    """

    word: Word
    text: str = ""
    at: str = ""
    to: str = ""
    said: str = ""
    needed: bool = True
    lasts: tuple[str, float] = ("", 0.0)

    def __call__(self, fields: Fields) -> ToolAct:
        at, first = place(fields, self.at, needed=self.needed) if self.at else (None, _PLAIN)
        to, last = place(fields, self.to) if self.to else (None, _PLAIN)
        text = text_of(fields, self.said) if self.said else self.text
        key, seconds = self.lasts
        if key:
            seconds, _ = number(fields.get(key, seconds), key)
        return ToolAct(self.word, at, to, text, seconds=seconds, flags=first | last)


_PLAIN = frozenset[str]()


def _scroll(amount: str, ways: tuple[str, str]) -> Reader:
    """A scroll by an amount whose sign says which way."""

    def read(fields: Fields) -> ToolAct:
        pixels, _ = number(fields.get(amount), amount)
        return ToolAct("scroll", text=ways[pixels > 0])

    return read


def towards(key: str, keys: str) -> Reader:
    def read(fields: Fields) -> ToolAct:
        way = fields.get(key)
        if way not in DIRECTIONS:
            raise Unreadable(f"{key}: expected up, down, left or right")
        at, flags = place(fields, keys, needed=False)
        return ToolAct("scroll", at, text=str(way), flags=flags)

    return read


def _keys(fields: Fields) -> ToolAct:
    keys = fields.get("keys", fields.get("text"))
    listed = [keys] if isinstance(keys, str) else keys
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise Unreadable("keys: expected a list of texts")
    return ToolAct("keys", text=mended(chord(listed)))


def went(fields: Fields) -> ToolAct:
    """An address that the page goes to, or back."""
    url = text_of(fields, "url")
    return ToolAct("device", text="back") if url == "back" else ToolAct("goto", text=url)


def way_of(across: float, down: float) -> tuple[str, float]:
    """Return which way a scroll by pixels goes, along its larger axis, and how far."""
    if abs(across) > abs(down):
        return "right" if across > 0 else "left", abs(across)
    return "down" if down > 0 else "up", abs(down)


def _chosen(word: Word, key: str, known: Mapping[str, str]) -> Reader:
    def read(fields: Fields) -> ToolAct:
        said = fields.get(key)
        if not isinstance(said, str) or said.lower() not in known:
            raise Unreadable(f"{key}: expected one of {', '.join(known)}")
        return ToolAct(word, text=known[said.lower()])

    return read


def _button(fields: Fields) -> ToolAct:
    act = _chosen(
        "device",
        "button",
        {"back": "back", "home": "home", "menu": "recents", "enter": "enter"},
    )(fields)
    return ToolAct("keys", text="enter") if act.text == "enter" else act


_END = _chosen("end", "status", {"success": "success", "failure": "failure"})
CLICKS = ("left", "right", "middle", "double", "triple")
QWEN: Mapping[str, Mapping[str, Reader]] = {
    "computer_use": {
        **{f"{kind}_click": Form("press", kind, "coordinate", needed=False) for kind in CLICKS},
        "mouse_move": Form("hover", at="coordinate"),
        "left_click_drag": Form("drag", to="coordinate"),
        "scroll": _scroll("pixels", ("down", "up")),
        "hscroll": _scroll("pixels", ("left", "right")),
        "type": Form("type", said="text"),
        "key": _keys,
        "wait": Form("wait", lasts=("time", 1.0)),
        "terminate": _END,
        "answer": Form("answer", said="text"),
    },
    "mobile_use": {
        "click": Form("press", "left", "coordinate"),
        "long_press": Form("long", at="coordinate"),
        "swipe": Form("drag", at="coordinate", to="coordinate2"),
        "type": Form("type", said="text"),
        "key": _keys,
        "system_button": _button,
        "open": Form("app", said="text"),
        "wait": Form("wait", lasts=("time", 1.0)),
        "terminate": _END,
        "answer": Form("answer", said="text"),
    },
}
ACTIONS: Mapping[str, tuple[str, ...]] = {name: tuple(known) for name, known in QWEN.items()}
"""The actions of each of Qwen's functions, by the name of the function."""
OWN: Mapping[str, Reader] = {
    "click": Form("press", "left", "x,y"),
    "double_click": Form("press", "double", "x,y"),
    "right_click": Form("press", "right", "x,y"),
    "move": Form("hover", at="x,y"),
    "long_press": Form("long", at="x,y"),
    "drag": Form("drag", at="x,y", to="to_x,to_y"),
    "scroll": towards("direction", "x,y"),
    "type": Form("type", said="text"),
    "press_keys": _keys,
    "wait": Form("wait", lasts=("", 1.0)),
    "choose_option": Form("choose", at="x,y", said="option"),
    "open_app": Form("app", said="name"),
    "press_back": Form("device", "back"),
    "press_home": Form("device", "home"),
    "press_recents": Form("device", "recents"),
    "answer": Form("answer", said="text"),
    "finish": _END,
}


def place(fields: Fields, keys: str, *, needed: bool = True) -> tuple[Point | None, frozenset[str]]:
    """Return the place under `x,y` or under a key with a pair, and flags of how it is written.

    None if it is missing and not needed. Raises ValueError.
    """
    first, _, second = keys.partition(",")
    if second:
        pair = [fields.get(first), fields.get(second)]
        missing = pair == [None, None]
    else:
        told = fields.get(first)
        missing = told is None
        pair = list(told) if isinstance(told, list) else [told]
    if missing and not needed:
        return None, frozenset()
    if len(pair) != 2:
        raise Unreadable(f"{keys}: expected [x, y]")
    (x, one), (y, other) = (number(value, keys) for value in pair)
    return (x, y), one | other


def number(value: object, where: str) -> tuple[float, frozenset[str]]:
    """Return a finite number, also written as plain text, and flags of how it is written.

    Raises ValueError.
    """
    flags: set[str] = set()
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        flags.add("text_number")
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unreadable(f"{where}: expected a number")
    # A text of digits can be a whole number beyond what fits a float.
    if not abs(value) < 1e12 or not math.isfinite(value):
        raise Unreadable(f"{where}: expected a finite number")
    if value != int(value):
        flags.add("fraction")
    return float(value), frozenset(flags)


def text_of(fields: Fields, key: str) -> str:
    """Return a text. Raises ValueError."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise Unreadable(f"{key}: expected a text")
    return mended(value)
