"""Simulated steps of tasks whose success rate is known.

Task lengths are drawn like those of Mind2Web's test splits: 2 to 28 steps with a median of 6 (a
lognormal, rounded and cut). The successes within a task are beta-binomial: the task's own rate is
drawn from a beta distribution with a given mean and intra-task correlation. A website has a rate of
its own, drawn likewise, and its tasks have rates around that; its number of tasks is lognormal.

`graded` draws values between 0 and 1, like those of the measures that `MEASURES` names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parsers.rates import WITHIN_GROUPS, WITHIN_TASKS, Floats
from reports.statistics.significance import generator


@dataclass(frozen=True, slots=True)
class Clustered:
    """Simulated benchmarks (rows) by cluster (columns), in one average.

    totals, sizes: as in `parsers.rates`, of tasks or of their groups.
    apart: sum of the squared weights of steps, which add up to 1.
    inside: mean of value * (1 - value) over steps, 0 for zeros and ones.
    moved: the number of clusters with a success and a failure, the smaller one; values between
        count in part.
    assumed: the correlation that `parsers.rates` assumes.
    """

    totals: Floats
    sizes: Floats
    apart: Floats
    inside: Floats
    moved: Floats
    assumed: float


@dataclass(frozen=True, slots=True)
class Tasks:
    """Values of the steps of simulated benchmarks (rows), summed up by task (columns).

    sizes: numbers of steps.
    totals, squares: sums of the values and of their squares.
    best, worst: the largest and the smallest value.
    """

    sizes: NDArray[np.int64]
    totals: Floats
    squares: Floats
    best: Floats
    worst: Floats


def lengths(tasks: int, simulations: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """Steps per task of every simulated benchmark."""
    drawn = chance.lognormal(math.log(6), 0.55, size=(simulations, tasks))
    return np.clip(np.rint(drawn), 2, 28).astype(np.int64)


def sites_of_tasks(sites: int, usual: float) -> NDArray[np.int64]:
    """The website of each task, in order: always the same, with so many tasks on average."""
    drawn = generator(f"coverage/sites/{sites}/{usual}", 0).lognormal(
        math.log(usual) - 0.32, 0.8, size=sites
    )
    return np.repeat(np.arange(sites), np.maximum(np.rint(drawn).astype(int), 1))


def successes(
    sizes: NDArray[np.int64],
    rate: float,
    correlation: float,
    chance: np.random.Generator,
    of_task: NDArray[np.int64] | None = None,
    within_sites: float = 0.0,
) -> Floats:
    """Beta-binomial successes per task, around the rate of its website if `of_task` has that."""
    rates = _rates(sizes.shape, rate, correlation, chance, of_task, within_sites)
    return chance.binomial(sizes, rates).astype(np.float64)


def binary(sizes: NDArray[np.int64], totals: Floats) -> Tasks:
    """Steps with values of 0 and 1: `totals` ones per task."""
    best, worst = (one.astype(np.float64) for one in (totals > 0, totals == sizes))
    return Tasks(sizes, totals, totals, best, worst)


def _pass_all(rates: Floats, chance: np.random.Generator) -> Floats:
    won = chance.binomial(4, _beta(rates, 0.3, chance))
    return won * (won - 1) / 12


def _share(rates: Floats, chance: np.random.Generator) -> Floats:
    return chance.binomial(6, _beta(rates, 0.3, chance)) / 6


def _hits(full: float, lowest: float) -> Callable[[Floats, np.random.Generator], Floats]:
    """Hits with that share of ones; the others lie between `lowest` and 1."""

    def drawn(rates: Floats, chance: np.random.Generator) -> Floats:
        part = lowest + (1 - lowest) * chance.beta(2, 2, len(rates))
        value = np.where(chance.random(len(rates)) < full, 1.0, part)
        return np.where(chance.random(len(rates)) < rates, value, 0.0)

    return drawn


def _narrow(rates: Floats, chance: np.random.Generator) -> Floats:
    return _beta(rates, 0.05, chance)


MEASURES: Mapping[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "pass^2 of 4": _pass_all,
    "share of 6": _share,
    "F1": _hits(0.5, 0.0),
    "ANLS": _hits(0.6, 0.5),
    "ROUGE": _narrow,
}
"""Values of steps, from the rates of their tasks: pass^2 of four repeats, the share of six repeats
that succeed, hits of which half or most are full, and values near the rate of the task."""
_FULL = {"F1": 0.75, "ANLS": 0.9}
"""The mean value of a hit."""


def graded(
    measure: str,
    sizes: NDArray[np.int64],
    rate: float,
    correlation: float,
    chance: np.random.Generator,
    of_task: NDArray[np.int64] | None = None,
    within_sites: float = 0.0,
) -> Tasks:
    """Values of a measure with the mean `rate`, as `successes`.

    A mean that is too high for its hits is one of what misses from 1.
    """
    least = _FULL.get(measure, 1.0)
    mirrored = rate > 0.9 * least
    of_hits = (1 - rate if mirrored else rate) / least
    if measure == "pass^2 of 4":
        # A unit's own rate p has mean(p (1 - p)) = apart * m (1 - m) for a mean m, and mean(p^2)
        # is the rate.
        apart = (1 - within_sites) * (1 - correlation) * (1 - 0.3)
        of_hits = (math.sqrt((1 - apart) ** 2 + 4 * apart * of_hits) - (1 - apart)) / (2 * apart)
    rates = _rates(sizes.shape, of_hits, correlation, chance, of_task, within_sites)
    values = MEASURES[measure](np.repeat(rates.ravel(), sizes.ravel()), chance)
    values = 1 - values if mirrored else values
    return summed(values, sizes)


def summed(values: Floats, sizes: NDArray[np.int64]) -> Tasks:
    """Sum up the values of all steps, which are in the order of `sizes`."""
    starts = np.concatenate([[0], np.cumsum(sizes.ravel())[:-1]])
    sums = [np.add.reduceat(one, starts) for one in (values, values**2)]
    sums += [extreme.reduceat(values, starts) for extreme in (np.maximum, np.minimum)]
    return Tasks(sizes, *(one.reshape(sizes.shape) for one in sums))


def _rates(
    shape: tuple[int, ...],
    rate: float,
    correlation: float,
    chance: np.random.Generator,
    of_task: NDArray[np.int64] | None,
    within_sites: float,
) -> Floats:
    mean = np.full(shape, rate)
    if of_task is not None:
        sites = np.full((shape[0], of_task[-1] + 1), rate)
        mean = _beta(sites, within_sites, chance)[:, of_task]
    return _beta(mean, correlation, chance)


def _beta(mean: Floats, correlation: float, chance: np.random.Generator) -> Floats:
    strength, inside = 1 / correlation - 1, np.clip(mean, 1e-9, 1 - 1e-9)
    drawn: Floats = chance.beta(inside * strength, (1 - inside) * strength)
    return drawn


def clustered(tasks: Tasks, average: str, of_task: NDArray[np.int64] | None = None) -> Clustered:
    """Sum up tasks, each in a cluster of its own unless `of_task` names it, in order."""
    weights = np.ones_like(tasks.totals)
    weights = weights / tasks.sizes if average == "macro" else weights
    whole = (weights * tasks.sizes).sum(-1)
    apart = (weights**2 * tasks.sizes).sum(-1) / whole**2
    inside = (weights * (tasks.totals - tasks.squares)).sum(-1) / whole
    totals, sizes, best, missed = (
        tasks.totals * weights,
        tasks.sizes * weights,
        tasks.best,
        1 - tasks.worst,
    )
    if of_task is not None:
        starts = np.flatnonzero(np.diff(of_task, prepend=-1))
        totals, sizes = (np.add.reduceat(one, starts, axis=-1) for one in (totals, sizes))
        best, missed = (np.maximum.reduceat(one, starts, axis=-1) for one in (best, missed))
    moved = np.minimum(best.sum(-1), missed.sum(-1))
    assumed = WITHIN_TASKS if of_task is None else WITHIN_GROUPS
    return Clustered(totals, sizes, apart, inside, moved, assumed)
