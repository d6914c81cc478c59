"""Two runs on the same steps: the mean of their differences, with the task as the unit of chance.

Pairing takes out what the runs share: that a task is hard. The interval is that of one run's rate,
applied to the differences step by step: Student's t over the tasks' mean differences (macro), or
cluster-robust t over the steps' differences (micro); see `clusters` for the formula, Miller 2024
(*Adding Error Bars to Evals*, sections 4.1 and 4.2) for its use on language models.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from parsers import FEW
from reports.statistics.clusters import (
    NOTHING,
    Average,
    clustered,
    mean_and_error,
    special,
    t_quantile,
)


@dataclass(frozen=True, slots=True)
class Effect:
    """In how many steps or tasks the second run is better, worse, or the same."""

    better: int
    worse: int
    same: int

    @property
    def total(self) -> int:
        return self.better + self.worse + self.same


@dataclass(frozen=True, slots=True)
class Difference:
    """The second run's rate less the first's.

    `low` and `high` are None where the data allow no interval: fewer than two tasks, or the same
    difference in every task. `deviation` is the standard deviation of the tasks' differences (for
    micro, the one that gives the same error with tasks of equal size), None for one task.
    """

    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    average: Average
    tasks: int
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
    level: float = 0.95,
) -> Difference | None:
    """The difference of two runs whose scores are given step by step, in the same order.

    Three tasks of two steps; the first run gets one step of task a, the second all of a and one of
    b. The tasks' differences are 1/2, 1/2 and 0.

    >>> found = paired_difference([1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], list("aabbcc"))
    >>> assert found and found.low is not None and found.high is not None
    >>> round(found.difference, 4), round(found.low, 4), round(found.high, 4)
    (0.3333, -0.3838, 1.0)

    None without a step. Raises `ValueError` when the sequences differ in length.
    """
    if not len(first) == len(second) == len(tasks):
        raise ValueError(f"{len(first)} and {len(second)} scores for {len(tasks)} steps")
    if not tasks:
        return None
    gained = [b - a for a, b in zip(first, second, strict=True)]
    data = clustered(gained, tasks, average)
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
        average=average,
        tasks=groups,
        steps=len(tasks),
        few=groups < FEW,
        deviation=None if error is None else error * math.sqrt(groups),
        level=level,
    )


def success_difference(
    first: Sequence[float], second: Sequence[float], *, level: float = 0.95
) -> Difference | None:
    """The difference of two shares of the same tasks, scored 0 or 1.

    t needs more successes than benchmarks of web tasks have. The interval is the adjusted Wald one
    of Bonett and Price 2012 (Journal of Educational and Behavioral Statistics 37, 479-488): with
    one more task won and one more lost, p = (count + 1) / (n + 2), and
    p_won - p_lost +- z * sqrt((p_won + p_lost - (p_won - p_lost)^2) / (n + 2)).

    Of ten tasks one is won and none is lost: p = 2/12 and 1/12.

    >>> found = success_difference([0] * 10, [1] + [0] * 9)
    >>> assert found and found.low is not None and found.high is not None
    >>> found.difference, round(found.low, 4), round(found.high, 4)
    (0.1, -0.1956, 0.3623)

    None without a task. Raises `ValueError` for other scores or different lengths.
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
        average="macro",
        tasks=n,
        steps=0,
        few=n < FEW,
        deviation=float(np.std(gained, ddof=1)) if n > 1 else None,
        level=level,
    )


def effect(gained: Sequence[float]) -> Effect:
    """Counts of what was gained and lost, in steps or in tasks.

    >>> effect([1, 1, -1, 0])
    Effect(better=2, worse=1, same=1)
    """
    better = sum(value > NOTHING for value in gained)
    worse = sum(value < -NOTHING for value in gained)
    return Effect(better, worse, len(gained) - better - worse)


def _mean(values: Sequence[float], tasks: Sequence[Hashable], average: Average) -> float:
    data = clustered(values, tasks, average)
    return math.fsum(data.totals) / math.fsum(data.sizes)
