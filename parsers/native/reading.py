"""The acts of a reply as one prediction, for each kind of unit.

Of several acts a rule says which counts: `first` the first alone, `turn` the first after those that
belong together are folded: a press and the text that is typed there, and Enter behind it. `next`
folds the reply behind it as well, where a press on a field was all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from parsers.actions import Action, Value
from parsers.native import ToolAct, Word
from parsers.native.page import Elements
from parsers.native.tools import key_of, keys_in
from parsers.records import Prediction, Status
from parsers.reply_text import Nothing, open_reply, refuses
from parsers.screen import OPPOSITE, Point, finger_way, several, told

Rule = Literal["first", "turn", "next"]
KEPT = 50
"""Acts that are kept next to the one that counts."""
LONG_S = 1.0
"""Seconds of a long press."""
STILL_PX = 5.0
"""A pointer that moves no farther with the button down presses."""
_SELECTING = frozenset(("Control+a", "Meta+a", "Delete", "Backspace"))
_PLACED = frozenset(("press", "long", "drag"))


@dataclass(slots=True)
class ReplyActs:
    """The acts of a reply, its places in pixels of the original.

    acts: in the order of output; empty where the model only looks.
    pointer: where the pointer is after it; None if that is unknown.
    then: acts of the reply behind it, where that was read for the text of a field.
    """

    acts: list[ToolAct]
    pointer: Point | None
    then: Sequence[ToolAct] = ()


def reply_acts(
    said: Sequence[ToolAct],
    looks: frozenset[str],
    to_page: Callable[[Point], Point | None],
    pointer: Point | None = None,
    *,
    script: bool = False,
    page: Elements | None = None,
) -> ReplyActs:
    """Return the acts of a reply: buttons that go down and up are presses, and a hover is part of
    the press behind it.

    Args:
        looks: words that only look at this kind of unit.
        to_page: converts the model's numbers; None outside of the picture.
        pointer: where it is before the reply.
        script: whether all acts of a reply count, so that a hover elsewhere stays one.
        page: the elements that the model may name.
    """
    only_looks = looks | {"look"}
    placed = [_on_page(act, to_page, page) for act in said]
    # What cannot be read is joined with nothing.
    placed = [
        replace(act, word="other") if act.wrong and act.word not in only_looks else act
        for act in placed
    ]
    acts, pointer = _without_buttons(placed, pointer)
    acts = [act for act in acts if act.word not in only_looks]
    return ReplyActs(_without_hovers(acts, script), pointer)


def _on_page(
    act: ToolAct, to_page: Callable[[Point], Point | None], page: Elements | None
) -> ToolAct:
    if act.ref and (page is None or page.place_of(act.ref) is None):
        return replace(act, outside=True)
    at, to = (one and to_page(one) for one in (act.at, act.to))
    if (act.at and not at) or (act.to and not to):
        return replace(act, outside=True)
    return replace(act, at=at, to=to)


def _without_buttons(
    said: Sequence[ToolAct], pointer: Point | None
) -> tuple[list[ToolAct], Point | None]:
    acts: list[ToolAct] = []
    down: ToolAct | None = None
    held_s = 0.0
    for act in said:
        if act.word == "down":
            down, held_s = replace(act, at=act.at or pointer), 0.0
            pointer = down.at
            continue
        if down is not None and act.word == "wait":
            held_s += act.seconds
            continue
        if down is not None and act.word == "hover":
            pointer = act.at
            down = replace(down, flags=down.flags | act.flags, outside=down.outside or act.outside)
            continue
        if down is not None and act.word == "up":
            end = act.at or pointer
            far = down.at and end and math.dist(down.at, end) > STILL_PX
            word: Word = "drag" if far else "long" if held_s >= LONG_S else "press"
            to = end if word == "drag" else None
            text = "left" if word == "press" else ""
            acts.append(replace(down, word=word, to=to, text=text))
            down, pointer = None, end
            continue
        if act.word in ("press", "drag") and not (act.at or act.ref or act.outside):
            act = replace(act, at=pointer)
        if not act.outside and act.word != "look" and (last := act.to or act.at) is not None:
            pointer = last
        acts.append(act)
    return acts, pointer


def _without_hovers(acts: Sequence[ToolAct], script: bool) -> list[ToolAct]:
    kept: list[ToolAct] = []
    waiting: list[ToolAct] = []
    for act in acts:
        if act.word == "hover":
            waiting.append(act)
            continue
        if act.word in _PLACED and waiting:
            elsewhere = [one for one in waiting if script and one.at != act.at]
            kept += elsewhere
            if len(elsewhere) < len(waiting):
                nowhere = act.at is None and not act.ref
                outside = act.outside or (nowhere and waiting[-1].outside)
                act = replace(act, flags=act.flags | {"hovered"}, outside=outside)
            waiting = []
        kept.append(act)
    if not waiting:
        return kept
    order = {id(act): place for place, act in enumerate(acts)}
    return sorted([*kept, *waiting], key=lambda act: order.get(id(act), len(acts)))


def folded(acts: Sequence[ToolAct]) -> list[ToolAct]:
    """Return acts with those joined that belong together.

    >>> press, text = ToolAct("press", (1, 2), text="left"), ToolAct("type", text="a")
    >>> [act.word for act in folded([press, text])]
    ['type']
    """
    done: list[ToolAct] = []
    for act in acts:
        last = done[-1] if done else None
        if act.word == "type" and act.at is None and last is not None and _selects(last):
            before = done[-2] if len(done) > 1 else None
            if before is not None and before.word == "press":
                done.pop()
                last = before
        if last is None:
            done.append(act)
        elif act.word == "type" and act.at is None and last.word == "press":
            flags = act.flags | last.flags
            done[-1] = replace(act, at=last.at, ref=last.ref, outside=last.outside, flags=flags)
        elif act.word == "keys" and key_of(act.text) == "Enter" and last.word == "type":
            done[-1] = replace(last, submit=True)
        elif _selects(act) and last.word == "keys" and _selects(last) and len(done) > 1:
            # Selecting everything and clearing it are one.
            done[-1] = act
        else:
            done.append(act)
    return done


def _selects(act: ToolAct) -> bool:
    return act.word == "keys" and key_of(act.text) in _SELECTING


def text_only(text: str, finish: str, *, declines: bool = False, ends: bool = False) -> Prediction:
    """Read a reply without calls. Places in prose are not read.

    Args:
        declines: whether the word NONE says that nothing fits.
        ends: whether words alone say that the task is done.
    """
    opened = open_reply(text, finish)
    if isinstance(opened, Nothing):
        return Prediction(opened.status, flags=opened.flags)
    if finish == "length":
        return Prediction(Status.TRUNCATED)
    if declines and opened.text.strip().strip("*`\"'.").upper() == "NONE":
        return Prediction(Status.NONE)
    if refuses(opened.shadow):
        return Prediction(Status.REFUSAL, flags=("text_only",))
    if ends:
        return Prediction(Status.ANSWERED, Action("complete"), ("text_end",))
    return Prediction(Status.PARSE_ERROR, flags=("text_only",))


def as_place(turn: ReplyActs) -> Prediction:
    """Return the place that a reply points at."""
    act, *rest = turn.acts
    # Nothing is typed at a place: whether Enter follows says nothing.
    act = replace(act, flags=act.flags - {"default_enter"})
    more = ("more_acts",) if rest else ()
    if act.word == "end" and act.text == "failure":
        return Prediction(Status.NONE, flags=tuple(sorted({*more, *act.flags})))
    is_place = act.word in ("press", "hover", "long") or (act.word == "type" and act.at)
    flags = (*more, "mapped_operation") if act.word == "hover" else more
    action = Action("click") if is_place else None
    return read_act(act, action, flags)


def as_screen_step(turn: ReplyActs, rule: Rule, *, phone: bool, script: bool) -> Prediction:
    """Return the action of a reply on a screen; in a script, all of them."""
    acts = folded(turn.acts) if rule == "turn" else turn.acts
    read = [_screen_step(act, phone) for act in acts[: KEPT if script else 1]]
    if script and rule == "turn" and len(read) > 1:
        if wrong := next((one for one in read if one.action is None), None):
            return wrong
        flags = {flag for one in read for flag in one.flags}
        actions = several([one.action for one in read if one.action is not None])
        return Prediction(Status.ANSWERED, actions, tuple(sorted(flags)))
    first = read[0]
    if len(acts) == 1:
        return first
    further = [_screen_step(act, phone).action for act in acts[1 : 1 + KEPT]]
    words = [
        told(action) if action else act.word for action, act in zip(further, acts[1:], strict=False)
    ]
    return with_more(first, len(acts) - 1, words)


def with_more(read: Prediction, count: int, words: Sequence[str]) -> Prediction:
    """Return a prediction with the further acts of its reply, as many of them as are kept."""
    parsed: dict[str, Value] = {"more_acts": count, "acts": " → ".join(words[:KEPT])}
    flags = tuple(sorted({*read.flags, "more_acts"}))
    return replace(read, flags=flags, parsed={**read.parsed, **parsed})


_PRESSES = {
    "left": ("click", False),
    "double": ("double_click", False),
    "triple": ("double_click", True),
    "right": ("right_click", False),
    "middle": ("click", True),
    "back": ("back", False),
}
_ON_PHONES = {
    **{name: name for name in ("back", "home", "recents")},
    **dict.fromkeys(("appswitch", "app_switch"), "recents"),
}
"""Names of a phone's own keys, in lower case and without `KEYCODE_`."""

