"""What bounds the calls of a session: money, and what the provider bears. No clock in here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adapters.contract import FaultKind, Request
from adapters.conversation import Usage
from harness.engine.stopping import CostLimitReached

UNBILLED: frozenset[FaultKind] = frozenset(("rate_limit", "server"))
"""Failures that no provider bills. After the others nobody knows whether the model had run."""
FIRST_CALLS = 4
"""Calls under way at the beginning of a session, before the first reply."""
OVERLOAD: frozenset[FaultKind] = frozenset(("rate_limit", "timeout"))
"""Failures that say that there are too many calls at a time."""


@dataclass(frozen=True, slots=True)
class Pricing:
    """What calls cost, in US dollars: afterwards (None when unknown) and at most, beforehand."""

    cost_of: Callable[[Usage], float | None]
    upper_cost: Callable[[Request], float]


class Budget:
    """A limit in US dollars that `spent + reserved` never passes. No limit: everything fits."""

    def __init__(
        self, limit: float | None, spent: float = 0.0, pricing: Pricing | None = None
    ) -> None:
        self.limit = limit
        self.spent = spent
        self.reserved = 0.0
        self._pricing = pricing
        self._open = 0

    def cost_of(self, usage: Usage | None) -> float | None:
        """What a reply cost; None when that is not known."""
        return self._pricing.cost_of(usage) if self._pricing and usage else None

    def upper_cost(self, request: Request) -> float:
        """What a call costs at most."""
        return self._pricing.upper_cost(request) if self._pricing else 0.0

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

    def exhausted(self) -> CostLimitReached:
        """The reason to end the session, in one line."""
        return CostLimitReached(
            f"cost limit reached: ${self.spent:.4f} of ${self.limit or 0:.4f} are spent and the "
            "next call might pass it"
        )


class RateLimit:
    """How many calls may be under way: additive increase, multiplicative decrease.

    As in congestion control. Grows by one per reply up to the first sign of overload, then by one
    per round of replies, never past `ceiling`. A sign of overload halves it, once for all calls
    that were sent before the last halving: a hundred refusals that come back together are one piece
    of news. Times are handed in.
    """

    def __init__(self, ceiling: int) -> None:
        if ceiling < 1:
            raise ValueError(f"at least one call must be allowed at a time, not {ceiling}")
        self.ceiling = ceiling
        self.resumes_at = float("-inf")
        self._width = float(min(FIRST_CALLS, ceiling))
        self._overloaded = False
        self._sent = 0
        self._halved_at = 0

    @property
    def limit(self) -> int:
        """How many calls may be under way now; at least 1, at most the ceiling."""
        return int(self._width)

    def admits(self, under_way: int, now: float) -> bool:
        """Whether another call may start."""
        return under_way < self.limit and now >= self.resumes_at

    def sent(self) -> int:
        """A call starts. Returns the ticket to report its end with."""
        self._sent += 1
        return self._sent

    def succeeded(self) -> None:
        """A reply came."""
        step = 1 / self._width if self._overloaded else 1.0
        self._width = min(float(self.ceiling), self._width + step)

    def failed(self, ticket: int, kind: FaultKind, retry_after_s: float | None, now: float) -> None:
        """A call failed. A wait that the server asks for holds for all calls."""
        if kind == "rate_limit" and retry_after_s:
            self.resumes_at = max(self.resumes_at, now + retry_after_s)
        if kind in OVERLOAD and ticket > self._halved_at:
            self._overloaded = True
            self._width = max(1.0, self._width / 2)
            self._halved_at = self._sent
