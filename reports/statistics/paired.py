"""Paired differences of two runs on the same steps, with tasks as clusters.

Pairing removes the variance that the runs share, such as the difficulty of tasks. Intervals are
those of a single run's rate, applied to the differences of steps: Student's t over the tasks' mean
differences (macro), or cluster-robust t over the steps' differences (micro). The formula is in
`clusters`; Miller 2024 (*Adding Error Bars to Evals*, sections 4.1 and 4.2) applies it to language
models.

Power analysis: tasks needed to detect a difference, and the smallest detectable difference.

Step rates: the power of the paired t test over tasks, from the noncentral t distribution (Cohen
1988, *Statistical Power Analysis for the Behavioral Sciences*, chapter 2) with the observed
standard deviation of the tasks' differences. Rejections in the wrong direction are not counted.

Task success: the power of the exact McNemar test, summed over the number of discordant tasks
(Duffy 1984, *Asymptotic and exact power for the McNemar test and its analogue with R controls*). It
depends on the share of discordant tasks. Exact power is not monotonic in the number of tasks; the
results come from a bisection and are accurate to a few tasks.

The observed spread is treated as known, so the results are rough with few tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from parsers import Average
from parsers.rates import (
    FEW,
    NOTHING,
    Floats,
    clustered,
    clustered_values,
    mean_and_error,
    moved,
    special,
    t_quantile,
)

LEVEL = 0.95
"""Confidence level of intervals."""


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
    tasks: number of tasks.
    clusters: number of clusters: the tasks, or what groups them.
    steps: number of steps; 0 for task success.
    few: True if fewer than `FEW` clusters differ, and t may be too narrow.
    deviation: standard deviation of the clusters' differences (for micro, the one that gives the
        same standard error with clusters of equal size); None for one cluster.
    """

    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    method: str
    tasks: int
    clusters: int
    steps: int
    few: bool
    deviation: float | None


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average = "macro",
    *,
    clusters: Sequence[Hashable] | None = None,
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
            reach = t_quantile(LEVEL, groups) * error
            low, high = max(-1.0, difference - reach), min(1.0, difference + reach)
    return Difference(
        first=_mean(first, tasks, average),
        second=_mean(second, tasks, average),
        difference=difference,
        low=low,
        high=high,
        method="t" if average == "macro" and clusters is None else "cluster-t",
        tasks=len(set(tasks)),
        clusters=groups,
        steps=len(tasks),
        few=min(moved(*clustered_values(gained, tasks, average, clusters), "difference")) < FEW,
        deviation=None if error is None else error * math.sqrt(groups),
    )


