"""The calls of each tool as acts in neutral words.

Undeclared fields are ignored. What cannot be read becomes an act that is wrong, never an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from parsers.actions import mended
from parsers.native import ToolAct, ToolUse, Word
from parsers.screen import DIRECTIONS, Point

MOST_ACTS = 1_000
"""More acts of a reply than these are not read."""
_NUMBER = re.compile(r"[-+]?\d{1,9}(?:\.\d{0,20})?")
_NAMES = {
    "Control": "ctrl control",
    "Alt": "alt option",
    "Shift": "shift",
    "Meta": "cmd command meta super win",
    "Enter": "enter return kp_enter",
    "Escape": "escape esc",
    "Delete": "delete del",
    "PageUp": "pageup page_up prior",
    "PageDown": "pagedown page_down next",
    **{f"Arrow{way.capitalize()}": f"{way} arrow{way}" for way in DIRECTIONS},
}
"""Keys in Playwright's words, with the names that vendors have for them, in lower case."""
_KEYS = {name: key for key, names in _NAMES.items() for name in names.split()}
_MODIFIERS = ("Control", "Alt", "Shift", "Meta")
Fields = Mapping[str, Any]
Read = Callable[[ToolUse], Iterable[ToolAct] | None]
"""Reads the calls of a vendor's tool; None for one that it does not have."""


class Unreadable(ValueError):
    """A call whose arguments cannot be read."""


def acts_of(
    calls: Sequence[ToolUse], read: Read | None, functions: Collection[str]
) -> list[ToolAct]:
    """Return the acts of a reply in the order of output, each with the number of its call.

    functions: names of the functions that are offered, alone or beside a tool.
    """
    found: list[ToolAct] = []
    for number, call in enumerate(calls):
        try:
            for act in _acts(call, read, functions):
                found.append(replace(act, call=number, place=len(found)))
                if len(found) == MOST_ACTS:
                    return found
        except Unreadable as error:
            found.append(ToolAct("other", wrong=str(error), call=number, place=len(found)))
    return found


def _acts(call: ToolUse, read: Read | None, functions: Collection[str]) -> Iterable[ToolAct]:
    if not isinstance(call.arguments, Mapping):
        raise Unreadable("the arguments are no object")
    made = read(call) if read else None
    if made is not None:
        return made
    if call.name in functions and call.name in OWN:
        return [read_by(OWN[call.name], call.arguments)]
    if call.name in functions and call.name in QWEN:
        return [_qwen(QWEN[call.name], call.arguments)]
    return [failed(f"Error: there is no function '{mended(call.name)[:80]}'.")]


def _qwen(known: Mapping[str, Reader], fields: Fields) -> ToolAct:
    """Read a call of Qwen's `computer_use` or `mobile_use`."""
    action = fields.get("action")
    if not isinstance(action, str):
        raise Unreadable("action: expected a text")
    if action not in known:
        return failed(f"Error: there is no action '{mended(action)[:80]}'.")
    return read_by(known[action], fields)


def failed(text: str) -> ToolAct:
    """Return a call that does nothing but to be answered with an error."""
    return ToolAct("look", wrong=text)


def chord(told: object, where: str) -> str:
    """Return the keys of a list, or of a text with a plus between them, in lower case.

    Raises `Unreadable`.

    >>> chord(["CTRL", "S"], "keys"), chord("ctrl++", "keys")
    ('ctrl+s', 'ctrl++')
    """
    listed = told if isinstance(told, list) else [told]
    keys = [key.strip().lower() for key in listed if isinstance(key, str)]
    if not keys or not all(keys) or len(keys) < len(listed):
        raise Unreadable(f"{where}: expected names of keys")
    return mended("+".join(keys))


def keys_in(chord: str) -> list[str]:
    """Return the keys of a chord.

    >>> keys_in("ctrl+s"), keys_in("ctrl++"), keys_in("+")
    (['ctrl', 's'], ['ctrl', '+'], ['+'])
    """
    return re.findall(r"[^+]+|\+$", chord)


def key_of(chord: str) -> str:
    """Return a chord in Playwright's words, modifiers first.

    >>> key_of("control+a"), key_of("return"), key_of("f5"), key_of("+"), key_of("s+ctrl")
    ('Control+a', 'Enter', 'F5', '+', 'Control+s')
    """
    keys = [_KEYS.get(key, key if len(key) == 1 else key.capitalize()) for key in keys_in(chord)]
    return "+".join(sorted(keys, key=lambda key: key not in _MODIFIERS))


def chord_of(key: str) -> str:
    """Return a key of Playwright's in the words of tools.

    >>> chord_of("Control+a"), chord_of("ArrowDown")
    ('ctrl+a', 'down')
    """
    return "+".join(_NAMES.get(one, one.lower()).split()[0] for one in keys_in(key))


def holds_modifier(keys: Iterable[str]) -> bool:
    """Return whether one of the keys stays down while others are pressed."""
    return any(_KEYS.get(key.strip().lower()) in _MODIFIERS for key in keys)


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


@dataclass(frozen=True, slots=True)
class Reading:
    """A call with a reader of its own. `word` is what it does, whether it can be read or not."""

    word: Word
    read: Callable[[Fields], ToolAct]

    def __call__(self, fields: Fields) -> ToolAct:
        return self.read(fields)


Reader = Form | Reading
"""Reads the arguments of a call."""


def read_by(reader: Reader, fields: Fields) -> ToolAct:
    """Return the act of a call; one that is wrong if its arguments cannot be read."""
    try:
        return reader(fields)
    except Unreadable as error:
        return ToolAct(reader.word, wrong=str(error))


def _scroll(amount: str, ways: tuple[str, str]) -> Reader:
    """A scroll by an amount whose sign says which way."""

    def read(fields: Fields) -> ToolAct:
        pixels, _ = number(fields.get(amount), amount)
        return ToolAct("scroll", text=ways[pixels > 0])

    return Reading("scroll", read)


def towards(key: str, keys: str) -> Reader:
    """A scroll whose direction is under a key, at a place if one is named."""

    def read(fields: Fields) -> ToolAct:
        way = fields.get(key)
        if way not in DIRECTIONS:
            raise Unreadable(f"{key}: expected up, down, left or right")
        at, flags = place(fields, keys, needed=False)
        return ToolAct("scroll", at, text=str(way), flags=flags)

    return Reading("scroll", read)


def pressed(*names: str) -> Reader:
    """Keys that are pressed together, in the first of these fields that there is."""

    def read(fields: Fields) -> ToolAct:
        name = next((name for name in names if fields.get(name) is not None), names[0])
        return ToolAct("keys", text=chord(fields.get(name), name))

    return Reading("keys", read)


def _went(fields: Fields) -> ToolAct:
    url = text_of(fields, "url")
    return ToolAct("device", text="back") if url == "back" else ToolAct("goto", text=url)


WENT = Reading("goto", _went)
"""An address that the page goes to, or back."""


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

    return Reading(word, read)


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
        "key": pressed("keys", "text"),
        "wait": Form("wait", lasts=("time", 1.0)),
        "terminate": _END,
        "answer": Form("answer", said="text"),
    },
    "mobile_use": {
        "click": Form("press", "left", "coordinate"),
        "long_press": Form("long", at="coordinate"),
        "swipe": Form("drag", at="coordinate", to="coordinate2"),
        "type": Form("type", said="text"),
        "key": pressed("keys", "text"),
        "system_button": Reading("device", _button),
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
    "press_keys": pressed("keys"),
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