_NAMES: Mapping[Word, tuple[str, str]] = {
    "hover": ("hover", ""),
    "long": ("long_press", ""),
    "scroll": ("scroll", "direction"),
    "type": ("type", "text"),
    "app": ("open_app", "text"),
    "answer": ("answer", "text"),
    "wait": ("wait", ""),
}
"""Actions on screens by word, with the argument that has the text of an act."""


def _screen_step(act: ToolAct, phone: bool) -> Prediction:
    flags: tuple[str, ...] = ()
    name, key = _NAMES.get(act.word, ("", ""))
    of_phone = _ON_PHONES.get(act.text.removeprefix("keycode_"), "") if phone else ""
    match act.word:
        case "device":
            name = act.text
        case "press":
            name, is_mapped = _PRESSES.get(act.text, ("", False))
            flags = ("mapped_operation",) if is_mapped else ()
        case "drag":
            name = "scroll" if phone else "drag"
        case "keys" if key_of(act.text.removeprefix("keycode_")) == "Enter":
            name = "enter"
        case "keys" if of_phone:
            name = of_phone
        case "keys":
            name, key = "hotkey" if len(keys_in(act.text)) > 1 else "key", "text"
        case "end":
            name = "complete" if act.text == "success" else "impossible"
    arguments: dict[str, Value] = {key: act.text} if key else {}
    if act.submit:
        arguments["submit"] = True
    placed = name != "back"
    return read_act(act, Action(name, arguments=arguments) if name else None, flags, placed=placed)


