"""The interval of a rate, by a method that suits the observations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from parsers.declaration import Average
from parsers.intervals import (
    DRAWS,
    SEED,
    Interval,
    clopper_pearson,
    cluster_t,
    clustered_values,
    few_moved,
    moved,
    t_interval,
)


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
    draws: int = DRAWS,
    seed: int = SEED,
) -> Interval | None:
    """Return the printed interval of a rate: a mean over steps clustered in tasks.

    Args:
        values: one per step.
        tasks: the task of each step.
        clusters: the cluster of each step, where tasks are grouped further; by default its task.
        draws: resamples of bootstrap-t.
        seed: the seed of bootstrap-t.

    The method is Student's t over the tasks' means (macro) or cluster-robust t (micro), and
    bootstrap-t where fewer than `FEW` clusters have a success or a failure. Its ends are open if
    hardly any cluster has one; they are cut at what Clopper-Pearson allows for the share of
    clusters with a success, which no mean of theirs exceeds. At 0 and 100 % that is the interval.

    Examples:
        >>> interval = mean_interval([0, 0, 0, 0], ["a", "a", "b", "c"])
        >>> interval is not None and (interval.low, round(interval.high, 3), interval.method)
        (0.0, 0.708, 'clopper-pearson')

    None without values, for a single cluster that both succeeds and fails, and for clusters that
    are all alike. Raises `ValueError` if the sequences differ in length.
    """
    averaged, members = clustered_values(values, tasks, average, clusters)
    if not averaged:
        return None
    if not few_moved(averaged, members):
        if average == "macro" and clusters is None:
            return t_interval(averaged, level)
        return cluster_t(averaged, members, level)
    numbers, groups = moved(averaged, members, "rate"), len(set(members))
    low, high = _reached(numbers, groups, level)
    if min(numbers) == 0:
        return Interval(low, high, "clopper-pearson", groups, False, level)
    # Loaded here, as numpy is slow to load.
    from parsers.bootstrap import bootstrap

    drawn = bootstrap(averaged, members, "micro", resamples=draws, seed=seed, level=level)
    if drawn is None:
        return None
    low, high = max(low, drawn.low), min(high, drawn.high)
    return Interval(low, high, "bootstrap-t", groups, True, level)


def cells_interval(
    values: Sequence[float],
    cells: Sequence[Hashable],
    clusters: Sequence[Hashable],
    *,
    level: float = 0.95,
) -> Interval | None:
    """Return the interval of a mean over cells of each cell's mean over units.

    Args:
        values: one per unit, with the cell and the cluster of each.

    The variance is cluster-robust: a unit counts by its distance from the mean of its cell, with
    the weight 1 / (cells * units of the cell), and those of a cluster are summed up (linearisation
    of a stratified mean, Cochran 1977, chapter 5). Marked where fewer than `FEW` clusters have a
    success or a failure; at 0 and 100 % it is that of `mean_interval`.

    Two cells with means 3/4 and 1/4; every unit is a cluster:

    Examples:
        >>> interval = cells_interval([1, 1, 1, 0, 0, 0, 0, 1], "aaaabbbb", range(8))
        >>> interval is not None and (round(interval.low, 3), round(interval.high, 3))
        (0.113, 0.887)

    None without values, and where all clusters are alike. Raises `ValueError` if the sequences
    differ in length.
    """
    if not len(values) == len(cells) == len(clusters):
        raise ValueError(f"{len(values)} values in {len(cells)} cells and {len(clusters)} clusters")
    if not values or not all(moved(values, clusters, "rate")):
        return mean_interval(values, clusters, "micro", level=level)
    sizes = Counter(cells)
    by_cell: dict[Hashable, list[float]] = {}
    for value, cell in zip(values, cells, strict=True):
        by_cell.setdefault(cell, []).append(value)
    means = {cell: math.fsum(group) / len(group) for cell, group in by_cell.items()}
    whole = math.fsum(means.values()) / len(means)
    # Values whose mean over units is the mean over cells, with the residuals that it has.
    spread = [
        whole + len(values) / (len(means) * sizes[cell]) * (value - means[cell])
        for value, cell in zip(values, cells, strict=True)
    ]
    found = cluster_t(spread, clusters, level)
    return None if found is None else replace(found, few=few_moved(values, clusters))


def _reached(numbers: Sequence[int], groups: int, level: float) -> tuple[float, float]:
    """Return the ends that Clopper-Pearson sets, if so many clusters have a success, and a
    failure."""
    most = []
    for number in numbers:
        share = clopper_pearson(number, groups, level)
        most.append(1.0 if share is None else share.high)
    won, lost = most
    return 1 - lost, won
