"""The printed intervals of rates, whose units lie in clusters: in tasks, or in groups of tasks.

Steps of one task share a site, a goal and often a mistake, so a mean over n steps is worth fewer
independent ones. Their number is estimated from the spread between clusters, and Wilson's
interval is that of so many trials (Wilson 1927; Korn and Graubard 1998 for the effective number;
Dean and Pagano 2015 compare such intervals). `benchmarks/interval_coverage.py` shows how often it
covers the truth. Shares of whole tasks have Clopper and Pearson's; intervals of differences are in
`parsers.rates`, and `parsers.averages` makes those of one table agree.

Values between 0 and 1 spread less than zeros and ones with the same mean, but a few of them do not
show how much less: 29 tasks with 0 and one with 1/6 look almost certain. So the variance is
drawn towards that of zeros and ones, with the weight of as many values as Wilson's interval adds to
the observed ones, t^2 (Agresti and Coull 1998). With one value per cluster, neither end then falls
when a value rises.

The t intervals are of means of steps in clusters. They are None for fewer than two clusters, and
for values without any spread, where an interval of zero width would claim a certainty that a
handful of equal values cannot give. As arrays, a cluster is a sum and a size, and one formula
covers both averages. The mean over steps (micro) is the ratio of the tasks' sums to their sizes;
the mean over tasks (macro) is the same ratio with each task's mean as its sum and a size of one.
The variance is that of a ratio estimator (Cochran 1977, *Sampling Techniques*, chapters 2.11 and
9A), which equals the cluster-robust variance of a regression on a constant (Cameron and Miller
2015, section II), and that of Student's t for sizes of one.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from parsers.measure import Average

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Method = Literal["wilson", "clopper-pearson", "t", "cluster-t", "fieller", "delta", "quartiles"]
FEW = 30
"""Intervals with fewer clusters that have a success, or a failure, are marked; so are those of
differences where fewer differ."""
Kind = Literal["rate", "difference"]
"""Rates lie between 0 and 1, differences of two rates between -1 and 1."""

_UNMOVED: Mapping[Kind, tuple[float, ...]] = {"rate": (0.0, 1.0), "difference": (0.0,)}

WITHIN_TASKS, WITHIN_GROUPS = 0.25, 0.1
"""Correlations of the units of one task, and of a cluster of tasks, that are assumed where few
clusters have a success or a failure: above those of most results. Set by simulation."""
ASSUMED = 10
"""The number of clusters, with a success and a failure, that outweighs the assumption."""


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


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, independent of the order of the values; None if there are none."""
    return math.fsum(values) / len(values) if values else None


