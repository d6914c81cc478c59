"""Frames: what they hold, where it is read from, and that runs stay apart."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from harness.benchmarks.conversation.mt_mind2web import MT_MIND2WEB
from harness.benchmarks.episode.miniwob import benchmark as miniwob
from harness.benchmarks.prompt import autowebbench
from harness.benchmarks.question import visualwebbench
from parsers import MIND2WEB, Declaration, Group, Level, Measure
from reports.frames import runs
from reports.frames import units as steps
from reports.frames.runs import runs_frame
from reports.frames.units import steps_frame
from reports.names import group_column, level_column, score_column
from tests.reports.runs import schema, setup, step, worked, write

STEPS = schema(steps.columns(MIND2WEB))
RUNS = schema(runs.columns(MIND2WEB))


def test_frames_have_the_documented_columns_and_types(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    for frame, columns in ((steps_frame(run), STEPS), (runs_frame(run), RUNS)):
        assert {name: str(kind) for name, kind in frame.dtypes.items()} == columns


@pytest.mark.parametrize("complete", [True, False])
def test_a_run_without_any_step_has_the_same_columns(tmp_path: Path, complete: bool) -> None:
    run = write(tmp_path / "run", [], complete=complete)
    assert {n: str(k) for n, k in steps_frame(run).dtypes.items()} == STEPS
    assert len(runs_frame(run)) == 1


def test_an_unsettled_step_has_no_outcome(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [step("A", 0, True, settled=False)], complete=False)
    row = steps_frame(run).iloc[0]
    assert pd.isna(row["status"]) and pd.isna(row["success"]) and pd.isna(row["element_correct"])
    assert row["error"] == "timeout: no reply"


def test_texts_come_on_request(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    names = {column.name for column in steps.columns(MIND2WEB, texts=True)} - set(STEPS)
    assert not set(names) & set(steps_frame(run))
    frame = steps_frame(run, texts=True)
    assert frame["task"].iloc[0] == "Buy A."
    assert frame["listing"].iloc[0] == " A <a> Wrong\n*B <button> Right"
    assert frame["history"].iloc[0].count("\n") == 1


def test_a_row_per_run_step_and_repeat(tmp_path: Path) -> None:
    steps = [*worked(), *worked(repeat=1)]
    runs = [write(tmp_path / name, steps) for name in ("a", "b")]
    frame = steps_frame(runs)
    assert len(frame) == 28
    assert not frame.duplicated(["run", "step_id", "repeat"]).any()


def test_runs_that_differ_show_where(tmp_path: Path) -> None:
    first = write(tmp_path / "a", worked(), setup(distractors=20, none="last"))
    second = write(tmp_path / "b", worked(), setup(distractors=5, none=None))
    frame = runs_frame([first, second])
    assert frame["setting.distractors"].tolist() == [20, 5]
    assert str(frame["setting.distractors"].dtype) == "Int64"
    assert frame.attrs["constants"]["seed"] == 1
    assert "distractors" not in frame.attrs["constants"]
    assert frame.attrs["differences"]["distractors"] == {"a": 20, "b": 5}
    assert steps_frame([first, second]).attrs == frame.attrs


def test_another_file_of_data_is_a_difference_but_its_place_is_not(tmp_path: Path) -> None:
    made = setup(data="/home/a/x.parquet")
    moved = setup(data="/home/b/x.parquet")
    other = replace(made, dataset={**made.dataset, "files": [{"name": "x", "sha256": "00" * 32}]})
    runs = [
        write(tmp_path / name, worked(), one)
        for name, one in (("a", made), ("b", moved), ("c", other))
    ]
    assert not runs_frame(runs[:2]).attrs["differences"]
    assert list(runs_frame(runs).attrs["differences"]) == ["dataset.files"]


def test_runs_of_one_name_are_told_apart_and_a_run_counts_once(tmp_path: Path) -> None:
    first = write(tmp_path / "x" / "run", worked())
    second = write(tmp_path / "y" / "run", worked())
    frame = runs_frame([first, second, first])
    assert frame["run"].tolist() == [first.as_posix(), second.as_posix()]


def test_numbers_of_runs(tmp_path: Path) -> None:
    row = runs_frame(write(tmp_path / "run", worked())).iloc[0]
    assert (row["rows"], row["valid"], row["invalid"], row["unsettled"]) == (7, 6, 1, 0)
    assert row["step_success"] == pytest.approx(5 / 6)
    assert row["task_success"] == pytest.approx(2 / 3)
    assert row["statuses"] == "answered 6"
    assert row["cost"] == 1.5
    assert row["output_tokens"] == 30


def test_importing_reports_is_cheap() -> None:
    code = "import sys, reports, reports.command; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_columns_say_what_they_hold_of_what_else_has_that_name() -> None:
    task, turn, site = Level("task"), Level("task", one="turn"), Level("website", "site")
    assert [*map(level_column, (task, turn, site))] == ["task_id", "turn_id", "website"]
    declared = Declaration((Measure("value", main=True),), levels=(task, site))
    groups = {
        "operation": "gold_operation",
        "task": "task_id",
        "website": "website",
        "form": "form",
    }
    assert {name: group_column(Group(name), declared) for name in groups} == groups
    measures = {"element": "element_correct", "value": "value_correct", "hit": "hit"}
    assert {name: score_column(name) for name in measures} == measures


@pytest.mark.parametrize(
    "declared",
    [
        *(MIND2WEB, MT_MIND2WEB, visualwebbench.DECLARED, autowebbench.DECLARED, miniwob.DECLARED),
        Declaration((Measure("value", main=True), Measure("action")), kind="sign"),
    ],
    ids=lambda declared: declared.kind,
)
def test_no_two_columns_of_a_frame_have_one_name(declared: Declaration) -> None:
    names = [one.name for one in steps.columns(declared)]
    assert len(names) == len(set(names))
