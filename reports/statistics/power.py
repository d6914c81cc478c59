"""Power analysis: tasks needed to detect a difference, and the smallest detectable difference.

Step rates: the power of the paired t test over tasks, from the noncentral t distribution (Cohen
1988, *Statistical Power Analysis for the Behavioral Sciences*, chapter 2) with the observed
standard deviation of the tasks' differences. Rejections in the wrong direction are not counted.

Task success: the power of the exact McNemar test, summed over the number of discordant tasks
(Duffy 1984, *Asymptotic and exact power for the McNemar test and its analogue with R controls*). It
depends on the share of discordant tasks. Exact power is not monotonic in the number of tasks; the
results come from a bisection and are accurate to a few tasks.

The observed spread is treated as known, so the results are rough with few tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from parsers.bootstrap import Floats, special

POWER = 0.8
ALPHA = 0.05
MOST = 1_000_000
"""Numbers of tasks above this are reported as None."""


def t_power(tasks: int, difference: float, deviation: float) -> float:
    """Power of the two-sided paired t test over tasks.

    >>> round(t_power(34, 0.1, 0.2), 3)
    0.808
    """
    if tasks < 2:
        return 0.0
    if deviation == 0:
        return 1.0 if difference else 0.0
    shift = abs(difference) * math.sqrt(tasks) / deviation
    limit = float(special().stdtrit(tasks - 1, 1 - ALPHA / 2))
    return 1 - float(special().nctdtr(tasks - 1, shift, limit))


def tasks_needed(difference: float, deviation: float) -> int | None:
    """Tasks needed to detect a difference of step rates; None for no difference or too many.

    Example: a difference of half a standard deviation.

    >>> tasks_needed(0.1, 0.2)
    34
    """
    return _first(lambda n: t_power(n, difference, deviation), 2)


def smallest_difference(tasks: int, deviation: float) -> float | None:
    """Smallest difference of step rates that this many tasks detect; None for fewer than two.

    >>> round(smallest_difference(34, 0.2) or 0, 3)
    0.099
    """
    if tasks < 2:
        return None
    limit = float(special().stdtrit(tasks - 1, 1 - ALPHA / 2))
    shift = float(special().nctdtrinc(tasks - 1, 1 - POWER, limit))
    return shift * deviation / math.sqrt(tasks)


def mcnemar_power(tasks: int, difference: float, discordant: float) -> float:
    """Power of the exact McNemar test for a difference in task success.

    `discordant` is the share of tasks where only one run succeeds, at least the difference.

    >>> round(mcnemar_power(20, 0.4, 0.4), 3)
    0.874
    """
    difference, discordant = abs(difference), max(abs(difference), discordant)
    if tasks < 1 or discordant == 0:
        return 0.0
    counts = _likely(tasks, discordant)
    weights = _binomial(counts, tasks, discordant)
    limits = _limits(counts)
    share = (discordant + difference) / (2 * discordant)
    able = limits >= 0
    won = np.zeros_like(counts)
    for way in (share, 1 - share):
        won[able] += special().bdtr(limits[able], counts[able].astype(int), way)
    return float((weights * won).sum())


def tasks_needed_for_success(difference: float, discordant: float) -> int | None:
    """Tasks needed to detect a difference in task success; None for no difference or too many.

    >>> tasks_needed_for_success(0.4, 0.4)
    19
    """
    if difference == 0:
        return None
    return _first(lambda n: mcnemar_power(n, difference, discordant), 1)


def smallest_success_difference(tasks: int, discordant: float) -> float | None:
    """Smallest difference in task success that this many tasks detect; None if not even 100 %.

    For differences above `discordant`, the same run wins all discordant tasks.

    >>> round(smallest_success_difference(142, 0.0) or 0, 3)
    0.055
    """
    if mcnemar_power(tasks, 1.0, 1.0) < POWER:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        seen = mcnemar_power(tasks, middle, discordant) >= POWER
        low, high = (low, middle) if seen else (middle, high)
    return high


def _first(power_of: Callable[[int], float], start: int) -> int | None:
    high = start
    while power_of(high) < POWER:
        high *= 2
        if high > MOST:
            return None
    low = max(start, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= POWER else (middle + 1, high)
    return high


def _likely(tasks: int, share: float) -> Floats:
    """Return the counts of a binomial, except for tails of about 1e-12."""
    middle, reach = tasks * share, 8 * math.sqrt(tasks * share * (1 - share)) + 8
    return np.arange(
        max(0, math.floor(middle - reach)), min(tasks, math.ceil(middle + reach)) + 1.0
    )


def _binomial(counts: Floats, tasks: int, share: float) -> Floats:
    log = special().gammaln
    ways = log(tasks + 1) - log(counts + 1) - log(tasks - counts + 1)
    terms = special().xlogy(counts, share) + special().xlog1py(tasks - counts, -share)
    return np.asarray(np.exp(ways + terms), dtype=np.float64)


def _limits(counts: Floats) -> Floats:
    """Return the most wins of the losing run at which the exact test rejects, or -1."""
    tail, whole = special().bdtr, counts.astype(int)
    guess = special().bdtrik(ALPHA / 2, np.maximum(counts, 1), 0.5)
    limits = np.floor(np.nan_to_num(guess, nan=0.0))
    for _ in range(2):
        limits = np.where(
            (limits >= 0) & (tail(limits, whole, 0.5) > ALPHA / 2), limits - 1, limits
        )
    higher = np.minimum(limits + 1, counts)
    return np.asarray(np.where(tail(higher, whole, 0.5) <= ALPHA / 2, higher, limits))
