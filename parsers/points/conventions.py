"""The unit of a model's coordinates, declared by its adapter or the user; never guessed."""

from __future__ import annotations

from typing import Literal, get_args

Convention = Literal["absolute", "unit", "per-mille", "per-999"]
"""Units of coordinates: pixels of the picture as sent, fractions of its width and height (0 to 1),
thousandths of them (0 to 1000), or the same counted from 0 to 999."""
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

ALIKE = frozenset({"per-mille", "per-999"})
"""Conventions that are too close to tell which one was meant."""

MOST: dict[Convention, float | None] = {
    "absolute": None,
    "unit": 1.0,
    "per-mille": 1000.0,
    "per-999": 999.0,
}
"""The number for the whole side of the picture; None is its length in pixels."""


def to_pixels(
    point: tuple[float, float], convention: Convention, size: tuple[int, int]
) -> tuple[float, float] | None:
    """Convert a model's coordinates to pixels of a picture of `size`; None if they lie outside it.

    >>> to_pixels((500, 1000), "per-mille", (640, 480)), to_pixels((1.2, 0), "unit", (640, 480))
    ((320.0, 480.0), None)
    """
    across, down = size
    most = MOST[convention]
    limits = (across, down) if most is None else (most, most)
    if not all(0 <= n <= limit for n, limit in zip(point, limits, strict=True)):
        return None
    return point[0] * across / limits[0], point[1] * down / limits[1]


def from_pixels(
    point: tuple[float, float], convention: Convention, size: tuple[int, int]
) -> tuple[float, float]:
    """Convert a point in pixels to a model's coordinates, rounded as models write them.

    Pixels and thousandths are whole numbers; fractions have two decimals (SeeClick), which is too
    coarse to hit every element on a tall page.

    >>> from_pixels((1432.3, 339.1), "per-999", (1920, 1080))
    (745.0, 314.0)
    """
    most = MOST[convention]
    if most is None:
        return (float(round(point[0])), float(round(point[1])))
    digits = 2 if most == 1.0 else 0
    x, y = (round(n * most / side, digits) for n, side in zip(point, size, strict=True))
    return (float(x), float(y))
