"""The calls of each tool as acts in neutral words.

Undeclared fields are ignored. What cannot be read becomes a `bad` act, never an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from parsers.actions import mended
from parsers.native import Act, Call, Word
from parsers.screen import DIRECTIONS, Point

MOST_ACTS = 1_000
"""More acts of a reply than these are not read."""
_NUMBER = re.compile(r"[-+]?\d{1,9}(?:\.\d{0,20})?")
_MODIFIERS = {
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


class _Unreadable(ValueError):
    """A call whose arguments cannot be read."""


def acts_of(calls: Sequence[Call], read: Callable[[Call], Iterator[Act]]) -> list[Act]:
    """Return the acts of a reply in the order of output, each with the number of its call."""
    found: list[Act] = []
    for number, call in enumerate(calls):
        try:
            if not isinstance(call.arguments, Mapping):
                raise _Unreadable("the arguments are no object")
            for act in read(call):
                found.append(replace(act, call=number))
                if len(found) == MOST_ACTS:
                    return found
        except _Unreadable as error:
            found.append(Act("bad", text=str(error), call=number))
    return found


def qwen(call: Call) -> Iterator[Act]:
    """Read a call of Qwen's `computer_use` or `mobile_use`."""
    known = _QWEN.get(call.name)
    if known is None:
        yield unknown(call.name)
        return
    action = call.arguments.get("action")
    if not isinstance(action, str):
        raise _Unreadable("action: expected a text")
    if action not in known:
        yield _failed(f"Error: there is no action '{mended(action)[:80]}'.")
        return
    yield known[action](call.arguments)


def functions(call: Call) -> Iterator[Act]:
    """Read a call of a function of our own (`harness.native.functions`)."""
    known = _OWN.get(call.name)
    yield known(call.arguments) if known else unknown(call.name)


def unknown(name: str) -> Act:
    """Return the act of a call that no tool of the request has."""
    return _failed(f"Error: there is no function '{mended(name)[:80]}'.")


def computer(call: Call) -> Iterator[Act]:
    """Read a call of the tool `computer`, which does several things, or of a function beside it."""
    if call.name != "computer":
        yield from functions(call)
        return
    actions = call.arguments.get("actions", [call.arguments.get("action")])
    if not isinstance(actions, list):
        raise _Unreadable("actions: expected a list")
    checks = {"safety_check"} if call.arguments.get("pending_safety_checks") else set[str]()
    for action in actions:
        if not isinstance(action, Mapping):
            raise _Unreadable("actions: expected objects")
        is_held = action.get("keys") and action.get("type") != "keypress"
        held = {"modifiers"} if is_held else set[str]()
        for act in _computer_action(action):
            yield replace(act, flags=act.flags | checks | held)


def _computer_action(fields: Fields) -> Iterator[Act]:
    kind = fields.get("type")
    if kind == "keypress":
        keys = fields.get("keys")
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise _Unreadable("keys: expected a list of texts")
        # A modifier is held while the others are pressed; others follow each other.
        together = any(key.strip().lower() in _MODIFIERS for key in keys)
        for pressed in [keys] if together else [[key] for key in keys]:
            yield Act("keys", text=mended(chord(pressed)))
    elif kind == "click":
        button = _BUTTONS.get(str(fields.get("button", "left")))
        at, flags = place(fields, "x,y")
        yield Act("press" if button else "other", at, text=button or "", flags=flags)
    elif kind == "drag":
        path = fields.get("path")
        if not isinstance(path, list) or len(path) < 2:
            raise _Unreadable("path: expected two places or more")
        if not all(isinstance(one, Mapping) for one in path):
            raise _Unreadable("path: expected objects with x and y")
        (start, one), (end, other) = (place(point, "x,y") for point in (path[0], path[-1]))
        further = {"path"} if len(path) > 2 else set[str]()
        yield Act("drag", start, end, flags=one | other | further)
    elif kind == "scroll":
        at, flags = place(fields, "x,y")
        across, _ = number(fields.get("scroll_x", 0), "scroll_x")
        down, _ = number(fields.get("scroll_y", 0), "scroll_y")
        if across == down == 0:
            yield Act("look", text="screenshot")
        elif abs(across) > abs(down):
            yield Act("scroll", at, text="right" if across > 0 else "left", flags=flags)
        else:
            yield Act("scroll", at, text="down" if down > 0 else "up", flags=flags)
    elif isinstance(kind, str) and kind in _COMPUTER:
        yield _COMPUTER[kind](fields)
    else:
        yield _failed(f"Error: there is no action '{mended(str(kind))[:80]}'.")


