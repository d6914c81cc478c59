"""Predictions as the calls that mean them, which are read back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from parsers.actions import Action
from parsers.native import Call
from parsers.screen import Point, gesture, parts, text_of

SWIPE = 0.4
"""How far a scroll goes, as a share of the side."""
_WAYS: Mapping[str, tuple[int, int]] = {
    "up": (0, -1),
    "down": (0, 1),
    "left": (-1, 0),
    "right": (1, 0),
}
Numbers = Callable[[Point], tuple[float, float]]
"""Converts pixels of the original to the model's numbers, rounded as models write them."""
Spell = Callable[[Action, Numbers, tuple[int, int]], list[Call] | None]


def spelled(
    action: Action,
    spell: Spell | None,
    numbers: Numbers,
    size: tuple[int, int],
    offered: Collection[str],
) -> list[Call] | None:
    """Return the calls of an action, or of several done one after the other; None if nothing that
    is offered has words for one of them.

    spell: writes calls of the tool, None for what it has no word for. None: there is no tool.
    offered: names of the functions of our own that stand beside it.
    """
    calls: list[Call] = []
    for one in parts(action):
        found = spell(one, numbers, size) if spell else None
        if found is None:
            found = functions(one, numbers, size)
            if found is None or any(call.name not in offered for call in found):
                return None
        calls += found
    return calls


def swipe(action: Action, size: tuple[int, int]) -> tuple[Point, Point]:
    """Return where the finger goes down and up to scroll: as recorded, else through the middle."""
    if (moved := gesture(action)) is not None:
        return moved
    across, down = _WAYS[str(action.arguments.get("direction", "down"))]
    middle = size[0] / 2, size[1] / 2
    half = across * SWIPE / 2 * size[0], down * SWIPE / 2 * size[1]
    return (middle[0] + half[0], middle[1] + half[1]), (middle[0] - half[0], middle[1] - half[1])


def qwen_computer(action: Action, numbers: Numbers, size: tuple[int, int]) -> list[Call] | None:
    """Write an action as calls of Qwen's `computer_use`."""

    def call(name: str, **fields: Any) -> Call:
        return Call("computer_use", {"action": name, **fields})

    at, text = action.point, text_of(action)
    presses = {
        "click": "left_click",
        "double_click": "double_click",
        "right_click": "right_click",
        "hover": "mouse_move",
    }
    if action.name in presses and at is not None:
        return [call(presses[action.name], coordinate=list(numbers(at)))]
    if action.name == "drag" and (moved := gesture(action)) is not None:
        start, end = (list(numbers(one)) for one in moved)
        return [call("mouse_move", coordinate=start), call("left_click_drag", coordinate=end)]
    if action.name == "scroll":
        across, down = _WAYS[str(action.arguments.get("direction", "down"))]
        if across:
            return [call("hscroll", pixels=across * round(SWIPE * size[0]))]
        return [call("scroll", pixels=-down * round(SWIPE * size[1]))]
    if action.name == "type":
        first = [] if at is None else [call("left_click", coordinate=list(numbers(at)))]
        enter = [call("key", keys=["enter"])] if action.arguments.get("submit") else []
        return [*first, call("type", text=text or ""), *enter]
    if action.name in ("key", "hotkey") and text:
        return [call("key", keys=text.split("+") if action.name == "hotkey" else [text])]
    if action.name == "enter":
        return [call("key", keys=["enter"])]
    return _ended(action, call)


def qwen_mobile(action: Action, numbers: Numbers, size: tuple[int, int]) -> list[Call] | None:
    """Write an action as calls of Qwen's `mobile_use`."""

    def call(name: str, **fields: Any) -> Call:
        return Call("mobile_use", {"action": name, **fields})

    at, text = action.point, text_of(action)
    if action.name in ("click", "long_press") and at is not None:
        return [call(action.name, coordinate=list(numbers(at)))]
    if action.name == "scroll":
        start, end = (list(numbers(one)) for one in swipe(action, size))
        return [call("swipe", coordinate=start, coordinate2=end)]
    if action.name == "type":
        enter = [call("system_button", button="Enter")] if action.arguments.get("submit") else []
        return [call("type", text=text or ""), *enter]
    if action.name == "open_app" and text is not None:
        return [call("open", text=text)]
    buttons = {"back": "Back", "home": "Home", "recents": "Menu", "enter": "Enter"}
    if action.name in buttons:
        return [call("system_button", button=buttons[action.name])]
    if action.name == "key" and text:
        return [call("key", text=text)]
    return _ended(action, call)


