"""Both intervals of a run: the same rates as the table of results, and the same draws each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from harness.runs import StepUnit
from parsers import MIND2WEB
from parsers.bootstrap import bootstrap
from parsers.records import Status
from reports.analyses.command import analyse
from reports.analyses.intervals import headline_values, second_intervals
from reports.formats import render
from reports.frames.rows import run_rows
from reports.output import FORMATS
from tests.numbers import estimate
from tests.reports.runs import setup, step, worked, write


def _mixed(tasks: int, split: str = "test_website") -> list[StepUnit]:
    """Task i of three steps has i % 4 right ones."""
    return [
        step(f"{split}-{task}", index, index < task % 4, split=split)
        for task in range(tasks)
        for index in range(3)
    ]


def _rows(run: Path) -> dict[tuple[str, str], dict[Any, Any]]:
    records = second_intervals(run).to_dict("records")
    return {(record["metric"], record["average"]): record for record in records}


def test_first_intervals_are_those_of_the_run(tmp_path: Path) -> None:
    run = write(tmp_path / "a", _mixed(12))
    (rows,) = run_rows(run)
    found = _rows(run)
    macro = estimate(rows.total, "success", "macro")
    assert macro.interval is not None
    row = found["Step SR", "macro"]
    assert row["rate"] == macro.number
    assert (row["first_low"], row["first_high"]) == (macro.interval.low, macro.interval.high)
    assert row["method"] == found["Step SR", "micro"]["method"] == "wilson"
    tasks = found["Task SR", "tasks"]
    assert (tasks["method"], tasks["tasks"], tasks["rate"]) == ("clopper-pearson", 12, 0.25)
    assert 0 <= tasks["second_low"] < 0.25 < tasks["second_high"] <= 1
    assert tasks["second"] == tasks["second_high"] - tasks["second_low"]


def test_the_bootstrap_is_that_of_the_task_means_with_the_seed_of_the_run(tmp_path: Path) -> None:
    run = write(tmp_path / "a", _mixed(12))
    found = _rows(run)
    expected = bootstrap([task % 4 / 3 for task in range(12)], range(12), seed=1)
    assert expected is not None
    row = found["Step SR", "macro"]
    assert row["second_low"] == pytest.approx(expected.low)
    assert row["second_high"] == pytest.approx(expected.high)
    pd.testing.assert_frame_equal(second_intervals(run), second_intervals(run))


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"invalid": "fail"},
        {"unattempted": "fail"},
        {"exclude_status": ["refusal"]},
        {"exclude_status": ["refusal"], "invalid": "fail"},
    ],
)
def test_values_follow_the_rules_of_the_run(tmp_path: Path, config: dict[str, object]) -> None:
    more = [step("D", 0, False, settled=False), step("D", 1, False, status=Status.REFUSAL)]
    run = write(tmp_path / "a", [*worked(), *more], setup(**config))
    (rows,) = run_rows(run)
    units = [unit for _, unit in rows.trials]
    values, tasks, clusters = headline_values(units, rows.total, MIND2WEB["success"])
    assert clusters is None
    behind = rows.total.counts.behind[rows.total.rules.headline]
    assert (len(set(tasks)), len(values)) == behind
    micro = estimate(rows.total, "success", "micro").number
    assert sum(values) / len(values) == pytest.approx(micro)


def test_tasks_that_are_all_alike_have_no_second_interval(tmp_path: Path) -> None:
    run = write(tmp_path / "a", [step(name, 0, False) for name in "abcd"])
    table = second_intervals(run)
    assert table["second"].isna().all()
    text = render(table)
    (row,) = (line for line in text.splitlines() if "Task SR" in line)
    assert row.split()[-3:] == ["[0.0,", "60.2]", "none"]


@pytest.mark.parametrize(("tasks", "marked"), [(39, True), (40, False)])
def test_thirty_tasks_with_a_success_and_thirty_with_a_failure_are_not_marked(
    tmp_path: Path, tasks: int, marked: bool
) -> None:
    # Three of four tasks have a success, three of four a failure.
    text = render(second_intervals(write(tmp_path / "a", _mixed(tasks))))
    assert ("]*" in text) == marked == ("fewer than 30 tasks" in text)


def test_repeats_have_no_second_interval_of_task_success(tmp_path: Path) -> None:
    steps = [step(name, 0, name < "c" or r == 1, repeat=r) for name in "abcd" for r in (0, 1)]
    run = write(tmp_path / "a", steps, setup(repeats=2))
    found = _rows(run)
    assert found["Task SR", "tasks"]["method"] == "wilson"
    assert pd.isna(found["Task SR", "tasks"]["second"])
    assert pd.notna(found["Step SR", "macro"]["second"])


def test_splits_are_pooled_below(tmp_path: Path) -> None:
    run = write(tmp_path / "a", [*_mixed(6), *_mixed(6, "test_task")])
    found = second_intervals(run)
    assert list(dict.fromkeys(found["split"])) == ["test_task", "test_website", "all splits pooled"]
    assert len(found) == 21


@pytest.mark.parametrize("form", FORMATS)
def test_every_format(tmp_path: Path, form: str) -> None:
    run, out = write(tmp_path / "a", _mixed(8), setup(invalid="fail")), tmp_path / "table"
    done = CliRunner().invoke(analyse, ["intervals", str(run), "--format", form, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert out.stat().st_size > 100
    if form == "json":
        content = json.loads(out.read_text())
        assert len(content["rows"]) == 7
        assert not any("answered valid rows" in line for line in content["about"])
