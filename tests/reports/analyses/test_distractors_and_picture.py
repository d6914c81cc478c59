"""Runs that differ in one thing: what changes, paired by step, and what may not differ."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.runs import RunError, StepUnit
from parsers import t_interval
from parsers.records import Choice
from reports.analyses.paired import distractor_curve, picture_effect
from reports.formats import render
from tests.reports.runs import setup, step, write
from tests.units import changed, flat


def _listed(record: StepUnit, negatives: int) -> StepUnit:
    wrong = tuple(Choice(chr(66 + place), f"n{place}", "a", "Wrong") for place in range(negatives))
    return changed(record, choices=(Choice("A", "7", "a", "Right"), *wrong))


def _run(path: Path, rights: Sequence[str], negatives: int, **settings: Any) -> Path:
    """A task per text: '1' a step that succeeds, '0' one that fails, '-' an open one."""
    steps = [
        _listed(step(f"T{t}", i, sign == "1", settled=sign != "-"), negatives)
        for t, text in enumerate(rights)
        for i, sign in enumerate(text)
    ]
    made = setup(distractors=negatives, dataset={"rows": len(steps)}, **settings)
    return write(path, steps, made, complete="-" not in "".join(rights))


def test_a_curve_with_paired_changes(tmp_path: Path) -> None:
    easy = _run(tmp_path / "easy", ["11", "11", "10"], 1)
    hard = _run(tmp_path / "hard", ["10", "01", "00"], 3)
    frame = distractor_curve([hard, easy])
    assert frame["run"].tolist() == ["easy", "hard"]
    assert frame["distractors"].tolist() == [1, 3]
    assert frame["chance"].tolist() == [0.5, 0.25]
    assert frame["step_success"].tolist() == pytest.approx([(1 + 1 + 0.5) / 3, 1 / 3])
    assert frame["step_success_micro"].tolist() == pytest.approx([5 / 6, 2 / 6])
    last = frame.iloc[1]
    assert last["change"] == pytest.approx(-0.5)
    assert pd.isna(last["change_low"])  # the change is the same in every task
    assert "the choices of each run are among those of the next one" in render(frame)


def test_intervals_of_changes_are_t_intervals_over_tasks(tmp_path: Path) -> None:
    easy = _run(tmp_path / "easy", ["11", "11", "10", "01"], 1)
    hard = _run(tmp_path / "hard", ["00", "11", "00", "11"], 3)
    last = distractor_curve([easy, hard]).iloc[1]
    changes = [-1.0, 0.0, -0.5, 0.5]
    assert last["change"] == pytest.approx(sum(changes) / 4)
    mean, spread = -0.25, math.sqrt(sum((c + 0.25) ** 2 for c in changes) / 3)
    reach = 3.182446 * spread / 2  # t with three degrees of freedom
    assert last["change_high"] == pytest.approx(mean + reach, rel=1e-6)
    assert last["change_low"] == pytest.approx(max(-1.0, mean - reach), rel=1e-6)


def test_only_steps_that_all_runs_have_count(tmp_path: Path) -> None:
    full = _run(tmp_path / "full", ["11", "00"], 1)
    part = _run(tmp_path / "part", ["1-", "00"], 2)
    frame = distractor_curve([full, part])
    assert frame["steps"].tolist() == [3, 3]
    assert frame["step_success"].tolist() == [0.5, 0.5]
    assert "1 steps of full are left out" in render(frame)


def test_choices_that_are_not_nested_are_told(tmp_path: Path) -> None:
    small = write(tmp_path / "small", [step("A", 0, True)], setup(distractors=1))
    other = write(
        tmp_path / "other",
        [changed(_listed(step("A", 0, True), 5), choices=())],
        setup(distractors=7),
    )
    assert "NOT nested: in 1 of 1 steps" in render(distractor_curve([small, other]))


def test_runs_that_differ_in_more_are_refused(tmp_path: Path) -> None:
    a = _run(tmp_path / "a", ["1"], 1, none="last")
    b = _run(tmp_path / "b", ["1"], 2, none="first")
    with pytest.raises(RunError, match=r"none: last \(a\), first \(b\)"):
        distractor_curve([a, b])
    with pytest.raises(RunError, match="several runs with 1"):
        distractor_curve([a, _run(tmp_path / "c", ["1"], 1, none="last")])


def _pictures(tmp_path: Path, seeing: Sequence[str], blind: Sequence[str]) -> tuple[Path, Path]:
    return (
        _run(tmp_path / "seeing", seeing, 1, image_policy="full"),
        _run(tmp_path / "blind", blind, 1, image_policy="none"),
    )


def test_the_picture_is_worth_a_paired_difference(tmp_path: Path) -> None:
    seeing, blind = _pictures(tmp_path, ["11", "10", "1"], ["10", "11", "0"])
    frame = picture_effect(blind, seeing)
    row = frame[(frame["group"] == "all steps") & (frame["metric"] == "Step SR")].iloc[0]
    assert (row["with_picture"], row["without"]) == (pytest.approx(2.5 / 3), 0.5)
    changes = [0.5, -0.5, 1.0]
    assert row["difference"] == pytest.approx(sum(changes) / 3)
    assert row["difference_micro"] == pytest.approx(1 / 5)
    assert (row["gained"], row["lost"], row["steps"], row["tasks"]) == (2, 1, 5, 3)
    halved = t_interval([(change + 1) / 2 for change in changes])
    assert halved is not None
    assert row["difference_low"] == pytest.approx(2 * halved.low - 1)


def test_groups_of_steps_add_up_to_all(tmp_path: Path) -> None:
    def with_operations(path: Path, policy: str, wins: str) -> Path:
        steps = []
        for place, sign in enumerate(wins):
            record = step(f"T{place // 2}", place % 2, sign == "1")
            box = (0.0, 500.0 * place, 5.0, 5.0)
            gold = replace(record.detail.gold, operation=("CLICK", "TYPE")[place % 2], boxes=(box,))
            steps.append(changed(record, gold=gold))
        made = setup(image_policy=policy, dataset={"rows": len(wins)})
        return write(path, steps, made)

    a = with_operations(tmp_path / "a", "full", "111010")
    b = with_operations(tmp_path / "b", "none", "010110")
    frame = picture_effect(a, b)
    success = frame[frame["metric"] == "Step SR"].set_index("group")
    lines = [flat(json.loads(x)) for x in (a / "steps.jsonl").read_text("utf-8").splitlines()]
    for operation in ("CLICK", "TYPE"):
        own = [x["scores"]["success"] for x in lines if x["gold"]["operation"] == operation]
        assert success.loc[operation, "steps"] == len(own)
        assert success.loc[operation, "with_picture_micro"] == pytest.approx(sum(own) / len(own))
    bands = [name for name in success.index if name.startswith("target at")]
    assert bands == [
        "target at 0-719 px",
        "target at 720-1439 px",
        "target at 1440-2879 px",
    ]
    assert success.loc[bands, "gained"].sum() == success.loc["all steps", "gained"] == 2


def test_what_is_no_pair_is_refused(tmp_path: Path) -> None:
    seeing, blind = _pictures(tmp_path, ["1"], ["1"])
    with pytest.raises(RunError, match="two runs"):
        picture_effect(seeing, seeing)
    other = _run(tmp_path / "view", ["1"], 1, image_policy="viewport")
    with pytest.raises(RunError, match="full and viewport"):
        picture_effect(seeing, other)
    wrong = _run(tmp_path / "wrong", ["1"], 1, image_policy="none", model={"name": "m-2"})
    with pytest.raises(RunError, match="more than the picture: model:"):
        picture_effect(seeing, wrong)
    assert len(picture_effect(seeing, blind)) == 3
