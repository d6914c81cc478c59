"""Confidence intervals for rates, with tasks as the clusters.

Steps of one task share a site, a goal and often a mistake, so they are not independent. All
intervals are two-sided and based on clusters: tasks, or websites, which group tasks further.
`parsers.rates` says which method is printed; those of `parsers.clusters` are for differences.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Method = Literal[
    "wilson", "clopper-pearson", "t", "cluster-t", "fieller", "delta", "bootstrap-t", "bca"
]
Kind = Literal["rate", "difference"]
"""Rates lie between 0 and 1, differences of two rates between -1 and 1."""

_UNMOVED: Mapping[Kind, tuple[float, ...]] = {"rate": (0.0, 1.0), "difference": (0.0,)}

FEW = 30
"""Intervals with fewer clusters that have a success, or a failure, are marked; so are those of
differences where fewer differ."""


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