def success_difference(first: Sequence[float], second: Sequence[float]) -> Difference | None:
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
    reach = float(special().ndtri((1 + LEVEL) / 2)) * error
    gained = [b - a for a, b in pairs]
    return Difference(
        first=math.fsum(first) / n,
        second=math.fsum(second) / n,
        difference=math.fsum(gained) / n,
        low=max(-1.0, won - lost - reach),
        high=min(1.0, won - lost + reach),
        method="adjusted-wald",
        tasks=n,
        clusters=n,
        steps=0,
        few=False,
        deviation=float(np.std(gained, ddof=1)) if n > 1 else None,
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


POWER = 0.8
ALPHA = 0.05
MOST = 1_000_000
"""Numbers of tasks above this are reported as None."""


def t_power(tasks: int, difference: float, deviation: float) -> float:
    """Power of the two-sided paired t test over tasks.

    >>> round(t_power(34, 0.1, 0.2), 3)
    0.808
    """
    if tasks < 2:
        return 0.0
    if deviation == 0:
        return 1.0 if difference else 0.0
    shift = abs(difference) * math.sqrt(tasks) / deviation
    limit = float(special().stdtrit(tasks - 1, 1 - ALPHA / 2))
    return 1 - float(special().nctdtr(tasks - 1, shift, limit))


def tasks_needed(difference: float, deviation: float) -> int | None:
    """Tasks needed to detect a difference of step rates; None for no difference or too many.

    Example: a difference of half a standard deviation.

    >>> tasks_needed(0.1, 0.2)
    34
    """
    return _first(lambda n: t_power(n, difference, deviation), 2)


def smallest_difference(tasks: int, deviation: float) -> float | None:
    """Smallest difference of step rates that this many tasks detect; None for fewer than two.

    >>> round(smallest_difference(34, 0.2) or 0, 3)
    0.099
    """
    if tasks < 2:
        return None
    limit = float(special().stdtrit(tasks - 1, 1 - ALPHA / 2))
    shift = float(special().nctdtrinc(tasks - 1, 1 - POWER, limit))
    return shift * deviation / math.sqrt(tasks)


def mcnemar_power(tasks: int, difference: float, discordant: float) -> float:
    """Power of the exact McNemar test for a difference in task success.

    `discordant` is the share of tasks where only one run succeeds, at least the difference.

    >>> round(mcnemar_power(20, 0.4, 0.4), 3)
    0.874
    """
    difference, discordant = abs(difference), max(abs(difference), discordant)
    if tasks < 1 or discordant == 0:
        return 0.0
    counts = _likely(tasks, discordant)
    weights = _binomial(counts, tasks, discordant)
    limits = _limits(counts)
    share = (discordant + difference) / (2 * discordant)
    able = limits >= 0
    won = np.zeros_like(counts)
    for way in (share, 1 - share):
        won[able] += special().bdtr(limits[able], counts[able].astype(int), way)
    return float((weights * won).sum())


def tasks_needed_for_success(difference: float, discordant: float) -> int | None:
    """Tasks needed to detect a difference in task success; None for no difference or too many.

    >>> tasks_needed_for_success(0.4, 0.4)
    19
    """
    if difference == 0:
        return None
    return _first(lambda n: mcnemar_power(n, difference, discordant), 1)


def smallest_success_difference(tasks: int, discordant: float) -> float | None:
    """Smallest difference in task success that this many tasks detect; None if not even 100 %.

    For differences above `discordant`, the same run wins all discordant tasks.

    >>> round(smallest_success_difference(142, 0.0) or 0, 3)
    0.055
    """
    if mcnemar_power(tasks, 1.0, 1.0) < POWER:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        seen = mcnemar_power(tasks, middle, discordant) >= POWER
        low, high = (low, middle) if seen else (middle, high)
    return high


def _first(power_of: Callable[[int], float], start: int) -> int | None:
    high = start
    while power_of(high) < POWER:
        high *= 2
        if high > MOST:
            return None
    low = max(start, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= POWER else (middle + 1, high)
    return high


def _likely(tasks: int, share: float) -> Floats:
    """Return the counts of a binomial, except for tails of about 1e-12."""
    middle, reach = tasks * share, 8 * math.sqrt(tasks * share * (1 - share)) + 8
    return np.arange(
        max(0, math.floor(middle - reach)), min(tasks, math.ceil(middle + reach)) + 1.0
    )


def _binomial(counts: Floats, tasks: int, share: float) -> Floats:
    log = special().gammaln
    ways = log(tasks + 1) - log(counts + 1) - log(tasks - counts + 1)
    terms = special().xlogy(counts, share) + special().xlog1py(tasks - counts, -share)
    return np.asarray(np.exp(ways + terms), dtype=np.float64)


def _limits(counts: Floats) -> Floats:
    """Return the most wins of the losing run at which the exact test rejects, or -1."""
    tail, whole = special().bdtr, counts.astype(int)
    guess = special().bdtrik(ALPHA / 2, np.maximum(counts, 1), 0.5)
    limits = np.floor(np.nan_to_num(guess, nan=0.0))
    for _ in range(2):
        limits = np.where(
            (limits >= 0) & (tail(limits, whole, 0.5) > ALPHA / 2), limits - 1, limits
        )
    higher = np.minimum(limits + 1, counts)
    return np.asarray(np.where(tail(higher, whole, 0.5) <= ALPHA / 2, higher, limits))
