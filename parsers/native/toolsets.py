"""The calls of Anthropic's toolsets for computers and browsers, as acts in neutral words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from parsers.actions import mended
from parsers.native import ToolAct, ToolUse, Word
from parsers.native.tools import (
    CLICKS,
    Fields,
    Form,
    Reader,
    Unreadable,
    chord,
    failed,
    functions,
    number,
    place,
    text_of,
    towards,
    went,
)

LONGEST_REF = 40
"""Longest reference that is kept, in characters."""


def toolset(call: ToolUse) -> Iterator[ToolAct]:
    """Read a call of a member of a toolset, or of another function."""
    name, _, member = call.name.partition(".")
    if name not in TOOLSETS or not member:
        yield from functions(call)
        return
    fields = call.arguments
    if member in ("key", "hold_key"):
        repeat, _ = number(fields.get("repeat", 1), "repeat")
        if not 1 <= repeat <= 100:
            raise Unreadable("repeat: expected 1 to 100")
        text = text_of(fields, "text")
        chords = (chord(keys.split("+") if len(keys) > 1 else keys) for keys in text.split())
        acts = [ToolAct("keys", text=mended(keys)) for keys in chords] or [ToolAct("keys")]
        yield from acts * int(repeat)
    elif member in _OFF:
        yield failed(
            f"The '{member}' action is not permitted by this application's permissions and cannot "
            "be used in this session."
        )
    elif member not in TOOLSETS[name]:
        yield failed(f"Error: unknown {name} toolset member '{mended(member)[:80]}'")
    else:
        act = TOOLSETS[name][member](fields)
        held = fields.get("text" if name == "computer" else "modifiers")
        is_held = act.word in ("press", "drag", "scroll") and held
        yield replace(act, flags=act.flags | {"modifiers"}) if is_held else act


_OFF = ("file_upload", "read_console", "read_network", "javascript_exec")
"""Members of the browser toolset that are never offered."""


def _zoom(name: str) -> Reader:
    def read(fields: Fields) -> ToolAct:
        region = fields.get("region")
        if isinstance(region, list) and len(region) == 4:
            with suppress(Unreadable):
                left, top, right, bottom = (number(one, "region")[0] for one in region)
                return ToolAct("look", (left, top), (right, bottom), text="zoom")
        wrong = "region: expected [x0, y0, x1, y1]"
        return failed(f"invalid input for {name} member 'zoom': {wrong}")

    return read


def _target(fields: Fields, key: str = "target", *, needed: bool = True) -> ToolAct:
    """An act at a target of the browser toolset: a place, or an element by its reference."""
    target = fields.get(key)
    if target is None and not needed:
        return ToolAct("other")
    if isinstance(target, Mapping):
        if target.get("type") == "ref":
            return ToolAct("other", ref=text_of(target, "ref")[:LONGEST_REF])
        if target.get("type") == "coordinate":
            at, flags = place(target, "x,y")
            return ToolAct("other", at, flags=flags)
    raise Unreadable(f"{key}: expected a coordinate or a ref")


def _aimed(word: Word, text: str = "") -> Reader:
    return lambda fields: replace(_target(fields), word=word, text=text)


def _dragged_from(fields: Fields) -> ToolAct:
    start, end = _target(fields, "from"), _target(fields)
    return ToolAct("drag", start.at, end.at, flags=start.flags | end.flags)


def _notches(key: str) -> Reader:
    """A scroll at a place or a target, by notches."""

    def read(fields: Fields) -> ToolAct:
        act = towards("scroll_direction", key)(fields)
        if key == "x,y":
            act = replace(act, at=_target(fields, needed=False).at)
        return replace(
            act, far=NOTCH_PX * number(fields.get("scroll_amount", 3), "scroll_amount")[0]
        )

    return read


NOTCH_PX = 100
"""Pixels that the view goes by a notch."""


def _filled(fields: Fields) -> ToolAct:
    """A value that an element gets; true and false switch it by a press."""
    target, value = _target(fields), fields.get("value")
    if isinstance(value, bool):
        return replace(target, word="press", text="left")
    is_number = isinstance(value, (int, float))
    text = f"{number(value, 'value')[0]:g}" if is_number else text_of(fields, "value")
    return replace(target, word="set", text=text)


def _asked(text: str, *keys: str) -> Reader:
    """A look at the page with some arguments. What cannot be read is answered as an error."""

    def read(fields: Fields) -> ToolAct:
        told = {key: fields[key] for key in keys if fields.get(key) is not None}
        for key, value in told.items():
            kind, words = _QUESTIONS[key]
            wrong = not isinstance(value, kind) or isinstance(value, bool)
            if wrong or (key == "filter" and value not in ("all", "interactive")):
                return failed(f"invalid input for browser member '{text}': {key}: {words}")
        if text == "find" and not told:
            return failed("invalid input for browser member 'find': query: Field required")
        return ToolAct("look", text=text, asked=told)

    return read


_QUESTIONS: Mapping[str, tuple[type, str]] = {
    "filter": (str, "Input should be 'all' or 'interactive'"),
    "depth": (int, "Input should be a valid integer"),
    "ref": (str, "Input should be a valid string"),
    "query": (str, "Input should be a valid string"),
}


_COMPUTER_MEMBERS: Mapping[str, Reader] = {
    **{f"{kind}_click": Form("press", kind, "coordinate", needed=False) for kind in CLICKS},
    "left_click_drag": Form("drag", at="start_coordinate", to="coordinate"),
    "mouse_move": Form("hover", at="coordinate"),
    "left_mouse_down": Form("down"),
    "left_mouse_up": Form("up"),
    "scroll": _notches("coordinate"),
    "type": Form("type", said="text"),
    "wait": Form("wait", lasts=("duration", 1.0)),
    "cursor_position": Form("look", "cursor"),
    "screenshot": Form("look", "screenshot"),
    "zoom": _zoom("computer"),
}
_BROWSER_MEMBERS: Mapping[str, Reader] = {
    **{f"{kind}_click": _aimed("press", kind) for kind in CLICKS},
    **dict.fromkeys(("hover", "mouse_move"), _aimed("hover")),
    "left_mouse_down": _aimed("down"),
    "left_mouse_up": _aimed("up"),
    "left_click_drag": _dragged_from,
    "scroll": _notches("x,y"),
    "type": Form("type", said="text"),
    "wait": Form("wait", lasts=("duration", 1.0)),
    "form_input": _filled,
    "navigate": went,
    **dict.fromkeys(("new_tab", "switch_tab", "close_tab"), Form("other")),
    "read_page": _asked("read_page", "filter", "depth", "ref"),
    "find": _asked("find", "query"),
    "get_page_text": Form("look", "get_page_text"),
    "scroll_to": lambda fields: ToolAct("look", text="scroll_to", ref=_target(fields).ref),
    **{name: Form("look", name) for name in ("screenshot", "list_tabs")},
    "zoom": _zoom("browser"),
}
TOOLSETS = {"computer": _COMPUTER_MEMBERS, "browser": _BROWSER_MEMBERS}
