"""Products of step rates, and bounds from what was listed and shown."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from adapters.conversation import Picture
from harness.runs import StepUnit
from reports.analyses.choices import (
    BOTH,
    INSIDE,
    LISTED,
    TOUCHED,
    VALID,
    ceilings,
)
from reports.analyses.independence import all_succeed, correlation, task_independence, two_sided
from reports.formats import render
from tests.reports.runs import setup, step, worked, write
from tests.units import changed


def _tasks(*texts: str) -> list[StepUnit]:
    return [
        step(f"T{t}", i, None if sign == "-" else sign == "1", total_steps=len(text))
        for t, text in enumerate(texts)
        for i, sign in enumerate(text)
    ]


def test_expected_is_the_mean_product_of_rates(tmp_path: Path) -> None:
    steps = _tasks("11", "1-1", "10", "0")
    frame = task_independence(write(tmp_path / "run", steps, setup(dataset={"rows": 8})))
    row = frame.iloc[0]
    p = 5 / 7
    assert (row["tasks"], row["steps"], row["succeeded"]) == (4, 7, 2)
    assert row["step_success"] == pytest.approx(p)
    assert row["observed"] == 0.5
    assert row["one_rate"] == pytest.approx((3 * p**2 + p) / 4)
    sites = {"shop-T0": 1.0, "shop-T1": 1.0, "shop-T2": 0.5, "shop-T3": 0.0}
    assert row["by_website"] == pytest.approx((1 + 1 + sites["shop-T2"] ** 2 + 0) / 4)
    assert row["by_operation"] == pytest.approx(row["one_rate"])
    assert frame["group"].tolist() == ["all tasks", "1-2"]


def test_operations_have_rates_of_their_own(tmp_path: Path) -> None:
    steps = _tasks("10", "11")
    typed = [
        changed(s, gold=replace(s.detail.gold, operation="TYPE")) if s.position else s
        for s in steps
    ]
    row = task_independence(write(tmp_path / "run", typed, setup(dataset={"rows": 4}))).iloc[0]
    assert row["by_operation"] == pytest.approx(1.0 * 0.5)


def test_tasks_with_missing_rows_are_left_out(tmp_path: Path) -> None:
    made = setup(dataset={"rows": 7, "partial_tasks": {"A": 5}})
    frame = task_independence(write(tmp_path / "run", worked(), made))
    assert frame.iloc[0]["tasks"] == 2
    assert "1 tasks are left out" in render(frame)
    open_run = write(tmp_path / "open", worked()[:3], complete=False)
    assert task_independence(open_run).iloc[0]["tasks"] == 1


def test_repeats_of_a_task_are_no_independent_tasks(tmp_path: Path) -> None:
    steps = [replace(s, repeat=repeat) for repeat in (0, 1) for s in _tasks("11", "10")]
    made = setup(dataset={"rows": 4}, repeats=2)
    frame = task_independence(write(tmp_path / "run", steps, made))
    row = frame.iloc[0]
    assert (row["tasks"], row["observed"]) == (4, 0.5)
    # One task always succeeds, the other never: two outcomes, whatever the number of repeats.
    assert row["observed_few"] and row["observed_high"] - row["observed_low"] > 0.9
    assert pd.isna(row["p"])
    assert "repeats count as tasks; intervals have tasks as clusters" in " ".join(
        render(frame).split()
    )


def test_chances_of_sums_are_exact() -> None:
    chances = [0.1, 0.5, 0.7]

    def tail(test: range) -> float:
        return sum(
            math.prod(c if bit else 1 - c for c, bit in zip(chances, bits, strict=True))
            for bits in product((0, 1), repeat=3)
            if sum(bits) in test
        )

    for wins in range(4):
        expected = min(1.0, 2 * min(tail(range(wins + 1)), tail(range(wins, 4))))
        assert two_sided(chances, wins) == pytest.approx(expected)


def test_correlation_within_tasks() -> None:
    assert correlation([(3, 3), (0, 3)]) == pytest.approx(1.0)
    assert correlation([(1, 2), (1, 2)]) == pytest.approx(-1.0)
    assert correlation([(1, 1), (0, 1)]) is None
    assert correlation([(2, 2), (2, 2)]) is None
    # Between: 4 tasks of 2 around 1/2; within: one split task in two.
    between = 2 * (0.25 + 0.25 + 0 + 0) / 3
    within = (0.5 + 0.5) / 4
    value = (between - within) / (between + within)
    assert correlation([(2, 2), (0, 2), (1, 2), (1, 2)]) == pytest.approx(value)


def test_correlated_steps_succeed_together_more_often() -> None:
    assert all_succeed(0.5, 1.0, 5) == 0.5
    assert all_succeed(0.5, -0.1, 3) == 0.125
    # Uniform rates: the mean of p^n is 1/(n+1).
    assert all_succeed(0.5, 1 / 3, 4) == pytest.approx(1 / 5)
    assert all_succeed(1.0, 0.3, 4) == 1.0


RECIPE = "v1;policy=viewport;box={};size=10x10;filter=none;draft=1;encoder=jpeg;quality=90"


def _shown(record: StepUnit, boxes: str, *targets: tuple[float, float, float, float]) -> StepUnit:
    pictures = tuple(Picture("d", RECIPE.format(box), 10, 10) for box in boxes.split())
    gold = replace(record.detail.gold, boxes=targets, elements=tuple(map(str, range(len(targets)))))
    return changed(record, pictures=pictures, gold=gold)


def test_bounds_of_a_run(tmp_path: Path) -> None:
    first = "0,0,1280,720"
    steps = [
        _shown(step("A", 0, True), first, (10, 100, 50, 20)),
        _shown(step("A", 1, True), first, (10, 710, 50, 20)),
        _shown(step("B", 0, False), first, (10, 900, 50, 20), (10, 300, 50, 20)),
        _shown(step("B", 1, None), first),
        _shown(step("B", 2, False), first, (10, 900, 50, 20)),
    ]
    steps[4] = changed(steps[4], gold=replace(steps[4].detail.gold, shown=None))
    run = write(tmp_path / "run", steps, setup(dataset={"rows": 5}, image_policy="viewport"))
    frame = ceilings(run).set_index("bound")
    assert frame.loc[VALID, "steps_possible_micro"] == 4 / 5
    assert frame.loc[VALID, "steps_possible"] == pytest.approx((1 + 2 / 3) / 2)
    assert frame.loc[VALID, "tasks_possible"] == 0.5
    assert frame.loc[LISTED, "steps_possible_micro"] == 3 / 4
    assert frame.loc[INSIDE, "steps_possible_micro"] == 2 / 4
    assert frame.loc[TOUCHED, "steps_possible_micro"] == 3 / 4
    assert frame.loc[BOTH, "steps_possible_micro"] == 2 / 4


def test_a_row_without_a_right_element_that_counts_cannot_be_answered(tmp_path: Path) -> None:
    lost = step("A", 1, False)
    nothing = replace(lost.detail.gold, elements=(), boxes=(), shown=None)
    steps = [step("A", 0, True), changed(lost, gold=nothing), step("B", 0, True)]
    run = write(tmp_path / "run", steps, setup(dataset={"rows": 3}, image_policy="none"))
    frame = ceilings(run).set_index("bound")
    assert frame.loc[VALID, "steps_possible_micro"] == 2 / 3
    assert frame.loc[VALID, "tasks_possible"] == 0.5


def test_tiles_must_show_the_target_whole_in_one_of_them(tmp_path: Path) -> None:
    tiles = "0,0,1280,1000 0,800,1280,1800"
    steps = [
        _shown(step("A", 0, True), tiles, (0, 790, 10, 300)),
        _shown(step("A", 1, True), tiles, (0, 810, 10, 300)),
    ]
    frame = ceilings(write(tmp_path / "run", steps)).set_index("bound")
    assert frame.loc[INSIDE, "steps_possible_micro"] == 0.5
    assert frame.loc[TOUCHED, "steps_possible_micro"] == 1.0


def test_without_pictures_nothing_is_said_about_them(tmp_path: Path) -> None:
    frame = ceilings(write(tmp_path / "run", worked(), setup(image_policy="none")))
    assert frame["bound"].tolist() == [VALID, LISTED]
    assert "sent no picture" in render(frame)
