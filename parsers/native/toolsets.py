"""The calls of Anthropic's toolsets for computers and browsers, as acts in neutral words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from parsers.actions import mended
from parsers.native import ToolAct, ToolUse, Word
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
    number,
    place,
    read_by,
    text_of,
    towards,
)

LONGEST_REF = 40
"""Longest reference that is kept, in characters."""
NOT_PERMITTED = (
    "The '{}' action is not permitted by this application's permissions and cannot be used in this "
    "session."
)


def toolset(call: ToolUse) -> Iterable[ToolAct] | None:
    """Read a call of a member of a toolset."""
    name, _, member = call.name.partition(".")
    if name not in TOOLSETS or not member:
        return None
    fields = call.arguments
    if member in _OFF:
        return [failed(NOT_PERMITTED.format(member))]
    if member not in TOOLSETS[name]:
        return [failed(f"Error: unknown {name} toolset member '{mended(member)[:80]}'")]
    act = read_by(TOOLSETS[name][member], fields)
    if act.wrong:
        wrong = f"invalid input for {name} member '{member}': {act.wrong}"
        return [replace(act, wrong=wrong)]
    done = _DONE.get(f"{name}.{member}") or _DONE.get(member, "")
    act = replace(act, done=done.format(act.text, act.ref, f"{act.seconds:g}"))
    if act.word == "keys":
        repeat, _ = number(fields.get("repeat", 1), "repeat")
        # Blanks part chords that follow each other.
        chords = [replace(act, text=chord(keys, "text")) for keys in act.text.split()]
        return chords * int(repeat)
    held = fields.get("text" if name == "computer" else "modifiers")
    is_held = act.word in ("press", "drag", "scroll") and held
    return [replace(act, flags=act.flags | {"modifiers"}) if is_held else act]


_OFF = ("file_upload", "read_console", "read_network", "javascript_exec")
"""Members of the browser toolset that are never offered."""


_DONE: Mapping[str, str] = {
    "mouse_move": "Moved the mouse.",
    "computer.left_mouse_down": "Left mouse button pressed.",
    "computer.left_mouse_up": "Left mouse button released.",
    "left_mouse_down": "Mouse button pressed.",
    "left_mouse_up": "Mouse button released.",
    "key": "Pressed {0}.",
    "hold_key": "Held {0} for {2}s.",
    "form_input": "Set the value of {1}.",
}
"""What the vendor's own code says when a member is carried out, where it is not what all say."""


def _zoomed(fields: Fields) -> ToolAct:
    region = _given(fields, "region")
    if not isinstance(region, list):
        raise Unreadable("region: Input should be a valid list")
    if len(region) != 4:
        raise Unreadable("region: expected [x0, y0, x1, y1]")
    left, top, right, bottom = (number(one, "region")[0] for one in region)
    return ToolAct("look", (left, top), (right, bottom), text="zoom")


def _given(fields: Fields, key: str) -> object:
    if fields.get(key) is None:
        raise Unreadable(f"{key}: Field required")
    return fields[key]


def _chords(fields: Fields) -> ToolAct:
    text = text_of(fields, "text")
    if not text.strip():
        raise Unreadable("text: expected names of keys")
    repeat, _ = number(fields.get("repeat", 1), "repeat")
    if not 1 <= repeat <= 100 or repeat != int(repeat):
        raise Unreadable("repeat: expected 1 to 100")
    seconds, _ = number(fields.get("duration", 1), "duration")
    return ToolAct("keys", text=text, seconds=seconds)


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
    return Reading(word, lambda fields: replace(_target(fields), word=word, text=text))


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

    return Reading("scroll", read)


NOTCH_PX = 100
"""Pixels that the view goes by a notch."""


def _filled(fields: Fields) -> ToolAct:
    """A value that an element gets; true and false switch it by a press."""
    target, value = _target(fields), fields.get("value")
    if isinstance(value, bool):
        return replace(target, word="press", text="left")
    if isinstance(value, (int, float)):
        exact, _ = number(value, "value")
        value = str(int(exact) if exact == int(exact) else exact)
    return replace(target, word="set", text=text_of({"value": value}, "value"))


def _shown_at(fields: Fields) -> ToolAct:
    target = _target(fields)
    if not target.ref:
        raise Unreadable("target.type: Input should be 'ref'")
    return ToolAct("look", text="scroll_to", ref=target.ref)


def _asked(text: str, *keys: str) -> Reader:
    """A look at the page with some arguments."""

    def read(fields: Fields) -> ToolAct:
        told = {key: fields[key] for key in keys if fields.get(key) is not None}
        if text == "find":
            _given(fields, "query")
        for key in told.keys() & _TEXTS:
            if not isinstance(told[key], str):
                raise Unreadable(f"{key}: Input should be a valid string")
        if told.get("filter", "all") not in ("all", "interactive"):
            raise Unreadable("filter: Input should be 'all' or 'interactive'")
        if "depth" in told:
            depth, flags = number(told["depth"], "depth")
            if "fraction" in flags:
                raise Unreadable("depth: Input should be a valid integer")
            told["depth"] = int(depth)
        return ToolAct("look", text=text, asked=told)

    return Reading("look", read)


_TEXTS = {"ref", "query"}


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
    "zoom": Reading("look", _zoomed),
    **dict.fromkeys(("key", "hold_key"), Reading("keys", _chords)),
}
_BROWSER_MEMBERS: Mapping[str, Reader] = {
    **{f"{kind}_click": _aimed("press", kind) for kind in CLICKS},
    **dict.fromkeys(("hover", "mouse_move"), _aimed("hover")),
    "left_mouse_down": _aimed("down"),
    "left_mouse_up": _aimed("up"),
    "left_click_drag": Reading("drag", _dragged_from),
    "scroll": _notches("x,y"),
    "type": Form("type", said="text"),
    "wait": Form("wait", lasts=("duration", 1.0)),
    "form_input": Reading("set", _filled),
    "navigate": WENT,
    **dict.fromkeys(("new_tab", "switch_tab", "close_tab"), Form("other")),
    "read_page": _asked("read_page", "filter", "depth", "ref"),
    "find": _asked("find", "query"),
    "get_page_text": Form("look", "get_page_text"),
    "scroll_to": Reading("look", _shown_at),
    **{name: Form("look", name) for name in ("screenshot", "list_tabs")},
    "zoom": Reading("look", _zoomed),
    **dict.fromkeys(("key", "hold_key"), Reading("keys", _chords)),
}
TOOLSETS = {"computer": _COMPUTER_MEMBERS, "browser": _BROWSER_MEMBERS}
