"""Predictions as the calls that mean them, which are read back.

An action becomes acts in neutral words (`meant`), and each tool has a function that writes an act
as calls, [] for what it has no word for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from parsers.actions import Action
from parsers.native import ToolAct, ToolUse, Word
from parsers.native.live import WAYS
from parsers.native.tools import OWN, QWEN, Form, Reader, chord_of, keys_in, way_of
from parsers.native.toolsets import NOTCH_PX, TOOLSETS
from parsers.native.vendors import COMPUTER, GEMINI
from parsers.screen import Point, gesture, parts, text_of

SWIPE, NOTCHES = 0.4, 5
"""The way that a scroll goes, as a share of the side, and where a tool counts notches."""
Size = tuple[int, int]
Numbers = Callable[[Point], Point]
"""Converts pixels of the original to the model's numbers, rounded as models write them."""
Write = Callable[[ToolAct, Size], list[ToolUse]]
"""Writes an act, its places in the model's numbers, on a picture of that size."""


def spelled(
    action: Action,
    write: Write | None,
    numbers: Numbers,
    size: Size,
    offered: Collection[str],
    ref: str = "",
) -> list[ToolUse] | None:
    """Return the calls of an action, or of several done one after the other; None if nothing that
    is offered has words for one of them.

    write: writes calls of the tool. None: there is no tool.
    offered: names of the functions of our own that are offered with it.
    ref: the element that the action is done to, where the tool has references.
    """
    calls: list[ToolUse] = []
    for act in (act for one in parts(action) for act in meant(one, size, write in _SWIPING)):
        at, to = (point and numbers(point) for point in (act.at, act.to))
        found = _written(replace(act, at=at, to=to, ref=ref), write, size, offered)
        if not found:
            return None
        if calls and calls[-1].name == found[0].name == "computer":
            calls[-1].arguments["actions"] += found[0].arguments["actions"]
        else:
            calls += found
    return calls or None


def _written(
    act: ToolAct, write: Write | None, size: Size, offered: Collection[str]
) -> list[ToolUse]:
    found = write(act, size) if write else []
    return found or [one for one in functions(act, size) if one.name in offered]


_MEANT: Mapping[str, tuple[Word, str]] = {
    "click": ("press", "left"),
    "CLICK": ("press", "left"),
    "HOVER": ("hover", ""),
    "WAIT": ("wait", ""),
    "BACK": ("device", "back"),
    "double_click": ("press", "double"),
    "right_click": ("press", "right"),
    "hover": ("hover", ""),
    "long_press": ("long", ""),
    "enter": ("keys", "enter"),
    "wait": ("wait", ""),
    "complete": ("end", "success"),
    "impossible": ("end", "failure"),
    **{name: ("device", name) for name in ("back", "home", "recents")},
}
_TEXTS: Mapping[str, Word] = {
    "key": "keys",
    "hotkey": "keys",
    "open_app": "app",
    "answer": "answer",
}


def meant(action: Action, size: Size, swipes: bool) -> list[ToolAct]:
    """Return the acts of one action, [] for what no tool says. `swipes`: fingers scroll."""
    name, at, moved = action.name, action.point, gesture(action)
    text = text_of(action) or str(action.arguments.get("value", ""))
    if name in ("TYPE", "SELECT") and action.element is not None:
        return [ToolAct("set", text=text)]
    if name in ("type", "TYPE"):
        first = [] if at is None else [ToolAct("press", at, text="left")]
        enter = [ToolAct("keys", text="enter")] if action.arguments.get("submit") else []
        return [*first, ToolAct("type", text=text), *enter]
    if name == "SELECT":
        return [ToolAct("choose", at, text=text)]
    if name in ("drag", "DRAG") and moved is not None:
        return [ToolAct("drag", *moved)]
    if name in ("PRESS", "ENTER"):
        key = ToolAct("keys", text=chord_of(str(action.arguments.get("key", "Enter"))))
        return [*([] if at is None else [ToolAct("press", at, text="left")]), key]
    if name == "SCROLL_BY":
        way, far = way_of(*(float(str(action.arguments.get(f"delta_{axis}", 0))) for axis in "xy"))
        return [ToolAct("scroll", at or (size[0] / 2, size[1] / 2), text=way, far=far)]
    if name in ("scroll", "SCROLL"):
        middle, way = (size[0] / 2, size[1] / 2), str(action.arguments.get("direction", "down"))
        if swipes:
            return [ToolAct("drag", *(moved or _swipe(middle, way, size)))]
        return [ToolAct("scroll", middle, text=way)]
    if name in _TEXTS:
        return [ToolAct(_TEXTS[name], text=text)]
    word, kind = _MEANT.get(name, ("other", ""))
    nowhere = at is None and action.element is None
    if word == "other" or (nowhere and word in ("press", "hover", "long")):
        return []
    return [ToolAct(word, at, text=kind)]


