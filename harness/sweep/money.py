"""How a limit for all cells of a sweep together is divided among them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

_LEAST = 1e-6
_STEPS = 10_000
"""Limits are whole hundredths of a cent, rounded down."""


@dataclass(frozen=True)
class Claim:
    """What a cell has to do with the money, in US dollars.

    spent: what its run has cost so far, and what a provider has of it may still cost.
    held: what a running one may cost in all; 0 for one that is not running.
    needs: what it is estimated to cost from here on; 0 for one that will not be started any more.
    """

    spent: float = 0.0
    held: float = 0.0
    needs: float = 0.0

    @property
    def taken(self) -> float:
        return max(self.spent, self.held)


def limit_of(name: str, total: float, claims: Mapping[str, Claim]) -> float:
    """What a cell that is about to start may cost in all, with what it has cost before.

    What nobody has spent or holds is divided by the estimates of those that are still to be
    started, so that whatever they do, the cells never cost more than `total` together.

    >>> claims = {"a": Claim(spent=4), "b": Claim(held=2), "c": Claim(1, 0, 6), "d": Claim(0, 0, 3)}
    >>> limit_of("c", 10, claims), limit_of("d", 10, claims)
    (3.0, 1.0)
    """
    free = max(0.0, total - math.fsum(claim.taken for claim in claims.values()))
    waiting = {key: max(claim.needs, _LEAST) for key, claim in claims.items() if not claim.held}
    waiting = {key: needs for key, needs in waiting.items() if claims[key].needs or key == name}
    share = free * waiting[name] / math.fsum(waiting.values())
    # Rounded down, but not for what a sum of floats may lack.
    return math.floor((claims[name].spent + share) * _STEPS + 1e-6) / _STEPS
