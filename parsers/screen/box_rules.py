"""Rules that look at candidate boxes: those of Qwen2.5-VL, AgentCPM-GUI and ClawGUI-Eval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from parsers.actions import Action
from parsers.scoring import within
from parsers.screen import (
    BUTTONS,
    OPPOSITE,
    Answers,
    Edges,
    Point,
    box_of,
    finger_way,
    gesture,
    text_of,
    way_of,
)

Size = tuple[int, int]
POINTED = ("click", "long_press")
NEAR = 0.04
FAR = 0.14


class Verdict(NamedTuple):
    """The verdict of a rule; None where it says nothing.

    type: whether the kind of action is right.
    grounding: whether the place is, of steps whose right answer is a place.
    step: whether the step is right; a share of it under rules that grade.
    raised: whether the published code stops at this answer. It counts as wrong here.
    """

    type: bool | None
    grounding: bool | None
    step: bool | float | None
    raised: bool = False


NOTHING = Verdict(None, None, None)
Judge = Callable[[Action | None, Action, Answers, Size], Verdict]


def shares(point: Point, size: Size) -> Point:
    """A point as shares of the picture's sides."""
    return point[0] / size[0], point[1] / size[1]


def token_f1(one: str, other: str) -> float:
    """F1 of two texts as sets of lower-cased words; 0 where either has none.

    >>> token_f1("Coffee table", "coffee mug")
    0.5
    """
    first, second = set(one.lower().split()), set(other.lower().split())
    both = len(first & second)
    return 2 * both / (len(first) + len(second)) if both else 0.0


def words_alike(one: str, other: str) -> bool:
    """Return whether half of the words agree; of two single words one may hold the other."""
    first, second = set(one.lower().split()), set(other.lower().split())
    if len(first) == len(second) == 1:
        mine, theirs = *first, *second
        if mine in theirs or theirs in mine:
            return True
    return token_f1(one, other) >= 0.5


def contains(one: str, other: str) -> bool:
    """Return whether either text holds the other, in lower case and trimmed; "" is held by all."""
    one, other = one.lower().strip(), other.lower().strip()
    return one in other or other in one


def enlarged(box: Edges, by: float) -> Edges:
    """A box whose sides are `by` times as long, about its centre."""
    left, top, right, bottom = box
    across, down = (right - left) * (by - 1) / 2, (bottom - top) * (by - 1) / 2
    return left - across, top - down, right + across, bottom + down


def area_of(box: Edges) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def centre(box: Edges) -> Point:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def target_of(gold: Action, answers: Answers) -> Edges | None:
    """The box of a recorded action: its own, else the smallest around its point."""
    if (box := box_of(gold)) is not None or gold.point is None:
        return box
    holding = [one for one in answers.all_boxes if within(gold.point, one)]
    return min(holding, key=area_of, default=None)


def finger(action: Action, size: Size) -> str | None:
    """The way of the finger: of the gesture, in shares, else the opposite of the content's."""
    moved = gesture(action)
    if moved is not None:
        return finger_way(*map_shares(moved, size))
    return OPPOSITE.get(str(action.arguments.get("direction")))


def stored_way(action: Action, gold: Answers) -> str | None:
    """The direction in the words of the set's files."""
    way = way_of(action)
    return OPPOSITE.get(way) if gold.stored == "finger" else way


def box_shares(box: Edges, size: Size) -> Edges:
    """A box in shares of the picture's sides."""
    return (*shares(box[:2], size), *shares(box[2:], size))


def map_shares(moved: tuple[Point, Point], size: Size) -> tuple[Point, Point]:
    """Both ends of a gesture as shares of the picture."""
    return shares(moved[0], size), shares(moved[1], size)


# Qwen2.5-VL


