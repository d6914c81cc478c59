"""The calls of tools that vendors train their models on, as acts in neutral words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from parsers.actions import mended
from parsers.native import ToolAct, ToolUse
from parsers.native.tools import (
    ACTIONS,
    CLICKS,
    MODIFIERS,
    Fields,
    Form,
    Reader,
    Unreadable,
    chord,
    failed,
    functions,
    number,
    place,
    qwen,
    text_of,
    towards,
    way_of,
    went,
)
from parsers.native.toolsets import TOOLSETS, toolset


def computer(call: ToolUse) -> Iterator[ToolAct]:
    """Read a call of the tool `computer`, which does several things, or of another function."""
    if call.name != "computer":
        yield from functions(call)
        return
    actions = call.arguments.get("actions", [call.arguments.get("action")])
    if not isinstance(actions, list):
        raise Unreadable("actions: expected a list")
    checks = {"safety_check"} if call.arguments.get("pending_safety_checks") else set[str]()
    for action in actions:
        if not isinstance(action, Mapping):
            raise Unreadable("actions: expected objects")
        is_held = action.get("keys") and action.get("type") != "keypress"
        held = {"modifiers"} if is_held else set[str]()
        for act in _computer_action(action):
            yield replace(act, flags=act.flags | checks | held)


def _computer_action(fields: Fields) -> Iterator[ToolAct]:
    kind = fields.get("type")
    if kind == "keypress":
        keys = fields.get("keys")
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise Unreadable("keys: expected a list of texts")
        # A modifier stays down while the others are pressed; others follow each other.
        together = any(key.strip().lower() in MODIFIERS for key in keys)
        for pressed in [keys] if together else [[key] for key in keys]:
            yield ToolAct("keys", text=mended(chord(pressed)))
    elif kind == "click":
        button = _BUTTONS.get(str(fields.get("button", "left")))
        at, flags = place(fields, "x,y")
        yield ToolAct("press" if button else "other", at, text=button or "", flags=flags)
    elif kind == "drag":
        path = fields.get("path")
        if not isinstance(path, list) or len(path) < 2:
            raise Unreadable("path: expected two places or more")
        if not all(isinstance(one, Mapping) for one in path):
            raise Unreadable("path: expected objects with x and y")
        (start, one), (end, other) = (place(point, "x,y") for point in (path[0], path[-1]))
        further = {"path"} if len(path) > 2 else set[str]()
        yield ToolAct("drag", start, end, flags=one | other | further)
    elif kind == "scroll":
        at, flags = place(fields, "x,y")
        across, _ = number(fields.get("scroll_x", 0), "scroll_x")
        down, _ = number(fields.get("scroll_y", 0), "scroll_y")
        if across == down == 0:
            yield ToolAct("look", text="screenshot")
        else:
            way, far = way_of(across, down)
            yield ToolAct("scroll", at, text=way, flags=flags, far=far)
    elif isinstance(kind, str) and kind in COMPUTER:
        yield COMPUTER[kind](fields)
    else:
        yield failed(f"Error: there is no action '{mended(str(kind))[:80]}'.")


def gemini(call: ToolUse) -> Iterator[ToolAct]:
    """Read a call of Gemini's `computer_use`, under its new or old names and in both published
    spellings of arguments, or of another function."""
    fields = call.arguments
    if call.name not in GEMINI:
        yield from functions(call)
        return
    act = GEMINI[call.name](fields)
    yield replace(act, flags=act.flags | {"safety_check"}) if fields.get("safety_decision") else act


def _far(fields: Fields) -> ToolAct:
    """A scroll by pixels, or by thousandths of the side."""
    act = towards("direction", "x,y")(fields)
    if "magnitude" in fields and "magnitude_in_pixels" not in fields:
        return replace(act, far=-abs(number(fields["magnitude"], "magnitude")[0]))
    name = "magnitude_in_pixels"
    return replace(act, far=abs(number(fields.get(name, GEMINI_PX), name)[0]))


GEMINI_PX = 300
"""Pixels that the view goes where Gemini does not say it."""


def any_tool(call: ToolUse) -> Iterator[ToolAct]:
    """Read a call of whichever tool has one of this name, for those who only look at it."""
    name = call.name.partition(".")[0]
    if name in ACTIONS:
        yield from qwen(call)
    elif "." in call.name and name in TOOLSETS:
        yield from toolset(call)
    else:
        yield from (computer if name == "computer" else gemini)(call)


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

    return read


def _pressed(key: str) -> Reader:
    """Keys of a list, or of a text in which a plus joins them."""

    def read(fields: Fields) -> ToolAct:
        keys = fields.get(key)
        if isinstance(keys, str):
            keys = keys.split("+") if len(keys) > 1 else [keys]
        if not isinstance(keys, list) or not all(isinstance(one, str) for one in keys):
            raise Unreadable(f"{key}: expected a text or a list of texts")
        return ToolAct("keys", text=mended(chord(keys)))

    return read


_BUTTONS = {"left": "left", "right": "right", "wheel": "middle", "back": "back"}
COMPUTER: Mapping[str, Reader] = {
    "double_click": Form("press", "double", "x,y"),
    "move": Form("hover", at="x,y"),
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
    "drag_and_drop": _dragged,
    **dict.fromkeys(("scroll", "scroll_at", "scroll_document"), _far),
    "type": _typed(False),
    "type_text_at": _typed(True),
    **dict.fromkeys(("press_key", "key_down"), _pressed("key")),
    **dict.fromkeys(("hotkey", "key_combination"), _pressed("keys")),
    "wait": Form("wait", lasts=("seconds", 1.0)),
    "wait_5_seconds": Form("wait", lasts=("", 5.0)),
    **dict.fromkeys(("take_screenshot", "open_web_browser", "key_up"), Form("look", "screenshot")),
    "go_back": Form("device", "back"),
    "navigate": went,
    **dict.fromkeys(("go_forward", "search"), Form("other")),
    # In browsers it is a function of our own, which has another word for the name.
    "open_app": lambda fields: ToolAct(
        "app", text=text_of(fields, "app_name" if "app_name" in fields else "name")
    ),
    "list_apps": lambda fields: failed("Error: the list of apps is not available."),
}
