"""How SeeClick scores Android in the Wild: two gestures in shares of the screen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from parsers.actions import Action
from parsers.scoring import within
from parsers.screen import (
    Answers,
    Edges,
    Point,
)
from parsers.screen.verdicts import (
    FAR,
    Size,
    Verdict,
    shares,
)

_NUMBER = {
    "click": 4,
    "scroll": 4,
    "type": 3,
    "back": 5,
    "home": 6,
    "enter": 7,
    "complete": 10,
    "impossible": 11,
}
_GESTURES: Mapping[str, tuple[Point, Point]] = {
    "down": ((0.5, 0.8), (0.5, 0.2)),
    "up": ((0.5, 0.2), (0.5, 0.8)),
    "left": ((0.2, 0.5), (0.8, 0.5)),
    "right": ((0.8, 0.5), (0.2, 0.5)),
}


def seeclick(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
    """Typed texts are not compared, and scrolls by their axis alone."""
    ours, right = _dual(said, size), _dual(gold, size)
    if ours is None or right is None:
        return Verdict(False, None, False)
    if ours[0] != right[0]:
        return Verdict(False, None, False)
    boxes = [(*shares(box[:2], size), *shares(box[2:], size)) for box in answers.all_boxes]
    step = right[0] != 4 or duals_match(ours[1], right[1], boxes)
    return Verdict(True, step if gold.name == "click" else None, step)


def _dual(action: Action | None, size: Size) -> tuple[int, tuple[Point, Point]] | None:
    """The number of an action in Android in the Wild, with both ends of its gesture in shares."""
    number = _NUMBER.get(action.name) if action else None
    if action is None or number is None:
        return None
    if action.name == "scroll":
        way = str(action.arguments.get("direction"))
        return (number, _GESTURES[way]) if way in _GESTURES else None
    if number != 4:
        return number, ((-1.0, -1.0), (-1.0, -1.0))
    if action.point is None:
        return None
    place = shares(action.point, size)
    return number, (place, place)


def duals_match(
    said: tuple[Point, Point], gold: tuple[Point, Point], boxes: Iterable[Edges]
) -> bool:
    """Compare two gestures as Android in the Wild does, points and boxes in shares.

    Taps move by 0.04 at most. Two of them are the same within 0.14, or in one box with its corner
    moved out by 0.7 of its sides, which become 2.4 times as long; the corner stops at 0 and the
    sides at 1. Of others only the main axis is compared.
    """
    taps = [math.dist(*one) <= 0.04 for one in (said, gold)]
    if taps[0] != taps[1]:
        return False
    if not taps[0]:
        return _is_level(said) == _is_level(gold)
    if math.dist(said[0], gold[0]) <= FAR:
        return True
    for left, top, right, bottom in boxes:
        across, down = right - left, bottom - top
        x, y = max(0.0, left - 0.7 * across), max(0.0, top - 0.7 * down)
        wide = x, y, x + min(1.0, 2.4 * across), y + min(1.0, 2.4 * down)
        if within(said[0], wide) and within(gold[0], wide):
            return True
    return False


def _is_level(moved: tuple[Point, Point]) -> bool:
    (x, y), (end_x, end_y) = moved
    return abs(end_x - x) > abs(end_y - y)
