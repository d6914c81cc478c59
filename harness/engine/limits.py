"""Limits on the calls of a session: money, and the load on the provider.

Plain state machines: no clock, no event loop; times are arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from adapters.contract import FaultKind
from adapters.conversation import Tier, Usage
from harness.engine.stopping import CostLimitReached

UNBILLED: frozenset[FaultKind] = frozenset(("rate_limit", "unavailable", "server"))
"""Failures that no provider bills. After any other, the model may have run."""
FIRST_CALLS = 4
"""Calls in flight before the first reply of a session."""
OVERLOAD: frozenset[FaultKind] = frozenset(("rate_limit", "unavailable", "timeout"))
"""Failures that mean too many calls at a time."""


@dataclass(frozen=True, slots=True)
class EmbedRequest:
    """One call of an embedder: at most as many texts as it takes."""

    texts: tuple[str, ...]
    unit_id: str
    place: str


class Billed(Protocol):
    """Result of a call with a cost: a `Reply`, or an embedder's `Embedded`."""

    @property
    def usage(self) -> Usage | None: ...


@dataclass(frozen=True, slots=True)
class Pricing:
    """Prices of a model in US dollars.

    cost_of: cost of a reply (a `Reply`, or an `Embedded`) by its usage, and by the tier that served
        it; None when unknown. It is called with replies that have a usage.
    upper_cost: upper bound for a call (a `Request`, or an `EmbedRequest` of an embedder), before it
        is sent.
    served: receives every reply from a provider, whose tier may differ from the requested one.
    notices: new notices about these tiers for the user.
    """

    cost_of: Callable[[Any], float | None]
    upper_cost: Callable[[Any], float]
    served: Callable[[Any], None] = lambda reply: None
    notices: Callable[[], list[str]] = list

    def cost(self, reply: Billed) -> float | None:
        """Cost of a reply; None when unknown, as for one without usage."""
        return None if reply.usage is None else self.cost_of(reply)


UNPRICED = Pricing(cost_of=lambda reply: None, upper_cost=lambda request: 0.0)
"""For models whose prices are not known."""


