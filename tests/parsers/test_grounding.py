"""Targets on pictures, and what answers are worth."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.actions import Action
from parsers.averages import results
from parsers.declaration import Declaration, Group, Level
from parsers.grounding import (
    CLICK,
    EDGES,
    KIND,
    SCORERS,
    GroundingDetail,
    Target,
    TargetKind,
    measures,
)
from parsers.records import Prediction, ScoredUnit, Scores, Status
from tests.numbers import estimate
from tests.parsers.steps import once

SIDES = st.floats(-5, 5000, allow_nan=False)
CORNERS = st.integers(0, 40)


@pytest.mark.parametrize(
    ("target", "point"),
    [
        (Target("box", (1422.9, 326.4, 1449.58, 354.8)), (1436.24, 340.6)),
        # An L: the centre of its bounds, (5, 5), lies outside.
        (Target("polygon", (0, 0, 2, 0, 2, 8, 10, 8, 10, 10, 0, 10)), (1, 4)),
        # A U lying on its side has two stretches at most heights; the widest counts.
        (Target("polygon", (0, 0, 9, 0, 9, 2, 3, 2, 3, 8, 9, 8, 9, 10, 0, 10)), (1.5, 5)),
        (Target("polygon", (4, 4, 6, 4, 8, 4)), (4, 4)),
        (Target("absent"), None),
    ],
)
def test_every_target_has_a_point_well_inside(target: Target, point: object) -> None:
    assert target.point == (point if point is None else pytest.approx(point))
    assert (target.action is None) == (point is None)


@given(st.lists(st.tuples(CORNERS, CORNERS), min_size=3, max_size=8))
def test_the_point_of_a_polygon_is_within_its_bounds(corners: list[tuple[int, int]]) -> None:
    target = Target("polygon", tuple(number for corner in corners for number in corner))
    left, top, right, bottom = target.bounds
    assert target.point is not None
    assert left <= target.point[0] <= right and top <= target.point[1] <= bottom


@pytest.mark.parametrize(
    ("kind", "numbers", "problem"),
    [
        ("box", (4, 0, 2, 1), "no box from left, top to right, bottom"),
        ("box", (0, 0, 1), "no box"),
        ("polygon", (0, 0, 1, 1), "three corners or more, not 4 numbers"),
        ("polygon", (0, 0, 1, 1, 2, 2, 3), "not 7 numbers"),
        ("absent", (0, 0, 0, 0), "no place"),
    ],
)
def test_what_is_no_target_is_refused(
    kind: TargetKind, numbers: tuple[float, ...], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        Target(kind, numbers)


SIZE = (1920, 1080)
BOX = Target("box", (100, 200, 140, 230))
L = Target("polygon", (0, 0, 2, 0, 2, 8, 10, 8, 10, 10, 0, 10))
ABSENT = Target("absent")


def at(*point: float, **parsed: float) -> Prediction:
    return Prediction(Status.ANSWERED, Action(CLICK, point=(point[0], point[1])), parsed=parsed)


def scores(said: Prediction, target: Target) -> Scores:
    detail = GroundingDetail(asked="x", gold=target, size=SIZE)
    return {name: scorer(said, detail) for name, scorer in SCORERS.items()}


@pytest.mark.parametrize("corner", BOX.corners)
@pytest.mark.parametrize(
    ("inwards", "right"), [(0, True), (1e-3, True), (-1e-7, True), (-2e-6, False), (-0.5, False)]
)
def test_borders_and_corners_count_up_to_a_millionth_of_a_pixel(
    corner: tuple[float, float], inwards: float, right: bool
) -> None:
    x, y = corner
    towards = (1 if x == 100 else -1, 1 if y == 200 else -1)
    for point in (
        (x + inwards * towards[0], y + inwards * towards[1]),
        (x + inwards * towards[0], 215),
        (120, y + inwards * towards[1]),
    ):
        assert scores(at(*point), BOX)["hit"] == float(right)


@pytest.mark.parametrize(
    ("point", "right"),
    [((1, 4), 1), ((5, 5), 0), ((2, 4), 1), ((10, 8), 1), ((10, 10), 1), ((2.1, 7.9), 0)],
)
def test_a_polygon_has_its_inside_and_its_border(point: tuple[float, float], right: float) -> None:
    assert scores(at(*point), L)["hit"] == right


@pytest.mark.parametrize("status", Status)
def test_only_none_is_right_about_what_is_absent(status: Status) -> None:
    said = Prediction(status) if status is not Status.ANSWERED else at(0, 0)
    found = scores(said, ABSENT)
    assert found["hit"] == found["declined"] == float(status is Status.NONE)
    assert (found["present"], found["distance"], found["iou"]) == (None, None, None)
    there = scores(said, Target("box", (0, 0, 9, 9)))
    assert there["hit"] == there["present"] == float(status is Status.ANSWERED)
    assert there["declined"] is None


def test_distances_are_to_the_nearest_border() -> None:
    beside = scores(at(143, 234), BOX)
    assert beside["distance"] == 5 and beside["distance_diagonals"] == pytest.approx(0.1)
    assert scores(at(120, 210), BOX)["distance"] == 0
    assert scores(at(5, 5), L)["distance"] == 3
    flat = scores(at(4, 3), Target("box", (0, 0, 0, 0)))
    assert (flat["distance"], flat["distance_diagonals"]) == (5, None)


def test_boxes_are_compared_with_boxes() -> None:
    def box(*edges: float) -> Mapping[str, float]:
        return dict(zip(EDGES, edges, strict=True))

    assert scores(at(120, 215, **box(100, 200, 140, 230)), BOX)["iou"] == 1
    assert scores(at(130, 215, **box(120, 200, 160, 230)), BOX)["iou"] == pytest.approx(1 / 3)
    assert scores(at(10, 10, **box(0, 0, 20, 20)), BOX)["iou"] == 0
    assert scores(at(120, 215), BOX)["iou"] is None
    assert scores(at(1, 4, **box(0, 0, 2, 8)), L)["iou"] is None


@given(SIDES, SIDES)
def test_a_hit_is_at_no_distance_and_a_miss_at_some(x: float, y: float) -> None:
    for target in (BOX, L, Target("box", (50, 50, 50, 60))):
        found = scores(at(x, y), target)
        assert found["hit"] == float(found["distance"] == 0)


@given(SIDES, SIDES)
def test_the_area_of_a_box_is_that_of_its_polygon(x: float, y: float) -> None:
    box = Target("box", (x, y, x + 40, y + 30))
    polygon = Target("polygon", tuple(n for corner in box.corners for n in corner))
    assert box.area == pytest.approx(1200) and polygon.area == pytest.approx(1200)
    assert L.area == 36 and ABSENT.area == 0


def test_averages_over_cells_count_every_cell_once() -> None:
    declared = Declaration(
        measures(("cells", "micro"), ("kind",), absent=True),
        levels=(Level("picture"),),
        groups=(Group("kind"),),
        kind=KIND,
    )

    def unit(number: int, kind: str, said: Prediction, target: Target) -> ScoredUnit:
        labels, parents = {"kind": kind}, {"picture": str(number)}
        return ScoredUnit(
            str(number), "test", parents, labels, None, scores(said, target), said.status
        )

    right, wrong, unread = at(120, 215), at(0, 0), Prediction(Status.PARSE_ERROR)
    rows = [
        *(unit(n, "small", right, BOX) for n in range(10)),
        *(unit(n, "large", wrong if n % 2 else unread, BOX) for n in range(10, 110)),
        *(unit(n, "absent", Prediction(Status.NONE), ABSENT) for n in range(110, 115)),
    ]
    of_present, of_all = (results(once(some), declared) for some in (rows[:110], rows))
    # Each cell weighted by its size would be 0.99; unread replies stay in the denominator.
    assert estimate(of_present, "hit", "micro").number == pytest.approx(10 / 110)
    assert estimate(of_present, "hit", "cells").number == pytest.approx(0.5)
    assert estimate(of_all, "hit", "micro").number == pytest.approx(15 / 115)
    present, declined = (estimate(of_all, name, "micro") for name in ("present", "declined"))
    assert (present.number, present.n) == pytest.approx((10 / 110, 110))
    assert (declined.number, declined.n) == (1, 5)
    assert estimate(of_all, "hit", "cells").number == pytest.approx(2 / 3)
