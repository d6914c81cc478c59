"""Clusters of steps, and t intervals of their means.

The t methods give None for fewer than two clusters, and for values without any spread, where an
interval of zero width would claim a certainty that a handful of equal values cannot give.

As arrays, a cluster is a sum and a size, and one formula covers both averages. The mean over steps
(micro) is the ratio of the tasks' sums to their sizes; the mean over tasks (macro) is the same
ratio with each task's mean as its sum and a size of one. The variance is that of a ratio estimator
(Cochran 1977, *Sampling Techniques*, chapters 2.11 and 9A), which equals the cluster-robust
variance of a regression on a constant (Cameron and Miller 2015, section II), and that of Student's
t for sizes of one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parsers.declaration import Average
from parsers.rates import FEW, Interval, Kind, Method, check_level, moved, special

Floats = NDArray[np.float64]

NOTHING = 1e-12
"""Sums up to this size are rounding errors of zero."""
BOUNDS: Mapping[Kind, tuple[float, float]] = {"rate": (0.0, 1.0), "difference": (-1.0, 1.0)}


def clustered_values(
    values: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average,
    clusters: Sequence[Hashable] | None = None,
) -> tuple[list[float], list[Hashable]]:
    """Return the averaged values (the means of tasks, or the steps), and the cluster of each.

    Examples:
        >>> clustered_values([1, 0, 1], ["a", "a", "b"], "macro")
        ([0.5, 1.0], ['a', 'b'])

    Raises `ValueError` if the sequences differ in length.
    """
    of_step = tasks if clusters is None else clusters
    if average == "micro":
        if len(values) != len(of_step):
            raise ValueError(f"{len(values)} values of steps in {len(of_step)} clusters")
        return list(values), list(of_step)
    by_task: dict[Hashable, list[float]] = {}
    above: dict[Hashable, Hashable] = {}
    for value, task, cluster in zip(values, tasks, of_step, strict=True):
        by_task.setdefault(task, []).append(value)
        above.setdefault(task, cluster)
    means = [math.fsum(group) / len(group) for group in by_task.values()]
    return means, list(above.values())


def t_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
    *,
    kind: Kind = "rate",
) -> Interval | None:
    """Return Student's t interval for the mean of values, in clusters of unequal size if given.

    Without clusters it is mean +- t(n-1) * s / sqrt(n). The mean over steps is a ratio of two sums
    over tasks (Cochran 1977, chapter 9A), and its variance is estimated from the residual sums of
    the tasks: G/(G-1) * sum(u_g^2) / n^2 with u_g = sum over the cluster of (value - mean), G
    clusters, n values, and G-1 degrees of freedom. This is the cluster-robust variance of a
    regression on a constant (Cameron and Miller 2015, section II; Miller 2024 for evaluations of
    language models). The interval is clipped to what is possible. None for fewer than two clusters,
    and if all residual sums are zero.

    Examples:
        >>> interval = t_interval([0.2, 0.4, 0.6])
        >>> round(interval.low, 4), round(interval.high, 4)
        (0.0, 0.8968)
        >>> interval = t_interval([1, 1, 0, 0, 1], ["a", "a", "b", "b", "c"])
        >>> round(interval.low, 4), round(interval.high, 4)
        (0.0, 1.0)

    Raises `ValueError` if the two sequences differ in length.
    """
    check_level(level)
    members = range(len(values)) if clusters is None else clusters
    n = len(values)
    mean = math.fsum(values) / n if n else 0.0
    residuals: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, members, strict=True):
        residuals.setdefault(cluster, []).append(value - mean)
    groups, sums = len(residuals), [math.fsum(group) for group in residuals.values()]
    # Sums that are exactly zero come out as about 1e-16 per value through rounding.
    if groups < 2 or max(map(abs, sums)) <= NOTHING * n:
        return None
    variance = groups / (groups - 1) * math.fsum(total**2 for total in sums) / n**2
    reach = t_quantile(level, groups) * math.sqrt(variance)
    least, most = BOUNDS[kind]
    few = min(moved(values, members, kind)) < FEW
    method: Method = "t" if clusters is None else "cluster-t"
    return Interval(max(least, mean - reach), min(most, mean + reach), method, groups, few, level)


@dataclass(frozen=True, slots=True)
class Clustered:
    """Sum and size of every task, sorted."""

    totals: Floats
    sizes: Floats

    def __len__(self) -> int:
        return len(self.totals)


def clustered(
    values: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average = "macro",
    clusters: Sequence[Hashable] | None = None,
) -> Clustered:
    """Group the values of steps by task, or by the `clusters` that tasks belong to.

    The order of steps and the names of tasks do not matter.

    >>> clustered([1, 0, 1], ["a", "a", "b"], "micro").totals.tolist()
    [1.0, 1.0]
    >>> clustered([1, 0, 1], ["a", "a", "b"]).totals.tolist()
    [0.5, 1.0]

    Raises `ValueError` if the sequences differ in length or a value is not finite.
    """
    for value, task in zip(values, tasks, strict=True):
        if not math.isfinite(value):
            raise ValueError(f"task {task} has a value that is not finite: {value}")
    averaged, members = clustered_values(values, tasks, average, clusters)
    by_cluster: dict[Hashable, list[float]] = {}
    for value, cluster in zip(averaged, members, strict=True):
        by_cluster.setdefault(cluster, []).append(value)
    pairs = sorted((len(group), math.fsum(group)) for group in by_cluster.values())
    sizes = np.array([size for size, _ in pairs], dtype=np.float64)
    totals = np.array([total for _, total in pairs], dtype=np.float64)
    return Clustered(totals, sizes)


def mean_and_error(totals: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Return the mean and its standard error over the last axis; leading axes are data sets.

    Four tasks with means 0, 1/2, 1/2, 1: the mean is 1/2, the error sqrt(1/6 / 4).

    >>> mean, error = mean_and_error(np.array([0.0, 0.5, 0.5, 1.0]), np.ones(4))
    >>> float(mean), round(float(error), 4)
    (0.5, 0.2041)
    """
    groups = totals.shape[-1]
    weight = sizes.sum(-1)
    mean = totals.sum(-1) / weight
    residuals = totals - mean[..., None] * sizes
    variance = groups / (groups - 1) * (residuals**2).sum(-1) / weight**2
    return mean, np.sqrt(variance)


def t_quantile(level: float, groups: int) -> float:
    """Return the two-sided quantile of Student's t with `groups - 1` degrees of freedom.

    >>> round(t_quantile(0.95, 31), 3)
    2.042
    """
    check_level(level)
    return float(special().stdtrit(groups - 1, (1 + level) / 2))
