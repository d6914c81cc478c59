"""Intervals of one table do not contradict what its measures imply."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from parsers import MIND2WEB, AggregationRules, Average, Interval, Results, ScoredUnit, results
from parsers.averages import agreeing
from parsers.counting import DEFAULT_RULES, Rule
from parsers.estimates import PARENTS, Bounds
from parsers.parts import Part
from tests.numbers import estimate
from tests.parsers.steps import once, scores, step

AVERAGES: tuple[Average, ...] = ("macro", "micro")
RULES: tuple[Rule, ...] = ("valid", "strict")


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


def ends(found: Results, rule: Rule, measure: str, average: str) -> Interval:
    interval = estimate(found, measure, average, rule).interval
    assert interval is not None
    return interval


def check(found: Results) -> None:
    for rule in RULES:
        for average in AVERAGES:
            chain = [ends(found, rule, name, average) for name in ("success", "element")]
            f1 = ends(found, rule, "operation_f1", average)
            if average == "macro":
                chain = [ends(found, rule, "task_success", PARENTS), *chain]
            for lower, upper in (*pairwise(chain), (chain[-2], f1)):
                assert lower.high <= upper.high and lower.low <= upper.low
    for name in ("success", "element", "operation_f1"):
        for average in AVERAGES:
            strict, valid = (ends(found, rule, name, average) for rule in ("strict", "valid"))
            assert strict.high <= valid.high and strict.low <= valid.low


@pytest.mark.parametrize("seed", range(8))
def test_what_needs_another_measure_never_reaches_above_it(seed: int) -> None:
    rows = rare(random.Random(seed))
    check(results(once(rows), MIND2WEB))
    check(results([(n, row) for n in (0, 1) for row in rows], MIND2WEB))


def test_task_success_ends_where_step_success_does() -> None:
    # No success in 22 tasks: alone, Clopper-Pearson would end at 15.4 %, steps earlier.
    rows = [step(f"t{task}", index, False) for task in range(22) for index in range(7)]
    found = results(once(rows), MIND2WEB)
    tasks = ends(found, "valid", "task_success", PARENTS)
    steps = ends(found, "valid", "success", "macro")
    assert (tasks.method, steps.method) == ("clopper-pearson", "wilson")
    assert tasks.high == steps.high < 0.1


def agreed(
    units: list[ScoredUnit], given: dict[str, Interval], rules: AggregationRules = DEFAULT_RULES
) -> Results:
    """The results of units whose micro means had these intervals, made to agree."""
    found = results(once(units), MIND2WEB, rules)
    rows = [
        replace(row, interval=given.get(row.measure, row.interval))
        if (row.average, row.rule) == ("micro", "valid")
        else row
        for row in found.rows
    ]
    part = Part({0: units}, MIND2WEB, found.rules, Bounds(), found.seen)
    return replace(found, rows=agreeing(rows, part))


def test_a_measure_that_other_rules_decide_keeps_its_interval() -> None:
    # `success` with a right element but without F1 of 1, as step_rule=exact could have it.
    odd = {**scores(True), "operation_f1": 0.5, "operation_f1.mind2web": 0.5}
    narrow = {"operation_f1": Interval(0.01, 0.06, "wilson", 40, True)}
    usual = {"success": Interval(0.005, 0.1, "wilson", 40, True)}
    more = [step(f"t{n}", 0, scores(False, 1.0)) for n in (1, 2)]
    more += [step(f"t{n}", 0, False) for n in range(3, 40)]
    for first, high in ((odd, 0.1), (scores(True), 0.06)):
        found = agreed([step("t0", 0, first), *more], usual | narrow)
        assert ends(found, "valid", "success", "micro").high == high
    # The element is needed by both.
    narrow = {"element": Interval(0.01, 0.06, "wilson", 40, True)}
    found = agreed([step("t0", 0, odd), *more], usual | narrow)
    assert ends(found, "valid", "success", "micro").high == 0.06


def test_both_intervals_keep_their_own_values_and_agreeing_twice_changes_nothing() -> None:
    units, rules = rare(random.Random(1)), AggregationRules(invalid="fail")
    found = results(once(units), MIND2WEB, rules)
    for row in found.rows:
        if row.average != PARENTS:
            assert row.interval is not None and row.number is not None
            assert row.interval.low <= row.number <= row.interval.high
    assert agreed(units, {}, rules) == found


def test_an_interval_that_is_too_wide_is_cut_and_an_implied_one_raised() -> None:
    units = rare(random.Random(2))
    value = estimate(results(once(units), MIND2WEB), "element", "micro").number
    assert value is not None
    wide = Interval(0.03, 0.9, "wilson", 22, True)
    narrow = Interval(0.01, value + 0.01, "wilson", 22, True)
    found = agreed(units, {"success": wide, "element": narrow})
    success, element = (ends(found, "valid", name, "micro") for name in ("success", "element"))
    assert success.high == narrow.high
    assert element.low >= success.low >= wide.low > narrow.low
