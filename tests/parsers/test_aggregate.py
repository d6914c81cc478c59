"""The worked example, the policies for invalid and unattempted rows, properties of means."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import (
    ELEMENT_ONLY,
    F1_VARIANTS,
    GROUP_KEYS,
    AggregationRules,
    Estimate,
    Metrics,
    Rate,
    ScoredStep,
    Status,
    StepMetrics,
    TaskSuccess,
    aggregate,
    by,
    clopper_pearson,
    mean_of_groups,
)
from tests.parsers.steps import scores, selections, step

EXAMPLE = [
    step("A", 0, True),
    step("A", 1, True),
    step("B", 0, True),
    step("B", 1, None, invalid="no_positive"),
    step("B", 2, True),
    step("C", 0, True),
    step("C", 1, False, status=Status.AMBIGUOUS),
]


def tasks_of(metrics: Metrics) -> dict[str, TaskSuccess]:
    assert metrics.tasks is not None
    return {
        "default": metrics.tasks.default,
        "strict": metrics.tasks.strict,
        "clean": metrics.tasks.clean,
    }


def test_worked_example() -> None:
    metrics = aggregate(EXAMPLE)
    assert metrics.valid.success.micro.value == 5 / 6
    assert metrics.valid.success.macro.value == pytest.approx((1 + 1 + 0.5) / 3)
    assert metrics.strict.success.micro.value == 5 / 7
    assert metrics.strict.success.macro.value == pytest.approx((1 + 2 / 3 + 0.5) / 3)
    values = {name: own.value for name, own in tasks_of(metrics).items()}
    assert values == {"default": 2 / 3, "strict": 1 / 3, "clean": 1 / 2}
    assert (metrics.valid.n_tasks, metrics.valid.n_steps) == (3, 6)
    assert (metrics.strict.n_tasks, metrics.strict.n_steps) == (3, 7)
    counts = metrics.counts
    assert (counts.n_tasks, counts.n_rows, counts.n_valid, counts.n_settled) == (3, 7, 6, 6)
    assert (counts.n_unsettled, counts.n_invalid, counts.invalid) == (0, 1, {"no_positive": 1})
    assert counts.statuses == {"ambiguous": 1, "answered": 5}
    assert (counts.parse_failures, counts.parse_failure_rate) == (1, 1 / 6)


def test_headline_follows_the_invalid_policy() -> None:
    default, strict = aggregate(EXAMPLE), aggregate(EXAMPLE, AggregationRules(invalid="fail"))
    assert default.steps == default.valid
    assert strict.steps == strict.strict == default.strict
    assert default.task_success == tasks_of(default)["default"]
    assert strict.task_success == tasks_of(strict)["strict"]


def test_intervals_name_their_method_and_clusters() -> None:
    metrics = aggregate(EXAMPLE)
    macro, micro = metrics.valid.success.macro.interval, metrics.valid.success.micro.interval
    assert macro is not None
    assert (macro.method, macro.clusters, macro.few) == ("bootstrap-t", 3, True)
    assert micro is not None
    assert (micro.method, micro.clusters, micro.few) == ("bootstrap-t", 3, True)
    assert tasks_of(metrics)["default"].interval == clopper_pearson(2, 3)


def test_every_variant_is_kept_and_one_is_the_headline() -> None:
    mixed = scores(False, element=True)
    mixed.operation_f1.update({"mind2web": 0.5, "mind2web-lc": 0.8, "cl100k-lc": 0.9})
    for variant in F1_VARIANTS:
        metrics = aggregate([step("A", 0, mixed)], AggregationRules(variant=variant)).valid
        assert metrics.operation_f1 == metrics.variants[variant]
        assert metrics.operation_f1.micro.value == mixed.operation_f1[variant]
        assert metrics.element.micro.value == 1.0
        assert metrics.operation_exact.micro.value == 0.0


def test_invalid_rows_are_left_out_even_when_they_were_asked() -> None:
    rows = [step("A", 0, True), step("A", 1, True, invalid="no_positive")]
    metrics = aggregate(rows)
    assert metrics.valid.n_steps == 1
    assert metrics.strict.success.micro.value == 0.5
    assert tasks_of(metrics)["strict"].value == 0.0
    assert tasks_of(metrics)["clean"].value is None


def test_a_task_of_invalid_rows_only_counts_in_strict_alone() -> None:
    rows = [step("A", 0, True), step("B", 0, None, invalid="no_screenshot")]
    tasks = tasks_of(aggregate(rows))
    assert {name: own.total for name, own in tasks.items()} == {
        "default": 1,
        "strict": 2,
        "clean": 1,
    }


def test_task_success_of_a_partial_run_is_not_available() -> None:
    rows = [step("A", 0, True), step("B", 0, True), step("B", 1, None), step("C", 0, None)]
    metrics = aggregate(rows)
    for success in tasks_of(metrics).values():
        assert success == TaskSuccess(None, None, successes=1, complete=1, total=3)
        assert success.partial
        assert str(success) == "n/a (1 of 3)"
    assert metrics.valid.success.micro.value == 1.0
    assert metrics.counts.n_unsettled == 2


def test_unattempted_rows_can_count_as_failed() -> None:
    rows = [step("A", 0, True), step("B", 0, True), step("B", 1, None)]
    metrics = aggregate(rows, AggregationRules(unattempted="fail"))
    assert metrics.valid.success.micro.value == pytest.approx(2 / 3)
    assert tasks_of(metrics)["default"].value == 0.5
    assert str(tasks_of(metrics)["default"]) == "0.500 (1/2)"
    assert metrics.counts.n_unsettled == 1


def test_a_task_cut_short_by_the_selection_is_incomplete() -> None:
    rows = [step("A", 0, True), step("B", 0, True)]
    success = tasks_of(aggregate(rows, task_lengths={"A": 1, "B": 4}))["default"]
    assert (success.value, success.complete, success.total) == (None, 1, 2)
    rules = AggregationRules(unattempted="fail")
    assert tasks_of(aggregate(rows, rules, task_lengths={"A": 1, "B": 4}))["default"].value == 0.5


def test_flags_are_counted() -> None:
    rows = [
        step("A", 0, True, flags=("mapped_operation", "multiple")),
        step("A", 1, True, flags=("multiple",)),
        step("A", 2, True, flags=("multiple",), invalid="no_positive"),
    ]
    assert aggregate(rows).counts.flags == {"mapped_operation": 1, "multiple": 2}


def test_statuses_can_be_excluded_and_stay_labelled() -> None:
    rows = [step("A", 0, True), step("A", 1, False, status=Status.REFUSAL)]
    assert aggregate(rows).valid.success.micro.value == 0.5
    metrics = aggregate(rows, AggregationRules(exclude=frozenset({Status.REFUSAL})))
    assert metrics.valid.success.micro.value == 1.0
    assert metrics.strict.success.micro.value == 0.5
    assert metrics.counts.invalid == {"excluded_refusal": 1}
    assert tasks_of(metrics)["default"].value == 1.0


def test_nothing_is_undefined_but_none() -> None:
    metrics = aggregate([])
    nothing = Estimate(None, None, 0)
    assert metrics.valid.success == Rate(nothing, nothing)
    assert str(tasks_of(metrics)["default"]) == "n/a (0 of 0)"
    assert metrics.counts.parse_failure_rate is None


def test_the_same_step_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="A_0"):
        aggregate([step("A", 0, True), step("A", 0, True)])


def test_the_same_task_id_in_two_splits_is_two_tasks() -> None:
    rows = [step("A", 0, True), step("A", 0, False, split="test_domain")]
    assert aggregate(rows).valid.n_tasks == 2


def test_groups_by_operation_have_no_task_success() -> None:
    rows = [step("A", 0, True), step("A", 1, False, operation="TYPE")]
    groups = by(rows, "operation")
    assert list(groups) == ["CLICK", "TYPE"]
    assert all(group.tasks is None and group.task_success is None for group in groups.values())
    mean = mean_of_groups(groups, lambda metrics: metrics.valid.operation_f1.micro.value)
    assert mean == 0.5


def test_mean_of_groups_is_none_when_a_group_has_none() -> None:
    groups = by([step("A", 0, True), step("B", 0, None, split="test_domain")], "split")
    assert mean_of_groups(groups, lambda metrics: metrics.valid.success.macro.value) is None


def test_unknown_group_is_an_error() -> None:
    with pytest.raises(ValueError, match="colour"):
        by([], "colour")  # type: ignore[arg-type]


def rates(metrics: StepMetrics) -> dict[str, Rate]:
    return {
        "element": metrics.element,
        "operation_f1": metrics.operation_f1,
        "operation_exact": metrics.operation_exact,
        "success": metrics.success,
        **metrics.variants,
    }


@given(selections(), st.sampled_from(GROUP_KEYS), st.sampled_from(["valid", "strict"]))
def test_subgroup_means_recombine_to_the_total(rows: list[ScoredStep], key: str, line: str) -> None:
    whole: StepMetrics = getattr(aggregate(rows), line)
    parts: list[StepMetrics] = [
        getattr(group, line)
        for group in by(rows, key).values()  # type: ignore[arg-type]
    ]
    assert sum(part.n_steps for part in parts) == whole.n_steps
    for name, rate in rates(whole).items():
        own = [rates(part)[name] for part in parts]
        kinds = [("micro", rate.micro), ("macro", rate.macro)]
        if key == "operation":
            # Groups by operation cut tasks apart: their macro means do not recombine.
            kinds = kinds[:1]
        for kind, total in kinds:
            estimates = [getattr(part, kind) for part in own]
            assert sum(estimate.n for estimate in estimates) == total.n
            if total.value is not None:
                weighted = math.fsum(e.value * e.n for e in estimates if e.n) / total.n
                assert weighted == pytest.approx(total.value, abs=1e-12)


@given(selections(), st.sampled_from(["split", "website", "domain", "subdomain"]))
def test_subgroup_tasks_recombine_to_the_total(rows: list[ScoredStep], key: str) -> None:
    whole = tasks_of(aggregate(rows))
    parts = [tasks_of(group) for group in by(rows, key).values()]  # type: ignore[arg-type]
    for name, success in whole.items():
        for count in ("successes", "complete", "total"):
            assert sum(getattr(part[name], count) for part in parts) == getattr(success, count)


@given(selections(), st.randoms())
def test_order_of_the_steps_does_not_matter(rows: list[ScoredStep], chance: random.Random) -> None:
    mixed = list(rows)
    chance.shuffle(mixed)
    assert aggregate(mixed) == aggregate(rows)
    assert by(mixed, "website") == by(rows, "website")


def numbers(value: object) -> Iterator[float]:
    if is_dataclass(value):
        for field in fields(value):
            yield from numbers(getattr(value, field.name))
    elif isinstance(value, dict):
        for own in value.values():
            yield from numbers(own)
    elif isinstance(value, float):
        yield value


@given(selections(), st.sampled_from(["valid", "fail"]), st.sampled_from(["exclude", "fail"]))
def test_every_number_is_finite_and_between_zero_and_one(
    rows: list[ScoredStep], invalid: str, unattempted: str
) -> None:
    rules = AggregationRules(invalid=invalid, unattempted=unattempted)  # type: ignore[arg-type]
    metrics = aggregate(rows, rules)
    assert all(0 <= number <= 1 for number in numbers(metrics))
    for line in (metrics.valid, metrics.strict):
        for rate in rates(line).values():
            for estimate in (rate.macro, rate.micro):
                if estimate.interval is not None:
                    assert estimate.value is not None
                    assert estimate.interval.low <= estimate.value <= estimate.interval.high


@given(selections(unsettled=False))
def test_success_never_exceeds_its_parts(rows: list[ScoredStep]) -> None:
    metrics = aggregate(rows)
    success = metrics.valid.success.micro.value
    for part in (metrics.valid.element.micro.value, metrics.valid.operation_f1.micro.value):
        assert success is None or part is None or success <= part + 1e-12
    tasks = tasks_of(metrics)
    assert tasks["strict"].successes <= tasks["default"].successes
    assert tasks["clean"].successes == tasks["strict"].successes


@given(selections(unsettled=False, invalid=False))
def test_policies_agree_without_invalid_and_unattempted_rows(rows: list[ScoredStep]) -> None:
    metrics = aggregate(rows)
    assert metrics.valid == metrics.strict
    assert len(set(map(str, tasks_of(metrics).values()))) == 1
    assert aggregate(rows, AggregationRules(unattempted="fail")).valid == metrics.valid


def test_operations_that_nobody_was_asked_for_are_unknown_and_not_zero() -> None:
    only = scores(False, 0.0, element=True)
    rows = [
        step("A", 0, only, flags=(ELEMENT_ONLY,)),
        step("A", 1, scores(False), status=Status.NOT_OFFERED),
    ]
    metrics = aggregate(rows)
    assert metrics.valid.element.micro.value == 0.5
    for rate in (metrics.valid.operation_f1, metrics.strict.success, metrics.valid.operation_exact):
        assert rate.micro.value is None and rate.macro.value is None
    assert metrics.tasks is None
    # One step that was asked for its operation, and zero means zero.
    mixed = aggregate([*rows, step("B", 0, False)])
    assert mixed.valid.operation_f1.micro.value == 0.0
    assert mixed.tasks is not None
