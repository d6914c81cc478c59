"""Ends of the intervals of many simulated benchmarks at once."""

from __future__ import annotations

import numpy as np

from benchmarks.simulated_steps import Clustered
from parsers.rates import ASSUMED, NOTHING, Floats, mean_and_error, special, t_quantile
from reports.statistics.significance import generator

RESAMPLES = 999
Ends = tuple[Floats, Floats]


def ends(method: str, data: Clustered, seed: int) -> Ends:
    if method == "printed":
        return printed_ends(data)
    if method == "Korn-Graubard":
        return exact_ends(data)
    if method == "t":
        return t_ends(data.totals, data.sizes)
    drawn = draws(data.totals.shape[-1], RESAMPLES, seed)
    resampling = studentised if method == "bootstrap-t" else accelerated
    return resampling(data.totals, data.sizes, drawn)


def printed_ends(data: Clustered) -> Ends:
    """The ends of `parsers.rates.mean_interval`, of many data sets at once."""
    rate, trials, t = _effective(data)
    # Wilson's interval of values between 0 and 1 is that of more zeros and ones.
    whole = rate * (1 - rate)
    spread = whole - data.inside * whole * trials / (whole * trials + t**2)
    trials = trials * np.divide(whole, spread, out=np.ones_like(spread), where=whole > 0)
    center = (rate + t**2 / (2 * trials)) / (1 + t**2 / trials)
    apart = rate * (1 - rate) / trials
    reach = t / (1 + t**2 / trials) * np.sqrt(apart + (t / (2 * trials)) ** 2)
    return center - reach, center + reach


def exact_ends(data: Clustered) -> Ends:
    """Clopper-Pearson's ends of as many trials, which count less by the degrees of freedom."""
    rate, trials, t = _effective(data)
    trials = trials * (special().ndtri(0.975) / t) ** 2
    won, lost = rate * trials, (1 - rate) * trials
    quantile = special().betaincinv
    low = np.where(won > 0, quantile(np.maximum(won, 1e-9), lost + 1, 0.025), 0.0)
    return low, np.where(lost > 0, quantile(won + 1, np.maximum(lost, 1e-9), 0.975), 1.0)


def _effective(data: Clustered) -> tuple[Floats, Floats, Floats]:
    """Return rates, effective numbers of steps and quantiles of t."""
    groups, whole = data.totals.shape[-1], data.sizes.sum(-1)
    rate = data.totals.sum(-1) / whole
    shares = data.sizes / whole[:, None]
    residuals = data.totals / whole[:, None] - rate[:, None] * shares
    spread, together = rate * (1 - rate) - data.inside, (shares**2).sum(-1)
    jackknife = (groups - 1) / groups * ((residuals / (1 - shares)) ** 2).sum(-1)
    found = np.divide(jackknife, spread, out=np.zeros_like(spread), where=spread > 1e-20)
    between = np.maximum(together - data.apart, 1e-12)  # 0 with one value per cluster.
    estimate = np.clip((found - data.apart) / between, 0, 1)
    drawn = (data.moved * estimate + ASSUMED * data.assumed) / (data.moved + ASSUMED)
    trials = 1 / np.maximum(found, data.apart + np.maximum(estimate, drawn) * between)
    t = special().stdtrit(np.maximum(1, 1 / together - 1), 0.975)
    return rate, trials, t


def t_ends(totals: Floats, sizes: Floats) -> Ends:
    """The ends of `parsers.t_interval`, of many data sets at once."""
    mean, error = mean_and_error(totals, sizes)
    reach = t_quantile(0.95, totals.shape[-1]) * error
    # Without spread these intervals do not exist, and nothing is covered.
    reach[error == 0] = np.nan
    return mean - reach, mean + reach


def draws(groups: int, resamples: int, seed: int) -> Floats:
    """Return the number of draws of each task: a row per resample, a column per task."""
    equal = np.full(groups, 1 / groups)
    counts = generator("bootstrap", seed).multinomial(groups, equal, size=resamples)
    return counts.astype(np.float64)


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


def accelerated(
    totals: Floats, sizes: Floats, drawn: Floats, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return the ends of the BCa interval of every data set (one per row).

    It corrects the percentiles of the mean for bias and acceleration (Efron 1987; Efron and
    Tibshirani 1993, section 14.3).
    """
    mean, _ = mean_and_error(totals, sizes)
    deviation, _ = resampled(totals, sizes, drawn)
    count = deviation.shape[-1]
    below = (deviation < -NOTHING).sum(-1) + (np.abs(deviation) <= NOTHING).sum(-1) / 2
    bias = special().ndtri(np.clip(below / count, 0.5 / count, 1 - 0.5 / count))
    left = (totals.sum(-1, keepdims=True) - totals) / (sizes.sum(-1, keepdims=True) - sizes)
    pull = left.mean(-1, keepdims=True) - left
    cubes, squares = (pull**3).sum(-1), (pull**2).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = np.nan_to_num(cubes / (6 * squares**1.5))
    ordered = np.sort(deviation, axis=-1)
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        shifted = bias + special().ndtri(tail)
        place = special().ndtr(bias + shifted / (1 - acceleration * shifted))
        index = np.clip(np.floor(place * (count + 1)).astype(int) - 1, 0, count - 1)
        ends.append(mean + np.take_along_axis(ordered, index[:, None], axis=-1)[:, 0])
    return ends[0], ends[1]
