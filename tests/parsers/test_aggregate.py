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
    MIND2WEB,
    AggregationRules,
    Average,
    Estimate,
    Metrics,
    ParentRate,
    ScoredUnit,
    Status,
    UnitMetrics,
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


def tasks_of(metrics: Metrics) -> dict[str, ParentRate]:
    return {
        "default": metrics.parents["task_success"].default,
        "strict": metrics.parents["task_success"].strict,
        "clean": metrics.parents["task_success"].clean,
    }


def test_worked_example() -> None:
    metrics = aggregate(EXAMPLE, MIND2WEB)
    assert metrics.valid.value("success", "micro") == 5 / 6
    assert metrics.valid.value("success", "macro") == pytest.approx((1 + 1 + 0.5) / 3)
    assert metrics.strict.value("success", "micro") == 5 / 7
    assert metrics.strict.value("success", "macro") == pytest.approx((1 + 2 / 3 + 0.5) / 3)
    values = {name: own.value for name, own in tasks_of(metrics).items()}
    assert values == {"default": 2 / 3, "strict": 1 / 3, "clean": 1 / 2}
    assert (metrics.valid.n_parents, metrics.valid.n_units) == (3, 6)
    assert (metrics.strict.n_parents, metrics.strict.n_units) == (3, 7)
    counts = metrics.counts
    assert (counts.n_parents, counts.n_rows, counts.n_valid, counts.n_settled) == (3, 7, 6, 6)
    assert (counts.n_unsettled, counts.n_invalid, counts.invalid) == (0, 1, {"no_positive": 1})
    assert counts.statuses == {"ambiguous": 1, "answered": 5}
    assert (counts.parse_failures, counts.parse_failure_rate) == (1, 1 / 6)


def test_headline_follows_the_invalid_policy() -> None:
    default, strict = (
        aggregate(EXAMPLE, MIND2WEB),
        aggregate(EXAMPLE, MIND2WEB, AggregationRules(invalid="fail")),
    )
    assert default.headline == default.valid
    assert strict.headline == strict.strict == default.strict
    assert default.of_parents("task_success") == tasks_of(default)["default"]
    assert strict.of_parents("task_success") == tasks_of(strict)["strict"]


def test_intervals_name_their_method_and_clusters() -> None:
    metrics = aggregate(EXAMPLE, MIND2WEB)
    macro, micro = (
        metrics.valid.rates["success"]["macro"].interval,
        metrics.valid.rates["success"]["micro"].interval,
    )
    assert macro is not None
    assert (macro.method, macro.clusters, macro.few) == ("wilson", 3, True)
    assert micro is not None
    assert (micro.method, micro.clusters, micro.few) == ("wilson", 3, True)
    assert tasks_of(metrics)["default"].interval == clopper_pearson(2, 3)


def test_every_variant_is_kept_and_one_is_the_headline() -> None:
    mixed = scores(False, element=True)
    f1 = {"mind2web": 0.5, "mind2web-lc": 0.8, "cl100k-lc": 0.9}
    mixed = {**mixed, **{f"operation_f1.{variant}": value for variant, value in f1.items()}}
    for variant in F1_VARIANTS:
        metrics = aggregate(
            [step("A", 0, mixed)], MIND2WEB, AggregationRules(variant=variant)
        ).valid
        assert metrics.rates["operation_f1"] == metrics.rates[f"operation_f1.{variant}"]
        assert metrics.value("operation_f1", "micro") == f1[variant]
        assert metrics.value("element", "micro") == 1.0
        assert metrics.value("operation_exact", "micro") == 0.0


def test_what_an_environment_lost_counts_nowhere_not_even_as_failed() -> None:
    rows = [step("A", 0, True), step("B", 0, None, invalid="environment_error")]
    metrics = aggregate(rows, MIND2WEB, AggregationRules(invalid="fail"))
    assert metrics.headline.value("success", "micro") == 1.0
    assert metrics.headline.n_units == 1
    assert tasks_of(metrics)["strict"].value == 1.0
    assert metrics.counts.invalid == {"environment_error": 1}


def test_invalid_rows_are_left_out_even_when_they_were_asked() -> None:
    rows = [step("A", 0, True), step("A", 1, True, invalid="no_positive")]
    metrics = aggregate(rows, MIND2WEB)
    assert metrics.valid.n_units == 1
    assert metrics.strict.value("success", "micro") == 0.5
    assert tasks_of(metrics)["strict"].value == 0.0
    assert tasks_of(metrics)["clean"].value is None


