"""Intervals of one table do not contradict what its measures imply."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from parsers import MIND2WEB, AggregationRules, Average, Metrics, ScoredUnit, aggregate
from parsers.agreement import agreeing
from parsers.rates import Interval
from parsers.repeats import aggregate_repeats
from tests.parsers.steps import scores, step

AVERAGES: tuple[Average, ...] = ("macro", "micro")


def rare(chance: random.Random, tasks: int = 22) -> list[ScoredUnit]:
    """Steps that rarely have the element, and more rarely the rest; some are invalid."""
    rows = []
    for task in range(tasks):
        for index in range(chance.choice([2, 6, 11])):
            element = chance.random() < 0.06
            won = element and chance.random() < 0.6
            given = scores(won, element=element)
            rows.append(step(f"t{task}", index, given))
    for task in (3, 5, 8):
        rows.append(step(f"t{task}", 20, None, invalid="no_positive"))
    return rows


def ends(metrics: Metrics, line: str, measure: str, average: Average) -> Interval:
    units = metrics.valid if line == "valid" else metrics.strict
    estimate = units.rates[measure][average]
    assert estimate.interval is not None
    return estimate.interval


def check(metrics: Metrics) -> None:
    for line, parents in (("valid", "default"), ("strict", "strict")):
        for average in AVERAGES:
            chain = [ends(metrics, line, name, average) for name in ("success", "element")]
            f1 = ends(metrics, line, "operation_f1", average)
            if average == "macro":
                tasks = getattr(metrics.parents["task_success"], parents).interval
                assert tasks is not None
                chain = [tasks, *chain]
            for lower, upper in (*pairwise(chain), (chain[-2], f1)):
                assert lower.high <= upper.high and lower.low <= upper.low
    for name in ("success", "element", "operation_f1"):
        for average in AVERAGES:
            strict, valid = (ends(metrics, line, name, average) for line in ("strict", "valid"))
            assert strict.high <= valid.high and strict.low <= valid.low


@pytest.mark.parametrize("seed", range(8))
def test_what_needs_another_measure_never_reaches_above_it(seed: int) -> None:
    rows = rare(random.Random(seed))
    check(aggregate(rows, MIND2WEB))
    check(aggregate_repeats([(0, row) for row in rows], MIND2WEB).metrics)
    check(aggregate_repeats([(n, row) for n in (0, 1) for row in rows], MIND2WEB).metrics)


def test_task_success_ends_where_step_success_does() -> None:
    # No success in 22 tasks: alone, Clopper-Pearson would end at 15.4 %, steps earlier.
    rows = [step(f"t{task}", index, False) for task in range(22) for index in range(7)]
    metrics = aggregate(rows, MIND2WEB)
    tasks, steps = (
        metrics.parents["task_success"].default.interval,
        ends(metrics, "valid", "success", "macro"),
    )
    assert tasks is not None
    assert (tasks.method, steps.method) == ("clopper-pearson", "wilson")
    assert tasks.high == steps.high < 0.1


def test_a_measure_that_other_rules_decide_keeps_its_interval() -> None:
    # `success` with a right element but without F1 of 1, as step_rule=exact could have it.
    odd = {**scores(True), "operation_f1.mind2web": 0.5}
    rows = [step(f"t{n}", 0, odd if n == 0 else False) for n in range(40)]
    metrics = aggregate(rows, MIND2WEB)
    assert "operation_f1" not in metrics.valid.implied["success"]
    assert "element" in metrics.valid.implied["success"]
    usual = aggregate([step(f"t{n}", 0, n == 0) for n in range(40)], MIND2WEB)
    assert {"element", "operation_f1"} < set(usual.valid.implied["success"])


def test_both_intervals_keep_their_own_values_and_agreeing_twice_changes_nothing() -> None:
    metrics = aggregate(rare(random.Random(1)), MIND2WEB, AggregationRules(invalid="fail"))
    for units in (metrics.valid, metrics.strict):
        for rate in units.rates.values():
            for estimate in rate.values():
                assert estimate.interval is not None and estimate.value is not None
                assert estimate.interval.low <= estimate.value <= estimate.interval.high
    assert agreeing(metrics) == metrics


def test_an_interval_that_is_too_wide_is_cut_and_an_implied_one_raised() -> None:
    metrics = aggregate(rare(random.Random(2)), MIND2WEB)
    wide = Interval(0.03, 0.9, "wilson", 22, True)
    rates = dict(metrics.valid.rates)
    rates["success"] = {
        **rates["success"],
        "micro": replace(rates["success"]["micro"], interval=wide),
    }
    value = metrics.valid.rates["element"]["micro"].value
    assert value is not None
    narrow = Interval(0.01, value + 0.01, "wilson", 22, True)
    rates["element"] = {
        **rates["element"],
        "micro": replace(rates["element"]["micro"], interval=narrow),
    }
    found = agreeing(replace(metrics, valid=replace(metrics.valid, rates=rates)))
    success, element = (ends(found, "valid", name, "micro") for name in ("success", "element"))
    assert success.high == narrow.high
    assert element.low >= success.low >= wide.low > narrow.low
