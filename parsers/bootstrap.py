"""Cluster bootstrap intervals, which resample whole tasks.

They replace t intervals where few tasks have a success, and are a check on the others.

`bootstrap-t` (Efron and Tibshirani 1993, *An Introduction to the Bootstrap*, section 12.5; Hall
1992, section 3.5) replaces the quantiles of t by those of (mean* - mean) / error* over resamples,
which accounts for skewness and for the uncertainty of the standard error. The plain percentile
interval is not offered: `docs/statistics.md` shows where it fails.

Tasks are sorted first and resampled by PCG64 with a hash of the seed, so equal data give equal
intervals on any machine and in any order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from functools import lru_cache

import numpy as np

from parsers.clusters import (
    BOUNDS,
    NOTHING,
    Floats,
    clustered,
    clustered_values,
    mean_and_error,
)
from parsers.declaration import Average
from parsers.rates import FEW, Interval, Kind, check_level, moved

DRAWS = 4_999
"""Resamples of bootstrap intervals, unless another number is given."""
SEED = 0
"""Their seed, unless another one is given."""


def bootstrap(
    values: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average = "macro",
    *,
    kind: Kind = "rate",
    resamples: int = DRAWS,
    seed: int = SEED,
    level: float = 0.95,
) -> Interval | None:
    """Return the bootstrap-t interval of the mean over steps clustered in tasks.

    values: one per step.
    tasks: the task of each step.
    average: over tasks (macro) or over steps (micro).

    None for fewer than two tasks, or without any spread between tasks. Raises `ValueError` for a
    level outside (0, 1) or fewer than 99 resamples.

    >>> interval = bootstrap([1, 0, 0, 1, 1, 0, 0, 1, 0], list("aabbccdde"))
    >>> interval is not None and 0 <= interval.low < 0.4 < interval.high <= 1
    True
    """
    check_level(level)
    if resamples < 99:
        raise ValueError(f"at least 99 resamples are needed, got {resamples}")
    data = clustered(values, tasks, average)
    groups = len(data)
    if groups < 2 or mean_and_error(data.totals, data.sizes)[1] <= NOTHING:
        return None
    ends = _ends(tuple(data.totals.tolist()), tuple(data.sizes.tolist()), resamples, seed, level)
    low, high = (float(np.clip(end, *BOUNDS[kind])) for end in ends)
    few = min(moved(*clustered_values(values, tasks, average), kind)) < FEW
    return Interval(low, high, "bootstrap-t", groups, few, level)


@lru_cache(maxsize=1024)
def _ends(
    totals: tuple[float, ...],
    sizes: tuple[float, ...],
    resamples: int,
    seed: int,
    level: float,
) -> tuple[float, float]:
    """Return the ends of one interval; kept, as the metrics of a group often have equal values."""
    drawn = _draws(len(totals), resamples, seed)
    low, high = studentised(np.array([totals]), np.array([sizes]), drawn, level)
    return float(low[0]), float(high[0])


def generator(purpose: str, seed: int) -> np.random.Generator:
    """Return a random generator seeded by a hash of purpose and seed."""
    digest = hashlib.sha256(f"{purpose}/{seed}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


def draws(groups: int, resamples: int, seed: int) -> Floats:
    """Return the number of draws of each task: a row per resample, a column per task."""
    equal = np.full(groups, 1 / groups)
    counts = generator("bootstrap", seed).multinomial(groups, equal, size=resamples)
    return counts.astype(np.float64)


_draws = lru_cache(maxsize=16)(draws)


def resampled(totals: Floats, sizes: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """Deviation of the mean and its standard error, by data set (rows) and resample (columns)."""
    groups = totals.shape[-1]
    mean, _ = mean_and_error(totals, sizes)
    residuals = totals - mean[:, None] * sizes
    weight = sizes @ drawn.T
    deviation = (residuals @ drawn.T) / weight
    squares = (residuals**2) @ drawn.T
    squares -= 2 * deviation * ((residuals * sizes) @ drawn.T)
    squares += deviation**2 * ((sizes**2) @ drawn.T)
    squares[squares <= NOTHING] = 0.0
    return deviation, np.sqrt(groups / (groups - 1) * squares) / weight


def studentised(
    totals: Floats, sizes: Floats, drawn: Floats, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return the ends of the bootstrap-t interval of every data set (one per row), not clipped.

    A resample without spread has an infinite t, so with many of them the interval is unbounded:
    tasks with so few distinct values do not support a finite one.
    """
    mean, error = mean_and_error(totals, sizes)
    deviation, spread = resampled(totals, sizes, drawn)
    deviation[np.abs(deviation) <= NOTHING] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(deviation == 0, 0.0, deviation / spread)
    tail = (1 - level) / 2
    lower = np.quantile(ratio, tail, axis=-1, method="lower")
    upper = np.quantile(ratio, 1 - tail, axis=-1, method="higher")
    return mean - upper * error, mean - lower * error
