"""Classes of units of any kind, by outcome, status and measures."""

from __future__ import annotations

from typing import Any

import pytest

from harness.runs import UnitRecord
from parsers import Declaration, Level, Measure, Prediction, Status
from reports.errors.classes import general_classes
from reports.errors.classifying import by_outcome

LEVELS = (Level("album"),)
POINTED = Declaration(
    (
        Measure("found", "Found", "the right picture"),
        Measure("close", "Close", "closeness", binary=False, unmeasured="no-place"),
        Measure("solved", "Solved", main=True, needs=("found", "close"), unmeasured="no-place"),
    ),
    LEVELS,
    kind="photo",
)
GRADED = Declaration((Measure("grade", "Grade", "grade", binary=False, main=True),), LEVELS)


def _unit(scores: Any, status: Status = Status.ANSWERED, **more: Any) -> UnitRecord[None]:
    said = None if scores is None else Prediction(status, flags=more.pop("flags", ()))
    values = {"settled": said is not None, "asked": True, "scores": scores, "prediction": said}
    return UnitRecord(
        kind="photo", unit_id="p", benchmark="photos", split="all", detail=None, **values | more
    )


def _class(declared: Declaration, unit: UnitRecord[None]) -> tuple[str, str]:
    found = by_outcome(unit, declared, {})
    assert found.error_class in {info.error_class for info in general_classes(declared)}
    return found.error_class, found.detail


def test_rows_without_an_outcome_do_not_count() -> None:
    assert _class(POINTED, _unit(None, invalid="blank")) == ("invalid", "blank")
    assert _class(POINTED, _unit(None, error="timeout")) == ("unsettled", "timeout")
    counted = {info.error_class: info.counted for info in general_classes(POINTED)}
    assert [name for name, counts in counted.items() if not counts] == [
        "invalid",
        "unsettled",
        "unmeasured",
    ]


def test_a_success_is_one_of_the_main_measure() -> None:
    assert _class(POINTED, _unit({"found": 1, "close": 1, "solved": 1})) == ("success", "")
    assert _class(GRADED, _unit({"grade": 1.0})) == ("success", "")


@pytest.mark.parametrize(
    ("status", "error_class"),
    [
        (Status.TRUNCATED, "truncated"),
        (Status.REFUSAL, "refused"),
        (Status.PARSE_ERROR, "no_answer"),
    ],
)
def test_without_an_answer_the_status_decides(status: Status, error_class: str) -> None:
    unit = _unit({"found": 0, "close": 0, "solved": 0}, status)
    assert _class(POINTED, unit) == (error_class, str(status))


def test_the_first_measure_that_success_needs_and_lacks_names_the_class() -> None:
    assert _class(POINTED, _unit({"found": 0, "close": 0.5, "solved": 0}))[0] == "missed.found"
    assert _class(POINTED, _unit({"found": 1, "close": 0.5, "solved": 0}))[0] == "missed.close"
    assert _class(POINTED, _unit({"found": 1, "close": 1, "solved": 0}))[0] == "failed"


def test_what_was_left_open_is_judged_by_what_was_measured() -> None:
    flags = ("no-place",)
    unit = _unit({"found": 1, "close": 0, "solved": 0}, flags=flags)
    assert _class(POINTED, unit) == ("success", "only measured: found")
    unit = _unit({"found": 0, "close": 0, "solved": 0}, flags=flags)
    assert _class(POINTED, unit)[0] == "missed.found"


def test_a_measure_that_is_no_number_is_not_a_failure() -> None:
    assert _class(GRADED, _unit({"grade": None})) == ("unmeasured", "")


def test_a_measure_reached_in_part_is_told_apart() -> None:
    assert _class(GRADED, _unit({"grade": 0.25})) == ("partial", "0.25")
    assert _class(GRADED, _unit({"grade": 0.0})) == ("failed", "")


def test_where_parents_are_the_main_measure_their_units_are_classified() -> None:
    declared = Declaration(
        (
            Measure("hit", "Hit", "hits"),
            Measure("whole", "Whole", "whole albums", main=True, all_of="hit"),
        ),
        LEVELS,
    )
    assert _class(declared, _unit({"hit": 1}))[0] == "success"
    assert _class(declared, _unit({"hit": 0}))[0] == "failed"
