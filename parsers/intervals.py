"""Confidence intervals for rates, with tasks as the clusters.

Steps of one task share a site, a goal and often a mistake, so they are not independent. All
intervals here are two-sided and based on tasks (clusters). The t methods give None for fewer than
two clusters, and for values without any spread, where an interval of zero width would claim a
certainty that a handful of equal values cannot give.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Method = Literal["clopper-pearson", "t", "cluster-t"]

FEW = 30
"""Intervals from fewer clusters than this are marked: the t methods assume many."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval for a rate; the t methods are clipped to [0, 1].

    clusters: number of tasks that it is based on.
    few: whether there are fewer than `FEW` clusters.
    level: the confidence level, between 0 and 1.
    """

    low: float
    high: float
    method: Method
    clusters: int
    few: bool
    level: float = 0.95


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval | None:
    """The exact binomial interval (Clopper and Pearson 1934) for `successes` of `n` tasks.

    Its ends are quantiles of beta distributions: Beta(k, n-k+1) at (1-level)/2 and Beta(k+1, n-k)
    at 1-(1-level)/2. None if there are no tasks.

    >>> interval = clopper_pearson(0, 10)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0, 0.3085)

    Raises `ValueError` unless 0 <= successes <= n and 0 < level < 1.
    """
    _check(level)
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} tasks")
    if n == 0:
        return None
    tail = (1 - level) / 2
    # With n = 1 the quantile is known in closed form, which spares one-task runs scipy.
    quantile = _special().betaincinv if n > 1 else lambda a, b, share: share
    low = float(quantile(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(quantile(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return Interval(low, high, "clopper-pearson", n, n < FEW, level)


def t_interval(values: Sequence[float], level: float = 0.95) -> Interval | None:
    """Student's t interval for the mean of independent values, here the means of tasks.

    mean +- t(n-1) * s / sqrt(n), clipped to [0, 1]. None for fewer than two values, and if all are
    equal.

    >>> interval = t_interval([0.2, 0.4, 0.6])
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0, 0.8968)
    """
    _check(level)
    n = len(values)
    if n < 2 or min(values) == max(values):
        return None
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return _around(mean, math.sqrt(variance / n), "t", n, level)


def cluster_t(
    values: Sequence[float], clusters: Sequence[Hashable], level: float = 0.95
) -> Interval | None:
    """A t interval for the mean of values in clusters of unequal size, clipped to [0, 1].

    The mean over steps is a ratio of two sums over tasks (Cochran 1977, chapter 9A), and its
    variance is estimated from the residual sums of the tasks: G/(G-1) * sum(u_g^2) / n^2 with
    u_g = sum over the cluster of (value - mean), G clusters, n values, and G-1 degrees of freedom.
    This is the cluster-robust variance of a regression on a constant (Cameron and Miller 2015,
    section II; Miller 2024 for evaluations of language models). With one value per cluster it is
    `t_interval`. None for fewer than two clusters, and if all residual sums are zero.

    >>> interval = cluster_t([1, 1, 0, 0, 1], ["a", "a", "b", "b", "c"])
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0, 1.0)

    Raises `ValueError` if the two sequences differ in length.
    """
    _check(level)
    residuals: dict[Hashable, list[float]] = {}
    n = len(values)
    mean = math.fsum(values) / n if n else 0.0
    for value, cluster in zip(values, clusters, strict=True):
        residuals.setdefault(cluster, []).append(value - mean)
    groups = len(residuals)
    if groups < 2:
        return None
    sums = [math.fsum(group) for group in residuals.values()]
    # Sums that are exactly zero come out as about 1e-16 per value through rounding.
    if max(abs(total) for total in sums) <= 1e-12 * n:
        return None
    variance = groups / (groups - 1) * math.fsum(total**2 for total in sums) / n**2
    return _around(mean, math.sqrt(variance), "cluster-t", groups, level)


def _around(mean: float, error: float, method: Method, clusters: int, level: float) -> Interval:
    reach = float(_special().stdtrit(clusters - 1, (1 + level) / 2)) * error
    low, high = max(0.0, mean - reach), min(1.0, mean + reach)
    return Interval(low, high, method, clusters, clusters < FEW, level)


def _check(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"confidence level must lie between 0 and 1, got {level}")


def _special() -> Any:
    """scipy.special, imported on first use because it is slow to load."""
    return importlib.import_module("scipy.special")
