"""Tests of whether two runs differ, and corrections of p values for multiple comparisons.

McNemar's test compares the numbers of steps (or tasks) that only one of two runs gets right.

Steps of a task are not independent pairs, so McNemar's original statistic is too liberal for them.
There are two cluster-corrected versions, one for each average. Both are chi-square statistics with
one degree of freedom that need no estimate of the correlation. Of the n_k steps of task k, the
first run alone gets b_k right and the second alone c_k:

- `micro`: Obuchowski 1998 (*On the comparison of correlated proportions for clustered data*,
  Statistics in Medicine 17, 1495-1507). The difference of two pooled proportions over its variance
  under the null hypothesis: (sum of d)^2 / (K/(K-1) * sum of d^2), d_k = b_k - c_k.
- `macro`: Durkalski, Palesch, Lipsitz and Rust 2003 (*Analysis of clustered matched-pair data*,
  Statistics in Medicine 22, 2417-2428): the same with d_k = (b_k - c_k) / n_k, without K/(K-1).

Both are asymptotic in the number of tasks. Whole tasks are independent pairs and have the exact
test (McNemar 1947, with binomial tails).

The permutation test flips signs by task. Under the null hypothesis the two runs are exchangeable
on each task, all steps of the task together, which flips the sign of the task's difference (Fisher
1935, section 21; Good 2005, *Permutation, Parametric and Bootstrap Tests*, section 3.7). p is the
share of sign patterns whose mean difference is at least as far from zero as the observed one: of
all patterns if at most 20 tasks differ, otherwise of seeded random patterns plus the observed one
(Phipson and Smyth 2010), and p is never zero. No distribution is assumed, and the test is valid
with few tasks, although its power is then low.

Adjusted p values account for comparing several models: `holm` controls the family-wise error rate
(Holm 1979, *A simple sequentially rejective multiple test procedure*).
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from parsers import Average
from parsers.rates import NOTHING, Floats, clustered, special

EXACT_UP_TO = 20
PATTERNS = 19_999
_BATCH = 4_096


def clustered_mcnemar(
    first: Sequence[float],
    second: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average = "macro",
    clusters: Sequence[Hashable] | None = None,
) -> float:
    """Return the two-sided p of McNemar's test on steps, corrected for clustering in tasks, or in
    the `clusters` of steps; 1 if the runs agree on every pair.

    Example: three tasks of two steps, with 2, 1 and 0 wins. Micro: d = 2, 1, 0, so
    9 / (3/2 * 5) = 1.2; macro: d = 1, 1/2, 0, so 2.25 / 1.25 = 1.8.

    >>> round(clustered_mcnemar([0] * 6, [1, 1, 1, 0, 0, 0], list("aabbcc"), "micro"), 4)
    0.2733

    Raises `ValueError` for scores other than 0 and 1, or sequences of unequal length.
    """
    _discordant(first, second)
    gains = [b - a for a, b in zip(first, second, strict=True)]
    data = clustered(gains, tasks, average, clusters)
    squares = float((data.totals**2).sum())
    if squares <= NOTHING:
        return 1.0
    groups = len(data)
    if average == "micro":
        # With a single task the factor K / (K - 1) would be infinite; it is left out.
        squares *= groups / (groups - 1) if groups > 1 else 1.0
    return float(special().chdtrc(1, float(data.totals.sum()) ** 2 / squares))


def exact_mcnemar(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the p of the exact test on independent pairs, here tasks: two-sided binomial test at
    1/2.

    >>> exact_mcnemar([0, 0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 0, 1])
    0.0625
    """
    gained, lost = _discordant(first, second)
    tail = float(special().bdtr(min(gained, lost), gained + lost, 0.5)) if gained + lost else 1.0
    return min(1.0, 2 * tail)


def _discordant(first: Sequence[float], second: Sequence[float]) -> tuple[int, int]:
    pairs = list(zip(first, second, strict=True))
    if any(score not in (0, 1) for pair in pairs for score in pair):
        raise ValueError("McNemar's test needs scores of 0 and 1")
    return sum(b > a for a, b in pairs), sum(a > b for a, b in pairs)


@dataclass(frozen=True, slots=True)
class Permutation:
    """The result of a permutation test.

    p: two-sided p value.
    exact: whether all sign patterns were enumerated.
    """

    p: float
    exact: bool


def permutation_test(
    first: Sequence[float],
    second: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average = "macro",
    clusters: Sequence[Hashable] | None = None,
) -> Permutation:
    """Two-sided sign-flip permutation test of the mean difference over tasks or over steps.

    Signs are flipped by task, or by the `clusters` of steps.

    Example: five tasks, all won. Of 32 patterns only two are as extreme.

    >>> permutation_test([0] * 5, [1] * 5, list("abcde"))
    Permutation(p=0.0625, exact=True)

    Raises `ValueError` if the sequences differ in length.
    """
    gained = [b - a for a, b in zip(first, second, strict=True)]
    totals = clustered(gained, tasks, average, clusters).totals
    observed = abs(float(totals.sum()))
    sizes = np.sort(np.abs(totals[np.abs(totals) > NOTHING]))
    least = observed - 1e-9
    if len(sizes) <= EXACT_UP_TO:
        sums = _all_sums(sizes)
        return Permutation(float((np.abs(sums) >= least).mean()), True)
    p = (1 + _extreme(sizes, least)) / (1 + PATTERNS)
    return Permutation(p, False)


def _all_sums(sizes: Floats) -> Floats:
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return sums


def generator(purpose: str, seed: int) -> np.random.Generator:
    """Return a random generator seeded by a hash of purpose and seed."""
    digest = hashlib.sha256(f"{purpose}/{seed}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


def _extreme(sizes: Floats, least: float) -> int:
    chance = generator("permutation", 0)
    count = 0
    for start in range(0, PATTERNS, _BATCH):
        rows = min(_BATCH, PATTERNS - start)
        negative = chance.integers(0, 2, size=(rows, len(sizes)), dtype=np.int8)
        sums = sizes.sum() - 2 * (negative @ sizes)
        count += int((np.abs(sums) >= least).sum())
    return count


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: the smallest p times n, the next times n - 1, made monotonic.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted
