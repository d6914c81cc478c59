"""McNemar's test: of the steps (or tasks) that two runs settle differently, who wins more?

Steps of a task are no independent pairs, so McNemar's own statistic claims too much for them. Two
corrections, one for each average, both a chi square with one degree of freedom that needs no
estimate of a correlation, with b_k and c_k the steps of task k that only the first or only the
second run gets right, out of n_k:

- `micro`: Obuchowski 1998 (*On the comparison of correlated proportions for clustered data*,
  Statistics in Medicine 17, 1495-1507). The difference of two pooled proportions over its variance
  under the null hypothesis: (sum of d)^2 / (K/(K-1) * sum of d^2), d_k = b_k - c_k.
- `macro`: Durkalski, Palesch, Lipsitz and Rust 2003 (*Analysis of clustered matched-pair data*,
  Statistics in Medicine 22, 2417-2428): the same with d_k = (b_k - c_k) / n_k, without K/(K-1).

Both rely on many tasks. Whole tasks are independent pairs: for them there is the exact test
(McNemar 1947, with binomial tails).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from reports.statistics.clusters import NOTHING, Average, clustered, special


@dataclass(frozen=True, slots=True)
class McNemar:
    """`gained` and `lost` count the pairs that only the second or only the first run gets right.

    `statistic` is None for the exact test, and 0 (with p = 1) where the runs agree everywhere.
    """

    gained: int
    lost: int
    statistic: float | None
    p: float


def clustered_mcnemar(
    first: Sequence[float],
    second: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average = "macro",
) -> McNemar:
    """The test on steps, corrected for tasks.

    Three tasks of two steps, won by 2, 1 and 0 steps. Micro: d = 2, 1, 0, so
    9 / (3/2 * 5) = 1.2; macro: d = 1, 1/2, 0, so 2.25 / 1.25 = 1.8.

    >>> found = clustered_mcnemar([0] * 6, [1, 1, 1, 0, 0, 0], list("aabbcc"), "micro")
    >>> found.statistic, round(found.p, 4)
    (1.2, 0.2733)

    Raises `ValueError` for scores other than 0 and 1, and sequences of different lengths.
    """
    gained, lost = _discordant(first, second)
    gains = [b - a for a, b in zip(first, second, strict=True)]
    data = clustered(gains, tasks, average)
    squares = float((data.totals**2).sum())
    if squares <= NOTHING:
        return McNemar(gained, lost, 0.0, 1.0)
    groups = len(data)
    if average == "micro":
        # A single task has no spread between tasks; the factor is left out rather than infinite.
        squares *= groups / (groups - 1) if groups > 1 else 1.0
    statistic = float(data.totals.sum()) ** 2 / squares
    return McNemar(gained, lost, statistic, float(special().chdtrc(1, statistic)))


def exact_mcnemar(first: Sequence[float], second: Sequence[float]) -> McNemar:
    """The exact test on independent pairs, here tasks: two-sided binomial tails at one half.

    >>> exact_mcnemar([0, 0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 0, 1])
    McNemar(gained=5, lost=0, statistic=None, p=0.0625)
    """
    gained, lost = _discordant(first, second)
    tail = float(special().bdtr(min(gained, lost), gained + lost, 0.5)) if gained + lost else 1.0
    return McNemar(gained, lost, None, min(1.0, 2 * tail))


def _discordant(first: Sequence[float], second: Sequence[float]) -> tuple[int, int]:
    pairs = list(zip(first, second, strict=True))
    if any(score not in (0, 1) for pair in pairs for score in pair):
        raise ValueError("McNemar's test needs scores of 0 and 1")
    return sum(b > a for a, b in pairs), sum(a > b for a, b in pairs)