def toolset(call: Call) -> Iterator[Act]:
    """Read a call of a member of the computer toolset, or of a function beside it."""
    name, _, member = call.name.partition(".")
    if name != "computer" or not member:
        yield from functions(call)
        return
    fields = call.arguments
    if member in ("key", "hold_key"):
        repeat, _ = number(fields.get("repeat", 1), "repeat")
        if not 1 <= repeat <= 100:
            raise _Unreadable("repeat: expected 1 to 100")
        act = Act("keys", text=mended(chord(text_of(fields, "text").split("+"))))
        yield from [act] * int(repeat)
        return
    if member not in _TOOLSET:
        yield _failed(f"Error: unknown computer toolset member '{mended(member)[:80]}'")
        return
    act = _TOOLSET[member](fields)
    is_held = act.word in ("press", "drag", "scroll") and fields.get("text")
    yield replace(act, flags=act.flags | {"modifiers"}) if is_held else act


def _zoom(fields: Fields) -> Act:
    region = fields.get("region")
    if isinstance(region, list) and len(region) == 4:
        with suppress(_Unreadable):
            left, top, right, bottom = (number(one, "region")[0] for one in region)
            return Act("look", (left, top), (right, bottom), text="zoom")
    return _failed("invalid input for computer member 'zoom': region: expected [x0, y0, x1, y1]")


def _failed(text: str) -> Act:
    """Return a call that does nothing but to be answered with an error."""
    return Act("unknown", text=text)


def chord(keys: Sequence[str]) -> str:
    """Return keys that are pressed together in one spelling, modifiers first.

    >>> chord(["S", "CTRL"]), chord(["Return"])
    ('ctrl+s', 'enter')
    """
    plain = [key.strip().lower() for key in keys if key.strip()]
    held = [_MODIFIERS[key] for key in plain if key in _MODIFIERS]
    rest = [_KEYS.get(key, key) for key in plain if key not in _MODIFIERS]
    return "+".join([*held, *rest])


_KEYS = {"return": "enter", "esc": "escape", "del": "delete"}


def _press(kind: str, key: str = "coordinate", needed: bool = True) -> Callable[[Fields], Act]:
    def read(fields: Fields) -> Act:
        at, flags = place(fields, key, needed=needed)
        return Act("press", at, text=kind, flags=flags)

    return read


def _at(word: Word, keys: str, text: str = "") -> Callable[[Fields], Act]:
    def read(fields: Fields) -> Act:
        at, flags = place(fields, keys)
        return Act(word, at, text=text, flags=flags)

    return read


def _drag(start: str | None, end: str) -> Callable[[Fields], Act]:
    def read(fields: Fields) -> Act:
        at, first = place(fields, start) if start else (None, frozenset[str]())
        to, last = place(fields, end)
        return Act("drag", at, to, flags=first | last)

    return read


def _text(word: Word, key: str) -> Callable[[Fields], Act]:
    return lambda fields: Act(word, text=text_of(fields, key))


def _scroll(amount: str, ways: tuple[str, str]) -> Callable[[Fields], Act]:
    """A scroll by an amount whose sign says which way."""

    def read(fields: Fields) -> Act:
        pixels, _ = number(fields.get(amount), amount)
        return Act("scroll", text=ways[pixels > 0])

    return read


def _towards(key: str, keys: str) -> Callable[[Fields], Act]:
    def read(fields: Fields) -> Act:
        way = fields.get(key)
        if way not in DIRECTIONS:
            raise _Unreadable(f"{key}: expected up, down, left or right")
        at, flags = place(fields, keys, needed=False)
        return Act("scroll", at, text=str(way), flags=flags)

    return read


def _keys(fields: Fields) -> Act:
    keys = fields.get("keys", fields.get("text"))
    listed = [keys] if isinstance(keys, str) else keys
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise _Unreadable("keys: expected a list of texts")
    return Act("keys", text=mended(chord(listed)))


def _wait(key: str, usual: float = 1) -> Callable[[Fields], Act]:
    return lambda fields: Act("wait", seconds=number(fields.get(key, usual), key)[0])


def _look(text: str) -> Callable[[Fields], Act]:
    return lambda fields: Act("look", text=text)


