"""`vlm-eval analyse` as a user calls it, plots included."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adapters.conversation import Picture
from harness.runs import RunError, StepUnit
from reports.analyses.command import analyse
from reports.output import FORMATS
from tests.reports.runs import setup, worked, write
from tests.units import changed

RECIPE = "v1;policy=full;box=0,0,1280,900;size=1280x900"


def _call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(analyse, [str(argument) for argument in arguments])


def _seen(record: StepUnit) -> StepUnit:
    picture = Picture("d", RECIPE, 1280, 900)
    gold = replace(record.detail.gold, boxes=((0.0, 5.0, 9.0, 9.0),))
    return changed(record, pictures=(picture,), gold=gold)


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Path]:
    return {
        "few": write(tmp_path / "few", worked(), setup(distractors=1, image_policy="full")),
        "many": write(tmp_path / "many", worked(), setup(distractors=5, image_policy="full")),
        "blind": write(tmp_path / "blind", worked(), setup(distractors=5, image_policy="none")),
        "seen": write(tmp_path / "seen", [_seen(r) for r in worked()], setup(image_policy="full")),
    }


GIVEN = {
    "distractors": ("few", "many"),
    "positions": ("many",),
    "picture": ("many", "blind"),
    "independence": ("many",),
    "ceiling": ("seen",),
}


@pytest.mark.parametrize("name", GIVEN)
def test_every_analysis_prints_and_draws(runs: dict[str, Path], tmp_path: Path, name: str) -> None:
    plot = tmp_path / "plot.png"
    done = _call(name, *(runs[run] for run in GIVEN[name]), "--plot", plot)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1].startswith("Contains test data")
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format(runs: dict[str, Path], tmp_path: Path, form: str) -> None:
    out = tmp_path / "table"
    assert _call("ceiling", runs["seen"], "--format", form, "--out", out).exit_code == 0
    assert out.stat().st_size > 100


def test_a_plot_is_the_same_every_time(runs: dict[str, Path], tmp_path: Path) -> None:
    plots = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for plot in plots:
        _call("positions", runs["many"], "--plot", plot)
    assert plots[0].read_bytes() == plots[1].read_bytes()


@pytest.mark.parametrize("name", [name for name in GIVEN if name != "picture"])
def test_a_run_without_steps_is_shown(tmp_path: Path, name: str) -> None:
    run = write(tmp_path / "empty", [], complete=False)
    done = _call(name, run, "--plot", tmp_path / "plot.png")
    assert done.exit_code == 0, done.exception


def test_recall_is_one_number_or_one_per_split(runs: dict[str, Path]) -> None:
    run = runs["seen"]
    assert "recall of 88.9 %" in _call("ceiling", run, "--recall", "0.889").output
    by_split = _call("ceiling", run, "--recall", "test_website=0.85", "--recall", "x=0.1")
    assert "recall of 85 %" in by_split.output
    for wrong in ("88.9", "often", "a=b", "nan"):
        assert _call("ceiling", run, "--recall", wrong).exit_code == 2
    assert _call("ceiling", run, "--recall", "0.5", "--recall", "0.6").exit_code == 2


def test_published_rows_are_listed(runs: dict[str, Path]) -> None:
    done = _call("published")
    assert done.exit_code == 0 and "SeeAct, GPT-4V, choices" in done.output
    content = json.loads(_call("published", runs["few"], "--format", "json").output)
    assert all("population" in row["differs"] for row in content["rows"])


def test_runs_that_cannot_be_compared_say_why(runs: dict[str, Path]) -> None:
    done = _call("distractors", runs["few"], runs["blind"])
    assert isinstance(done.exception, RunError)
    assert "image_policy: full (few), none (blind)" in str(done.exception)


def test_the_command_loads_neither_pandas_nor_matplotlib() -> None:
    code = (
        "import sys, reports.analyses.command, reports.analyses, reports.command;"
        "print([n for n in ('pandas', 'matplotlib', 'scipy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
