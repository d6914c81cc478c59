"""Runs of protocols with several calls: interrupted ones, shuffles, what is told."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from adapters.contract import Request
from tests.harness.commands.tool import (
    DEV,
    ONE_TASK,
    benchmark_options,
    call,
    calls,
    macro,
    steps,
    summary,
)
from tests.numbers import number

LEXICAL = ("--ranker", "lexical")
MINDACT = (*ONE_TASK, "--protocol", "mindact-choice", *LEXICAL)


ASKED: list[Request] = []


def first_of_group(request: Request) -> str:
    """A model that takes the first candidate of every group."""
    ASKED.append(request)
    return "Answer: B.\nAction: CLICK"


def by_digest(request: Request) -> str:
    """A model that picks by chance, the same in the same question."""
    return f"Answer: {'BCDEF'[int(request.conversation.digest(), 16) % 5]}.\nAction: CLICK"


SCRIPT = ("--model", f"scripted:{__name__}:first_of_group", "--progress", "off")


@pytest.fixture(autouse=True)
def unasked() -> None:
    ASKED.clear()


def test_the_folder_of_a_usual_run_keeps_its_name() -> None:
    assert call("--model", "oracle", *ONE_TASK).code == 0
    usual = next(Path("runs").iterdir()).name
    assert re.fullmatch(r"oracle-sample-[0-9a-f]{8}", usual)
    said = ("--history", "all", "--protocol-option", "none=last")
    assert call("--model", "oracle", *ONE_TASK, *said).code == 0
    assert [path.name for path in Path("runs").iterdir()] == [usual]
    assert call("--model", "oracle", *MINDACT).code == 0
    (other,) = {path.name for path in Path("runs").iterdir()} - {usual}
    assert re.fullmatch(r"oracle-sample-[0-9a-f]{8}", other)


@pytest.mark.parametrize("kept", [1, 14, 33])
def test_calls_on_record_are_not_asked_again_wherever_it_was_cut_off(kept: int) -> None:
    line = (*SCRIPT, *MINDACT)
    assert call(*line, "--out", "whole").code == 0
    asked = len(ASKED)
    assert call(*line, "--out", "cut").code == 0
    # As after a kill: the lines that had been synced, and the beginning of one that had not.
    path = Path("cut/calls.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:kept]) + lines[kept][:40])
    Path("cut/steps.jsonl").write_text("")
    (Path("cut") / "summary.json").unlink()
    ASKED.clear()
    resumed = call(*line, "--out", "cut")
    assert resumed.code == 0, resumed.err
    assert len(ASKED) == asked - kept
    assert len({(c["unit_id"], c["place"]) for c in calls("cut")}) == asked

    def outcomes(run: str) -> list[tuple[str, Any, Any]]:
        return sorted((s["step_id"], s["prediction"], s["scores"]) for s in steps(run))

    assert outcomes("cut") == outcomes("whole")


def test_shuffles_are_asked_once_each_and_their_spread_is_that_of_the_repeats() -> None:
    model = ("--model", f"scripted:{__name__}:by_digest", "--progress", "off")
    ranked = (*LEXICAL, *benchmark_options("top_k=10"))
    asked = ("--limit", "3", "--protocol", "mindact-choice", *ranked)
    called = call(
        *model, *DEV, *asked, "--protocol-option", "shuffles=3", "--details", "--out", "a"
    )
    assert called.code == 0, called.err
    valid = [step for step in steps("a") if step["invalid"] is None]
    assert {step["repeat"] for step in valid} == {0, 1, 2}
    rates = [macro([s for s in valid if s["repeat"] == n], _success) for n in range(3)]
    assert len(set(rates)) > 1
    told = summary("a")
    spread = number(told, "success", "sd")
    assert spread == pytest.approx(statistics.stdev(rates))
    assert number(told, "success") == pytest.approx(statistics.mean(rates))
    shown = re.search(r"SD over 3 repeats +([\d.]+)", called.out)
    assert shown is not None and float(shown[1]) == pytest.approx(100 * spread, abs=0.05)
    wins = Counter(step["step_id"] for step in valid if _success(step))
    tasks = {step["step_id"]: step["task_id"] for step in valid}
    whole = [float(wins[step] == 3) for step in tasks]
    all_three = number(told, "success", "pass^3")
    by_task = [
        statistics.mean(w for w, of in zip(whole, tasks.values(), strict=True) if of == task)
        for task in set(tasks.values())
    ]
    assert all_three == pytest.approx(statistics.mean(by_task))
    shown = re.search(r"pass\^3 +([\d.]+)", called.out)
    assert shown is not None and float(shown[1]) == pytest.approx(100 * all_three, abs=0.05)
    assert "over repeats: Step SR pass@3" in " ".join(call("report", "a").out.split())
    again = call("score", "a", "--json=full")
    assert json.loads(again.out) == {"directory": "a", **summary("a")}


def _success(step: dict[str, Any]) -> float:
    return float(step["scores"]["success"])


def test_a_rehearsal_brackets_calls_that_depend_on_the_replies() -> None:
    line = (*SCRIPT, *MINDACT)
    rehearsed = call(*line, "--dry-run")
    assert (rehearsed.code, ASKED) == (0, [])
    assert call(*line, "--out", "a").code == 0
    told = re.search(r"calls: +(\d+) to (\d+), depending on the replies", rehearsed.out)
    assert told is not None
    asked = sum(step["asked"] for step in steps("a"))
    assert (int(told[1]), int(told[2])) == (10 * asked, 13 * asked)
    assert len(ASKED) == 13 * asked


def test_what_is_shown_of_a_tournament_is_what_a_model_that_answers_none_is_sent() -> None:
    assert call("--model", "oracle", *MINDACT, "--out", "a").code == 0
    step = next(step for step in steps("a") if step["asked"])["step_id"]
    where = (*DEV, "--protocol", "mindact-choice", "--ranker", "lexical")
    shown = call("show", step, *where)
    assert shown.code == 0, shown.err
    assert len(re.findall(r"^===== group-\d+: about", shown.out, re.M)) == 10
    assert "= right:" not in shown.out
    right = call("show", step, *where, "--answer")
    assert "===== right: " in right.out
    missed = call("show", step, *where, "--benchmark-option", "top_k=1")
    assert missed.code == 0


@pytest.mark.parametrize(
    ("protocol", "rule"),
    [
        ("seeact-two-rounds", "last"),
        ("seeact-choice", "last"),
        ("seeact-annotation", "NA for a letter"),
        ("mindact-choice", "first"),
        ("mindact-generate", "in words"),
        ("coordinates", "in words"),
        ("classify", None),
        ("autowebglm", None),
    ],
)
def test_a_run_records_how_a_model_could_decline(protocol: str, rule: str | None) -> None:
    ranked = () if protocol in ("seeact-two-rounds", "coordinates") else LEXICAL
    line = ("--model", "oracle", *ONE_TASK, "--protocol", protocol, *ranked)
    assert call(*line, "--out", "a").code == 0
    config = json.loads(Path("a/manifest.json").read_text())["config"]
    assert config["none_rule"] == rule
    assert call(*line, "--out", "a").code == 0