def test_a_task_of_invalid_rows_only_counts_in_strict_alone() -> None:
    rows = [step("A", 0, True), step("B", 0, None, invalid="no_screenshot")]
    tasks = tasks_of(aggregate(rows, MIND2WEB))
    assert {name: own.total for name, own in tasks.items()} == {
        "default": 1,
        "strict": 2,
        "clean": 1,
    }


def test_task_success_of_a_partial_run_is_not_available() -> None:
    rows = [step("A", 0, True), step("B", 0, True), step("B", 1, None), step("C", 0, None)]
    metrics = aggregate(rows, MIND2WEB)
    for success in tasks_of(metrics).values():
        assert success == ParentRate(None, None, successes=1, complete=1, total=3)
        assert success.partial
        assert str(success) == "n/a (1 of 3)"
    assert metrics.valid.value("success", "micro") == 1.0
    assert metrics.counts.n_unsettled == 2


def test_unattempted_rows_can_count_as_failed() -> None:
    rows = [step("A", 0, True), step("B", 0, True), step("B", 1, None)]
    metrics = aggregate(rows, MIND2WEB, AggregationRules(unattempted="fail"))
    assert metrics.valid.value("success", "micro") == pytest.approx(2 / 3)
    assert tasks_of(metrics)["default"].value == 0.5
    assert str(tasks_of(metrics)["default"]) == "0.500 (1/2)"
    assert metrics.counts.n_unsettled == 1


def test_a_task_cut_short_by_the_selection_is_incomplete() -> None:
    rows = [step("A", 0, True), step("B", 0, True)]
    success = tasks_of(aggregate(rows, MIND2WEB, lengths={"A": 1, "B": 4}))["default"]
    assert (success.value, success.complete, success.total) == (None, 1, 2)
    rules = AggregationRules(unattempted="fail")
    assert (
        tasks_of(aggregate(rows, MIND2WEB, rules, lengths={"A": 1, "B": 4}))["default"].value == 0.5
    )


def test_flags_are_counted() -> None:
    rows = [
        step("A", 0, True, flags=("mapped_operation", "multiple")),
        step("A", 1, True, flags=("multiple",)),
        step("A", 2, True, flags=("multiple",), invalid="no_positive"),
    ]
    assert aggregate(rows, MIND2WEB).counts.flags == {"mapped_operation": 1, "multiple": 2}


def test_statuses_can_be_excluded_and_stay_labelled() -> None:
    rows = [step("A", 0, True), step("A", 1, False, status=Status.REFUSAL)]
    assert aggregate(rows, MIND2WEB).valid.value("success", "micro") == 0.5
    metrics = aggregate(rows, MIND2WEB, AggregationRules(exclude=frozenset({Status.REFUSAL})))
    assert metrics.valid.value("success", "micro") == 1.0
    assert metrics.strict.value("success", "micro") == 0.5
    assert metrics.counts.invalid == {"excluded_refusal": 1}
    assert tasks_of(metrics)["default"].value == 1.0


def test_nothing_is_undefined_but_none() -> None:
    metrics = aggregate([], MIND2WEB)
    nothing = Estimate(None, None, 0)
    assert metrics.valid.rates["success"] == {"macro": nothing, "micro": nothing}
    assert str(tasks_of(metrics)["default"]) == "n/a (0 of 0)"
    assert metrics.counts.parse_failure_rate is None


def test_the_same_step_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="A_0"):
        aggregate([step("A", 0, True), step("A", 0, True)], MIND2WEB)


def test_the_same_task_id_in_two_splits_is_two_tasks() -> None:
    rows = [step("A", 0, True), step("A", 0, False, split="test_domain")]
    assert aggregate(rows, MIND2WEB).valid.n_parents == 2


def test_groups_by_operation_have_no_task_success() -> None:
    rows = [step("A", 0, True), step("A", 1, False, operation="TYPE")]
    groups = by(rows, "operation", MIND2WEB)
    assert list(groups) == ["CLICK", "TYPE"]
    assert all(not group.parents for group in groups.values())
    mean = mean_of_groups(groups, lambda metrics: metrics.valid.value("operation_f1", "micro"))
    assert mean == 0.5


def test_mean_of_groups_is_none_when_a_group_has_none() -> None:
    groups = by([step("A", 0, True), step("B", 0, None, split="test_domain")], "split", MIND2WEB)
    assert mean_of_groups(groups, lambda metrics: metrics.valid.value("success", "macro")) is None


def test_unknown_group_is_an_error() -> None:
    with pytest.raises(ValueError, match="colour"):
        by([], "colour", MIND2WEB)