def qwen(*, any_swipe: bool = False) -> Judge:
    """The finger's way of a gesture is compared with the stored word, which names the content's.
    A form that writes the word alone is compared unchanged."""

    def judge(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
        pointed = gold.name in POINTED
        missed = False if pointed else None
        if said is None:
            return Verdict(False, missed, False)
        if gold.name == "open_app" and said.name == "click" and answers.all_boxes:
            icon = answers.all_boxes[0]
            if said.point is None:
                return Verdict(False, None, False, raised=True)
            return Verdict(True, None, _qwen_hit(said.point, centre(icon), answers, size))
        if gold.name in BUTTONS:
            return Verdict(said.name in BUTTONS, None, said.name == gold.name)
        if said.name != gold.name:
            return Verdict(False, missed, False)
        if pointed:
            if said.point is None or gold.point is None:
                return Verdict(False, missed, False, raised=True)
            hit = _qwen_hit(said.point, gold.point, answers, size)
            return Verdict(True, hit, hit)
        if gold.name == "scroll":
            moved = gesture(said)
            way = finger_way(*map_shares(moved, size)) if moved else said.arguments.get("direction")
            return Verdict(True, None, any_swipe or way == gold.arguments.get("direction"))
        if gold.name in ("type", "open_app"):
            text = text_of(said)
            if text is None:
                return Verdict(False, None, False, raised=True)
            return Verdict(True, None, contains(text, text_of(gold) or ""))
        return Verdict(True, None, True)

    return judge


def _qwen_hit(said: Point, gold: Point, answers: Answers, size: Size) -> bool:
    if any(within(said, enlarged(box, 1.2)) for box in answers.all_boxes):
        return True
    return math.dist(said, gold) <= NEAR * max(size)


# AgentCPM-GUI

_CPM = {
    **dict.fromkeys(("wait", "complete", "impossible", "call_user", "answer"), "stop"),
    **dict.fromkeys(("back", "home", "enter"), "press"),
    **{name: name for name in ("click", "long_press", "scroll", "type")},
}


def agentcpm(*, android_control: bool = False) -> Judge:
    """Waiting, finishing and giving up are one type. Steps that open an app are left out."""

    def judge(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
        name = _CPM.get(gold.name)
        if name is None:
            return NOTHING
        missed = False if name in POINTED else None
        if said is None or _CPM.get(said.name) != name:
            return Verdict(False, missed, False)
        if name in POINTED:
            hit = _cpm_hit(said.point, gold.point, answers, size, android_control)
            return Verdict(True, hit, hit)
        if name == "scroll":
            return Verdict(True, None, finger(said, size) == finger(gold, size))
        if name == "type":
            return Verdict(True, None, contains(text_of(said) or "", text_of(gold) or ""))
        return Verdict(True, None, name == "stop" or said.name == gold.name)

    return judge


def _cpm_hit(
    said: Point | None, gold: Point | None, answers: Answers, size: Size, android_control: bool
) -> bool:
    if gold is None:
        return False
    ours, right = shares(said or (0.0, 0.0), size), shares(gold, size)
    boxes = [_cpm_box(box, size) for box in answers.all_boxes]
    if android_control:
        boxes = [boxes[place] for place in nearest(answers.all_boxes, gold, size)]
    else:
        boxes = [box for box in boxes if within(right, box)]
    if any(within(ours, box) for box in boxes):
        return True
    return math.dist(ours, right) <= (NEAR if android_control else FAR)


def nearest(boxes: Sequence[Edges], point: Point, size: Size) -> list[int]:
    """The places of the five boxes whose middles are nearest to a point, in shares."""
    there = shares(point, size)
    away = [math.dist(centre(_cpm_box(box, size)), there) for box in boxes]
    return sorted(range(len(boxes)), key=away.__getitem__)[:5]


def _cpm_box(box: Edges, size: Size) -> Edges:
    """A box in shares, enlarged: its corner stops at 0, and its sides at 1."""
    left, top, right, bottom = box_shares(box, size)
    across, down = right - left, bottom - top
    left, top = max(0.0, left - 0.1 * across), max(0.0, top - 0.1 * down)
    return left, top, left + min(1.0, 1.2 * across), top + min(1.0, 1.2 * down)


# ClawGUI-Eval

_CLAW_SCREEN = (1080, 2400)
_CLAW_RADIUS = math.hypot(FAR * 1080, FAR * 2400)
_CLAW = (*POINTED, "scroll", "type", "back", "home", "open_app", "wait")


def clawgui(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    """All geometry is that of a screen of 1080 x 2400; boxes are the five nearest to the answer.
    Finishing, answering and the other buttons are dropped by its readers."""
    missed = False if gold.name in POINTED else None
    if said is None or said.name not in _CLAW:
        return Verdict(False, missed, False)
    buttons = said.name in ("back", "home") and gold.name in ("back", "home")
    if not buttons and said.name != gold.name:
        return Verdict(False, missed, False)
    if gold.name in POINTED:
        if said.point is None or gold.point is None:
            return Verdict(True, False, False)
        ours, right = _claw_point(said.point, size), _claw_point(gold.point, size)
        wide, tall = _CLAW_SCREEN
        place = ours[0] / wide, ours[1] / tall
        boxes = [(a / wide, b / tall, c / wide, d / tall) for a, b, c, d in answers.all_boxes]
        near = sorted(boxes, key=lambda box: math.dist(centre(box), place))[:5]
        hit = any(within(place, box) for box in near) or math.dist(ours, right) <= _CLAW_RADIUS
        return Verdict(True, hit, hit)
    if gold.name == "scroll":
        return Verdict(True, None, _claw_way(said, size) == _claw_way(gold, size))
    if gold.name in ("type", "open_app"):
        mine, theirs = text_of(said) or "", text_of(gold) or ""
        return Verdict(True, None, mine == theirs or token_f1(mine, theirs) > 0.5)
    return Verdict(True, None, said.name == gold.name)


def _claw_way(action: Action, size: Size) -> object:
    """The way of the view: as the reply's own numbers say, else that of a gesture in pixels."""
    moved = gesture(action)
    if moved is None or "direction" in action.arguments:
        return action.arguments.get("direction")
    (x, y), (end_x, end_y) = map_shares(moved, size)
    wide, tall = _CLAW_SCREEN
    return OPPOSITE[finger_way((x * wide, y * tall), (end_x * wide, end_y * tall))]


def _claw_point(point: Point, size: Size) -> Point:
    across, down = (round(1000 * one) for one in shares(point, size))
    return float(int(across * 1080 / 1000)), float(int(down * 2400 / 1000))
