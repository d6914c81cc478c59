"""Rules that look at candidate boxes: those of Qwen2.5-VL, AgentCPM-GUI and ClawGUI-Eval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from parsers.actions import Action
from parsers.scoring import within
from parsers.screen import BUTTONS, OPPOSITE, Answers, Edges, Point, finger_way, gesture, text_of
from parsers.screen.verdicts import (
    FAR,
    NEAR,
    NOTHING,
    POINTED,
    Judge,
    Size,
    Verdict,
    centre,
    contains,
    enlarged,
    finger,
    map_shares,
    shares,
    token_f1,
)

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
    left, top = shares(box[:2], size)
    right, bottom = shares(box[2:], size)
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
