"""SeeClick's scores, worked out by hand."""

from __future__ import annotations

import pytest

from parsers.records import Gold, Operation, Prediction, Status
from parsers.seeclick import (
    SeeClickStep,
    in_shares,
    reachable,
    seeclick_scores,
    seeclick_step,
)

PAGE = (1000, 2000)
BOX = (100.0, 400.0, 50.0, 40.0)


def gold(operation: Operation = "CLICK", value: str = "", *, original: str | None = None) -> Gold:
    return Gold(operation, value, ("a", "b"), (BOX, (0.0, 0.0, 1000.0, 2000.0)), original=original)


def said(x: float, y: float, operation: Operation | None = "CLICK", value: str = "") -> Prediction:
    return Prediction.of(Status.ANSWERED, point=(x, y), operation=operation, value=value)


def scored(prediction: Prediction, right: Gold) -> SeeClickStep:
    step = seeclick_step(prediction, right, PAGE, "t")
    assert isinstance(step, SeeClickStep)
    return step


@pytest.mark.parametrize(
    ("point", "hit"),
    [
        ((100, 400), True),
        ((150, 440), True),
        ((125, 440.4), False),
        ((99.9, 420), False),
        ((700, 900), False),
    ],
)
def test_the_click_lies_in_the_one_box_borders_included(
    point: tuple[float, float], hit: bool
) -> None:
    assert scored(said(*point), gold()).element is hit
    assert scored(said(*point), gold()).success is hit


def test_the_labelled_elements_box_is_the_one() -> None:
    assert gold(original="b").box == (0.0, 0.0, 1000.0, 2000.0)
    assert gold(original="unknown").box == BOX
    assert Gold("CLICK", "", ("a", "b"), (None, BOX)).box == BOX


def test_boxes_are_rounded_to_three_decimals() -> None:
    assert in_shares((100.4, 399.0, 50.0, 41.5), PAGE) == (0.1, 0.2, 0.15, 0.22)
    # 100 is outside of a box that begins at 100.4, but not of its rounded shares.
    assert scored(said(100, 420), Gold("CLICK", "", ("a",), ((100.4, 399.0, 50.0, 41.5),))).element


@pytest.mark.parametrize(
    ("operation", "value", "right", "f1"),
    [
        ("CLICK", "", gold(), 1.0),
        ("CLICK", "", gold("TYPE", "New York"), 0.0),
        ("TYPE", "new york", gold("TYPE", "New York"), 1.0),
        # {3, york} of {3, new, york}: 2 x 2 / (2 + 3).
        ("TYPE", "york", gold("TYPE", "New York"), 0.8),
        # Only the value agrees: {2, york} and {3, york} share one word of two.
        ("SELECT", "york", gold("TYPE", "york"), 0.5),
        ("TYPE", "", gold("TYPE", "york"), 0.0),
        (None, "", gold(), 0.0),
    ],
)
def test_operation_f1_is_over_the_digit_and_lower_cased_words(
    operation: Operation | None, value: str, right: Gold, f1: float
) -> None:
    step = scored(said(120, 420, operation, value), right)
    assert step.f1 == pytest.approx(f1)
    assert step.element, "the place counts whatever becomes of the operation"
    assert step.success is (f1 == 1.0)


def test_steps_that_are_passed_over() -> None:
    assert seeclick_step(said(1, 1), Gold("CLICK", "", ("a",), (None,)), PAGE, "t") == "no_box"
    assert seeclick_step(said(1, 1), gold(), None, "t") == "no_picture"
    assert seeclick_step(said(1, 1), gold("TYPE", 'a "b"'), PAGE, "t") == "quote"


def test_means_over_steps_classes_and_tasks() -> None:
    right, wrong = said(120, 420), said(900, 1900)
    found = seeclick_scores(
        [
            ("one", seeclick_step(right, gold(), PAGE, "one")),
            ("one", seeclick_step(wrong, gold(), PAGE, "one")),
            ("one", seeclick_step(said(120, 420, "TYPE", "x"), gold("TYPE", "x y"), PAGE, "one")),
            ("two", seeclick_step(right, gold(), PAGE, "two")),
            ("two", "no_box"),
            ("three", "quote"),
        ]
    )
    assert (found.steps, found.tasks, found.empty_tasks) == (4, 2, 1)
    assert found.skipped == {"no_box": 1, "no_picture": 0, "quote": 1}
    assert found.element == 3 / 4
    assert found.success == 2 / 4
    assert found.by_operation == {"CLICK": 1.0, "TYPE": 0.8}
    assert found.operation_f1 == pytest.approx(0.9)
    assert found.macro_element == pytest.approx((2 / 3 + 1) / 2)
    assert found.macro_success == pytest.approx((1 / 3 + 1) / 2)
    assert found.ceiling == 1.0
    nothing = seeclick_scores([])
    assert (nothing.success, nothing.ceiling, nothing.operation_f1) == (None, None, None)


@pytest.mark.parametrize(
    ("height", "share"), [(2000, 1.0), (3000, 0.76), (5429, 0.47), (8000, 0.35)]
)
def test_two_decimals_cannot_hit_20_pixels_of_a_tall_page(height: int, share: float) -> None:
    tops = [0.5 * n for n in range(2 * (height - 20))]
    hits = sum(reachable(in_shares((0.0, top, 100.0, 20.0), (1280, height))) for top in tops)
    assert hits / len(tops) == pytest.approx(share, abs=0.012)
