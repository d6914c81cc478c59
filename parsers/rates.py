"""The interval that is printed beside a rate, by a method that suits what was observed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from parsers.intervals import (
    DRAWS,
    SEED,
    Average,
    Interval,
    clopper_pearson,
    cluster_t,
    clustered_values,
    few_moved,
    moved,
    t_interval,
)


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
    """The interval that is printed beside a rate: a mean over steps clustered in tasks.

    values: one per step.
    tasks: the task of each step.
    clusters: the cluster of each step, where tasks are grouped further; by default its task.
    draws, seed: of bootstrap-t.

    The method is Student's t over the tasks' means (macro) or cluster-robust t (micro), and
    bootstrap-t where fewer than `FEW` clusters have a success or a failure. Its ends are open if
    hardly any cluster has one; they are cut at what Clopper-Pearson allows for the share of
    clusters with a success, which no mean of theirs exceeds. At 0 and 100 % that is the interval.

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


def _reached(numbers: Sequence[int], groups: int, level: float) -> tuple[float, float]:
    """The ends that Clopper-Pearson sets, if so many clusters have a success, and a failure."""
    most = []
    for number in numbers:
        share = clopper_pearson(number, groups, level)
        most.append(1.0 if share is None else share.high)
    won, lost = most
    return 1 - lost, won