def _swipe(middle: Point, way: str, size: Size) -> tuple[Point, Point]:
    half = [turn * SWIPE / 2 * side for turn, side in zip(WAYS[way], size, strict=True)]
    start, end = ((middle[0] + s * half[0], middle[1] + s * half[1]) for s in (1, -1))
    return start, end


def _amounts(act: ToolAct, size: Size) -> tuple[int, int]:
    """Pixels that the view goes to the right and down."""
    across, down = WAYS[act.text]
    return across * round(act.far or SWIPE * size[0]), down * round(act.far or SWIPE * size[1])


def _xy(at: Point | None, *names: str) -> dict[str, Any]:
    return dict(zip(names or ("x", "y"), at, strict=True)) if at is not None else {}


def _pair(at: Point | None) -> list[float] | None:
    return None if at is None else list(at)


def _call(name: str | None, /, **fields: Any) -> list[ToolUse]:
    """One call; [] without a name, or without a place that it needs."""
    return [] if name is None or None in fields.values() else [ToolUse(name, fields)]


def _formed(
    known: Mapping[str, Reader], act: ToolAct, call: Callable[..., list[ToolUse]] = _call
) -> list[ToolUse]:
    """Write an act by the first form that says it."""
    for name, form in known.items():
        if not isinstance(form, Form) or form.word != act.word:
            continue
        if form.said or form.text == act.text:
            fields: dict[str, Any] = {form.said: act.text, form.lasts[0]: 1}
            fields |= _in(form.at, act.at) | _in(form.to, act.to)
            fields.pop("", None)
            return [] if None in fields.values() else call(name, **fields)
    return []


def _in(keys: str, at: Point | None) -> dict[str, Any]:
    """A place in the fields of a form."""
    first, _, second = keys.partition(",")
    return _xy(at, first, second) if second and at else {keys: _pair(at)} if keys else {}


def functions(act: ToolAct, size: Size) -> list[ToolUse]:
    """Write an act as a call of a function of our own."""
    match act.word:
        case "scroll":
            return _call("scroll", **_xy(act.at), direction=act.text)
        case "keys":
            return _call("press_keys", keys=keys_in(act.text))
        case "end":
            return _call("finish", status=act.text)
    return _formed(OWN, act)


def qwen_computer(act: ToolAct, size: Size) -> list[ToolUse]:
    """Write an act as calls of Qwen's `computer_use`."""
    call = partial(_call, "computer_use")
    match act.word:
        case "drag":
            start = call(action="mouse_move", coordinate=_pair(act.at))
            return start + call(action="left_click_drag", coordinate=_pair(act.to))
        case "scroll":
            across, down = _amounts(act, size)
            action, pixels = ("hscroll", across) if across else ("scroll", -down)
            return call(action=action, pixels=pixels)
        case "keys":
            return call(action="key", keys=keys_in(act.text))
    return _qwen("computer_use", act)


def qwen_mobile(act: ToolAct, size: Size) -> list[ToolUse]:
    """Write an act as calls of Qwen's `mobile_use`."""
    call = partial(_call, "mobile_use")
    buttons = {"back": "Back", "home": "Home", "recents": "Menu", "enter": "Enter"}
    match act.word:
        case "device" | "keys" if act.text in buttons:
            return call(action="system_button", button=buttons[act.text])
        case "keys" if len(keys_in(act.text)) == 1:
            return call(action="key", text=act.text)
    return _qwen("mobile_use", act)


