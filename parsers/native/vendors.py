"""The calls of tools that vendors train their models on, as acts in neutral words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from parsers.actions import mended
from parsers.native import ToolAct, ToolUse
from parsers.native.tools import (
    CLICKS,
    WENT,
    Fields,
    Form,
    Reader,
    Reading,
    Unreadable,
    chord,
    failed,
    holds_modifier,
    number,
    place,
    pressed,
    read_by,
    text_of,
    towards,
    way_of,
)
from parsers.native.toolsets import toolset


def computer(call: ToolUse) -> Iterable[ToolAct] | None:
    """Read a call of the tool `computer`, which does several things."""
    return _computer(call.arguments) if call.name == "computer" else None


def _computer(fields: Fields) -> Iterator[ToolAct]:
    # An earlier tool of this vendor has one action in place of the list.
    actions = fields.get("actions") if fields.get("action") is None else [fields["action"]]
    if not isinstance(actions, list):
        raise Unreadable("actions: expected a list")
    checks = {"safety_check"} if fields.get("pending_safety_checks") else set[str]()
    for action in actions:
        if not isinstance(action, Mapping):
            raise Unreadable("actions: expected objects")
        is_held = action.get("keys") and action.get("type") != "keypress"
        held = {"modifiers"} if is_held else set[str]()
        for act in _computer_action(action):
            yield replace(act, flags=act.flags | checks | held)


def _computer_action(fields: Fields) -> Iterable[ToolAct]:
    kind = fields.get("type")
    if kind == "keypress":
        keys = fields.get("keys")
        chord(keys, "keys")
        if not isinstance(keys, list):
            raise Unreadable("keys: expected a list")
        # A modifier stays down while the others are pressed; others follow each other.
        together = [keys] if holds_modifier(keys) else [[key] for key in keys]
        return [ToolAct("keys", text=chord(one, "keys")) for one in together]
    if isinstance(kind, str) and kind in COMPUTER:
        return [read_by(COMPUTER[kind], fields)]
    return [failed(f"Error: there is no action '{mended(str(kind))[:80]}'.")]


def _clicked(fields: Fields) -> ToolAct:
    button = fields.get("button", "left")
    if button not in _BUTTONS:
        raise Unreadable(f"button: expected one of {', '.join(_BUTTONS)}")
    at, flags = place(fields, "x,y")
    return ToolAct("press", at, text="middle" if button == "wheel" else str(button), flags=flags)


def _dragged_along(fields: Fields) -> ToolAct:
    path = fields.get("path")
    if not isinstance(path, list) or len(path) < 2:
        raise Unreadable("path: expected two places or more")
    if not all(isinstance(one, Mapping) for one in path):
        raise Unreadable("path: expected objects with x and y")
    (start, one), (end, other) = (place(point, "x,y") for point in (path[0], path[-1]))
    further = {"path"} if len(path) > 2 else set[str]()
    return ToolAct("drag", start, end, flags=one | other | further)


def _wheeled(fields: Fields) -> ToolAct:
    at, flags = place(fields, "x,y")
    across, _ = number(fields.get("scroll_x", 0), "scroll_x")
    down, _ = number(fields.get("scroll_y", 0), "scroll_y")
    if across == down == 0:
        return ToolAct("look", text="screenshot")
    way, far = way_of(across, down)
    return ToolAct("scroll", at, text=way, flags=flags, far=far)


def gemini(call: ToolUse) -> Iterable[ToolAct] | None:
    """Read a call of Gemini's `computer_use`, under its new or old names and in both published
    spellings of arguments."""
    if call.name not in GEMINI:
        return None
    act = read_by(GEMINI[call.name], call.arguments)
    checked = {"safety_check"} if call.arguments.get("safety_decision") else set[str]()
    return [replace(act, flags=act.flags | checked)]


def _far(fields: Fields) -> ToolAct:
    """A scroll by pixels, or by thousandths of the side."""
    act = towards("direction", "x,y")(fields)
    if "magnitude" in fields and "magnitude_in_pixels" not in fields:
        return replace(act, far=-abs(number(fields["magnitude"], "magnitude")[0]))
    name = "magnitude_in_pixels"
    return replace(act, far=abs(number(fields.get(name, GEMINI_PX), name)[0]))


GEMINI_PX = 300
"""Pixels that the view goes where Gemini does not say it."""


def any_tool(call: ToolUse) -> Iterable[ToolAct] | None:
    """Read a call of whichever vendor's tool has one of this name, for those who only look."""
    return next(filter(None, (read(call) for read in (toolset, computer, gemini))), None)


def _dragged(fields: Fields) -> ToolAct:
    return (_DRAG if "start_x" in fields else _DRAG_TO)(fields)


def _typed(usual: bool) -> Reader:
    """A text, at a place or without one. `usual` says whether Enter follows if nothing is said."""

    def read(fields: Fields) -> ToolAct:
        at, flags = place(fields, "x,y", needed=False)
        submit = fields.get("press_enter")
        if submit is None:
            submit = usual
            flags |= {"default_enter"} if usual else set()
        elif not isinstance(submit, bool):
            raise Unreadable("press_enter: expected true or false")
        return ToolAct("type", at, text=text_of(fields, "text"), submit=submit, flags=flags)

    return Reading("type", read)


_BUTTONS = ("left", "right", "wheel", "back", "forward")
COMPUTER: Mapping[str, Reader] = {
    "click": Reading("press", _clicked),
    "double_click": Form("press", "double", "x,y"),
    "drag": Reading("drag", _dragged_along),
    "move": Form("hover", at="x,y"),
    "scroll": Reading("scroll", _wheeled),
    "type": Form("type", said="text"),
    "screenshot": Form("look", "screenshot"),
    "wait": Form("wait", lasts=("", 2.0)),
}
_DRAG = Form("drag", at="start_x,start_y", to="end_x,end_y")
_DRAG_TO = Form("drag", at="x,y", to="destination_x,destination_y")
GEMINI: Mapping[str, Reader] = {
    **dict.fromkeys(("click", "click_at"), Form("press", "left", "x,y")),
    **{f"{kind}_click": Form("press", kind, "x,y") for kind in CLICKS if kind != "left"},
    **dict.fromkeys(("move", "hover_at"), Form("hover", at="x,y")),
    "mouse_down": Form("down", at="x,y"),
    "mouse_up": Form("up", at="x,y"),
    "long_press": Form("long", at="x,y"),
    "drag_and_drop": Reading("drag", _dragged),
    **dict.fromkeys(("scroll", "scroll_at", "scroll_document"), Reading("scroll", _far)),
    "type": _typed(False),
    "type_text_at": _typed(True),
    **dict.fromkeys(("press_key", "key_down"), pressed("key")),
    **dict.fromkeys(("hotkey", "key_combination"), pressed("keys")),
    "wait": Form("wait", lasts=("seconds", 1.0)),
    "wait_5_seconds": Form("wait", lasts=("", 5.0)),
    **dict.fromkeys(("take_screenshot", "open_web_browser", "key_up"), Form("look", "screenshot")),
    "go_back": Form("device", "back"),
    "navigate": WENT,
    "go_forward": Form("goto", "forward"),
    "search": Form("other"),
    # In browsers it is a function of our own, which has another word for the name.
    "open_app": Reading(
        "app",
        lambda fields: ToolAct(
            "app", text=text_of(fields, "app_name" if "app_name" in fields else "name")
        ),
    ),
    "list_apps": Reading(
        "look", lambda fields: failed("Error: the list of apps is not available.")
    ),
}
