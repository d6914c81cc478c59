"""Divides a limit for all cells of a sweep together among them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

_LEAST = 1e-6
_STEPS = 10_000
"""Limits are whole hundredths of a cent, rounded down."""


@dataclass(frozen=True)
class Claim:
    """A cell's share of the money, in US dollars.

    spent: cost of its run so far, and the most that its calls at a provider may still cost.
    allotted: the most that a running one may cost in all; 0 for one that is not running.
    needs: its estimated cost from here on; 0 for one that will not be started any more.
    """

    spent: float = 0.0
    allotted: float = 0.0
    needs: float = 0.0

    @property
    def taken(self) -> float:
        return max(self.spent, self.allotted)


def limit_of(name: str, total: float, claims: Mapping[str, Claim]) -> float:
    """Return the most that a starting cell may cost in all, including its cost before.

    The part that is neither spent nor allotted is divided by the estimates of the cells still to be
    started: whatever they do, the cells never cost more than `total` together.

    >>> running = Claim(allotted=2)
    >>> claims = {"a": Claim(spent=4), "b": running, "c": Claim(1, 0, 6), "d": Claim(0, 0, 3)}
    >>> limit_of("c", 10, claims), limit_of("d", 10, claims)
    (3.0, 1.0)
    """
    free = max(0.0, total - math.fsum(claim.taken for claim in claims.values()))
    waiting = {key: max(claim.needs, _LEAST) for key, claim in claims.items() if not claim.allotted}
    waiting = {key: needs for key, needs in waiting.items() if claims[key].needs or key == name}
    share = free * waiting[name] / math.fsum(waiting.values())
    # Rounded down, but not for what a sum of floats may lack.
    return math.floor((claims[name].spent + share) * _STEPS + 1e-6) / _STEPS
