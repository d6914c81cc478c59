"""Targets on pictures: where an instruction points, and what points and boxes are worth.

Everything is in pixels of the original picture, as numbers of any precision: x to the right, y
down, from the top left corner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from parsers.actions import Action, ActionKind, ActionSpace, Argument
from parsers.measure import SPREAD, Average, Measure
from parsers.records import Prediction, Status
from parsers.scoring import TOLERANCE, within

TargetKind = Literal["box", "polygon", "absent"]
Point = tuple[float, float]
Edges = tuple[float, float, float, float]
"""Left, top, right and bottom."""

KIND = "grounding"
EDGES = ("left", "top", "right", "bottom")
"""Where `Prediction.parsed` has the box that a point is the centre of."""

CLICK = "click"
POINTING = ActionSpace("pointing", (ActionKind(CLICK, (Argument("point", "point"),)),))
"""The one action of grounding. Declining is not an action: a prediction with status `none`."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of an instruction.

    kind: a `box`, a `polygon`, or `absent` where nothing on the picture fits.
    numbers: left, top, right and bottom of a box; x and y of every corner of a polygon in turn; ()
        where it is absent.

    Raises `ValueError` for numbers that are not a target of that kind.
    """

    kind: TargetKind
    numbers: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.numbers)
        if self.kind == "box" and not (
            count == 4 and self.numbers[0] <= self.numbers[2] and self.numbers[1] <= self.numbers[3]
        ):
            raise ValueError(f"no box from left, top to right, bottom: {self.numbers}")
        if self.kind == "polygon" and (count < 6 or count % 2):
            raise ValueError(f"a polygon has three corners or more, not {count} numbers")
        if self.kind == "absent" and count:
            raise ValueError("what is absent has no place")

    @property
    def corners(self) -> tuple[Point, ...]:
        """The corners of a box or polygon in turn; () where it is absent."""
        if self.kind == "box":
            left, top, right, bottom = self.numbers
            return (left, top), (right, top), (right, bottom), (left, bottom)
        return tuple(zip(self.numbers[::2], self.numbers[1::2], strict=True))

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The smallest box around it. Raises `ValueError` where it is absent."""
        across, down = self.numbers[::2], self.numbers[1::2]
        return min(across), min(down), max(across), max(down)

    @property
    def point(self) -> Point | None:
        """A point well inside: the centre of a box; None where it is absent.

        Of a polygon, which may have its centre outside, the middle of the widest stretch inside on
        the line halfway between the two heights of corners that are farthest apart.
        """
        if self.kind == "absent":
            return None
        if self.kind == "box":
            left, top, right, bottom = self.numbers
            return (left + right) / 2, (top + bottom) / 2
        heights = sorted({y for _, y in self.corners})
        if len(heights) < 2:
            return self.corners[0]
        _, y = max((below - above, (above + below) / 2) for above, below in pairwise(heights))
        crossed = sorted(
            a + (y - b) * (c - a) / (d - b)
            for (a, b), (c, d) in pairwise((*self.corners, self.corners[0]))
            if (b < y) != (d < y)
        )
        stretches = zip(crossed[::2], crossed[1::2], strict=True)
        _, x = max((right - left, (left + right) / 2) for left, right in stretches)
        return x, y

    def holds(self, point: Point) -> bool:
        """Return True if a point lies in it, the borders included (`parsers.scoring`)."""
        if self.kind == "polygon":
            return in_polygon(point, self.corners)
        return self.kind == "box" and within(point, self.bounds)

    def distance(self, point: Point) -> float | None:
        """Return the way from a point to its nearest border, 0 inside; None where it is absent."""
        if self.kind == "absent":
            return None
        if self.holds(point):
            return 0.0
        corners = self.corners
        return min(distance(point, *ends) for ends in pairwise((*corners, corners[0])))

    @property
    def area(self) -> float:
        """The area of a box, or of what is inside a polygon that does not cross itself."""
        corners = self.corners
        turned = sum(a * d - b * c for (a, b), (c, d) in pairwise((*corners, *corners[:1])))
        return abs(turned) / 2

    @property
    def action(self) -> Action | None:
        """The right answer; None where that is to decline."""
        return None if self.point is None else Action(CLICK, point=self.point)

    def __str__(self) -> str:
        numbers = ", ".join(f"{number:g}" for number in self.numbers)
        return f"{self.kind} ({numbers})" if numbers else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingDetail:
    """The part of a line that only a grounding item has.

    asked: the instruction.
    gold: what it refers to.
    size: width and height of the original picture.
    classes: those it belongs to, of a set whose classes overlap.
    """

    asked: str
    gold: Target
    size: tuple[int, int]
    classes: tuple[str, ...] = ()


def hit(prediction: Prediction, detail: GroundingDetail) -> float:
    """1 for a point inside the target, and for `none` where the target is absent.

    Nothing else is right about an absent target: neither a provider's refusal nor a reply that
    cannot be read.
    """
    if detail.gold.kind == "absent":
        return float(prediction.status is Status.NONE)
    point = _point(prediction)
    return float(point is not None and detail.gold.holds(point))


