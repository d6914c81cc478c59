"""Tables, classes, frames and groups of episodes, on runs whose ends are known."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from harness.runs import RunError, open_run
from parsers import Status
from reports import main_table, prefix_table, status_table, steps_frame
from reports.analyses.intervals import second_intervals
from reports.command import report
from reports.comparison.command import compare
from reports.errors import classify_run
from tests.reports.kinds.episode.worlds import EPISODES, Played, click, forms


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return forms(tmp_path_factory.mktemp("episodes") / "forms")


def test_failures_are_told_apart_by_what_ended_the_episode(run: Path) -> None:
    found = [(one.error_class, one.detail) for one in classify_run(open_run(run))]
    assert found == [
        ("success", ""),
        ("failed", "wrong button, reward 0"),
        ("in_circles", ""),
        ("step_limit", ""),
        ("stopped_early", ""),
        ("no_action", "parse_error"),
        ("environment_error", "timeout: no observation"),
        ("failed", '<img src="x" onerror="window.HACKED = 1">, reward 0.5'),
    ]


def test_a_single_step_without_an_action_is_no_answer(tmp_path: Path) -> None:
    single = Played([None], "step limit", status=Status.PARSE_ERROR)
    (found,) = classify_run(open_run(forms(tmp_path / "run", [single])))
    assert (found.error_class, found.detail) == ("no_action", "parse_error")


def test_what_the_environment_failed_is_no_part_of_any_mean(run: Path) -> None:
    (line,) = main_table(run).query("headline").to_dict("records")
    assert (line["valid"], line["invalid"], line["episodes"]) == (7, 1, 7)
    assert line["success_micro"] == pytest.approx(1 / 7)
    assert line["earned_micro"] == pytest.approx(1.5 / 7)
    (strict,) = main_table(run, invalid="fail").query("headline").to_dict("records")
    assert (strict["episodes"], strict["success_micro"]) == (7, pytest.approx(1 / 7))
    intervals = second_intervals(run).set_index(["metric", "average"])["rate"]
    assert intervals["Success", "micro"] == pytest.approx(1 / 7)


@pytest.mark.parametrize("stored", [True, False])
def test_frames_have_reward_steps_and_end(run: Path, tmp_path: Path, stored: bool) -> None:
    if not stored:
        run = forms(tmp_path / "run")
        (run / "steps.parquet").unlink()
    frame = steps_frame(run)
    assert {name: str(frame[name].dtype) for name in ("reward", "steps", "end")} == {
        "reward": "float64",
        "steps": "Int64",
        "end": "category",
    }
    first, failed = frame.iloc[0], frame.iloc[6]
    assert (first["reward"], first["steps"], first["end"]) == (1.0, 2, "solved")
    assert failed[["reward", "steps", "end"]].isna().all()
    assert pd.isna(frame.iloc[2]["reward"]) and frame.iloc[2]["end"] == "step limit"


def test_success_is_told_by_steps_taken_and_by_end(run: Path) -> None:
    by_steps = main_table(run, "steps").query("headline").set_index("steps")
    assert by_steps["episodes"].tolist() == [3, 2, 2, 0]
    assert by_steps.loc["2", "success_micro"] == pytest.approx(1 / 3)
    by_end = main_table(run, "end").query("headline").set_index("end")["episodes"]
    assert (by_end["step limit"], by_end["unknown"]) == (2, 0)


def test_how_episodes_ended_stands_beside_the_results(run: Path) -> None:
    text = " ".join(CliRunner().invoke(report, [str(run)]).output.split())
    assert "invalid rows: 1" in text and "invalid rows as 0" not in text
    assert "ended: step limit 2, <img" in text and "solved 1, stopped 1, wrong button 1" in text
    assert "steps per episode: 2.86" in text  # 20 steps of 7 episodes
    kinds = status_table(run).set_index("status")
    assert kinds.loc["invalid: environment_error", "kind"] == "environment failed"


def test_two_runs_are_compared_episode_by_episode(run: Path, tmp_path: Path) -> None:
    better = [Played([click(0)], "solved", 1.0) for _ in EPISODES]
    other = forms(tmp_path / "other", better)
    for options in ([], ["--invalid", "fail"]):
        text = CliRunner().invoke(compare, [str(run), str(other), *options]).output
        assert re.search(r"Success micro +14\.3 +100\.0 +\+85\.7", text), text


def test_episodes_of_a_task_have_no_order(run: Path) -> None:
    with pytest.raises(RunError, match="episodes have no order in their form"):
        prefix_table(run)
