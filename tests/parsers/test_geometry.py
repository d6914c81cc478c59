"""Points on, inside and beside the borders of boxes and polygons."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.grounding import in_polygon
from parsers.scoring import in_box, within

LEFT, TOP, RIGHT, BOTTOM = EDGES = (1422.9, 326.4, 1449.58, 354.8)
MIDDLE = ((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2)
CORNERS = [(LEFT, TOP), (RIGHT, TOP), (RIGHT, BOTTOM), (LEFT, BOTTOM)]
SIDES = [(LEFT, MIDDLE[1]), (RIGHT, MIDDLE[1]), (MIDDLE[0], TOP), (MIDDLE[0], BOTTOM)]
BOX = (LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP)


def inside(point: tuple[float, float]) -> set[bool]:
    """What the three functions say of a point and the same box."""
    return {within(point, EDGES), in_box(point, BOX), in_polygon(point, CORNERS)}


def outwards(point: tuple[float, float]) -> list[tuple[float, float]]:
    """The ways out of the box from a point on its border: one at a side, two at a corner."""
    ways = [(math.copysign(1, point[0] - MIDDLE[0]), 0.0)] if point[0] in (LEFT, RIGHT) else []
    return ways + (
        [(0.0, math.copysign(1, point[1] - MIDDLE[1]))] if point[1] in (TOP, BOTTOM) else []
    )


@pytest.mark.parametrize("point", SIDES + CORNERS)
def test_the_border_is_inside_and_two_millionths_beside_it_are_not(
    point: tuple[float, float],
) -> None:
    assert inside(point) == {True}
    for across, down in outwards(point):
        ulp = (
            math.nextafter(point[0], point[0] + across),
            math.nextafter(point[1], point[1] + down),
        )
        assert inside(ulp) == {True}
        assert inside((point[0] + across * 5e-7, point[1] + down * 5e-7)) == {True}
        assert inside((point[0] + across * 2e-6, point[1] + down * 2e-6)) == {False}


@given(
    st.tuples(*[st.integers(-400, 400).map(lambda number: number / 8)] * 2),
    st.tuples(*[st.integers(-30, 30)] * 2),
    st.tuples(*[st.integers(1, 40)] * 2),
)
def test_a_box_is_the_polygon_of_its_corners(
    point: tuple[float, float], start: tuple[int, int], size: tuple[int, int]
) -> None:
    (x, y), (width, height) = start, size
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    assert in_polygon(point, corners) == in_box(point, (x, y, width, height))
    assert in_polygon(point, corners[::-1]) == in_box(point, (x, y, width, height))


@pytest.mark.parametrize(
    ("point", "found"),
    [
        ((1, 1), True),
        ((3, 3), False),
        ((3, 1), True),
        ((1, 3), True),
        ((2, 3), True),
        ((2.000002, 3), False),
        ((2, 2), True),
        ((2.000002, 2.000002), False),
        ((-1, 2), False),
        ((5, 2), False),
        ((-1, 4), False),
        ((-1, 0), False),
    ],
)
def test_an_angle_does_not_hold_its_notch(point: tuple[float, float], found: bool) -> None:
    angle = [(0, 0), (4, 0), (4, 2), (2, 2), (2, 4), (0, 4)]
    assert in_polygon(point, angle) is found
    # Wherever the list of corners begins.
    assert all(in_polygon(point, angle[k:] + angle[:k]) is found for k in range(6))