@given(
    selections(),
    st.sampled_from([group.name for group in MIND2WEB.groups]),
    st.sampled_from(["valid", "strict"]),
)
def test_subgroup_means_recombine_to_the_total(rows: list[ScoredUnit], key: str, line: str) -> None:
    whole: UnitMetrics = getattr(aggregate(rows, MIND2WEB), line)
    parts: list[UnitMetrics] = [getattr(group, line) for group in by(rows, key, MIND2WEB).values()]
    assert sum(part.n_units for part in parts) == whole.n_units
    for name, rate in whole.rates.items():
        own = [part.rates[name] for part in parts]
        kinds: list[Average] = ["micro", "macro"]
        if key == "operation":
            # Groups by operation cut tasks apart: their macro means do not recombine.
            kinds = kinds[:1]
        for kind in kinds:
            total, estimates = rate[kind], [part[kind] for part in own]
            assert sum(estimate.n for estimate in estimates) == total.n
            if total.value is not None:
                weighted = math.fsum((e.value or 0.0) * e.n for e in estimates) / total.n
                assert weighted == pytest.approx(total.value, abs=1e-12)


@given(selections(), st.sampled_from(["split", "website", "domain", "subdomain"]))
def test_subgroup_tasks_recombine_to_the_total(rows: list[ScoredUnit], key: str) -> None:
    whole = tasks_of(aggregate(rows, MIND2WEB))
    parts = [tasks_of(group) for group in by(rows, key, MIND2WEB).values()]
    for name, success in whole.items():
        for count in ("successes", "complete", "total"):
            assert sum(getattr(part[name], count) for part in parts) == getattr(success, count)


@given(selections(), st.randoms())
def test_order_of_the_steps_does_not_matter(rows: list[ScoredUnit], chance: random.Random) -> None:
    mixed = list(rows)
    chance.shuffle(mixed)
    assert aggregate(mixed, MIND2WEB) == aggregate(rows, MIND2WEB)
    assert by(mixed, "website", MIND2WEB) == by(rows, "website", MIND2WEB)


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
    rows: list[ScoredUnit], invalid: str, unattempted: str
) -> None:
    rules = AggregationRules(invalid=invalid, unattempted=unattempted)  # type: ignore[arg-type]
    metrics = aggregate(rows, MIND2WEB, rules)
    assert all(0 <= number <= 1 for number in numbers(metrics))
    for line in (metrics.valid, metrics.strict):
        for rate in line.rates.values():
            for estimate in rate.values():
                if estimate.interval is not None:
                    assert estimate.value is not None
                    assert estimate.interval.low <= estimate.value <= estimate.interval.high


@given(selections(unsettled=False))
def test_success_never_exceeds_its_parts(rows: list[ScoredUnit]) -> None:
    metrics = aggregate(rows, MIND2WEB)
    success = metrics.valid.value("success", "micro")
    for part in (
        metrics.valid.value("element", "micro"),
        metrics.valid.value("operation_f1", "micro"),
    ):
        assert success is None or part is None or success <= part + 1e-12
    tasks = tasks_of(metrics)
    assert tasks["strict"].successes <= tasks["default"].successes
    assert tasks["clean"].successes == tasks["strict"].successes


@given(selections(unsettled=False, invalid=False))
def test_policies_agree_without_invalid_and_unattempted_rows(rows: list[ScoredUnit]) -> None:
    metrics = aggregate(rows, MIND2WEB)
    assert metrics.valid == metrics.strict
    assert len(set(map(str, tasks_of(metrics).values()))) == 1
    assert aggregate(rows, MIND2WEB, AggregationRules(unattempted="fail")).valid == metrics.valid


def test_operations_that_nobody_was_asked_for_are_unknown_and_not_zero() -> None:
    only = scores(False, 0.0, element=True)
    rows = [
        step("A", 0, only, flags=(ELEMENT_ONLY,)),
        step("A", 1, scores(False), status=Status.NOT_OFFERED),
    ]
    metrics = aggregate(rows, MIND2WEB)
    assert metrics.valid.value("element", "micro") == 0.5
    for rate in (
        metrics.valid.rates["operation_f1"],
        metrics.strict.rates["success"],
        metrics.valid.rates["operation_exact"],
    ):
        assert rate["micro"].value is None and rate["macro"].value is None
    assert not metrics.parents
    # One step that was asked for its operation, and zero means zero.
    mixed = aggregate([*rows, step("B", 0, False)], MIND2WEB)
    assert mixed.valid.value("operation_f1", "micro") == 0.0
    assert mixed.parents