def _ended(action: Action, call: Callable[..., Call]) -> list[Call] | None:
    if action.name == "wait":
        return [call("wait", time=1)]
    if action.name in ("complete", "impossible"):
        return [call("terminate", status="success" if action.name == "complete" else "failure")]
    if action.name == "answer":
        return [call("answer", text=text_of(action) or "")]
    return None


def functions(action: Action, numbers: Numbers, size: tuple[int, int]) -> list[Call] | None:
    """Write an action as calls of functions of our own."""
    at, text, moved = action.point, text_of(action), gesture(action)
    where = dict(zip("xy", numbers(at), strict=True)) if at is not None else {}
    placed = {
        **{name: name for name in ("click", "double_click", "right_click", "long_press")},
        "hover": "move",
    }
    if action.name in placed:
        return [Call(placed[action.name], where)] if where else None
    if action.name == "drag":
        if moved is None:
            return None
        return [
            Call("drag", {**where, **dict(zip(("to_x", "to_y"), numbers(moved[1]), strict=True))})
        ]
    if action.name == "scroll":
        middle = dict(zip("xy", numbers((size[0] / 2, size[1] / 2)), strict=True))
        return [Call("scroll", {**middle, "direction": action.arguments.get("direction", "down")})]
    if action.name == "type":
        enter = [Call("press_keys", {"keys": ["enter"]})] if action.arguments.get("submit") else []
        return [
            *([Call("click", where)] if where else []),
            Call("type", {"text": text or ""}),
            *enter,
        ]
    if action.name == "enter" or (action.name in ("key", "hotkey") and text):
        return [Call("press_keys", {"keys": (text or "enter").split("+")})]
    if action.name == "open_app":
        return [Call("open_app", {"name": text or ""})]
    if action.name in ("back", "home", "recents"):
        return [Call(f"press_{action.name}", {})]
    if action.name == "wait":
        return [Call("wait", {})]
    if action.name == "answer":
        return [Call("answer", {"text": text or ""})]
    if action.name in ("complete", "impossible"):
        return [Call("finish", {"status": "success" if action.name == "complete" else "failure"})]
    return None


NOTCHES = 5
"""How far a scroll goes where a tool counts notches."""


def computer(action: Action, numbers: Numbers, size: tuple[int, int]) -> list[Call] | None:
    """Write an action as a call of the tool `computer`, or of a function beside it."""

    def place(point: Point) -> dict[str, float]:
        return dict(zip("xy", numbers(point), strict=True))

    at, text, moved = action.point, text_of(action), gesture(action)
    done: list[dict[str, Any]] = []
    if action.name in ("click", "right_click") and at is not None:
        button = "left" if action.name == "click" else "right"
        done = [{"type": "click", "button": button, **place(at)}]
    elif action.name == "double_click" and at is not None:
        done = [{"type": "double_click", **place(at), "keys": None}]
    elif action.name == "hover" and at is not None:
        done = [{"type": "move", **place(at)}]
    elif action.name == "drag" and moved is not None:
        done = [{"type": "drag", "path": [place(moved[0]), place(moved[1])]}]
    elif action.name == "scroll":
        across, down = _WAYS[str(action.arguments.get("direction", "down"))]
        sides = (across * round(SWIPE * size[0]), down * round(SWIPE * size[1]))
        amounts = dict(zip(("scroll_x", "scroll_y"), sides, strict=True))
        done = [{"type": "scroll", **place((size[0] / 2, size[1] / 2)), **amounts}]
    elif action.name == "type":
        first = [] if at is None else [{"type": "click", "button": "left", **place(at)}]
        enter = [{"type": "keypress", "keys": ["ENTER"]}] if action.arguments.get("submit") else []
        done = [*first, {"type": "type", "text": text or ""}, *enter]
    elif action.name == "enter" or (action.name in ("key", "hotkey") and text):
        done = [{"type": "keypress", "keys": (text or "enter").upper().split("+")}]
    elif action.name == "wait":
        done = [{"type": "wait"}]
    return [Call("computer", {"actions": done})] if done else None


