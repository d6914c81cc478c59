"""The acts of a reply as one step on a recorded page: a click, a text, or an option of a list."""

from __future__ import annotations

from dataclasses import replace

from parsers.actions import Action
from parsers.native import ToolAct
from parsers.native.page import Elements, PageElement
from parsers.native.reading import ReplyActs, Rule, folded, read_act, with_more
from parsers.records import Prediction, Status
from parsers.screen import Point


def is_half(turn: ReplyActs, page: Elements) -> bool:
    """Return whether a reply only presses a field or a list, whose text may come next."""
    if len(turn.acts) != 1:
        return False
    act = turn.acts[0]
    found = page.at(act.ref, act.at)
    pressed = act.word == "press" and act.text == "left" and not act.outside
    return pressed and found is not None and (found.is_field or found.is_list)


def as_step(turn: ReplyActs, rule: Rule, page: Elements) -> Prediction:
    """Return the action of a reply on a recorded page."""
    acts = turn.acts if rule == "first" else folded(turn.acts)
    if rule == "next" and turn.then:
        pressed, again = acts[0], turn.then[0]
        where, there = (page.at(one.ref, one.at) for one in (pressed, again))
        further = list(turn.then)
        # Pressing the field once more is nothing new, and some calls press and type.
        if where is there and again.word == "press":
            further = further[1:]
        elif where is there and again.word == "type":
            further[0] = replace(again, at=None, ref="")
        both = folded([pressed, *further])
        acts = both if both[0].word == "type" else acts
    read = _step(acts[0], page)
    if len(acts) == 1:
        return read
    return with_more(read, len(acts) - 1, [act.word for act in acts[1:]])


def _step(act: ToolAct, page: Elements) -> Prediction:
    found = page.at(act.ref, act.at)
    operation, value, flags = "", act.text, tuple[str, ...]()
    if act.word in ("press", "hover", "long") and act.text not in ("back", "forward"):
        operation, value = "CLICK", ""
        flags = () if act.text == "left" and act.word == "press" else ("mapped_operation",)
        if act.ref and found and (chosen := page.list_of(found)):
            said = _done("SELECT", None, chosen, found.name)
            return Prediction(Status.ANSWERED, said, tuple(sorted({*flags, *act.flags})))
    elif act.word in ("type", "set", "choose"):
        is_list = act.word == "choose" or (found is not None and found.is_list)
        is_switch = act.word == "set" and found and found.role in ("checkbox", "radio", "switch")
        operation = "SELECT" if is_list else "CLICK" if is_switch else "TYPE"
        value = "" if is_switch else value
    act = replace(act, flags=act.flags - {"default_enter"})
    if not operation or act.wrong or act.outside:
        return read_act(act, Action(operation) if operation else None, flags)
    if act.at is None and not act.ref:
        missing = tuple(sorted({*flags, *act.flags, "no_place"}))
        told = _done(operation, None, None, value) if operation != "CLICK" else None
        return Prediction(Status.NO_ELEMENT, told, missing)
    said = _done(operation, act.at, found if act.ref else None, value)
    return Prediction(Status.ANSWERED, said, tuple(sorted({*flags, *act.flags})))


def _done(name: str, at: Point | None, element: PageElement | None, value: str) -> Action:
    return Action(name, element and element.id, at, {} if name == "CLICK" else {"value": value})