class Budget:
    """A limit in US dollars that all spending together never exceeds; None for no limit.

    spent: on calls that have ended.
    reserved: for calls in flight.
    held: for calls that a provider has until a batch ends, after this session perhaps.
    """

    def __init__(self, limit: float | None, spent: float = 0.0) -> None:
        self.limit = limit
        self.spent = spent
        self.reserved = 0.0
        self.held = 0.0
        self._open = 0
        self._holding = 0
        self._held_up: dict[Callable[[], None], None] = {}

    def fits(self, upper: float) -> bool:
        """Return whether a call of at most `upper` may be sent."""
        return self.limit is None or (self.spent + self.reserved + self.held + upper <= self.limit)

    @property
    def waiting(self) -> bool:
        """True if calls in flight may still free some of what is reserved for them."""
        return self._open > 0

    def when_freed(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, when a call in flight, of whatever queue, has ended."""
        self._held_up[callback] = None

    def reserve(self, upper: float) -> None:
        """Set `upper` aside for a call that is being sent."""
        self.reserved += upper
        self._open += 1

    def hold(self, upper: float) -> None:
        """Set `upper` aside for a call that goes into a batch."""
        self.held += upper
        self._holding += 1

    def release(self, upper: float, cost: float) -> None:
        """Book a call that has come back from a batch."""
        self._holding -= 1
        self.held = self.held - upper if self._holding else 0.0
        self.spent += cost

    def settle(self, upper: float, cost: float | None) -> None:
        """Book a call that has ended; a cost of None counts as `upper`."""
        self._open -= 1
        # Exactly zero when no call is open; sums of floats would leave a remainder.
        self.reserved = self.reserved - upper if self._open else 0.0
        self.spent += upper if cost is None else cost
        callbacks, self._held_up = self._held_up, {}
        for callback in callbacks:
            callback()

    def settle_failure(self, upper: float, kind: FaultKind) -> None:
        """Book a call that has failed, as free where failures of this kind are not billed."""
        self.settle(upper, 0.0 if kind in UNBILLED else None)

    def exhausted(self, upper: float) -> CostLimitReached:
        """Return the reason to end the session before a call of at most `upper`, in one line."""
        held = f", ${self.held:.4f} reserved for batches" if self.held else ""
        return CostLimitReached(
            f"cost limit reached: ${self.spent:.4f} of ${self.limit or 0:.4f} spent{held}, and the "
            f"next call may cost up to ${upper:.4f}"
        )


class TierChoice:
    """The tier that a call is sent on: the user's first one, while it has capacity.

    Once it had none for all of a call's patience, calls go to the second. After `PAUSE_S` seconds
    some try the first again, and until one of them is answered, a single refusal sends them back.
    """

    PAUSE_S = 600.0

    def __init__(self, tiers: Sequence[Tier]) -> None:
        self._tiers: list[Tier | Literal[""]] = [*tiers] or [""]
        self._given_up = False
        self._resumes_at = float("-inf")

    def tier(self, now: float) -> Tier | Literal[""]:
        """Return the tier for a call that is sent now; "" leaves it to the provider."""
        return self._tiers[-1 if now < self._resumes_at else 0]

    def answered(self, tier: str) -> None:
        """Note a reply to a call that was sent on this tier."""
        if tier == self._tiers[0]:
            self._given_up = False

    def refused(self, now: float) -> None:
        """Note that the first tier had no capacity for a call."""
        if self._given_up:
            self._resumes_at = now + self.PAUSE_S

    def give_up(self, now: float) -> Tier | Literal[""]:
        """Leave the first tier for a while. Returns the one to go to, "" if there is none."""
        if len(self._tiers) < 2:
            return ""
        self._given_up = True
        self._resumes_at = now + self.PAUSE_S
        return self._tiers[1]


class RateLimit:
    """Limit on calls in flight: additive increase, multiplicative decrease (as in TCP).

    The limit grows by one per reply until the first overload, then by one per round of replies,
    never past `ceiling`. An overload halves it once for all calls sent before that halving: a
    hundred refusals that come back together count as one. Times are in seconds of any one clock.
    """

    def __init__(self, ceiling: float) -> None:
        """`ceiling` is infinite for a model that takes every call at once."""
        if ceiling < 1:
            raise ValueError(f"at least one call must be allowed at a time, not {ceiling}")
        self.ceiling = ceiling
        self.resumes_at = float("-inf")
        self._width = ceiling if math.isinf(ceiling) else float(min(FIRST_CALLS, ceiling))
        self._overloaded = False
        self._sent = 0
        self._halved_at = 0

    @property
    def limit(self) -> int:
        """Most calls in flight at present, from 1 to `ceiling`."""
        return int(self._width)

    def admits(self, under_way: int, now: float) -> bool:
        """Return whether another call may be sent while `under_way` others are in flight."""
        return under_way + 1 <= self._width and now >= self.resumes_at

    def sent(self) -> int:
        """Count a call that is being sent and return its ticket, to be given to `failed`."""
        self._sent += 1
        return self._sent

    def succeeded(self) -> None:
        """Widen the limit after a reply."""
        step = 1 / self._width if self._overloaded else 1.0
        self._width = min(float(self.ceiling), self._width + step)

    def failed(self, ticket: int, kind: FaultKind, retry_after_s: float | None, now: float) -> None:
        """Narrow the limit after an overload; a wait that the server asks for holds all calls."""
        if kind == "rate_limit" and retry_after_s:
            self.resumes_at = max(self.resumes_at, now + retry_after_s)
        if kind in OVERLOAD and ticket > self._halved_at:
            self._overloaded = True
            self._width = max(1.0, self._width / 2)
            self._halved_at = self._sent