def moved(values: Sequence[float], clusters: Sequence[Hashable], kind: Kind) -> list[int]:
    """Count the clusters with a success, and with a failure; or those that differ."""
    pairs = list(zip(values, clusters, strict=True))
    return [
        len({cluster for value, cluster in pairs if value != unmoved}) for unmoved in _UNMOVED[kind]
    ]


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
    check_level(level)
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} tasks")
    if n == 0:
        return None
    tail = (1 - level) / 2
    # With n = 1 the quantile is known in closed form, which spares one-task runs scipy.
    quantile = special().betaincinv if n > 1 else lambda a, b, share: share
    low = float(quantile(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(quantile(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return Interval(low, high, "clopper-pearson", n, False, level)


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"confidence level must lie between 0 and 1, got {level}")


def special() -> Any:
    """scipy.special, imported on first use because it is slow to load."""
    return importlib.import_module("scipy.special")


def mean_interval(
    values: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average = "macro",
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Interval | None:
    """Return the printed interval of a rate: a mean over steps clustered in tasks.

    Args:
        values: one per step.
        tasks: the task of each step.
        clusters: the cluster of each step, where tasks are grouped further; by default its task.

    Example: one success in six steps of three tasks:

    >>> interval = mean_interval([1, 0, 0, 0, 0, 0], ["a", "a", "b", "b", "c", "c"], "micro")
    >>> interval is not None and (round(interval.low, 3), round(interval.high, 3), interval.method)
    (0.007, 0.856, 'wilson')

    A single cluster at 0 or 100 % has Clopper-Pearson's interval of one trial. None without values,
    for another single cluster, and for a mean beyond 0 and 1. Raises `ValueError` if the sequences
    differ in length.
    """
    above = tasks if clusters is None else clusters
    if not len(values) == len(tasks) == len(above):
        raise ValueError(f"{len(values)} values in {len(tasks)} tasks and {len(above)} clusters")
    if not values:
        return None
    if average == "micro":
        weights = [1 / len(values)] * len(values)
    else:
        steps = Counter(tasks)
        weights = [1 / (len(steps) * steps[task]) for task in tasks]
    center = math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
    residuals = [value - center for value in values]
    assumed = WITHIN_TASKS if clusters is None else WITHIN_GROUPS
    return _wilson(values, residuals, weights, above, assumed, level)


def cells_interval(
    values: Sequence[float],
    cells: Sequence[Hashable],
    clusters: Sequence[Hashable],
    *,
    grouped: bool = False,
    level: float = 0.95,
) -> Interval | None:
    """Return the interval of a mean over cells of each cell's mean over units.

    Args:
        values: one per unit, with the cell and the cluster of each.
        grouped: whether the clusters group tasks.

    A unit counts by its distance from the mean of its cell, with the weight 1 / (cells * units of
    the cell) (linearisation of a stratified mean, Cochran 1977, chapter 5).

    Two cells with means 3/4 and 1/4; every unit is a cluster:

    >>> interval = cells_interval([1, 1, 1, 0, 0, 0, 0, 1], "aaaabbbb", range(8))
    >>> interval is not None and (round(interval.low, 3), round(interval.high, 3))
    (0.194, 0.806)

    None and `ValueError` as in `mean_interval`.
    """
    if not len(values) == len(cells) == len(clusters):
        raise ValueError(f"{len(values)} values in {len(cells)} cells and {len(clusters)} clusters")
    sizes = Counter(cells)
    by_cell: dict[Hashable, list[float]] = {}
    for value, cell in zip(values, cells, strict=True):
        by_cell.setdefault(cell, []).append(value)
    means = {cell: math.fsum(group) / len(group) for cell, group in by_cell.items()}
    residuals = [value - means[cell] for value, cell in zip(values, cells, strict=True)]
    weights = [1 / (len(sizes) * sizes[cell]) for cell in cells]
    assumed = WITHIN_GROUPS if grouped else WITHIN_TASKS
    return _wilson(values, residuals, weights, clusters, assumed, level)


def _wilson(
    values: Sequence[float],
    residuals: Sequence[float],
    weights: Sequence[float],
    clusters: Sequence[Hashable],
    assumed: float,
    level: float,
) -> Interval | None:
    """Return the interval of a weighted mean; the weights add up to 1.

    The variance between clusters is the jackknife's, which is not too small where their sizes
    differ. By the method of moments (Kleinman 1973) it gives the correlation of units of a cluster,
    which is drawn towards `assumed` as far as few clusters have a success or a failure. Degrees of
    freedom are those of as many clusters of equal weight as have the same variance.
    """
    check_level(level)
    members: dict[Hashable, list[tuple[float, float]]] = {}
    for residual, weight, cluster in zip(residuals, weights, clusters, strict=True):
        members.setdefault(cluster, []).append((weight * residual, weight))
    rate = math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
    rate = min(max(rate, 0.0), 1.0)
    spread = math.fsum(w * r**2 for w, r in zip(weights, residuals, strict=True))
    # How much more zeros and ones with the same means would spread: exactly 0 for zeros and ones.
    graded = max(0.0, math.fsum(w * v * (1 - v) for w, v in zip(weights, values, strict=True)))
    # Values that are all alike come out as about 1e-32 through rounding.
    alike, certain = spread <= 1e-20, spread + graded <= 1e-12
    if certain is (1e-12 < rate < 1 - 1e-12):  # Without a spread, or not of shares.
        return None
    groups = len(members)
    if groups < 2:
        return clopper_pearson(round(rate), groups, level) if certain else None
    shares = [math.fsum(weight for _, weight in group) for group in members.values()]
    sums = [math.fsum(part for part, _ in group) for group in members.values()]
    apart = math.fsum(weight**2 for weight in weights)
    together = math.fsum(share**2 for share in shares)
    if alike:
        found = 0.0 if certain else groups / (groups - 1) * apart
    else:
        jackknife = [(s / (1 - share)) ** 2 for s, share in zip(sums, shares, strict=True)]
        found = (groups - 1) / groups * math.fsum(jackknife) / spread

    number = _outcomes(values, clusters)
    estimate = (found - apart) / (together - apart) if together - apart > 1e-12 else 0.0
    estimate = min(max(estimate, 0.0), 1.0)
    drawn = (number * estimate + ASSUMED * assumed) / (number + ASSUMED)
    correlation = max(estimate, drawn)
    variance = max(found, apart + correlation * (together - apart))

    t = float(special().stdtrit(max(1.0, 1 / together - 1), (1 + level) / 2))
    spread += graded * t**2 / ((spread + graded) / variance + t**2)
    trials = (1.0 if certain else rate * (1 - rate) / spread) / variance
    center = (rate + t**2 / (2 * trials)) / (1 + t**2 / trials)
    reach = (
        t / (1 + t**2 / trials) * math.sqrt(rate * (1 - rate) / trials + (t / (2 * trials)) ** 2)
    )
    low, high = max(0.0, min(rate, center - reach)), min(1.0, max(rate, center + reach))
    if certain:
        low, high = (0.0, high) if rate < 0.5 else (low, 1.0)
    return Interval(low, high, "wilson", groups, number < FEW, level)


def _outcomes(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Count the clusters with a success, or with a failure if these are fewer.

    Values between 0 and 1 count in part, by the best and the worst one of a cluster.

    >>> _outcomes([1, 0, 0.25, 0, 0, 0], "aabbcc")
    1.25
    """
    best: dict[Hashable, float] = {}
    worst: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        best[cluster] = max(best.get(cluster, 0.0), value)
        worst[cluster] = min(worst.get(cluster, 1.0), value)
    return min(math.fsum(best.values()), math.fsum(1 - value for value in worst.values()))


Floats: TypeAlias = "NDArray[np.float64]"

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
    import numpy as np

    pairs = sorted((len(group), math.fsum(group)) for group in by_cluster.values())
    sizes = np.array([size for size, _ in pairs], dtype=np.float64)
    totals = np.array([total for _, total in pairs], dtype=np.float64)
    return Clustered(totals, sizes)


def mean_and_error(totals: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Return the mean and its standard error over the last axis; leading axes are data sets.

    Four tasks with means 0, 1/2, 1/2, 1: the mean is 1/2, the error sqrt(1/6 / 4).

    >>> import numpy as np
    >>> mean, error = mean_and_error(np.array([0.0, 0.5, 0.5, 1.0]), np.ones(4))
    >>> float(mean), round(float(error), 4)
    (0.5, 0.2041)
    """
    import numpy as np

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