def toolset(action: Action, numbers: Numbers, size: tuple[int, int]) -> list[Call] | None:
    """Write an action as calls of the computer toolset, or of a function beside it."""

    def call(name: str, **fields: Any) -> Call:
        return Call(f"computer.{name}", fields)

    at, text, moved = action.point, text_of(action), gesture(action)
    presses = {"click": "left_click", "hover": "mouse_move"}
    presses |= {name: name for name in ("double_click", "right_click")}
    if action.name in presses and at is not None:
        return [call(presses[action.name], coordinate=list(numbers(at)))]
    if action.name == "drag" and moved is not None:
        start, end = (list(numbers(one)) for one in moved)
        return [call("left_click_drag", start_coordinate=start, coordinate=end)]
    if action.name == "scroll":
        way = action.arguments.get("direction", "down")
        middle = list(numbers((size[0] / 2, size[1] / 2)))
        return [call("scroll", scroll_direction=way, scroll_amount=NOTCHES, coordinate=middle)]
    if action.name == "type":
        first = [] if at is None else [call("left_click", coordinate=list(numbers(at)))]
        enter = [call("key", text="Return")] if action.arguments.get("submit") else []
        return [*first, call("type", text=text or ""), *enter]
    if action.name == "enter" or (action.name in ("key", "hotkey") and text):
        return [call("key", text=text or "Return")]
    if action.name == "wait":
        return [call("wait", duration=1)]
    return None


def gemini_browser(action: Action, numbers: Numbers, size: tuple[int, int]) -> list[Call] | None:
    """Write an action as calls of Gemini's `computer_use` in a browser."""
    at, text, moved = action.point, text_of(action), gesture(action)
    where = dict(zip("xy", numbers(at), strict=True)) if at is not None else {}
    if action.name in ("double_click", "right_click", "hover") and where:
        return [Call("move" if action.name == "hover" else action.name, where)]
    if action.name == "drag" and moved is not None:
        return [_dragged(moved, numbers)]
    if action.name == "scroll":
        middle = dict(zip("xy", numbers((size[0] / 2, size[1] / 2)), strict=True))
        way = str(action.arguments.get("direction", "down"))
        pixels = round(SWIPE * size[0 if _WAYS[way][0] else 1])
        return [Call("scroll", {**middle, "direction": way, "magnitude_in_pixels": pixels})]
    if action.name == "hotkey" and text:
        return [Call("hotkey", {"keys": text.split("+")})]
    return _gemini(action, where)


def gemini_mobile(action: Action, numbers: Numbers, size: tuple[int, int]) -> list[Call] | None:
    """Write an action as calls of Gemini's `computer_use` on a phone, where a swipe scrolls."""
    at = action.point
    where = dict(zip("xy", numbers(at), strict=True)) if at is not None else {}
    if action.name == "long_press" and where:
        return [Call("long_press", where)]
    if action.name == "scroll":
        return [_dragged(swipe(action, size), numbers)]
    if action.name == "open_app":
        return [Call("open_app", {"app_name": text_of(action) or ""})]
    return _gemini(action, where)


def _gemini(action: Action, where: Mapping[str, float]) -> list[Call] | None:
    """Write what all devices have. `where` is the place of the action, {} without one."""
    text = text_of(action)
    if action.name == "click" and where:
        return [Call("click", where)]
    if action.name == "type":
        enter = {"press_enter": True} if action.arguments.get("submit") else {}
        first = [Call("click", where)] if where else []
        return [*first, Call("type", {"text": text or "", **enter})]
    if action.name == "enter" or (action.name == "key" and text):
        return [Call("press_key", {"key": text or "enter"})]
    if action.name in ("back", "wait"):
        return [Call("go_back", {}) if action.name == "back" else Call("wait", {"seconds": 1})]
    return None


def _dragged(moved: tuple[Point, Point], numbers: Numbers) -> Call:
    start, end = (
        dict(zip((f"{name}_x", f"{name}_y"), numbers(point), strict=True))
        for name, point in zip(("start", "end"), moved, strict=True)
    )
    return Call("drag_and_drop", {**start, **end})
