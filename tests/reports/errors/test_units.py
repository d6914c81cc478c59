"""Classes of units of any kind, by outcome, status and measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.runs import Unit
from parsers import Declaration, Level, Measure, Prediction, Status
from reports.errors import by_outcome, general_classes
from reports.errors.command import errors
from reports.errors.table import errors_frame, errors_table, keys, render
from tests.reports.photos import PHOTOS, photo, photo_run

LEVELS = (Level("album"),)
POINTED = Declaration(
    (
        Measure("found", "Found", "the right picture"),
        Measure("close", "Close", "closeness", unmeasured="no-place"),
        Measure("solved", "Solved", main=True, needs=("found", "close"), unmeasured="no-place"),
    ),
    LEVELS,
    kind="photo",
)
GRADED = Declaration((Measure("grade", "Grade", "grade", main=True),), LEVELS)


def _unit(scores: Any, status: Status = Status.ANSWERED, **more: Any) -> Unit[None]:
    said = None if scores is None else Prediction(status, flags=more.pop("flags", ()))
    values = {"settled": said is not None, "asked": True, "scores": scores, "prediction": said}
    return Unit(
        kind="photo", unit_id="p", benchmark="photos", split="all", detail=None, **values | more
    )


def _class(declared: Declaration, unit: Unit[None]) -> tuple[str, str]:
    found = by_outcome(unit, declared)
    assert found.error_class in {info.error_class for info in general_classes(declared)}
    return found.error_class, found.detail


def test_rows_without_an_outcome_do_not_count() -> None:
    assert _class(POINTED, _unit(None, invalid="blank")) == ("invalid", "blank")
    assert _class(POINTED, _unit(None, error="timeout")) == ("unanswered", "timeout")
    counted = {info.error_class: info.counted for info in general_classes(POINTED)}
    assert [name for name, counts in counted.items() if not counts] == [
        "invalid",
        "unanswered",
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


def test_a_run_of_any_kind_is_counted_in_the_words_of_its_benchmark(tmp_path: Path) -> None:
    found = {"found": 1.0, "close": 1.0, "solved": 1.0}
    far = {"found": 1.0, "close": 0.25, "solved": 0.0}
    lost = {"found": 0.0, "close": 0.0, "solved": 0.0}
    photos = [
        photo("A", 0, found),
        photo("A", 1, far),
        photo("B", 0, lost),
        photo("B", 1, lost, status=Status.REFUSAL),
        photo("C", 0, None),
    ]
    run = photo_run(tmp_path / "run", photos)
    table = errors_table(run, "colour", examples=1)
    whole = table[table["by"] == "all"].set_index("error_class")
    assert whole["photos"].to_dict() == {
        "unanswered": 1,
        "success": 1,
        "refused": 1,
        "missed.found": 1,
        "missed.close": 1,
    }
    assert whole.loc["missed.close", "share_of_errors"] == pytest.approx(1 / 3)
    assert set(table["group"]) == {"all", "blue", "red"}
    text = render(table)
    assert "closeness missed" in text
    assert "with albums as clusters" in " ".join(text.split())
    frame = errors_frame(run)
    assert list(frame)[:6] == ["run", "repeat", "photo_id", "split", "album", "colour"]
    assert keys(PHOTOS) == ("split", "colour")
    result = CliRunner().invoke(errors, [str(run), "--by", "website"])
    assert result.exit_code == 2 and "expected split or colour" in result.output
