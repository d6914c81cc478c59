"""Stored boxes become the same targets from every convention, and what is odd is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.benchmarks.grounding.sets import (
    CONVENTIONS,
    Convention,
    findings,
    points_of,
    target_of,
)
from parsers.grounding import Target

SIDES = st.integers(1, 8000)


@st.composite
def boxes(draw: st.DrawFn) -> tuple[tuple[float, float, float, float], tuple[int, int]]:
    """A box within a picture, in pixels, and the size of the picture."""
    size = draw(SIDES), draw(SIDES)
    across, down = (sorted((draw(st.floats(0, side)), draw(st.floats(0, side)))) for side in size)
    return (across[0], down[0], across[1], down[1]), size


def stored(
    box: tuple[float, float, float, float], convention: Convention, size: tuple[int, int]
) -> tuple[float, ...]:
    """What a data set of a convention stores for a box."""
    left, top, right, bottom = box
    return {
        "xyxy-px": (left, top, right, bottom),
        "xywh-px": (left, top, right - left, bottom - top),
        "xyxy-unit": (left / size[0], top / size[1], right / size[0], bottom / size[1]),
    }[convention]


@given(boxes(), st.sampled_from(CONVENTIONS))
def test_a_box_is_the_same_target_in_every_convention(
    given_box: tuple[tuple[float, float, float, float], tuple[int, int]], convention: Convention
) -> None:
    box, size = given_box
    target = target_of(stored(box, convention, size), convention, size)
    assert target.kind == "box"
    assert target.numbers == pytest.approx(box, abs=1e-9, rel=1e-12)
    assert not {*findings(Target("box", box), size)} & {"edge", "outside"}


@given(boxes())
def test_corners_are_scaled_as_boxes_are(
    given_box: tuple[tuple[float, float, float, float], tuple[int, int]],
) -> None:
    box, size = given_box
    shares = stored(box, "xyxy-unit", size)
    assert points_of(shares, "xyxy-unit", size) == target_of(shares, "xyxy-unit", size).numbers
    assert points_of(box, "xywh-px", size) == box


@pytest.mark.parametrize(
    ("box", "convention", "message"),
    [
        ((1, 2, 3), "xyxy-px", "a box is four numbers"),
        ((1, 2, 3, float("nan")), "xyxy-px", "a box is four numbers"),
        ((42, 1102, 197, 70), "xyxy-px", "no box from left, top to right, bottom"),
        ((1, 2, -3, 4), "xywh-px", "no less than 0"),
        ((0.5, 0.5, 0.4, 0.6), "xyxy-unit", "no box from left, top to right, bottom"),
    ],
)
def test_what_is_no_box_of_a_convention_is_an_error(
    box: tuple[float, ...], convention: Convention, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        target_of(box, convention, (1920, 1080))


@pytest.mark.parametrize(
    ("box", "found"),
    [
        ((1, 1, 200, 100), []),
        ((135, -1, 151, 19), ["edge"]),
        ((190, 10, 202, 20), ["edge"]),
        ((190, 10, 202.5, 20), ["outside"]),
        ((-3, 10, 20, 20), ["outside"]),
        ((10, 10, 10, 20), ["empty"]),
        ((0, 0, 20, 20), ["corner"]),
        ((-1, -1, 20, 20), ["edge", "corner"]),
    ],
)
def test_what_is_unusual_about_a_target(box: tuple[float, ...], found: list[str]) -> None:
    assert [*findings(Target("box", box), (200, 100))] == found


def test_nothing_is_unusual_about_what_is_absent_and_polygons_may_leave_the_picture() -> None:
    assert not list(findings(Target("absent"), (200, 100)))
    outside = Target("polygon", (10, 10, 300, 20, 50, 60))
    assert [*findings(outside, (200, 100))] == ["outside"]
