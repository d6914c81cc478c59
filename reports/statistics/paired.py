"""Paired differences of two runs on the same steps, with tasks as clusters.

Pairing removes the variance that the runs share, such as the difficulty of tasks. Intervals are
those of a single run's rate, applied to the differences of steps: Student's t over the tasks' mean
differences (macro), or cluster-robust t over the steps' differences (micro). The formula is in
`clusters`; Miller 2024 (*Adding Error Bars to Evals*, sections 4.1 and 4.2) applies it to language
models.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from parsers import Average
from parsers.bootstrap import NOTHING, clustered, mean_and_error, special, t_quantile
from parsers.intervals import clustered_values, few_moved


@dataclass(frozen=True, slots=True)
class Effect:
    """Numbers of steps or tasks where the second run is better, worse or equal."""

    better: int
    worse: int
    same: int

    @property
    def total(self) -> int:
        return self.better + self.worse + self.same


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two rates.

    first, second: the rates of the two runs.
    difference: second minus first.
    low, high: its interval; None for fewer than two tasks, or equal differences in all tasks.
    method: of the interval.
    average: over tasks (macro) or over steps (micro).
    tasks: number of tasks.
    clusters: number of clusters: the tasks, or what groups them.
    steps: number of steps; 0 for task success.
    few: True if fewer than `FEW` clusters differ, and t may be too narrow.
    deviation: standard deviation of the clusters' differences (for micro, the one that gives the
        same standard error with clusters of equal size); None for one cluster.
    level: confidence level.
    """

    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    method: str
    average: Average
    tasks: int
    clusters: int
    steps: int
    few: bool
    deviation: float | None
    level: float


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average = "macro",
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Difference | None:
    """Return the difference of two runs from their scores on the same steps, in the same order.

    clusters: the cluster of each step, where tasks are grouped further.

    Example: three tasks of two steps. The first run gets one step of task a right, the second all
    of a and one of b, so the tasks' differences are 1/2, 1/2 and 0.

    >>> result = paired_difference([1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], list("aabbcc"))
    >>> assert result and result.low is not None and result.high is not None
    >>> round(result.difference, 4), round(result.low, 4), round(result.high, 4)
    (0.3333, -0.3838, 1.0)

    None without any step. Raises `ValueError` if the sequences differ in length.
    """
    if not len(first) == len(second) == len(tasks):
        raise ValueError(f"{len(first)} and {len(second)} scores for {len(tasks)} steps")
    if not tasks:
        return None
    gained = [b - a for a, b in zip(first, second, strict=True)]
    data = clustered(gained, tasks, average, clusters)
    groups = len(data)
    difference = math.fsum(data.totals) / math.fsum(data.sizes)
    low = high = error = None
    if groups > 1:
        error = float(mean_and_error(data.totals, data.sizes)[1])
        if error > NOTHING:
            reach = t_quantile(level, groups) * error
            low, high = max(-1.0, difference - reach), min(1.0, difference + reach)
    return Difference(
        first=_mean(first, tasks, average),
        second=_mean(second, tasks, average),
        difference=difference,
        low=low,
        high=high,
        method="t" if average == "macro" and clusters is None else "cluster-t",
        average=average,
        tasks=len(set(tasks)),
        clusters=groups,
        steps=len(tasks),
        few=few_moved(*clustered_values(gained, tasks, average, clusters), "difference"),
        deviation=None if error is None else error * math.sqrt(groups),
        level=level,
    )


def success_difference(
    first: Sequence[float], second: Sequence[float], *, level: float = 0.95
) -> Difference | None:
    """Return the difference in task success (0 or 1) of two runs on the same tasks.

    Web benchmarks have too few successful tasks for a t interval. This is the adjusted Wald
    interval of Bonett and Price 2012 (Journal of Educational and Behavioral Statistics 37,
    479-488), which adds one task won and one lost: p = (count + 1) / (n + 2), and
    p_won - p_lost +- z * sqrt((p_won + p_lost - (p_won - p_lost)^2) / (n + 2)).

    Example: of ten tasks one is won and none lost, so p_won = 2/12 and p_lost = 1/12.

    >>> result = success_difference([0] * 10, [1] + [0] * 9)
    >>> assert result and result.low is not None and result.high is not None
    >>> result.difference, round(result.low, 4), round(result.high, 4)
    (0.1, -0.1956, 0.3623)

    None without any task. Raises `ValueError` for other scores or unequal lengths.
    """
    pairs = list(zip(first, second, strict=True))
    if any(score not in (0, 1) for pair in pairs for score in pair):
        raise ValueError("task success is 0 or 1")
    n = len(pairs)
    if not n:
        return None
    won, lost = ((sum(pair == kind for pair in pairs) + 1) / (n + 2) for kind in ((0, 1), (1, 0)))
    error = math.sqrt((won + lost - (won - lost) ** 2) / (n + 2))
    reach = float(special().ndtri((1 + level) / 2)) * error
    gained = [b - a for a, b in pairs]
    return Difference(
        first=math.fsum(first) / n,
        second=math.fsum(second) / n,
        difference=math.fsum(gained) / n,
        low=max(-1.0, won - lost - reach),
        high=min(1.0, won - lost + reach),
        method="adjusted-wald",
        average="macro",
        tasks=n,
        clusters=n,
        steps=0,
        few=False,
        deviation=float(np.std(gained, ddof=1)) if n > 1 else None,
        level=level,
    )


def effect(gained: Sequence[float]) -> Effect:
    """Count positive, negative and zero differences of steps or tasks.

    >>> effect([1, 1, -1, 0])
    Effect(better=2, worse=1, same=1)
    """
    better = sum(value > NOTHING for value in gained)
    worse = sum(value < -NOTHING for value in gained)
    return Effect(better, worse, len(gained) - better - worse)


def _mean(values: Sequence[float], tasks: Sequence[Hashable], average: Average) -> float:
    data = clustered(values, tasks, average)
    return math.fsum(data.totals) / math.fsum(data.sizes)