def _qwen(name: str, act: ToolAct) -> list[ToolUse]:
    if act.word == "end":
        return _call(name, action="terminate", status=act.text)
    return _formed(QWEN[name], act, lambda action, **rest: _call(name, action=action, **rest))


def computer(act: ToolAct, size: Size) -> list[ToolUse]:
    """Write an act as a call of the tool `computer`."""

    def call(kind: str, **fields: Any) -> list[ToolUse]:
        return [ToolUse("computer", {"actions": [{"type": kind, **fields}]})]

    match act.word:
        case "press" if act.at and act.text == "double":
            return call("double_click", **_xy(act.at), keys=None)
        case "press" if act.at:
            return call("click", button=act.text, **_xy(act.at))
        case "drag":
            return call("drag", path=[_xy(act.at), _xy(act.to)])
        case "scroll":
            return call("scroll", **_xy(act.at), **_xy(_amounts(act, size), "scroll_x", "scroll_y"))
        case "keys":
            return call("keypress", keys=keys_in(act.text.upper()))
    return _formed(COMPUTER, act, call)


def computer_toolset(act: ToolAct, size: Size) -> list[ToolUse]:
    """Write an act as a call of the computer toolset."""
    return _toolset("computer", act, coordinate=_pair(act.at))


def browser_toolset(act: ToolAct, size: Size) -> list[ToolUse]:
    """Write an act as a call of the browser toolset, which has references and places."""
    target: Any = act.at and {"type": "coordinate", **_xy(act.at)}
    if act.ref:
        target = {"type": "ref", "ref": act.ref}
    match act.word:
        case "press":
            return _call(f"browser.{act.text}_click", target=target)
        case "hover":
            return _call("browser.hover", target=target)
        case "set":
            return _call("browser.form_input", target=target, value=act.text)
        case "drag":
            end = {"type": "coordinate", **_xy(act.to)}
            return _call("browser.left_click_drag", **{"from": target, "target": end})
    return _toolset("browser", act, target=target)


def _toolset(name: str, act: ToolAct, **where: Any) -> list[ToolUse]:
    """Write what both toolsets have."""
    match act.word:
        case "scroll":
            far = round(act.far / NOTCH_PX) or NOTCHES
            return _call(f"{name}.scroll", scroll_direction=act.text, scroll_amount=far, **where)
        case "keys":
            return _call(f"{name}.key", text="Return" if act.text == "enter" else act.text)
    return _formed(TOOLSETS[name], act, lambda member, **rest: _call(f"{name}.{member}", **rest))


def gemini_browser(act: ToolAct, size: Size) -> list[ToolUse]:
    """Write an act as a call of Gemini's `computer_use` in a browser."""
    match act.word:
        case "press" | "hover":
            return _formed(GEMINI, act)
        case "scroll":
            pixels = max(map(abs, _amounts(act, size)))
            return _call("scroll", **_xy(act.at), direction=act.text, magnitude_in_pixels=pixels)
        case "keys" if len(keys_in(act.text)) > 1:
            return _call("hotkey", keys=keys_in(act.text))
    return [] if act.word in ("long", "app") else gemini_mobile(act, size)


def gemini_mobile(act: ToolAct, size: Size) -> list[ToolUse]:
    """Write an act as a call of Gemini's `computer_use` on a phone, where a swipe scrolls."""
    match act.word:
        case "app":
            return _call("open_app", app_name=act.text)
        case "drag":
            ends = _xy(act.at, "start_x", "start_y") | _xy(act.to, "end_x", "end_y")
            return _call("drag_and_drop", **ends)
        case "type":
            return _call("type", text=act.text)
        case "keys" if len(keys_in(act.text)) == 1:
            return _call("press_key", key=act.text)
        case "press" | "hover" if act.text != "left":
            return []
    return _formed(GEMINI, act)


_SWIPING: Sequence[Write | None] = (qwen_mobile, gemini_mobile)
