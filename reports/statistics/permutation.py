"""A permutation test of two runs on the same steps: what if the runs' names were drawn by task?

Were there no difference, the two runs' scores on a task could be exchanged, all steps of the task
together, and the task's difference would change its sign (Fisher 1935, section 21; Good 2005,
*Permutation, Parametric and Bootstrap Tests*, section 3.7). p is the share of the sign patterns
whose mean difference is at least as far from zero as the observed one: of all patterns where at
most 20 tasks differ, else of seeded random ones, with the observed pattern counted among them
(Phipson and Smyth 2010), so that p is never zero. No distribution is assumed, and few tasks do no
harm but to power.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from reports.statistics.bootstrap import generator
from reports.statistics.clusters import NOTHING, Average, Floats, clustered

EXACT_UP_TO = 20
PATTERNS = 19_999
_BATCH = 4_096


@dataclass(frozen=True, slots=True)
class Permutation:
    """`patterns` sign patterns were looked at, all there are if `exact`; `tasks` of them differ."""

    p: float
    exact: bool
    patterns: int
    tasks: int


def permutation_test(
    first: Sequence[float],
    second: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average = "macro",
    *,
    patterns: int = PATTERNS,
    seed: int = 0,
) -> Permutation:
    """The two-sided p of the mean difference over tasks or over steps.

    Five tasks, all won: of 32 patterns only two are as extreme.

    >>> permutation_test([0] * 5, [1] * 5, list("abcde"))
    Permutation(p=0.0625, exact=True, patterns=32, tasks=5)

    Raises `ValueError` when the sequences differ in length.
    """
    gained = [b - a for a, b in zip(first, second, strict=True)]
    totals = clustered(gained, tasks, average).totals
    observed = abs(float(totals.sum()))
    sizes = np.sort(np.abs(totals[np.abs(totals) > NOTHING]))
    least = observed - 1e-9
    if len(sizes) <= EXACT_UP_TO:
        sums = _all_sums(sizes)
        p = float((np.abs(sums) >= least).mean())
        return Permutation(p, True, len(sums), len(sizes))
    extreme = _extreme(sizes, least, patterns, seed)
    return Permutation((1 + extreme) / (1 + patterns), False, patterns, len(sizes))


def _all_sums(sizes: Floats) -> Floats:
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _extreme(sizes: Floats, least: float, patterns: int, seed: int) -> int:
    chance = generator("permutation", seed)
    count = 0
    for start in range(0, patterns, _BATCH):
        rows = min(_BATCH, patterns - start)
        negative = chance.integers(0, 2, size=(rows, len(sizes)), dtype=np.int8)
        sums = sizes.sum() - 2 * (negative @ sizes)
        count += int((np.abs(sums) >= least).sum())
    return count
