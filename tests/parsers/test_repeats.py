"""Several repeats of a step: pooled step metrics, task success as a mean over repeats."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import pytest

from parsers import MIND2WEB, AggregationRules, aggregate, mean_interval
from parsers.repeats import Trial, aggregate_repeats, pass_all, pass_at
from tests.parsers.steps import step


def test_one_repeat_is_what_aggregate_gives() -> None:
    steps = [step("a", 0, True), step("b", 0, False)]
    found = aggregate_repeats([(0, one) for one in steps], MIND2WEB)
    assert found.metrics == aggregate(steps, MIND2WEB)
    assert found.spread is None


def test_no_step_is_no_error() -> None:
    assert aggregate_repeats([], MIND2WEB).metrics == aggregate([], MIND2WEB)


def test_repeats_are_pooled_and_task_success_is_their_mean() -> None:
    trials = [
        (0, step("a", 0, True)),
        (1, step("a", 0, True)),
        (0, step("b", 0, True)),
        (1, step("b", 0, False)),
    ]
    found = aggregate_repeats(trials, MIND2WEB)
    assert found.metrics.valid.value("success", "macro") == 0.75
    assert found.metrics.valid.n_units == 4
    assert found.metrics.valid.n_parents == 2
    success = found.metrics.of_parents("task_success")
    assert success is not None
    assert success.value == 0.75
    # Four outcomes are those of two tasks.
    assert success.interval == mean_interval([1, 1, 1, 0], "aabb")
    assert success.interval is not None and success.interval.clusters == 2
    assert (success.successes, success.complete, success.total) == (3, 4, 4)
    assert found.spread == pytest.approx(0.5 / 2**0.5)


def test_a_task_that_is_cut_short_in_one_repeat_leaves_no_task_success() -> None:
    trials = [(0, step("a", 0, True)), (0, step("a", 1, True)), (1, step("a", 0, True))]
    success = aggregate_repeats(trials, MIND2WEB, lengths={"a": 2}).metrics.of_parents(
        "task_success"
    )
    assert success is not None
    assert success.value is None
    assert (success.complete, success.total) == (1, 2)


def test_groups_that_cut_tasks_apart_have_no_task_success() -> None:
    trials = [(0, step("a", 0, True)), (1, step("a", 0, True))]
    assert aggregate_repeats(trials, MIND2WEB, whole="").metrics.parents == {}


@pytest.mark.parametrize("repeats", [1, 3, 5])
def test_pass_at_and_pass_all_count_the_draws_of_k_repeats(repeats: int) -> None:
    for successes in range(repeats + 1):
        outcomes = [number < successes for number in range(repeats)]
        for k in range(1, repeats + 1):
            draws = list(combinations(outcomes, k))
            assert pass_at(successes, repeats, k) == fmean(map(any, draws))
            assert pass_all(successes, repeats, k) == fmean(map(all, draws))
    for wrong in ((repeats + 1, repeats, 1), (0, repeats, 0), (0, repeats, repeats + 1)):
        with pytest.raises(ValueError, match="repeats"):
            pass_at(*wrong)


def repeated(outcomes: dict[str, str]) -> list[Trial]:
    """Trials of units by name (`task-index`), one for each + or -; ? has no outcome yet."""
    return [
        (repeat, step(name[0], int(name[1]), None if sign == "?" else sign == "+"))
        for name, signs in outcomes.items()
        for repeat, sign in enumerate(signs)
    ]


def test_steps_are_averaged_within_tasks_and_tasks_succeed_as_a_whole() -> None:
    trials = repeated({"a0": "++++", "a1": "+-+-", "b0": "----"})
    found = aggregate_repeats(trials, MIND2WEB)
    steps, tasks = found.over["success"], found.over["task_success"]
    # Step a1 succeeds in 2 of 4 repeats: one of six pairs has no success, and one only successes.
    assert steps.mean.value == pytest.approx(fmean([fmean([1, 0.5]), 0]))
    assert steps.pass_at[2].value == pytest.approx(fmean([fmean([1, 5 / 6]), 0]))
    assert steps.pass_all[2].value == pytest.approx(fmean([fmean([1, 1 / 6]), 0]))
    assert (steps.pass_at[4].value, steps.pass_all[4].value) == (0.5, 0.25)
    assert steps.pass_at[2].interval == mean_interval([1, 5 / 6, 0], "aab")
    assert tasks.pass_at[2].value == pytest.approx(fmean([5 / 6, 0]))
    assert tasks.pass_all[4].value == 0
    assert tasks.mean.value == found.metrics.of_parents("task_success").value  # type: ignore[union-attr]
    assert (list(steps.pass_at), tasks.mean.n, steps.mean.n) == ([2, 4], 2, 3)


def test_the_spread_is_split_into_repeats_of_a_unit_and_units() -> None:
    # Rates 1/2 and 1: within (1/3 + 0) / 2 of variance, between 1/8 less a quarter of that.
    found = aggregate_repeats(repeated({"a0": "+-+-", "b0": "++++"}), MIND2WEB).over["success"]
    assert found.within == pytest.approx((1 / 6) ** 0.5)
    assert found.between == pytest.approx((1 / 8 - 1 / 24) ** 0.5)
    alike = aggregate_repeats(repeated({"a0": "+-", "b0": "-+"}), MIND2WEB).over["success"]
    assert alike.between == 0
    alone = aggregate_repeats(repeated({"a0": "+-"}), MIND2WEB).over["success"]
    assert alone.between is None


def test_units_without_all_repeats_are_left_out_and_tasks_withheld() -> None:
    trials = repeated({"a0": "+?", "b0": "+-"})
    found = aggregate_repeats(trials, MIND2WEB)
    assert (found.over["success"].mean.n, "task_success" in found.over) == (1, False)
    failing = AggregationRules(unattempted="fail")
    found = aggregate_repeats(trials, MIND2WEB, failing)
    assert found.over["success"].pass_all[2].value == 0
    assert found.over["task_success"].pass_at[2].value == 1


def test_a_single_repeat_has_no_measures_over_repeats() -> None:
    assert aggregate_repeats(repeated({"a0": "+"}), MIND2WEB).over == {}
