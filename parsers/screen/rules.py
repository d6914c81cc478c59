"""Published rules that say whether an answered step is right, each on its own terms.

One prediction is judged under every rule that its set allows. A rule has the name of the code
that it follows (docs/screen-steps.md has the sources); `strict` is this project's own. Quirks of
that code are kept where they decide a verdict, and are said in the rule's docstring. What makes it
raise counts as wrong and is marked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from parsers.actions import Action
from parsers.scoring import within
from parsers.screen import (
    BUTTONS,
    OPPOSITE,
    Answers,
    Edges,
    Point,
    finger_way,
    gesture,
    text_of,
)
from parsers.screen.lines import atlas_line, judge_atlas, judge_odyssey, odyssey_line

Size = tuple[int, int]
POINTED = ("click", "long_press")
NEAR = 0.04
FAR = 0.14


class Verdict(NamedTuple):
    """The verdict of a rule; None where it says nothing.

    type: whether the kind of action is right.
    grounding: whether the place is, of steps whose right answer is a place.
    step: whether the step is right.
    raised: whether the published code stops at this answer. It counts as wrong here.
    """

    type: bool | None
    grounding: bool | None
    step: bool | None
    raised: bool = False


WRONG = Verdict(False, None, False)
NOTHING = Verdict(None, None, None)
Judge = Callable[[Action | None, Action, Answers, Size], Verdict]


@dataclass(frozen=True)
class Rule:
    """A published rule.

    judge: its verdict on an answer (None: nothing could be read), one right action, the step's
        answers and the picture's size.
    meaning: what it demands, in a few words.
    boxes: whether it means nothing in a set that has no boxes.
    partial: whether it leaves out some steps.
    raises: whether its published code stops at some answers.
    """

    name: str
    meaning: str
    judge: Judge
    boxes: bool = False
    partial: bool = False
    raises: bool = False

    def verdict(self, said: Action | None, gold: Answers, size: Size) -> Verdict:
        """Return the best verdict over the right actions of a step."""
        if self.boxes and not gold.boxed:
            return NOTHING
        found = [self.judge(said, action, gold, size) for action in gold.actions]
        return max(found, key=lambda one: (bool(one.step), bool(one.type), bool(one.grounding)))


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


def contains(one: str, other: str) -> bool:
    """Return whether either text holds the other, in lower case and trimmed; "" is held by all."""
    one, other = one.lower().strip(), other.lower().strip()
    return one in other or other in one


def enlarged(box: Edges, by: float) -> Edges:
    """A box whose sides are `by` times as long, about its centre."""
    left, top, right, bottom = box
    across, down = (right - left) * (by - 1) / 2, (bottom - top) * (by - 1) / 2
    return left - across, top - down, right + across, bottom + down


def _area(box: Edges) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _centre(box: Edges) -> Point:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _finger(action: Action, size: Size) -> str | None:
    """The way of the finger: of the gesture, in shares, else the opposite of the content's."""
    moved = gesture(action)
    if moved is not None:
        return finger_way(*map_shares(moved, size))
    return OPPOSITE.get(str(action.arguments.get("direction")))


def _stored_way(action: Action, gold: Answers) -> str | None:
    """The direction in the words of the set's files."""
    way = action.arguments.get("direction")
    if not isinstance(way, str):
        moved = gesture(action)
        way = OPPOSITE[finger_way(*moved)] if moved else ""
    return OPPOSITE.get(way) if gold.stored == "finger" else way


# strict


