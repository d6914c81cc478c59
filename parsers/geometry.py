"""Test if a point lies in a box or a polygon: borders are inside, within a tolerance.

Points are products and quotients of measured numbers: one that is meant to lie on a border
may miss it by the last digits. Pixels of a picture or a page that differ by less than `TOLERANCE`
are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Point = tuple[float, float]

TOLERANCE = 1e-6
"""Largest distance in pixels of a point on a border."""


def within(point: Point, edges: tuple[float, float, float, float]) -> bool:
    """Return True if (x, y) lies between (left, top, right, bottom), the borders included.

    Examples:
        >>> within((10.0000005, 5), (0, 0, 10, 5)), within((10.000002, 5), (0, 0, 10, 5))
        (True, False)
    """
    x, y = point
    left, top, right, bottom = edges
    return (
        left - x <= TOLERANCE
        and x - right <= TOLERANCE
        and top - y <= TOLERANCE
        and y - bottom <= TOLERANCE
    )


def in_box(point: Point, box: tuple[float, float, float, float]) -> bool:
    """Return True if (x, y) lies in (x, y, width, height); a box without area contains no point.

    Examples:
        >>> in_box((10, 5), (0, 0, 10, 5)), in_box((0, 0), (0, 0, 0, 5))
        (True, False)
    """
    x, y, width, height = box
    return width > 0 and height > 0 and within(point, (x, y, x + width, y + height))


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
