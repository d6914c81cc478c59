"""The verdict of a rule on a step, and what several rules measure alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from parsers.actions import Action
from parsers.scoring import within
from parsers.screen import OPPOSITE, Answers, Edges, Point, box_of, finger_way, gesture

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
    way = action.arguments.get("direction")
    if not isinstance(way, str):
        moved = gesture(action)
        way = OPPOSITE[finger_way(*moved)] if moved else ""
    return OPPOSITE.get(way) if gold.stored == "finger" else way


def map_shares(moved: tuple[Point, Point], size: Size) -> tuple[Point, Point]:
    """Both ends of a gesture as shares of the picture."""
    return shares(moved[0], size), shares(moved[1], size)
