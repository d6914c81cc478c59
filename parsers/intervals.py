"""Confidence intervals for rates, with tasks as the clusters.

Steps of one task share a site, a goal and often a mistake, so they are not independent. All
intervals here are two-sided and based on clusters: tasks, or websites, which group tasks further.
`parsers.rates` says which method is printed. The t methods give None for fewer than two clusters,
and for values without any spread, where an interval of zero width would claim a certainty that a
handful of equal values cannot give.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from parsers.declaration import Average

Method = Literal[
    "wilson", "clopper-pearson", "t", "cluster-t", "fieller", "delta", "bootstrap-t", "bca"
]
Kind = Literal["rate", "difference"]
"""Rates lie between 0 and 1, differences of two rates between -1 and 1."""

BOUNDS: Mapping[Kind, tuple[float, float]] = {"rate": (0.0, 1.0), "difference": (-1.0, 1.0)}
_UNMOVED: Mapping[Kind, tuple[float, ...]] = {"rate": (0.0, 1.0), "difference": (0.0,)}

FEW = 30
"""Intervals with fewer clusters that have a success, or a failure, are marked; so are those of
differences where fewer differ."""
DRAWS = 4_999
"""Resamples of bootstrap intervals, unless another number is given."""
SEED = 0
"""Their seed, unless another one is given."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, clipped to the values that are possible.

    Attributes:
        clusters: number of clusters (tasks, unless said otherwise) that it is based on.
        few: whether it is marked, because fewer than `FEW` clusters have a success, or a failure
            (of differences: differ). Exact intervals never are.
        level: the confidence level, between 0 and 1.
    """

    low: float
    high: float
    method: Method
    clusters: int
    few: bool
    level: float = 0.95


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


def few_moved(values: Sequence[float], clusters: Sequence[Hashable], kind: Kind = "rate") -> bool:
    """Return True if fewer than `FEW` clusters have a success, or a failure; or differ."""
    return any(number < FEW for number in moved(values, clusters, kind, FEW))


def moved(
    values: Sequence[float], clusters: Sequence[Hashable], kind: Kind, enough: int | None = None
) -> list[int]:
    """Count the clusters with a success, and with a failure; or that differ; up to `enough`."""
    numbers = []
    for unmoved in _UNMOVED[kind]:
        found: set[Hashable] = set()
        for value, cluster in zip(values, clusters, strict=True):
            if value != unmoved:
                found.add(cluster)
                if len(found) == enough:
                    break
        numbers.append(len(found))
    return numbers


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval | None:
    """Return the exact binomial interval (Clopper and Pearson 1934) for `successes` of `n` tasks.

    Its ends are quantiles of beta distributions: Beta(k, n-k+1) at (1-level)/2 and Beta(k+1, n-k)
    at 1-(1-level)/2. None without tasks.

    Examples:
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
    return Interval(low, high, "clopper-pearson", n, False, level)


def t_interval(
    values: Sequence[float], level: float = 0.95, *, kind: Kind = "rate"
) -> Interval | None:
    """Student's t interval for the mean of independent values, here the means of tasks.

    mean +- t(n-1) * s / sqrt(n), clipped to what is possible. None for fewer than two values, and
    if all are equal.

    Examples:
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
    few = few_moved(values, range(n), kind)
    return _around(mean, math.sqrt(variance / n), "t", n, few, kind, level)


def cluster_t(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    level: float = 0.95,
    *,
    kind: Kind = "rate",
) -> Interval | None:
    """Return a t interval for the mean of values in clusters of unequal size.

    The mean over steps is a ratio of two sums over tasks (Cochran 1977, chapter 9A), and its
    variance is estimated from the residual sums of the tasks: G/(G-1) * sum(u_g^2) / n^2 with
    u_g = sum over the cluster of (value - mean), G clusters, n values, and G-1 degrees of freedom.
    This is the cluster-robust variance of a regression on a constant (Cameron and Miller 2015,
    section II; Miller 2024 for evaluations of language models). With one value per cluster it is
    `t_interval`. None for fewer than two clusters, and if all residual sums are zero.

    Examples:
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
    few = few_moved(values, clusters, kind)
    return _around(mean, math.sqrt(variance), "cluster-t", groups, few, kind, level)


