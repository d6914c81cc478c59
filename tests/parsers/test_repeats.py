"""Several repeats of a step: pooled step metrics, task success as a mean over repeats."""

from __future__ import annotations

import pytest

from parsers import ScoredStep, Scores, Status, aggregate, mean_interval
from parsers.records import F1_VARIANTS, StepInfo
from parsers.repeats import aggregate_repeats


def _step(task: str, index: int, right: bool) -> ScoredStep:
    scores = Scores(right, dict.fromkeys(F1_VARIANTS, float(right)), right, right)
    return ScoredStep(
        step_id=f"{task}_{index}",
        info=StepInfo(task, f"{index}", index, 2, "test", "s", "w", "d", "b"),
        operation="CLICK",
        invalid=None,
        scores=scores,
        status=Status.ANSWERED,
    )


def test_one_repeat_is_what_aggregate_gives() -> None:
    steps = [_step("a", 0, True), _step("b", 0, False)]
    found = aggregate_repeats([(0, step) for step in steps])
    assert found.metrics == aggregate(steps)
    assert found.spread is None


def test_no_step_is_no_error() -> None:
    assert aggregate_repeats([]).metrics == aggregate([])


def test_repeats_are_pooled_and_task_success_is_their_mean() -> None:
    trials = [
        (0, _step("a", 0, True)),
        (1, _step("a", 0, True)),
        (0, _step("b", 0, True)),
        (1, _step("b", 0, False)),
    ]
    found = aggregate_repeats(trials)
    assert found.metrics.steps.success.macro.value == 0.75
    assert found.metrics.steps.n_steps == 4
    assert found.metrics.steps.n_tasks == 2
    success = found.metrics.task_success
    assert success is not None
    assert success.value == 0.75
    # Over the tasks' shares of repeats, 1 and 1/2: four outcomes are two tasks.
    assert success.interval == mean_interval([1, 0.5], "ab")
    assert success.interval is not None and success.interval.clusters == 2
    assert (success.successes, success.complete, success.total) == (3, 4, 4)
    assert found.spread == pytest.approx(0.5 / 2**0.5)


def test_a_task_that_is_cut_short_in_one_repeat_leaves_no_task_success() -> None:
    trials = [(0, _step("a", 0, True)), (0, _step("a", 1, True)), (1, _step("a", 0, True))]
    success = aggregate_repeats(trials, task_lengths={"a": 2}).metrics.task_success
    assert success is not None
    assert success.value is None
    assert (success.complete, success.total) == (1, 2)


def test_groups_that_cut_tasks_apart_have_no_task_success() -> None:
    trials = [(0, _step("a", 0, True)), (1, _step("a", 0, True))]
    assert aggregate_repeats(trials, whole_tasks=False).metrics.tasks is None
