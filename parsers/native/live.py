"""The acts of a reply as actions on a live page, and what the published tools say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from parsers.actions import Action, Value
from parsers.native import ToolAct
from parsers.native.page import Elements
from parsers.native.tools import key_of

WAYS: Mapping[str, tuple[int, int]] = {
    "up": (0, -1),
    "down": (0, 1),
    "left": (-1, 0),
    "right": (1, 0),
}


def actions_of(act: ToolAct, page: Elements, viewport: tuple[int, int]) -> Iterator[Action]:
    """Yield the actions that an act is on a live page, none for what no page can do."""
    found = page.at(act.ref, act.at)
    element = found.id if act.ref and found else None

    def done(name: str, **arguments: Value) -> Action:
        return Action(name, element, act.at, arguments)

    placed = act.at is not None or element is not None
    match act.word:
        case "press" if act.text in ("back", "forward"):
            yield Action(act.text.upper())
        case "press" | "long" if placed:
            chosen = page.list_of(found) if element and found else None
            if chosen is not None and found is not None:
                yield Action("SELECT", chosen.id, None, {"value": found.name})
            else:
                yield done("CLICK")
        case "hover" if placed:
            yield done("HOVER")
        case "drag" if act.at and act.to:
            yield done("DRAG", to_x=act.to[0], to_y=act.to[1])
        case "scroll" if not act.far:
            yield done("SCROLL", direction=act.text)
        case "scroll":
            across, down = WAYS[act.text]
            side = viewport[0] if across else viewport[1]
            far = act.far if act.far >= 0 else -act.far * side / 1000
            yield done("SCROLL_BY", delta_x=across * far, delta_y=down * far)
        case "type":
            yield (
                done("TYPE", value=act.text)
                if placed
                else Action("KEYS", arguments={"value": act.text})
            )
            if act.submit:
                yield Action("PRESS", arguments={"key": "Enter"})
        case "keys":
            yield Action("PRESS", arguments={"key": key_of(act.text)})
        case "set" if found is not None:
            if found.role in ("checkbox", "radio", "switch"):
                yield done("CLICK")
            else:
                yield done("SELECT" if found.is_list else "TYPE", value=act.text)
        case "choose" if placed:
            yield done("SELECT", value=act.text)
        case "wait":
            yield Action("WAIT", arguments={"ms": round(1000 * act.seconds)})
        case "device" if act.text == "back":
            yield Action("BACK")
        case "goto" if act.text != "reload":
            ways = {"forward": Action("FORWARD")}
            yield ways.get(act.text) or Action("GOTO", arguments={"url": act.text})
        case "end" | "answer":
            failed = act.word == "end" and act.text == "failure"
            answer = {} if act.word == "end" else {"answer": act.text}
            yield Action("INFEASIBLE" if failed else "STOP", arguments=answer)


_PRESSED = {
    "left": "Clicked.",
    "right": "Right-clicked.",
    "middle": "Middle-clicked.",
    "double": "Double-clicked.",
    "triple": "Triple-clicked.",
}


def told(act: ToolAct) -> str:
    """Return what the published tools say when an act is done."""
    if act.done:
        return act.done
    texts = {
        "hover": "Hovered.",
        "drag": "Dragged.",
        "type": "Typed.",
        "press": _PRESSED.get(act.text, "Clicked."),
        "scroll": f"Scrolled {act.text}.",
        "keys": f"Pressed {act.text}.",
        "wait": f"Waited {act.seconds:g}s.",
    }
    return texts.get(act.word, "Done.")
