"""The rule of Android in the Zoo (AITZ): a predicted box against the elements of the screen."""

from __future__ import annotations

from rapidfuzz.distance import Indel

from parsers.actions import Action
from parsers.scoring import within
from parsers.screen import Answers, Edges, Point, box_of, text_of
from parsers.screen.verdicts import FAR, Judge, Size, Verdict, area_of, enlarged, shares

_ALIKE = 0.8
_TYPES = {
    **{name: name for name in ("click", "scroll", "type")},
    **dict.fromkeys(("back", "home", "enter"), "press"),
    **dict.fromkeys(("complete", "impossible"), "stop"),
}


def aitz(*, as_published: bool) -> Judge:
    """Compare boxes enlarged by 1.2: the recorded point lies in the answered one, or this covers
    more than half of an element that holds the point, measured by their union.

    As published, the recorded point of every tap is the corner (0, 0), and an answered point is
    never right. Mended, a point stands for the smallest element that holds it, and where none does,
    has to lie within 14 % of each side, as in Android in the Wild.
    """

    def judge(said: Action | None, gold: Action, answers: Answers, size: Size) -> Verdict:
        name = _TYPES.get(gold.name)
        missed = False if name == "click" else None
        if said is None or name is None or _TYPES.get(said.name) != name:
            return Verdict(False, missed, False)
        if name == "click":
            at = (0.0, 0.0) if as_published else gold.point
            hit = at is not None and _hit(said, at, answers, size, strictly=as_published)
            return Verdict(True, hit, hit)
        if name == "scroll":
            ways = said.arguments.get("direction"), gold.arguments.get("direction")
            return Verdict(True, None, ways[0] == ways[1])
        if name == "type":
            ours, right = text_of(said) or "", text_of(gold) or ""
            near = Indel.normalized_similarity(ours, right) > _ALIKE
            return Verdict(True, None, ours in right or right in ours or near)
        return Verdict(True, None, name == "stop" or said.name == gold.name)

    return judge


def _hit(said: Action, gold: Point, answers: Answers, size: Size, *, strictly: bool) -> bool:
    box = box_of(said)
    if box is None and not strictly and said.point is not None:
        holding = [one for one in answers.all_boxes if within(said.point, one)]
        if not holding:
            ours, right = shares(said.point, size), shares(gold, size)
            return (ours[0] - right[0]) ** 2 + (ours[1] - right[1]) ** 2 <= FAR**2
        box = min(holding, key=area_of)
    if box is None:
        return False
    box = enlarged(box, 1.2)
    if within(gold, box):
        return True
    elements = (enlarged(one, 1.2) for one in answers.all_boxes)
    return any(within(gold, one) and union_share(box, one) > 0.5 for one in elements)


def union_share(one: Edges, other: Edges) -> float:
    """Intersection over union of two boxes; one of no size counts as a square pixel."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    both = max(0.0, across) * max(0.0, down)
    return both / (max(area_of(one), 1.0) + max(area_of(other), 1.0) - both)
