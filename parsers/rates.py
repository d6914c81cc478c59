"""The interval of a rate whose units lie in clusters: Wilson's, by the effective number of units.

Steps of one task are alike, so a mean over n steps is worth fewer independent ones. Their number is
estimated from the spread between clusters, and Wilson's interval is that of so many trials (Wilson
1927; Korn and Graubard 1998 for the effective number; Dean and Pagano 2015 compare such intervals).
`benchmarks/interval_coverage.py` shows how often it covers the truth.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Hashable, Sequence

from parsers.declaration import Average
from parsers.intervals import FEW, Interval, clopper_pearson, moved

WITHIN_TASKS, WITHIN_GROUPS = 0.25, 0.1
"""Correlations of the units of one task, and of a cluster of tasks, that are assumed where few
clusters have a success or a failure: above those of most results. Set by simulation."""
ASSUMED = 10
"""The number of clusters, with a success and a failure, that outweighs the assumption."""


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, independent of the order of the values; None if there are none."""
    return math.fsum(values) / len(values) if values else None


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
    for another single cluster, for values between 0 and 1 that are all alike, and for values beyond
    0 and 1. Raises `ValueError` if the sequences differ in length.
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
    if not 0 < level < 1:
        raise ValueError(f"confidence level must lie between 0 and 1, got {level}")
    members: dict[Hashable, list[tuple[float, float]]] = {}
    for residual, weight, cluster in zip(residuals, weights, clusters, strict=True):
        members.setdefault(cluster, []).append((weight * residual, weight))
    rate = math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
    rate = min(max(rate, 0.0), 1.0)
    spread = math.fsum(w * r**2 for w, r in zip(weights, residuals, strict=True))
    # Values that are all alike come out as about 1e-32 through rounding.
    certain = spread <= 1e-20
    if certain is (1e-12 < rate < 1 - 1e-12):  # Without a spread, or not of shares.
        return None
    groups = len(members)
    if groups < 2:
        return clopper_pearson(round(rate), groups, level) if certain else None
    shares = [math.fsum(weight for _, weight in group) for group in members.values()]
    sums = [math.fsum(part for part, _ in group) for group in members.values()]
    apart = math.fsum(weight**2 for weight in weights)
    together = math.fsum(share**2 for share in shares)
    jackknife = [(s / (1 - share)) ** 2 for s, share in zip(sums, shares, strict=True)]
    found = 0.0 if certain else (groups - 1) / groups * math.fsum(jackknife) / spread

    number = min(moved(values, clusters, "rate"))
    estimate = (found - apart) / (together - apart) if together - apart > 1e-12 else 0.0
    estimate = min(max(estimate, 0.0), 1.0)
    drawn = (number * estimate + ASSUMED * assumed) / (number + ASSUMED)
    correlation = max(estimate, drawn)
    variance = max(found, apart + correlation * (together - apart))

    trials = (1.0 if certain else rate * (1 - rate) / spread) / variance
    special = importlib.import_module("scipy.special")  # It is slow to load.
    t = float(special.stdtrit(max(1.0, 1 / together - 1), (1 + level) / 2))
    center = (rate + t**2 / (2 * trials)) / (1 + t**2 / trials)
    reach = (
        t / (1 + t**2 / trials) * math.sqrt(rate * (1 - rate) / trials + (t / (2 * trials)) ** 2)
    )
    low, high = max(0.0, min(rate, center - reach)), min(1.0, max(rate, center + reach))
    if certain:
        low, high = (0.0, high) if rate < 0.5 else (low, 1.0)
    return Interval(low, high, "wilson", groups, number < FEW, level)