def _chosen(word: Word, key: str, known: Mapping[str, str]) -> Callable[[Fields], Act]:
    def read(fields: Fields) -> Act:
        said = fields.get(key)
        if not isinstance(said, str) or said.lower() not in known:
            raise _Unreadable(f"{key}: expected one of {', '.join(known)}")
        return Act(word, text=known[said.lower()])

    return read


def _button(fields: Fields) -> Act:
    act = _chosen(
        "device",
        "button",
        {"back": "back", "home": "home", "menu": "recents", "enter": "enter"},
    )(fields)
    return Act("keys", text="enter") if act.text == "enter" else act


_END = _chosen("end", "status", {"success": "success", "failure": "failure"})
_QWEN: Mapping[str, Mapping[str, Callable[[Fields], Act]]] = {
    "computer_use": {
        "left_click": _press("left", needed=False),
        "right_click": _press("right", needed=False),
        "middle_click": _press("middle", needed=False),
        "double_click": _press("double", needed=False),
        "triple_click": _press("triple", needed=False),
        "mouse_move": _at("hover", "coordinate"),
        "left_click_drag": _drag(None, "coordinate"),
        "scroll": _scroll("pixels", ("down", "up")),
        "hscroll": _scroll("pixels", ("left", "right")),
        "type": _text("type", "text"),
        "key": _keys,
        "wait": _wait("time"),
        "terminate": _END,
        "answer": _text("answer", "text"),
    },
    "mobile_use": {
        "click": _press("left"),
        "long_press": _at("long", "coordinate"),
        "swipe": _drag("coordinate", "coordinate2"),
        "type": _text("type", "text"),
        "key": _keys,
        "system_button": _button,
        "open": _text("app", "text"),
        "wait": _wait("time"),
        "terminate": _END,
        "answer": _text("answer", "text"),
    },
}
ACTIONS: Mapping[str, tuple[str, ...]] = {name: tuple(known) for name, known in _QWEN.items()}
"""What each of Qwen's functions can do, by the name of the function."""
_OWN: Mapping[str, Callable[[Fields], Act]] = {
    "click": _press("left", "x,y"),
    "double_click": _press("double", "x,y"),
    "right_click": _press("right", "x,y"),
    "move": _at("hover", "x,y"),
    "long_press": _at("long", "x,y"),
    "drag": _drag("x,y", "to_x,to_y"),
    "scroll": _towards("direction", "x,y"),
    "type": _text("type", "text"),
    "press_keys": _keys,
    "wait": lambda fields: Act("wait", seconds=1.0),
    "open_app": _text("app", "name"),
    "press_back": lambda fields: Act("device", text="back"),
    "press_home": lambda fields: Act("device", text="home"),
    "press_recents": lambda fields: Act("device", text="recents"),
    "answer": _text("answer", "text"),
    "finish": _END,
}


_BUTTONS = {"left": "left", "right": "right", "wheel": "middle", "back": "back"}
_COMPUTER: Mapping[str, Callable[[Fields], Act]] = {
    "double_click": _press("double", "x,y"),
    "move": _at("hover", "x,y"),
    "type": _text("type", "text"),
    "screenshot": _look("screenshot"),
    "wait": lambda fields: Act("wait", seconds=2.0),
}
_TOOLSET: Mapping[str, Callable[[Fields], Act]] = {
    **{
        f"{kind}_click": _press(kind, needed=False)
        for kind in ("left", "right", "middle", "double", "triple")
    },
    "left_click_drag": _drag("start_coordinate", "coordinate"),
    "mouse_move": _at("hover", "coordinate"),
    "left_mouse_down": lambda fields: Act("down"),
    "left_mouse_up": lambda fields: Act("up"),
    "scroll": _towards("scroll_direction", "coordinate"),
    "type": _text("type", "text"),
    "wait": _wait("duration"),
    "cursor_position": _look("cursor"),
    "screenshot": _look("screenshot"),
    "zoom": _zoom,
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
        raise _Unreadable(f"{keys}: expected [x, y]")
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
        raise _Unreadable(f"{where}: expected a number")
    # A text of digits can be a whole number beyond what fits a float.
    if not abs(value) < 1e12 or not math.isfinite(value):
        raise _Unreadable(f"{where}: expected a finite number")
    if value != int(value):
        flags.add("fraction")
    return float(value), frozenset(flags)


def text_of(fields: Fields, key: str) -> str:
    """Return a text. Raises ValueError."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise _Unreadable(f"{key}: expected a text")
    return mended(value)
