"""Several repeats of a step: pooled step metrics, task success as a mean over repeats."""

from __future__ import annotations

import pytest

from parsers import MIND2WEB, aggregate, mean_interval
from parsers.repeats import aggregate_repeats
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
    # Over the tasks' shares of repeats, 1 and 1/2: four outcomes are two tasks.
    assert success.interval == mean_interval([1, 0.5], "ab")
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
