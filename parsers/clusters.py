"""Clusters of steps as arrays: a sum and a size per task, and the mean with its standard error.

One formula covers both averages. The mean over steps (micro) is the ratio of the tasks' sums to
their sizes; the mean over tasks (macro) is the same ratio with each task's mean as its sum and a
size of one. The variance is that of a ratio estimator (Cochran 1977, *Sampling Techniques*,
chapters 2.11 and 9A), which equals the cluster-robust variance of a regression on a constant
(Cameron and Miller 2015, section II), and that of Student's t for sizes of one.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parsers.declaration import Average
from parsers.intervals import clustered_values

Floats = NDArray[np.float64]

NOTHING = 1e-12
"""Sums up to this size are rounding errors of zero."""


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
    if not 0 < level < 1:
        raise ValueError(f"confidence level must lie between 0 and 1, got {level}")
    return float(special().stdtrit(groups - 1, (1 + level) / 2))


def special() -> Any:
    """scipy.special, imported on first use."""
    return importlib.import_module("scipy.special")
