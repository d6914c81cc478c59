"""The worked example, the policies for invalid and unattempted rows, properties of means."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import (
    ELEMENT_ONLY,
    F1_VARIANTS,
    MIND2WEB,
    AggregationRules,
    Declaration,
    Level,
    Measure,
    Results,
    ScoredUnit,
    Status,
    clopper_pearson,
    results,
)
from parsers.counting import Rule
from parsers.estimates import PARENTS, QUARTILES
from tests.numbers import estimate, results_by
from tests.parsers.steps import once, scores, selections, step
from tests.units import step_scores

EXAMPLE = [
    step("A", 0, True),
    step("A", 1, True),
    step("B", 0, True),
    step("B", 1, None, invalid="no_positive"),
    step("B", 2, True),
    step("C", 0, True),
    step("C", 1, False, status=Status.AMBIGUOUS),
]
TASKS: tuple[Rule, ...] = ("valid", "strict", "clean")
UNITS: tuple[Rule, ...] = ("valid", "strict")
MEASURES = ("success", "element", "operation_f1.mind2web-lc")
STRICT = AggregationRules(invalid="fail")


def averaged(units: Iterable[ScoredUnit], *given: Any, **more: Any) -> Results:
    return results(once(units), MIND2WEB, *given, **more)


def number(found: Results, measure: str, average: str, rule: Rule = "valid") -> float | None:
    return estimate(found, measure, average, rule).number


def tasks_of(found: Results) -> dict[str, float | None]:
    return {rule: number(found, "task_success", PARENTS, rule) for rule in TASKS}


def test_worked_example() -> None:
    found = averaged(EXAMPLE)
    assert number(found, "success", "micro") == 5 / 6
    assert number(found, "success", "macro") == pytest.approx((1 + 1 + 0.5) / 3)
    assert number(found, "success", "micro", "strict") == 5 / 7
    assert number(found, "success", "macro", "strict") == pytest.approx((1 + 2 / 3 + 0.5) / 3)
    assert tasks_of(found) == {"valid": 2 / 3, "strict": 1 / 3, "clean": 1 / 2}
    counts = found.counts
    assert counts.behind == {"valid": (3, 6), "strict": (3, 7)}
    assert (counts.n_parents, counts.n_rows, counts.n_valid, counts.n_settled) == (3, 7, 6, 6)
    assert (counts.n_unsettled, counts.n_invalid, counts.invalid) == (0, 1, {"no_positive": 1})
    assert counts.statuses == {"ambiguous": 1, "answered": 5}
    assert (counts.parse_failures, counts.parse_failure_rate) == (1, 1 / 6)


def test_headline_follows_the_invalid_policy() -> None:
    default, strict = averaged(EXAMPLE), averaged(EXAMPLE, STRICT)
    assert default.rows == strict.rows
    for measure, average in (("success", "macro"), ("task_success", PARENTS)):
        assert default.row(measure) == estimate(default, measure, average, "valid")
        assert strict.row(measure) == estimate(default, measure, average, "strict")


def test_intervals_name_their_method_and_clusters() -> None:
    found = averaged(EXAMPLE)
    for average in ("macro", "micro"):
        interval = estimate(found, "success", average).interval
        assert interval is not None
        assert (interval.method, interval.clusters, interval.few) == ("wilson", 3, True)
    assert estimate(found, "task_success").interval == clopper_pearson(2, 3)


def test_every_variant_is_averaged_beside_the_one_of_the_headline() -> None:
    f1 = {"mind2web": 0.5, "mind2web-lc": 0.8, "cl100k-lc": 0.9}
    assert set(f1) == set(F1_VARIANTS)
    for variant, value in f1.items():
        mixed = {**step_scores(True, f1, False, False), "operation_f1": value}
        found = averaged([step("A", 0, mixed)])
        for one in f1:
            assert number(found, f"operation_f1.{one}", "micro") == f1[one]
        same = replace(estimate(found, f"operation_f1.{variant}"), measure="operation_f1")
        assert estimate(found, "operation_f1") == same
        assert number(found, "element", "micro") == 1.0
        assert number(found, "operation_exact", "micro") == 0.0


def test_what_an_environment_lost_counts_nowhere_not_even_as_failed() -> None:
    rows = [step("A", 0, True), step("B", 0, None, invalid="environment_error")]
    found = averaged(rows, STRICT)
    assert number(found, "success", "micro", "strict") == 1.0
    assert found.counts.behind["strict"] == (1, 1)
    assert tasks_of(found)["strict"] == 1.0
    assert found.counts.invalid == {"environment_error": 1}


def test_invalid_rows_are_left_out_even_when_they_were_asked() -> None:
    rows = [step("A", 0, True), step("A", 1, True, invalid="no_positive")]
    found = averaged(rows)
    assert found.counts.behind["valid"] == (1, 1)
    assert number(found, "success", "micro", "strict") == 0.5
    assert tasks_of(found) == {"valid": 1.0, "strict": 0.0, "clean": None}


def test_a_task_of_invalid_rows_only_counts_in_strict_alone() -> None:
    rows = [step("A", 0, True), step("B", 0, None, invalid="no_screenshot")]
    found = averaged(rows)
    totals = {rule: estimate(found, "task_success", PARENTS, rule).n for rule in TASKS}
    assert totals == {"valid": 1, "strict": 2, "clean": 1}


def test_task_success_of_a_partial_run_is_not_available() -> None:
    rows = [step("A", 0, True), step("B", 0, True), step("B", 1, None), step("C", 0, None)]
    found = averaged(rows)
    for rule in TASKS:
        tasks = estimate(found, "task_success", PARENTS, rule)
        assert (tasks.number, tasks.interval) == (None, None)
        assert (tasks.won, tasks.complete, tasks.n) == (1, 1, 3)
    assert number(found, "success", "micro") == 1.0
    assert found.counts.n_unsettled == 2


def test_unattempted_rows_can_count_as_failed() -> None:
    rows = [step("A", 0, True), step("B", 0, True), step("B", 1, None)]
    found = averaged(rows, AggregationRules(unattempted="fail"))
    assert number(found, "success", "micro") == pytest.approx(2 / 3)
    tasks = estimate(found, "task_success")
    assert (tasks.number, tasks.won, tasks.complete, tasks.n) == (0.5, 1, 2, 2)
    assert found.counts.n_unsettled == 1


def test_a_task_cut_short_by_the_selection_is_incomplete() -> None:
    rows, lengths = [step("A", 0, True), step("B", 0, True)], {"A": 1, "B": 4}
    tasks = estimate(averaged(rows, lengths=lengths), "task_success")
    assert (tasks.number, tasks.complete, tasks.n) == (None, 1, 2)
    rules = AggregationRules(unattempted="fail")
    assert estimate(averaged(rows, rules, lengths=lengths), "task_success").number == 0.5


def test_flags_are_counted() -> None:
    rows = [
        step("A", 0, True, flags=("mapped_operation", "multiple")),
        step("A", 1, True, flags=("multiple",)),
        step("A", 2, True, flags=("multiple",), invalid="no_positive"),
    ]
    assert averaged(rows).counts.flags == {"mapped_operation": 1, "multiple": 2}


def test_statuses_can_be_excluded_and_stay_labelled() -> None:
    rows = [step("A", 0, True), step("A", 1, False, status=Status.REFUSAL)]
    assert number(averaged(rows), "success", "micro") == 0.5
    found = averaged(rows, AggregationRules(exclude=frozenset({Status.REFUSAL})))
    assert number(found, "success", "micro") == 1.0
    assert number(found, "success", "micro", "strict") == 0.5
    assert found.counts.invalid == {"excluded_refusal": 1}
    assert tasks_of(found)["valid"] == 1.0


def test_nothing_is_undefined_but_none() -> None:
    found = averaged([])
    for row in found.rows:
        assert (row.number, row.interval, row.n, row.units) == (None, None, 0, 0)
    tasks = estimate(found, "task_success")
    assert (tasks.won, tasks.complete) == (0, 0)
    assert found.counts.parse_failure_rate is None and found.repeats == 1


def test_the_same_step_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="A_0"):
        averaged([step("A", 0, True), step("A", 0, True)])


def test_the_same_task_id_in_two_splits_is_two_tasks() -> None:
    rows = [step("A", 0, True), step("A", 0, False, split="test_domain")]
    assert averaged(rows).counts.behind["valid"] == (2, 2)


def test_groups_by_operation_have_no_task_success() -> None:
    rows = [step("A", 0, True), step("A", 1, False, operation="TYPE")]
    groups = results_by("operation", once(rows), MIND2WEB)
    assert list(groups) == ["CLICK", "TYPE"]
    assert all(group.row("task_success") is None for group in groups.values())
    assert {(row.group, row.value) for row in groups["TYPE"].rows} == {("operation", "TYPE")}


@given(
    selections(), st.sampled_from([group.name for group in MIND2WEB.groups]), st.sampled_from(UNITS)
)
def test_subgroup_means_recombine_to_the_total(
    rows: list[ScoredUnit], key: str, rule: Rule
) -> None:
    whole = averaged(rows)
    parts = results_by(key, once(rows), MIND2WEB).values()
    assert sum(part.counts.behind[rule][1] for part in parts) == whole.counts.behind[rule][1]
    # Groups by operation cut tasks apart: their macro means do not recombine.
    kinds = ["micro"] if key == "operation" else ["micro", "macro"]
    for total in whole.rows:
        if total.rule != rule or total.average not in kinds:
            continue
        own = [estimate(part, total.measure, total.average, rule) for part in parts]
        assert sum(one.n for one in own) == total.n
        if total.number is not None:
            weighted = math.fsum((one.number or 0.0) * one.n for one in own) / total.n
            assert weighted == pytest.approx(total.number, abs=1e-12)


@given(selections(), st.sampled_from(["split", "website", "domain", "subdomain"]))
def test_subgroup_tasks_recombine_to_the_total(rows: list[ScoredUnit], key: str) -> None:
    parts = results_by(key, once(rows), MIND2WEB).values()
    for total in averaged(rows).rows:
        if total.average == PARENTS:
            own = [estimate(part, total.measure, PARENTS, total.rule) for part in parts]
            for count in ("won", "complete", "n"):
                assert sum(getattr(one, count) for one in own) == getattr(total, count)


def by_task(rows: Collection[ScoredUnit], measure: str, rule: Rule) -> list[list[float]]:
    """The values of a measure that count, by task, each in a split of its own."""
    tasks: dict[tuple[str, str], list[float]] = {}
    unclean = {(row.split, row.parents["task"]) for row in rows if row.invalid}
    for row in rows:
        task = row.split, row.parents["task"]
        if rule == "strict" or not (row.invalid or (rule == "clean" and task in unclean)):
            value = 0.0 if row.invalid else (row.scores or {})[measure]
            tasks.setdefault(task, []).append(value or 0.0)
    return list(tasks.values())


@given(selections(unsettled=False), st.randoms())
def test_rows_are_the_means_by_hand_in_any_order(
    rows: list[ScoredUnit], chance: random.Random
) -> None:
    mixed = chance.sample(rows, len(rows))
    found = averaged(mixed)
    assert found == averaged(rows)
    for rule in TASKS:
        won = [float(min(of) == 1) for of in by_task(rows, "success", rule)]
        by_hand = {("task_success", PARENTS): won}
        for measure in MEASURES if rule in UNITS else ():
            tasks = by_task(rows, measure, rule)
            by_hand[measure, "micro"] = [value for of in tasks for value in of]
            by_hand[measure, "macro"] = [fmean(of) for of in tasks]
        for (measure, average), values in by_hand.items():
            row = estimate(found, measure, average, rule)
            assert row.n == len(values)
            assert row.number == (pytest.approx(fmean(values)) if values else None)


def test_quartiles_are_those_of_all_units_that_count_by_each_rule() -> None:
    """Those of the invalid rows, which were asked all the same, do not move the others."""
    declared = Declaration(
        measures=(Measure("right", main=True), Measure("letters", averages=("quartiles",))),
        levels=(Level("task"),),
        groups=(),
        kind="text",
    )

    def row(number: int, letters: float, invalid: str | None) -> ScoredUnit:
        known = {"right": 1.0, "letters": letters}
        return replace(step("A", number, known), invalid=invalid)

    asked = [row(n, n, None) for n in range(5)]
    rows = [*asked, *(row(n, -1 if n % 2 else 10, "no_positive") for n in range(5, 11))]
    found = results(once(rows), declared)
    expected: dict[Rule, Any] = {"valid": (5, 1, 2, 3), "strict": (11, -0.5, 2, 7)}
    for rule, numbers in expected.items():
        letters = estimate(found, "letters", QUARTILES, rule)
        assert letters.interval is not None
        low, high = letters.interval.low, letters.interval.high
        assert (letters.n, low, letters.number, high) == numbers


@given(selections(), st.sampled_from(["valid", "fail"]), st.sampled_from(["exclude", "fail"]))
def test_every_number_is_finite_and_between_zero_and_one(
    rows: list[ScoredUnit], invalid: Any, unattempted: Any
) -> None:
    rules = AggregationRules(invalid=invalid, unattempted=unattempted)
    found = averaged(rows, rules)
    for row in found.rows:
        if row.number is not None:
            assert 0 <= row.number <= 1
        if row.interval is not None:
            assert row.number is not None
            assert 0 <= row.interval.low <= row.number <= row.interval.high <= 1
    assert 0 <= (found.counts.parse_failure_rate or 0) <= 1


@given(selections(unsettled=False))
def test_success_never_exceeds_its_parts(rows: list[ScoredUnit]) -> None:
    found = averaged(rows)
    success = number(found, "success", "micro")
    for part in (number(found, "element", "micro"), number(found, "operation_f1", "micro")):
        assert success is None or part is None or success <= part + 1e-12
    won = {rule: estimate(found, "task_success", PARENTS, rule).won or 0 for rule in TASKS}
    assert won["clean"] == won["strict"] <= won["valid"]


@given(selections(unsettled=False, invalid=False))
def test_policies_agree_without_invalid_and_unattempted_rows(rows: list[ScoredUnit]) -> None:
    found = averaged(rows)
    valid = [row for row in found.rows if row.rule == "valid"]
    for rule in ("strict", "clean"):
        own = [row for row in found.rows if row.rule == rule]
        same = [row for row in valid if row.average == PARENTS or rule == "strict"]
        # Only intervals of one line are made to agree with each other.
        if rule == "clean":
            own, same = ([replace(row, interval=None) for row in of] for of in (own, same))
        assert [replace(row, rule="valid") for row in own] == same
    assert averaged(rows, AggregationRules(unattempted="fail")).rows == found.rows


def test_operations_that_nobody_was_asked_for_are_unknown_and_not_zero() -> None:
    only = scores(False, 0.0, element=True)
    rows = [
        step("A", 0, only, flags=(ELEMENT_ONLY,)),
        step("A", 1, scores(False), status=Status.NOT_OFFERED),
    ]
    found = averaged(rows)
    assert number(found, "element", "micro") == 0.5
    for measure in ("operation_f1", "success", "operation_exact"):
        assert measure in found.left_open
        for rule in UNITS:
            assert number(found, measure, "micro", rule) is None
            assert number(found, measure, "macro", rule) is None
    assert found.row("task_success") is None
    # One step that was asked for its operation, and zero means zero.
    mixed = averaged([*rows, step("B", 0, False)])
    assert number(mixed, "operation_f1", "micro") == 0.0
    assert mixed.row("task_success") is not None