def ratio_difference(
    first: tuple[Sequence[float], Sequence[float]],
    second: tuple[Sequence[float], Sequence[float]],
    clusters: Sequence[Hashable],
    level: float = 0.95,
) -> tuple[float, Interval | None]:
    """Return by how much a ratio of two sums differs between two runs on the same units, with its
    interval.

    first, second: amounts, and what they are divided by (1 for every unit: a mean), of each run.

    The interval is the second ratio's linearisation minus the first's (the delta method), with
    sums over clusters as independent and t(G-1); None for fewer than two clusters.

    Examples:
        >>> ratio_difference(([2, 4], [1, 1]), ([3, 7], [1, 1]), "ab")[0]
        2.0

    Raises `ValueError` if the sequences differ in length, and `ZeroDivisionError` if a run has
    nothing to divide by.
    """
    _check(level)
    ratios = [math.fsum(amounts) / math.fsum(sizes) for amounts, sizes in (first, second)]
    sums: dict[Hashable, list[float]] = {}
    for sign, ratio, (amounts, sizes) in zip((-1, 1), ratios, (first, second), strict=True):
        whole = math.fsum(sizes)
        for amount, size, cluster in zip(amounts, sizes, clusters, strict=True):
            sums.setdefault(cluster, []).append(sign * (amount - ratio * size) / whole)
    groups, difference = len(sums), ratios[1] - ratios[0]
    if groups < 2:
        return difference, None
    square = math.fsum(math.fsum(parts) ** 2 for parts in sums.values())
    reach = float(_special().stdtrit(groups - 1, (1 + level) / 2))
    error = reach * math.sqrt(square * groups / (groups - 1))
    ends = difference - error, difference + error
    return difference, Interval(*ends, "delta", groups, False, level)


def per_success(
    amounts: Sequence[float],
    wins: Sequence[bool],
    clusters: Sequence[Hashable],
    level: float = 0.95,
) -> tuple[float | None, Interval | None]:
    """Return what a success takes (the sum of all amounts over the number of successes), with its
    interval.

    The interval is Fieller's (1954) for a ratio of two sums over clusters, which are independent:
    all r for which the sum of (amount - r * success) lies within t(G-1) standard errors of zero.
    It has no upper end where no success at all is within reach, and is then None, as for fewer than
    two clusters. The ratio is None without a success.

    Examples:
        >>> ratio, interval = per_success([3, 5, 4, 4], [True, True, True, False], "abcd")
        >>> round(ratio, 3), interval is None
        (5.333, True)

    Raises `ValueError` if the sequences differ in length.
    """
    _check(level)
    sums: dict[Hashable, tuple[list[float], list[float]]] = {}
    for amount, won, cluster in zip(amounts, wins, clusters, strict=True):
        spent, right = sums.setdefault(cluster, ([], []))
        spent.append(amount)
        right.append(float(won))
    pairs = sorted((math.fsum(spent), math.fsum(right)) for spent, right in sums.values())
    total, successes = (
        (math.fsum(column) for column in zip(*pairs, strict=True)) if pairs else (0, 0)
    )
    groups = len(pairs)
    if not successes:
        return None, None
    ratio = total / successes
    if groups < 2:
        return ratio, None
    scale = groups / (groups - 1)
    mean, share = total / groups, successes / groups
    own = scale * math.fsum((spent - mean) ** 2 for spent, _ in pairs)
    other = scale * math.fsum((right - share) ** 2 for _, right in pairs)
    both = scale * math.fsum((spent - mean) * (right - share) for spent, right in pairs)
    reach = float(_special().stdtrit(groups - 1, (1 + level) / 2)) ** 2
    square = successes**2 - reach * other
    middle = total * successes - reach * both
    inside = middle**2 - square * (total**2 - reach * own)
    if square <= 0 or inside <= 0:
        return ratio, None
    ends = sorted((middle + sign * math.sqrt(inside)) / square for sign in (-1, 1))
    return ratio, Interval(max(0.0, ends[0]), ends[1], "fieller", groups, False, level)


def _around(
    mean: float,
    error: float,
    method: Method,
    clusters: int,
    few: bool,
    kind: Kind,
    level: float,
) -> Interval:
    reach = float(_special().stdtrit(clusters - 1, (1 + level) / 2)) * error
    least, most = BOUNDS[kind]
    low, high = max(least, mean - reach), min(most, mean + reach)
    return Interval(low, high, method, clusters, few, level)


def _check(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"confidence level must lie between 0 and 1, got {level}")


def _special() -> Any:
    """scipy.special, imported on first use because it is slow to load."""
    return importlib.import_module("scipy.special")