def present(prediction: Prediction, detail: GroundingDetail) -> float | None:
    """`hit` of targets that are there; None for absent ones."""
    return None if detail.gold.kind == "absent" else hit(prediction, detail)


def declined(prediction: Prediction, detail: GroundingDetail) -> float | None:
    """`hit` of absent targets; None for those that are there."""
    return hit(prediction, detail) if detail.gold.kind == "absent" else None


def distance_px(prediction: Prediction, detail: GroundingDetail) -> float | None:
    """Pixels from the point to the target, 0 inside; None without a point or a target."""
    point = _point(prediction)
    return None if point is None else detail.gold.distance(point)


def distance_diagonals(prediction: Prediction, detail: GroundingDetail) -> float | None:
    """Return the same in diagonals of the target's bounds; None also for a target that is one
    point."""
    pixels = distance_px(prediction, detail)
    if pixels is None:
        return None
    left, top, right, bottom = detail.gold.bounds
    diagonal = math.hypot(right - left, bottom - top)
    return pixels / diagonal if diagonal else None


def iou(prediction: Prediction, detail: GroundingDetail) -> float | None:
    """Return the area that two boxes share, as a part of what they cover together.

    None unless both the answer and the target are boxes, one of them with an area.
    """
    edges = [prediction.parsed.get(name) for name in EDGES]
    numbers = [float(edge) for edge in edges if isinstance(edge, int | float)]
    if detail.gold.kind != "box" or len(numbers) < len(EDGES):
        return None
    ours, theirs = detail.gold.bounds, (numbers[0], numbers[1], numbers[2], numbers[3])
    corner, end = map(max, ours[:2], theirs[:2]), map(min, ours[2:], theirs[2:])
    left, top, right, bottom = *corner, *end
    both = _area((left, top, right, bottom))
    covered = _area(ours) + _area(theirs) - both
    return both / covered if covered else None


def _area(edges: Edges) -> float:
    left, top, right, bottom = edges
    return max(0.0, right - left) * max(0.0, bottom - top)


def _point(prediction: Prediction) -> Point | None:
    return prediction.point if prediction.status is Status.ANSWERED else None


SCORERS: Mapping[str, Callable[[Prediction, GroundingDetail], float | None]] = {
    "hit": hit,
    "present": present,
    "declined": declined,
    "distance": distance_px,
    "distance_diagonals": distance_diagonals,
    "iou": iou,
}
"""The functions that compute the measures of grounding, by name."""


def measures(
    averages: Sequence[Average] = ("micro",), cells: Sequence[str] = (), *, absent: bool = False
) -> tuple[Measure, ...]:
    """Return the measures of a set of targets, whose scorers are `SCORERS`.

    `averages` has the official one first; `cells` are the groups whose combinations are the cells
    of an average over cells. With `absent`, some targets are absent, and tables show
    hits of the others as well.
    """
    averages, cells = tuple(averages), tuple(cells)
    there = "grounding accuracy where there is a target"
    return (
        Measure("hit", "Hit", "grounding accuracy", main=True, averages=averages, cells=cells),
        Measure("present", "Present" * absent, there, averages=averages, cells=cells),
        Measure("declined", meaning="absent targets that the model declines", averages=("micro",)),
        Measure("distance", meaning="pixels to the target", averages=SPREAD),
        Measure(
            "distance_diagonals", meaning="diagonals of the target to the target", averages=SPREAD
        ),
        Measure("iou", meaning="intersection over union", averages=SPREAD),
    )


def in_polygon(point: Point, corners: Sequence[Point]) -> bool:
    """Return True if (x, y) lies in the polygon with these corners in turn, the border included.

    Inside is where a ray crosses the border an odd number of times (the even-odd rule):
    where a border that crosses itself encloses a part twice, that part is outside.

    Examples:
        >>> star = [(5, 0), (8, 9), (0, 3), (10, 3), (2, 9)]
        >>> in_polygon((5, 2), star), in_polygon((5, 5), star), in_polygon((5, 3), star)
        (True, False, True)
    """
    x, y = point
    inside = False
    for index, end in enumerate(corners):
        start = corners[index - 1]
        if distance(point, start, end) <= TOLERANCE:
            return True
        if (start[1] > y) != (end[1] > y):
            share = (y - start[1]) / (end[1] - start[1])
            inside ^= x < start[0] + share * (end[0] - start[0])
    return inside


def distance(point: Point, start: Point, end: Point) -> float:
    """Return the distance of a point to the stretch of a line between two others."""
    along, down = end[0] - start[0], end[1] - start[1]
    length = math.hypot(along, down)
    if not length:
        return math.dist(point, start)
    # Of unit length: no product becomes too small or too large.
    along, down = along / length, down / length
    passed = (point[0] - start[0]) * along + (point[1] - start[1]) * down
    passed = min(max(passed, 0.0), length)
    return math.dist(point, (start[0] + passed * along, start[1] + passed * down))
