"""Baselines play the environment and score what they score in a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.gym import episodes_of
from harness.policies import policy_named
from harness.views import StepView
from tests.harness.commands.tool import call
from tests.harness.gym.made_up import RIGHT, made, recorded

RANKED = {"candidates": "ranker", "ranker": "lexical", "top_k": 10}


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("lexical", {"limit": 2}),
        ("random", {"distractors": 4, "seed": 3, "benchmark": "mt-sample", "limit": 2}),
        ("lexical", {"protocol": "autowebglm", "benchmark_option": RANKED, "limit": 2}),
    ],
)
def test_a_baseline_scores_what_it_scores_in_a_run(
    tmp_path: Path, model: str, settings: dict[str, Any]
) -> None:
    usual = {"benchmark": "sample", "split": "dev", "progress": "off", **settings}
    if model == "random":
        # It draws from what is listed: nothing like "none of these".
        usual |= {"protocol": "action-strings", "benchmark_option": {"candidates": "snapshot"}}
    run = harness.evaluate(model, out=str(tmp_path / "run"), **usual)
    here = {name: value for name, value in settings.items() if name != "protocol"}
    played = [
        record
        for records in episodes_of(made(**here), policy_named(model, StepView))
        for record in records
    ]
    stored = {record.unit_id: record for record in run.records()}
    assert {record.unit_id for record in played} == set(stored)
    for record in played:
        other = stored[record.unit_id]
        assert (record.scores, record.invalid, record.asked) == (
            other.scores,
            other.invalid,
            other.asked,
        )
        assert [c.id for c in record.detail.choices] == [c.id for c in other.detail.choices]


def test_the_command_prints_the_table_of_the_run(tmp_path: Path) -> None:
    line = ["--model", "lexical", "--benchmark", "sample", "--split", "dev", "--limit", "4"]
    run = call("run", *line, "--details", "--out", str(tmp_path / "run"), "--progress", "off")
    played = call("environments", "play", *line)
    assert (run.code, played.code) == (0, 0)
    *table, last = played.out.splitlines()
    shared = run.out.splitlines()[: len(table)]
    assert table == shared
    assert last.startswith("0 of 4 episodes successful; ")


def test_the_command_tells_how_far_a_baseline_gets(tmp_path: Path) -> None:
    settings = recorded(tmp_path, [*RIGHT, ("6", "CLICK", "")])
    data = ("--benchmark", "steps", "--data", settings["data"], "--split", "local")
    options = ("--benchmark-option", "lost_rows=yes", "--benchmark-option", "candidates=all")
    line = ("environments", "play", *data, *options, "--model")
    best = "1 of 1 episodes successful; mean number of steps before the first failure: 4.00\n"
    assert call(*line, "oracle").out.endswith(best)
    # The first step is typed into.
    worst = "0 of 1 episodes successful; mean number of steps before the first failure: 0.00\n"
    assert call(*line, "always-click").out.endswith(worst)


@pytest.mark.parametrize("name", ["gpt-5.4", "centre"])
def test_who_is_no_baseline_of_recorded_steps_is_refused(name: str) -> None:
    asked = call("environments", "play", "--model", name, "--benchmark", "sample")
    assert asked.code == 2
    assert f"'{name}' is not a baseline for recorded steps (oracle, random" in asked.complaint


def test_without_gymnasium_one_line_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "from harness.commands.main import run; run(['environments', 'play', '--model', 'random'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "vlm-eval: environments need gymnasium: pip install '.[gym]' in a clone\n"
    )
