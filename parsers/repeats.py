"""Metrics of runs with repeats, which ask about every step several times.

Step metrics pool the repeats, with tasks as the clusters. Task success is the mean over repeats;
its interval is over tasks, of each task's share of repeats: more repeats are not more tasks.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from parsers.aggregate import (
    DEFAULT_AGGREGATION,
    aggregate,
    clusters_of,
    element_only,
    macro_success,
    task_metrics,
    task_outcomes,
)
from parsers.metrics import AggregationRules, Metrics
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
    if len(repeats) < 2:
        rows = [step for steps in repeats.values() for step in steps]
        lengths = task_lengths
        return Repeated(aggregate(rows, rules, task_lengths=lengths, whole_tasks=whole_tasks), None)
    ordered = [repeats[repeat] for repeat in sorted(repeats)]
    pooled = aggregate(
        [
            replace(step, step_id=f"{step.step_id}#{repeat}")
            for repeat in sorted(repeats)
            for step in repeats[repeat]
        ],
        rules,
        whole_tasks=False,
    )
    everything = [step for steps in ordered for step in steps]
    if element_only(everything):
        return Repeated(pooled, None)
    rates = [macro_success(steps, rules) for steps in ordered]
    known = [rate for rate in rates if rate is not None]
    spread = statistics.stdev(known) if len(known) > 1 else None
    if not whole_tasks:
        return Repeated(pooled, spread)
    outcomes = [task_outcomes(steps, rules, task_lengths) for steps in ordered]
    tasks = task_metrics(outcomes, rules, clusters_of(everything, rules))
    return Repeated(replace(pooled, tasks=tasks), spread)
