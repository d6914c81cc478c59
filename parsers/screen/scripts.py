"""Rules for steps of several actions: those of GUIAct and OmniACT."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from parsers.actions import Action
from parsers.question.metrics import websrc_f1
from parsers.screen import (
    Answers,
    Edges,
    Point,
    box_of,
    gesture,
    parts,
    text_of,
    way_of,
)
from parsers.screen.box_rules import FAR, Judge, Size, Verdict, shares, target_of

# GUIAct


def guiact(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    """Judge every recorded action against the answered one in its place.

    The step is right if all are; actions beyond them cost the type alone.
    """
    wanted, given = parts(gold), () if said is None else parts(said)
    judged = _judged(said, gold, answers, size)
    same = [one.name for one in wanted] == [one.name for one in given]
    places = [right for (right, _), one in zip(judged, wanted, strict=True) if _is_place(one)]
    return Verdict(same, all(places) if places else None, all(right for right, _ in judged))


def guiact_score(said: Action | None, gold: Action, answers: Answers, size: Size) -> float:
    """The mean of graded scores: overlap of boxes, F1 of texts, nearness of taps."""
    judged = _judged(said, gold, answers, size)
    return sum(value for _, value in judged) / len(judged)


def _judged(
    said: Action | None, gold: Action, answers: Answers, size: Size
) -> list[tuple[bool, float]]:
    given = () if said is None else parts(said)
    return [
        _guiact(given[place], one, answers, size) if place < len(given) else (False, 0.0)
        for place, one in enumerate(parts(gold))
    ]


def _is_place(action: Action) -> bool:
    return action.name in ("click", "hover")


def _guiact(said: Action, gold: Action, answers: Answers, size: Size) -> tuple[bool, float]:
    if said.name != gold.name:
        return False, 0.0
    if _is_place(gold) and gold.element is None:
        return _tapped(said, gold, size)
    alike = websrc_f1(text_of(said) or "", text_of(gold) or "")
    if _is_place(gold) or gold.name == "select":
        same, overlap = _element(said, gold, answers)
        if gold.name != "select":
            return same, overlap
        return same and alike > 0.5, (alike + overlap) / 2
    if gold.name in ("type", "answer"):
        return alike > 0.5, alike
    if gold.name == "select_text":
        ours, right = gesture(said), gesture(gold)
        overlap = iou(_region(*ours), _region(*right)) if ours and right else 0.0
        return overlap > 0.5, overlap
    if gold.name == "scroll":
        ways = [way_of(one) for one in (said, gold)]
        return ways[0] == ways[1], float(ways[0] == ways[1])
    return True, 1.0


def _tapped(said: Action, gold: Action, size: Size) -> tuple[bool, float]:
    if said.point is None or gold.point is None:
        return False, 0.0
    away = math.dist(shares(said.point, size), shares(gold.point, size))
    return away <= FAR, 1 - away / FAR if away <= FAR else 0.0


def _element(said: Action, gold: Action, answers: Answers) -> tuple[bool, float]:
    """Return whether both name one element of the page, and how far their boxes overlap."""
    box = box_of(said)
    if box is None and said.point is not None:
        box = (*said.point, *said.point)
    target = box_of(gold)
    if box is None or target is None:
        return False, 0.0
    element = said.element if said.element is not None else assigned(box, answers.all_boxes)
    return element == gold.element, iou(_whole(box), _whole(target))


def assigned(box: Edges, elements: Sequence[Edges]) -> str | None:
    """The place of the element that a box represents: of those that it overlaps by more than a
    tenth of the union the best, else the one nearest to its middle."""
    if not elements:
        return None
    overlaps = [iou(_whole(box), one) for one in elements]
    best = max(range(len(elements)), key=overlaps.__getitem__)
    if overlaps[best] > 0.1:
        return str(best)
    middle = (int(box[0]) + int(box[2])) / 2, (int(box[1]) + int(box[3])) / 2
    away = [_distance(one, middle) for one in elements]
    return str(away.index(min(away)))


def _distance(box: Edges, point: Point) -> float:
    left, top, right, bottom = box
    x, y = point
    return math.hypot(max(left - x, 0, x - right), max(top - y, 0, y - bottom))


def _whole(box: Edges) -> Edges:
    left, top, right, bottom = map(int, box)
    return left, top, max(right, left), max(bottom, top)


def _region(start: Point, end: Point) -> Edges:
    if int(start[0]) > int(end[0]):
        start, end = end, start
    return _whole((*start, *end))


def iou(one: Edges, other: Edges) -> float:
    """Intersection over union of two boxes; 0 for two without size."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    both = across * down if across > 0 and down > 0 else 0.0
    union = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)) - both
    return both / union if union > 0 else 0.0


