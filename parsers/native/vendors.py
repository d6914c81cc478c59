"""The calls of tools that vendors train their models on, as acts in neutral words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from parsers.actions import mended
from parsers.native import Act, Call, Word
from parsers.native.tools import (
    ACTIONS,
    MODIFIERS,
    Fields,
    Unreadable,
    at_place,
    chord,
    drag,
    failed,
    functions,
    looking,
    number,
    place,
    press,
    qwen,
    text_of,
    texted,
    towards,
    waiting,
)


def computer(call: Call) -> Iterator[Act]:
    """Read a call of the tool `computer`, which does several things, or of a function beside it."""
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


def _computer_action(fields: Fields) -> Iterator[Act]:
    kind = fields.get("type")
    if kind == "keypress":
        keys = fields.get("keys")
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise Unreadable("keys: expected a list of texts")
        # A modifier is held while the others are pressed; others follow each other.
        together = any(key.strip().lower() in MODIFIERS for key in keys)
        for pressed in [keys] if together else [[key] for key in keys]:
            yield Act("keys", text=mended(chord(pressed)))
    elif kind == "click":
        button = _BUTTONS.get(str(fields.get("button", "left")))
        at, flags = place(fields, "x,y")
        yield Act("press" if button else "other", at, text=button or "", flags=flags)
    elif kind == "drag":
        path = fields.get("path")
        if not isinstance(path, list) or len(path) < 2:
            raise Unreadable("path: expected two places or more")
        if not all(isinstance(one, Mapping) for one in path):
            raise Unreadable("path: expected objects with x and y")
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
            way = "right" if across > 0 else "left"
            yield Act("scroll", at, text=way, flags=flags, far=abs(across))
        else:
            yield Act("scroll", at, text="down" if down > 0 else "up", flags=flags, far=abs(down))
    elif isinstance(kind, str) and kind in _COMPUTER:
        yield _COMPUTER[kind](fields)
    else:
        yield failed(f"Error: there is no action '{mended(str(kind))[:80]}'.")


def toolset(call: Call) -> Iterator[Act]:
    """Read a call of a member of a toolset, or of a function beside it."""
    name, _, member = call.name.partition(".")
    if name not in _TOOLSETS or not member:
        yield from functions(call)
        return
    fields = call.arguments
    if member in ("key", "hold_key"):
        repeat, _ = number(fields.get("repeat", 1), "repeat")
        if not 1 <= repeat <= 100:
            raise Unreadable("repeat: expected 1 to 100")
        text = text_of(fields, "text")
        chords = (chord(keys.split("+") if len(keys) > 1 else keys) for keys in text.split())
        acts = [Act("keys", text=mended(keys)) for keys in chords] or [Act("keys")]
        yield from acts * int(repeat)
    elif member in _OFF:
        yield failed(
            f"The '{member}' action is not permitted by this application's permissions and cannot "
            "be used in this session."
        )
    elif member not in _TOOLSETS[name]:
        yield failed(f"Error: unknown {name} toolset member '{mended(member)[:80]}'")
    else:
        act = _TOOLSETS[name][member](fields)
        held = fields.get("text" if name == "computer" else "modifiers")
        is_held = act.word in ("press", "drag", "scroll") and held
        yield replace(act, flags=act.flags | {"modifiers"}) if is_held else act


_OFF = ("file_upload", "read_console", "read_network", "javascript_exec")
"""Members of the browser toolset that are never offered."""


def _zoom(name: str) -> Callable[[Fields], Act]:
    def read(fields: Fields) -> Act:
        region = fields.get("region")
        if isinstance(region, list) and len(region) == 4:
            with suppress(Unreadable):
                left, top, right, bottom = (number(one, "region")[0] for one in region)
                return Act("look", (left, top), (right, bottom), text="zoom")
        wrong = "region: expected [x0, y0, x1, y1]"
        return failed(f"invalid input for {name} member 'zoom': {wrong}")

    return read


def _target(fields: Fields, key: str = "target", *, needed: bool = True) -> Act:
    """An act at a target of the browser toolset: a place, or an element by its reference."""
    target = fields.get(key)
    if target is None and not needed:
        return Act("other")
    if isinstance(target, Mapping):
        if target.get("type") == "ref":
            return Act("other", ref=mended(text_of(target, "ref")))
        if target.get("type") == "coordinate":
            at, flags = place(target, "x,y")
            return Act("other", at, flags=flags)
    raise Unreadable(f"{key}: expected a coordinate or a ref")


def _aimed(word: Word, text: str = "") -> Callable[[Fields], Act]:
    return lambda fields: replace(_target(fields), word=word, text=text)


def _dragged_from(fields: Fields) -> Act:
    start, end = _target(fields, "from"), _target(fields)
    return Act("drag", start.at, end.at, flags=start.flags | end.flags)


def _notches(key: str) -> Callable[[Fields], Act]:
    """A scroll at a place or a target, by notches."""

    def read(fields: Fields) -> Act:
        act = towards("scroll_direction", key)(fields)
        if key == "x,y":
            act = replace(act, at=_target(fields, needed=False).at)
        return replace(
            act, far=NOTCH_PX * number(fields.get("scroll_amount", 3), "scroll_amount")[0]
        )

    return read


def _far(fields: Fields) -> Act:
    """A scroll by pixels, or by thousandths of the side."""
    act = towards("direction", "x,y")(fields)
    if "magnitude" in fields and "magnitude_in_pixels" not in fields:
        return replace(act, far=-abs(number(fields["magnitude"], "magnitude")[0]))
    name = "magnitude_in_pixels"
    return replace(act, far=abs(number(fields.get(name, GEMINI_PX), name)[0]))


NOTCH_PX, GEMINI_PX = 100, 300
"""How far the view goes by a notch, and where Gemini does not say how far."""


def _filled(fields: Fields) -> Act:
    """A value that an element gets; true and false switch it by a press."""
    target, value = _target(fields), fields.get("value")
    if isinstance(value, bool):
        return replace(target, word="press", text="left")
    text = f"{value:g}" if isinstance(value, (int, float)) else text_of(fields, "value")
    return replace(target, word="set", text=mended(text))


def _went(fields: Fields) -> Act:
    url = text_of(fields, "url")
    return Act("device", text="back") if url == "back" else Act("goto", text=mended(url))


def _asked(text: str) -> Callable[[Fields], Act]:
    """A look at the page. What cannot be read is answered as an error."""

    def read(fields: Fields) -> Act:
        for key, (kind, words) in _QUESTIONS.items():
            value = fields.get(key)
            wrong = not isinstance(value, kind) or isinstance(value, bool)
            if (value is not None or (key, text) == ("query", "find")) and wrong:
                return failed(f"invalid input for browser member '{text}': {key}: {words}")
        if fields.get("filter") not in (None, "all", "interactive"):
            words = "Input should be 'all' or 'interactive'"
            return failed(f"invalid input for browser member '{text}': filter: {words}")
        told = {key: fields[key] for key in _QUESTIONS if fields.get(key) is not None}
        return Act("look", text=text, asked=told)

    return read


_QUESTIONS: Mapping[str, tuple[type, str]] = {
    "filter": (str, "Input should be 'all' or 'interactive'"),
    "depth": (int, "Input should be a valid integer"),
    "ref": (str, "Input should be a valid string"),
    "query": (str, "Input should be a valid string"),
}


def gemini(call: Call) -> Iterator[Act]:
    """Read a call of Gemini's `computer_use`, under its new or old names and in both published
    spellings of arguments, or of a function beside it."""
    fields = call.arguments
    if call.name not in _GEMINI:
        yield from functions(call)
        return
    act = _GEMINI[call.name](fields)
    yield replace(act, flags=act.flags | {"safety_check"}) if fields.get("safety_decision") else act


def any_tool(call: Call) -> Iterator[Act]:
    """Read a call of whichever tool has one of this name, for those who only look at it."""
    name = call.name.partition(".")[0]
    if name in ACTIONS:
        yield from qwen(call)
    elif "." in call.name and name in _TOOLSETS:
        yield from toolset(call)
    else:
        yield from (computer if name == "computer" else gemini)(call)


def _dragged(fields: Fields) -> Act:
    return (drag("start_x,start_y", "end_x,end_y") if "start_x" in fields else _DRAG_TO)(fields)


def _typed(usual: bool) -> Callable[[Fields], Act]:
    """A text, at a place or without one. `usual` says whether Enter follows if nothing is said."""

    def read(fields: Fields) -> Act:
        at, flags = place(fields, "x,y", needed=False)
        submit = fields.get("press_enter")
        if submit is None:
            submit = usual
            flags |= {"default_enter"} if usual else set()
        elif not isinstance(submit, bool):
            raise Unreadable("press_enter: expected true or false")
        return Act("type", at, text=text_of(fields, "text"), submit=submit, flags=flags)

    return read


def _pressed(key: str) -> Callable[[Fields], Act]:
    """Keys of a list, or of a text in which a plus joins them."""

    def read(fields: Fields) -> Act:
        keys = fields.get(key)
        if isinstance(keys, str):
            keys = keys.split("+") if len(keys) > 1 else [keys]
        if not isinstance(keys, list) or not all(isinstance(one, str) for one in keys):
            raise Unreadable(f"{key}: expected a text or a list of texts")
        return Act("keys", text=mended(chord(keys)))

    return read


_BUTTONS = {"left": "left", "right": "right", "wheel": "middle", "back": "back"}
_COMPUTER: Mapping[str, Callable[[Fields], Act]] = {
    "double_click": press("double", "x,y"),
    "move": at_place("hover", "x,y"),
    "type": texted("type", "text"),
    "screenshot": looking("screenshot"),
    "wait": lambda fields: Act("wait", seconds=2.0),
}
_COMPUTER_MEMBERS: Mapping[str, Callable[[Fields], Act]] = {
    **{
        f"{kind}_click": press(kind, needed=False)
        for kind in ("left", "right", "middle", "double", "triple")
    },
    "left_click_drag": drag("start_coordinate", "coordinate"),
    "mouse_move": at_place("hover", "coordinate"),
    "left_mouse_down": lambda fields: Act("down"),
    "left_mouse_up": lambda fields: Act("up"),
    "scroll": _notches("coordinate"),
    "type": texted("type", "text"),
    "wait": waiting("duration"),
    "cursor_position": looking("cursor"),
    "screenshot": looking("screenshot"),
    "zoom": _zoom("computer"),
}
_BROWSER_MEMBERS: Mapping[str, Callable[[Fields], Act]] = {
    **{
        f"{kind}_click": _aimed("press", kind)
        for kind in ("left", "right", "middle", "double", "triple")
    },
    **dict.fromkeys(("hover", "mouse_move"), _aimed("hover")),
    "left_mouse_down": _aimed("down"),
    "left_mouse_up": _aimed("up"),
    "left_click_drag": _dragged_from,
    "scroll": _notches("x,y"),
    "type": texted("type", "text"),
    "wait": waiting("duration"),
    "form_input": _filled,
    "navigate": _went,
    **dict.fromkeys(("new_tab", "switch_tab", "close_tab"), lambda fields: Act("other")),
    **{name: _asked(name) for name in ("read_page", "find", "get_page_text")},
    "scroll_to": lambda fields: Act("look", text="scroll_to", ref=_target(fields).ref),
    **{name: looking(name) for name in ("screenshot", "list_tabs")},
    "zoom": _zoom("browser"),
}
_TOOLSETS = {"computer": _COMPUTER_MEMBERS, "browser": _BROWSER_MEMBERS}
_DRAG_TO = drag("x,y", "destination_x,destination_y")
_GEMINI: Mapping[str, Callable[[Fields], Act]] = {
    "click": press("left", "x,y"),
    "click_at": press("left", "x,y"),
    **{f"{kind}_click": press(kind, "x,y") for kind in ("right", "middle", "double", "triple")},
    **dict.fromkeys(("move", "hover_at"), at_place("hover", "x,y")),
    "mouse_down": at_place("down", "x,y"),
    "mouse_up": at_place("up", "x,y"),
    "long_press": at_place("long", "x,y"),
    "drag_and_drop": _dragged,
    **dict.fromkeys(("scroll", "scroll_at", "scroll_document"), _far),
    "type": _typed(False),
    "type_text_at": _typed(True),
    **dict.fromkeys(("press_key", "key_down"), _pressed("key")),
    **dict.fromkeys(("hotkey", "key_combination"), _pressed("keys")),
    "wait": waiting("seconds"),
    "wait_5_seconds": lambda fields: Act("wait", seconds=5.0),
    **dict.fromkeys(("take_screenshot", "open_web_browser", "key_up"), looking("screenshot")),
    "go_back": lambda fields: Act("device", text="back"),
    "navigate": _went,
    **dict.fromkeys(("go_forward", "search"), lambda fields: Act("other")),
    # In browsers it is a function of our own, which has another word for the name.
    "open_app": lambda fields: Act(
        "app", text=text_of(fields, "app_name" if "app_name" in fields else "name")
    ),
    "list_apps": lambda fields: failed("Error: the list of apps is not available."),
}