def _strict(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    pointed = gold.name in POINTED
    if said is None or said.name != gold.name:
        return Verdict(False, False if pointed else None, False)
    if pointed:
        hit = gold.point is not None and _strict_hit(said.point, gold.point, answers, size)
        return Verdict(True, hit, hit)
    if gold.name == "scroll":
        return Verdict(True, None, _content(said) == _content(gold))
    right = _folded(text_of(said)) == _folded(text_of(gold))
    return Verdict(True, None, right or gold.name in ("answer", "complete", "call_user"))


def _strict_hit(said: Point | None, gold: Point, answers: Answers, size: Size) -> bool:
    if said is None:
        return False
    holding = [box for box in answers.all_boxes if within(gold, box)]
    if holding:
        return within(said, min(holding, key=_area))
    return math.dist(said, gold) <= NEAR * max(size)


def _content(action: Action) -> object:
    moved = gesture(action)
    return action.arguments.get("direction") or (OPPOSITE[finger_way(*moved)] if moved else None)


def _folded(text: str | None) -> str:
    return (text or "").casefold().strip()


# OS-Atlas, GUI-Odyssey: lines of text


def _atlas(part: str) -> Judge:
    def judge(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
        line = "" if said is None else atlas_line(said, _stored_way(said, answers), size)
        right = atlas_line(gold, _stored_way(gold, answers), size)
        return Verdict(*judge_atlas(line, right, part))

    return judge


def _odyssey(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    box = next(iter(answers.boxes.get("sam2", ())), None)
    mille = (1000 / size[0], 1000 / size[1]) * 2
    scaled = box and tuple(one * by for one, by in zip(box, mille, strict=True))
    line = "" if said is None else odyssey_line(said, _stored_way(said, answers), size)
    right = odyssey_line(gold, _stored_way(gold, answers), size)
    return Verdict(*judge_odyssey(line, right, scaled))


# GUI-R1


def _gui_r1(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    """The step is judged by the argument alone, whatever the type of the answer. An answer without
    a place points at the corner; waits and buttons have no part in the step rate."""
    same = said is not None and said.name == gold.name
    if gold.name in (*POINTED, "double_click", "right_click", "hover") and gold.point is not None:
        across, down = shares((said and said.point) or (0.0, 0.0), size)
        x, y = shares(gold.point, size)
        hit = (x - across) ** 2 + (y - down) ** 2 < FAR**2
        return Verdict(same, hit, hit)
    if gold.name not in ("open_app", "type", "scroll"):
        return Verdict(same, None, None)
    wanted = _argument(gold, answers)
    return Verdict(same, None, _alike(wanted, "" if said is None else _argument(said, answers)))


def _argument(action: Action, answers: Answers) -> str:
    """The text field of GUI-R1's answers; it has a default, which is compared like a text."""
    text = _stored_way(action, answers) if action.name == "scroll" else text_of(action)
    return "no input text" if text is None else text


def _alike(one: str, other: str) -> bool:
    first, second = set(one.lower().split()), set(other.lower().split())
    if len(first) == len(second) == 1:
        mine, theirs = *first, *second
        if mine in theirs or theirs in mine:
            return True
    return token_f1(one, other) >= 0.5


# Qwen2.5-VL


def _qwen(*, any_swipe: bool) -> Judge:
    """The finger's way of a gesture is compared with the stored word, which names the content's.
    A form that writes the word alone is compared as it is."""

    def judge(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
        pointed = gold.name in POINTED
        missed = False if pointed else None
        if said is None:
            return Verdict(False, missed, False)
        if gold.name == "open_app" and said.name == "click" and answers.all_boxes:
            icon = answers.all_boxes[0]
            if said.point is None:
                return Verdict(False, None, False, raised=True)
            return Verdict(True, None, _qwen_hit(said.point, _centre(icon), answers, size))
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


def map_shares(moved: tuple[Point, Point], size: Size) -> tuple[Point, Point]:
    """Both ends of a gesture as shares of the picture."""
    return shares(moved[0], size), shares(moved[1], size)


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


def _agentcpm(*, android_control: bool) -> Judge:
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
            return Verdict(True, None, _finger(said, size) == _finger(gold, size))
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
        boxes = sorted(boxes, key=lambda box: math.dist(_centre(box), right))[:5]
    else:
        boxes = [box for box in boxes if within(right, box)]
    if any(within(ours, box) for box in boxes):
        return True
    return math.dist(ours, right) <= (NEAR if android_control else FAR)


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


def _clawgui(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
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
        near = sorted(boxes, key=lambda box: math.dist(_centre(box), place))[:5]
        hit = any(within(place, box) for box in near) or math.dist(ours, right) <= _CLAW_RADIUS
        return Verdict(True, hit, hit)
    if gold.name == "scroll":
        return Verdict(True, None, _finger(said, size) == _finger(gold, size))
    if gold.name in ("type", "open_app"):
        mine, theirs = text_of(said) or "", text_of(gold) or ""
        return Verdict(True, None, mine == theirs or token_f1(mine, theirs) > 0.5)
    return Verdict(True, None, said.name == gold.name)


def _claw_point(point: Point, size: Size) -> Point:
    across, down = (round(1000 * one) for one in shares(point, size))
    return float(int(across * 1080 / 1000)), float(int(down * 2400 / 1000))


RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("strict", "the smallest box around the recorded point, exact texts", _strict),
        Rule("os-atlas", "14 % of each side, the first word of texts", _atlas("ac"), raises=True),
        Rule("os-atlas-odyssey", "14 % of each side, words of the whole line", _atlas("odyssey")),
        Rule("gui-r1", "14 % of each side, the argument alone", _gui_r1, partial=True),
        Rule(
            "qwen-ac",
            "any candidate box x 1.2, or 4 % of the longer side",
            _qwen(any_swipe=False),
            boxes=True,
            raises=True,
        ),
        Rule(
            "qwen-ac-any-swipe",
            "the same with every swipe right",
            _qwen(any_swipe=True),
            boxes=True,
            raises=True,
        ),
        Rule(
            "agentcpm-ac",
            "the five boxes nearest to the recorded point, or 4 % of each side",
            _agentcpm(android_control=True),
            boxes=True,
            partial=True,
        ),
        Rule(
            "agentcpm",
            "boxes around the recorded point, or 14 % of each side",
            _agentcpm(android_control=False),
            partial=True,
        ),
        Rule(
            "clawgui-ac", "a circle of 368 px on 1080 x 2400, or five boxes", _clawgui, boxes=True
        ),
        Rule("odyssey-ams", "the segmented box, or 14 % of each side", _odyssey, raises=True),
    )
}


def verdicts(
    said: Action | None, gold: Answers, size: Size, rules: Iterable[str]
) -> dict[str, Verdict]:
    """Return the verdict of each rule on one answer; None for one that could not be read."""
    return {name: RULES[name].verdict(said, gold, size) for name in rules}
