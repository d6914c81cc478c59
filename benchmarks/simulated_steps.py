"""Simulated steps of tasks whose success rate is known.

Task lengths are drawn like those of Mind2Web's test splits: 2 to 28 steps with a median of 6 (a
lognormal, rounded and cut). The successes within a task are beta-binomial: the task's own rate is
drawn from a beta distribution with a given mean and intra-task correlation. A website has a rate of
its own, drawn likewise, and its tasks have rates around that; its number of tasks is lognormal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parsers.bootstrap import generator
from parsers.clusters import Floats
from parsers.rates import WITHIN_GROUPS, WITHIN_TASKS


@dataclass(frozen=True, slots=True)
class Clustered:
    """Simulated benchmarks (rows) by cluster (columns), in one average.

    totals, sizes: as in `parsers.bootstrap`, of tasks or of their groups.
    apart: sum of the squared weights of steps, which add up to 1.
    moved: the number of clusters with a success and a failure, the smaller one.
    assumed: the correlation that `parsers.rates` assumes.
    """

    totals: Floats
    sizes: Floats
    apart: Floats
    moved: NDArray[np.int64]
    assumed: float


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
    mean = np.full(sizes.shape, rate)
    if of_task is not None:
        sites = np.full((len(sizes), of_task[-1] + 1), rate)
        mean = _beta(sites, within_sites, chance)[:, of_task]
    return chance.binomial(sizes, _beta(mean, correlation, chance)).astype(np.float64)


def _beta(mean: Floats, correlation: float, chance: np.random.Generator) -> Floats:
    strength, inside = 1 / correlation - 1, np.clip(mean, 1e-9, 1 - 1e-9)
    drawn: Floats = chance.beta(inside * strength, (1 - inside) * strength)
    return drawn


def clustered(
    totals: Floats,
    sizes: NDArray[np.int64],
    average: str,
    of_task: NDArray[np.int64] | None = None,
) -> Clustered:
    """Sum up tasks, each in a cluster of its own unless `of_task` names it, in order."""
    weights = np.ones_like(totals) / sizes if average == "macro" else np.ones_like(totals)
    whole = (weights * sizes).sum(-1)
    apart = (weights**2 * sizes).sum(-1) / whole**2
    sums = [totals, sizes - totals, totals * weights, sizes * weights]
    if of_task is not None:
        starts = np.flatnonzero(np.diff(of_task, prepend=-1))
        sums = [np.add.reduceat(one, starts, axis=-1) for one in sums]
    moved = np.minimum((sums[0] > 0).sum(-1), (sums[1] > 0).sum(-1))
    assumed = WITHIN_TASKS if of_task is None else WITHIN_GROUPS
    return Clustered(sums[2], sums[3], apart, moved, assumed)