# OmniACT

_SCRIPT = {
    **{name: name for name in ("click", "right_click", "double_click", "hover", "drag")},
    "key": "press",
    "enter": "press",
    "hotkey": "hotkey",
    "type": "write",
    "scroll": "scroll",
}


def omniact(*, mended: bool = False) -> Judge:
    """Judge a script: nothing unless its actions have the recorded names in order, else 1 less the
    mean penalty of its lines.

    `type` is the match of the sequence, `step` the score. As published, only plain clicks are
    measured against their box, since the names of others are compared in two spellings, and a text
    of one letter is never like itself.
    """

    def judge(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
        wanted, given = parts(gold), () if said is None else parts(said)
        names = [[_SCRIPT.get(one.name, one.name) for one in some] for some in (wanted, given)]
        if names[0] != names[1]:
            return Verdict(False, None, 0.0)
        pairs = list(zip(given, wanted, strict=True))
        lost = [_penalty(*pair, answers, mended=mended) for pair in pairs]
        return Verdict(True, None, max(1 - sum(lost) / len(wanted), 0.0))

    return judge


def _penalty(said: Action, gold: Action, answers: Answers, *, mended: bool) -> float:
    if gold.name == "click" or (mended and gold.name in _SCRIPT and gold.point):
        box = target_of(gold, answers)
        if said.point is None or gold.point is None:
            return 1.0
        return click_penalty(box or (*gold.point, *gold.point), said.point)
    if gold.name in ("key", "enter"):
        return float(_key(said) != _key(gold))
    if gold.name == "hotkey":
        return float(_keys(said) != _keys(gold))
    if gold.name == "type":
        ours, right = (text_of(one) or "" for one in (said, gold))
        if mended and ours == right:
            return 0.0
        return 1 - bleu2(right.lower(), ours.lower())
    return 0.0


def click_penalty(box: Edges, point: Point) -> float:
    """1 - mu / (distance to the box + mu), where mu is the box's diagonal.

    >>> click_penalty((0, 0, 30, 40), (80, 20))
    0.5
    """
    away, mu = _distance(box, point), math.dist(box[:2], box[2:])
    return 1 - mu / (away + mu) if away + mu else 0.0


def _key(action: Action) -> str:
    return "enter" if action.name == "enter" else (text_of(action) or "").lower().strip()


def _keys(action: Action) -> set[str]:
    return {one.strip() for one in (text_of(action) or "").lower().split("+")}


def bleu2(reference: str, candidate: str) -> float:
    """BLEU of letters and pairs of letters (Papineni et al. 2002), not smoothed.

    >>> bleu2("abc", "abc"), bleu2("a", "a")
    (1.0, 0.0)
    """
    if not candidate:
        return 0.0
    product = 1.0
    for order in (1, 2):
        have, want = (
            Counter(text[place : place + order] for place in range(len(text) - order + 1))
            for text in (candidate, reference)
        )
        product *= (have & want).total() / max(have.total(), 1)
    short = len(candidate) < len(reference)
    brief = math.exp(1 - len(reference) / len(candidate)) if short else 1.0
    return brief * math.sqrt(product)


def script_weight(gold: Action) -> float:
    """The weight of a script in OmniACT's means: its lines less 0.9."""
    return len(parts(gold)) - 0.9
