"""How far a run that ends at the first failure would get, against numbers worked out by hand.

In the worked example task A has two steps, both right; B has a right one, an invalid row and a
right one; C has a right one and a wrong one.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from harness.runs import RunError, StepUnit
from parsers import ELEMENT_ONLY, Prediction, Status
from reports import prefix_table
from reports.command import report
from tests.reports.runs import WORKED, setup, step, worked, write


def _rows(table: pd.DataFrame) -> dict[str, dict[Hashable, Any]]:
    rows = table.astype("object").where(table.notna(), None).to_dict("records")
    return {str(row["place"]): row for row in rows}


def _picked(row: dict[Hashable, Any], *names: str) -> list[Any]:
    return [row[name] for name in names]


COUNTS = ("tasks", "steps", "step_success", "reached", "of_reached")


def test_invalid_rows_are_passed_over(tmp_path: Path) -> None:
    rows = _rows(prefix_table(write(tmp_path / "run", worked())))
    assert list(rows) == ["all", "1", "2"]
    assert _picked(rows["all"], *COUNTS) == [3, 6, pytest.approx(5 / 6), 6, pytest.approx(5 / 6)]
    assert _picked(rows["1"], *COUNTS) == [3, 3, 1.0, 3, 1.0]
    assert _picked(rows["2"], *COUNTS) == [3, 3, pytest.approx(2 / 3), 3, pytest.approx(2 / 3)]
    whole = rows["all"]
    assert whole["prefix"] == pytest.approx((2 + 2 + 1) / 3)
    assert whole["prefix_share"] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert rows["1"]["prefix"] is None


def test_invalid_rows_that_count_as_failed_end_a_prefix(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    rows = _rows(prefix_table(run, invalid="fail"))
    assert _picked(rows["all"], *COUNTS) == [3, 7, pytest.approx(5 / 7), 6, pytest.approx(4 / 6)]
    assert _picked(rows["3"], *COUNTS) == [1, 1, 1.0, 0, None]
    assert rows["all"]["prefix"] == pytest.approx((2 + 1 + 1) / 3)
    assert rows["all"]["prefix_share"] == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)
    of_run = write(tmp_path / "strict", worked(), setup(invalid="fail"))
    assert _rows(prefix_table(of_run))["all"]["prefix"] == rows["all"]["prefix"]


def test_the_right_steps_behind_a_failure_are_not_reached(tmp_path: Path) -> None:
    won = {"A": (False, True, True), "B": (True, True, False), "C": (True, False, True)}
    steps = [step(task, n, one) for task, of in won.items() for n, one in enumerate(of)]
    rows = _rows(prefix_table(write(tmp_path / "run", steps[::-1])))
    assert rows["all"]["prefix"] == pytest.approx((0 + 2 + 1) / 3)
    assert [rows[place]["reached"] for place in "123"] == [3, 2, 1]
    assert [rows[place]["of_reached"] for place in "123"] == [pytest.approx(2 / 3), 0.5, 0.0]
    assert [rows[place]["step_success"] for place in "123"] == [pytest.approx(2 / 3)] * 3
    # The mean prefix is what is right among the steps that are reached, per task.
    assert rows["all"]["prefix"] == pytest.approx(rows["all"]["of_reached"] * 6 / 3)


def test_repeats_are_averaged_within_their_task(tmp_path: Path) -> None:
    again = [replace(one, repeat=1) for one in worked() if "C" not in one.unit_id]
    failed = [step("C", 0, False, total_steps=2, repeat=1), step("C", 1, True, repeat=1)]
    run = write(tmp_path / "run", [*worked(), *again, *failed], setup(repeats=2))
    row = _rows(prefix_table(run))["all"]
    assert row["prefix"] == pytest.approx((2 + 2 + (1 + 0) / 2) / 3)
    assert (row["tasks"], row["steps"]) == (3, 12)


def test_every_task_of_long_ones_is_in_its_band(tmp_path: Path) -> None:
    steps = [step("A", n, n < 12, total_steps=16) for n in range(16)]
    rows = _rows(prefix_table(write(tmp_path / "run", steps)))
    assert list(rows)[-3:] == ["9", "10-14", "15-19"]
    assert _picked(rows["10-14"], "steps", "reached", "of_reached") == [5, 4, 0.75]
    assert rows["all"]["prefix"] == 12 and rows["all"]["prefix_share"] == 0.75


def test_the_interval_holds_the_mean_and_no_impossible_length(tmp_path: Path) -> None:
    steps = [
        step(f"T{task}", n, n < task % 4, total_steps=3) for task in range(60) for n in range(3)
    ]
    row = _rows(prefix_table(write(tmp_path / "run", steps)))["all"]
    # Shares of three steps have a variance of 5/36. Wilson's, by n = 59 * (1/4) / (5/36) = 106.2
    # trials:
    # 3 * (1/2 +- 2.001 / (1 + 4.004 / n) * sqrt(1 / (4 n) + 4.004 / (4 n^2))).
    ends = _picked(row, "prefix", "prefix_low", "prefix_high", "prefix_method")
    assert ends == [1.5, pytest.approx(1.2141, abs=1e-4), pytest.approx(1.7859, abs=1e-4), "wilson"]
    none = [step(f"T{task}", n, False) for task in range(20) for n in range(3)]
    row = _rows(prefix_table(write(tmp_path / "none", none)))["all"]
    assert row["prefix"] == row["prefix_low"] == 0 and 0 < row["prefix_high"] < 3


@pytest.mark.parametrize("how", ["unsettled", "cut short", "not reached"])
def test_it_is_withheld_while_a_task_is_incomplete(tmp_path: Path, how: str) -> None:
    steps, made = worked(), setup()
    if how == "unsettled":
        steps[-1] = step("C", 1, False, settled=False)
    elif how == "cut short":
        made = setup(dataset={"partial_tasks": {"A": 5}})
    else:
        steps = steps[:-2]
    run = write(tmp_path / "run", steps, made, complete=how == "cut short")
    table = prefix_table(run)
    (row,) = _rows(table).values()
    assert [row[name] for name in ("step_success", "reached", "prefix")] == [None] * 3
    assert "withheld while a task is incomplete (2" in table.attrs["notes"][-1]


def _classified() -> list[StepUnit]:
    only = Prediction.of(Status.ANSWERED, element="7", flags=(ELEMENT_ONLY,))
    return [replace(step("A", place, True), prediction=only) for place in range(2)]


def test_without_an_order_or_a_measure_there_is_none(tmp_path: Path) -> None:
    loose = [step(task, n, True, total_steps=0) for task in WORKED for n in range(2)]
    run = write(tmp_path / "run", loose)
    with pytest.raises(RunError, match="run: steps have no order in their task"):
        prefix_table(run)
    run = write(tmp_path / "classified", _classified())
    with pytest.raises(RunError, match="classified: only elements were asked for"):
        prefix_table(run)


def test_the_command_prints_it_in_every_format(tmp_path: Path) -> None:
    run = str(write(tmp_path / "run", worked()))
    call = CliRunner().invoke
    text = call(report, [run, "--table", "prefix"]).output
    assert "Step SR of these" in text and "1.67" in text and "83.3" in text
    for form in ("markdown", "csv", "latex", "html"):
        assert "prefix" in call(report, [run, "--table", "prefix", "--format", form]).output
    found = json.loads(call(report, [run, "--table", "prefix", "--format", "json"]).output)
    assert found["rows"][0]["prefix"] == pytest.approx(5 / 3)
    strict = call(report, [run, "--table", "prefix", "--invalid", "fail"]).output
    assert "1.33" in strict
    done = call(report, [run, "--table", "prefix", "--by", "website"])
    assert done.exit_code == 2 and "for --table main" in done.output
