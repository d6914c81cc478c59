"""Metrics of runs with repeats, which ask about every step several times.

Step metrics pool the repeats, with tasks as the clusters. Task success is the mean over repeats,
without an interval: more repeats are not more tasks.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from parsers.aggregate import DEFAULT_AGGREGATION, aggregate, mean
from parsers.metrics import AggregationRules, Metrics, TaskMetrics, TaskSuccess
from parsers.records import ScoredStep

Trial = tuple[int, ScoredStep]
"""The number of a repeat, and a step as scored in it."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """The metrics of all repeats together.

    spread: standard deviation of macro step success between repeats; None for a single repeat.
    """

    metrics: Metrics
    spread: float | None


def aggregate_repeats(
    trials: Iterable[Trial],
    rules: AggregationRules = DEFAULT_AGGREGATION,
    *,
    task_lengths: Mapping[str, int] | None = None,
    whole_tasks: bool = True,
) -> Repeated:
    """Compute the metrics of steps with one or more repeats; see `aggregate` for the arguments.

    A task whose only step succeeds in one of two repeats has step success 1/2 and task success
    1/2. Raises `ValueError` if a step occurs twice in a repeat.
    """
    repeats: dict[int, list[ScoredStep]] = {}
    for repeat, step in trials:
        repeats.setdefault(repeat, []).append(step)
    single = [
        aggregate(
            repeats.get(repeat, ()), rules, task_lengths=task_lengths, whole_tasks=whole_tasks
        )
        for repeat in sorted(repeats) or [0]
    ]
    if len(single) == 1:
        return Repeated(single[0], None)
    pooled = aggregate(
        [
            replace(step, step_id=f"{step.step_id}#{repeat}")
            for repeat in sorted(repeats)
            for step in repeats[repeat]
        ],
        rules,
        whole_tasks=False,
    )
    rates = [metrics.steps.success.macro.value for metrics in single]
    known = [rate for rate in rates if rate is not None]
    spread = statistics.stdev(known) if len(known) > 1 else None
    tasks = [metrics.tasks for metrics in single if metrics.tasks is not None]
    if not whole_tasks or not tasks:
        return Repeated(pooled, spread)
    joined = TaskMetrics(
        default=_mean_of([task.default for task in tasks]),
        strict=_mean_of([task.strict for task in tasks]),
        clean=_mean_of([task.clean for task in tasks]),
    )
    return Repeated(replace(pooled, tasks=joined), spread)


def _mean_of(trials: Sequence[TaskSuccess]) -> TaskSuccess:
    """Task success over repeats: counts add up; there is no interval, as repeats are not tasks."""
    known = [trial.value for trial in trials if trial.value is not None]
    return TaskSuccess(
        value=mean(known) if len(known) == len(trials) else None,
        interval=None,
        successes=sum(trial.successes for trial in trials),
        complete=sum(trial.complete for trial in trials),
        total=sum(trial.total for trial in trials),
    )
