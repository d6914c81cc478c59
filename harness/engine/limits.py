"""Limits on the calls of a session: attempts, money, and the load on the provider.

Plain state machines: no clock, no event loop; times are arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from adapters.contract import Fault, FaultKind
from adapters.conversation import Tier, Usage
from harness.engine.stopping import CostLimitReached

UNBILLED: frozenset[FaultKind] = frozenset(("rate_limit", "unavailable", "server"))
"""Failures that no provider bills. After any other, the model may have run."""
FIRST_CALLS = 4
"""Calls in flight before the first reply of a session."""
OVERLOAD: frozenset[FaultKind] = frozenset(("rate_limit", "unavailable", "timeout"))
"""Failures that mean too many calls at a time."""
UNREADABLE_ATTEMPTS = 3
"""Replies to a call that cannot be read, before it is given up: each may be billed."""


def is_free(fault: Fault) -> bool:
    """Return whether no provider bills a call that failed so; in the middle of an answer, the model
    has run."""
    return fault.kind in UNBILLED and fault.status != 200


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits on retries after a `Fault`.

    Waits double from `first_wait_s` to `longest_wait_s`; half of each is random, to spread the
    callers out.

    attempts: most times a call is sent, the first time included.
    patience_s: longest time from the first failure to the start of the last attempt.
    """

    attempts: int = 8
    patience_s: float = 300.0
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0


def wait_before_retry(
    policy: RetryPolicy,
    attempts: int,
    elapsed_s: float,
    retry_after_s: float | None,
    chance: float,
) -> float | None:
    """Return the seconds to wait before the next attempt, or None to give up.

    attempts: made so far.
    elapsed_s: time since the first failure.
    retry_after_s: what the server asked for. The wait is never shorter, and at most a quarter
        longer. If it exceeds the patience, the call is given up rather than sent too early.
    chance: random number from 0 to 1.

    >>> wait_before_retry(RetryPolicy(), 3, 0.0, None, 1.0)
    4.0
    """
    if attempts >= policy.attempts:
        return None
    # Large exponents would overflow, long after the wait has reached its bound.
    doublings = min(attempts - 1, 60)
    longest = min(policy.longest_wait_s, policy.first_wait_s * 2.0**doublings)
    wait = longest * (1 + chance) / 2
    if retry_after_s is not None and retry_after_s > 0:
        # Random here, too: callers that were turned away together must not return together.
        wait = retry_after_s + min(longest, retry_after_s) * chance / 4
    return wait if elapsed_s + wait <= policy.patience_s else None


@dataclass(frozen=True, slots=True)
class EnginePolicy:
    """Limits of a session; none of them changes a reply.

    open_dialogues: most dialogues in memory; None takes the adapter's limit, or else enough to keep
        calls coming.
    retry: for every call of a dialogue.
    first_call: for the preflight call, which keeps a user waiting who may have mistyped an address.
    call_timeout_s: limit for a single attempt, and for an action in an environment; None for
        adapters that answer after hours.
    failures_in_a_row: stop the run after this many calls that failed for good without a reply in
        between, or environments without an action.
    max_cost: US dollars, over all sessions of a run.
    environment_trials: trials of a dialogue whose environment fails; after the last one its unit is
        settled as one that does not count.
    score_failures: settle steps without a reply as `no_reply` instead of leaving them unsettled.
    tiers: the provider's tiers that calls of the model under test are sent on, see `TierChoice`;
        none leaves them to the provider.
    """

    open_dialogues: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    first_call: RetryPolicy = RetryPolicy(attempts=3, patience_s=60.0)
    call_timeout_s: float | None = 600.0
    failures_in_a_row: int = 25
    max_cost: float | None = None
    environment_trials: int = 2
    score_failures: bool = False
    tiers: tuple[Tier, ...] = ()


class Billed(Protocol):
    """Result of a call with a cost: a `Reply`, or an embedder's `Embedded`."""

    @property
    def usage(self) -> Usage | None: ...

    @property
    def model(self) -> str: ...


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


@dataclass(slots=True, eq=False)
class Budget:
    """A limit in US dollars that all spending together never exceeds; None for no limit.

    spent: on calls that have ended.
    reserved: for calls in flight.
    held: for calls whose replies come later, after this session perhaps.
    """

    limit: float | None
    spent: float = 0.0
    reserved: float = 0.0
    held: float = 0.0
    _open: int = 0
    _holding: int = 0
    _held_up: dict[Callable[[], None], None] = field(default_factory=dict)

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

    def reserve_more(self, more: float) -> None:
        """Set more aside for calls in flight, which may cost more than was thought."""
        self.reserved += more if self._open else 0.0

    def hold(self, upper: float) -> None:
        """Set `upper` aside for a call whose reply comes later."""
        self.held += upper
        self._holding += 1

    def release(self, upper: float, cost: float) -> None:
        """Book a call for which `upper` was held."""
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

    def exhausted(self, upper: float) -> CostLimitReached:
        """Return the reason to end the session before a call of at most `upper`, in one line."""
        held = f", ${self.held:.4f} reserved for replies to come" if self.held else ""
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

    def __init__(
        self, ceiling: int, longest_hold_s: float = math.inf, first: int = FIRST_CALLS
    ) -> None:
        """`first` is the limit before the first reply. No wait that a server asks for holds all
        calls for more than `longest_hold_s` seconds."""
        if ceiling < 1:
            raise ValueError(f"at least one call must be allowed at a time, not {ceiling}")
        self.ceiling = ceiling
        self.longest_hold_s = longest_hold_s
        self.resumes_at = float("-inf")
        self._width = float(min(first, ceiling))
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

    def failed(
        self, ticket: int, kind: FaultKind, retry_after_s: float | None, now: float
    ) -> float:
        """Narrow the limit after an overload; a wait that the server asks for holds all calls.

        Returns the seconds for which it does.
        """
        held_s = 0.0
        if kind == "rate_limit" and retry_after_s:
            held_s = min(retry_after_s, self.longest_hold_s)
            self.resumes_at = max(self.resumes_at, now + held_s)
        if kind in OVERLOAD and ticket > self._halved_at:
            self._overloaded = True
            self._width = max(1.0, self._width / 2)
            self._halved_at = self._sent
        return held_s