def read_act(
    act: ToolAct,
    action: Action | None,
    flags: Sequence[str] = (),
    *,
    placed: bool = True,
) -> Prediction:
    """Return the prediction of an act; without an action it is of another kind."""
    found = {*flags, *act.flags}
    if act.wrong:
        return Prediction(Status.PARSE_ERROR, flags=tuple(sorted({*flags, "malformed_call"})))
    if action is None:
        return Prediction(Status.NO_ELEMENT, flags=tuple(sorted({*found, "other_action"})))
    if act.outside and placed:
        numbers = dict(zip(("numbers_x", "numbers_y"), act.at or (), strict=False))
        return Prediction(Status.OUT_OF_RANGE, flags=tuple(sorted(found)), parsed=numbers)
    if placed:
        if act.word in ("press", "hover", "long", "drag") and act.at is None:
            return Prediction(Status.NO_ELEMENT, flags=tuple(sorted({*found, "no_place"})))
        action = replace(action, point=act.at)
    if act.to is not None and act.at is not None:
        ends: dict[str, Value] = {"to_x": act.to[0], "to_y": act.to[1]}
        if action.name == "scroll":
            way = OPPOSITE[finger_way(act.at, act.to)]
            action = replace(action, arguments={"direction": way, **ends})
        else:
            action = replace(action, arguments={**action.arguments, **ends})
    return Prediction(Status.ANSWERED, action, tuple(sorted(found)))
