"""Money: what is reserved before a call is sent and settled when its usage is known."""

from __future__ import annotations

from adapters.contract import FaultKind

UNBILLED: frozenset[FaultKind] = frozenset(("rate_limit", "server"))
"""Failures that no provider bills. After the others nobody knows whether the model had run."""


class Budget:
    """A limit in US dollars that `spent + reserved` never passes. No limit: everything fits."""

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        self.limit = limit
        self.spent = spent
        self.reserved = 0.0
        self._open = 0

    def fits(self, upper: float) -> bool:
        """Whether a call of at most `upper` may be sent."""
        return self.limit is None or self.spent + self.reserved + upper <= self.limit

    @property
    def waiting(self) -> bool:
        """Whether calls under way may still leave something of what was reserved for them."""
        return self._open > 0

    def reserve(self, upper: float) -> None:
        """A call is sent."""
        self.reserved += upper
        self._open += 1

    def settle(self, upper: float, cost: float | None) -> None:
        """A call ended and cost that much; None: not known, so the most that it can have been."""
        self._open -= 1
        # Exactly nothing is reserved when nothing is open; sums of floats would leave a rest.
        self.reserved = self.reserved - upper if self._open else 0.0
        self.spent += upper if cost is None else cost

    def settle_failure(self, upper: float, kind: FaultKind) -> None:
        """A call failed."""
        self.settle(upper, 0.0 if kind in UNBILLED else None)
