"""Retries: which failures are tried again, after how long, and when a call is given up."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from adapters.contract import Fault
from adapters.conversation import Finish, Reply
from harness.engine.limits import Pricing, TierChoice
from harness.engine.observer import Observer
from harness.engine.queues import A, CallQueue, Seat
from harness.engine.stopping import FailuresInARow, GaveUp, Halt
from harness.printing import printable


class Placed(Protocol):
    """A call: a `Request`, or an `EmbedRequest`."""

    @property
    def unit_id(self) -> str: ...

    @property
    def place(self) -> str: ...


P = TypeVar("P", bound=Placed)


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
    retry_after_s: what the server asked for, a lower bound. If it exceeds the patience, the call is
        given up rather than sent too early.
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
class Answered(Generic[A]):
    """A reply, how often the call was sent for it, and the cost of all attempts in US dollars."""

    reply: A
    attempts: int
    cost: float | None


class Attempts(Generic[P, A]):
    """Sends calls until they are answered or given up.

    Stops the session after `failures_in_a_row` given-up calls without a reply in between. A tier
    without capacity is not counted; `choice` knows if another one is left.
    """

    def __init__(
        self,
        queue: CallQueue[P, A],
        retry: RetryPolicy,
        failures_in_a_row: int,
        pricing: Pricing,
        observer: Observer,
        halt: Halt,
        choice: TierChoice,
    ) -> None:
        self._queue = queue
        self._retry = retry
        self._failures = FailuresInARow("calls", failures_in_a_row, halt)
        self._pricing = pricing
        self._observer = observer
        self._halt = halt
        self._choice = choice
        # Only waits are random; no result depends on them.
        self._chance = random.Random()

    async def answer(self, seat: Seat, request: P, retry: RetryPolicy | None = None) -> Answered[A]:
        """Send a call until it is answered. Raises `GaveUp`, `Fatal`, `Stopped`."""
        retry = retry or self._retry
        upper = self._pricing.upper_cost(request)
        attempts = before = 0
        first_failure: float | None = None
        filtered = False
        cost: float | None = 0.0
        while True:
            attempts += 1
            try:
                reply = await self._queue.submit(seat, request, upper)
            except Fault as fault:
                now = asyncio.get_running_loop().time()
                first_failure = now if first_failure is None else first_failure
                made, since = attempts - before, now - first_failure
                if not await self._wait(request, fault, made, since, retry, may_move=not before):
                    before, first_failure = attempts, None
                continue
            self._failures.reset()
            cost = _sum(cost, self._pricing.cost(reply))
            # A provider's filter may act at random; what it says twice is taken as its answer.
            if _is_filtered(reply) and not filtered:
                filtered = True
                continue
            return Answered(reply, attempts, cost)

    async def _wait(
        self,
        request: P,
        fault: Fault,
        attempts: int,
        elapsed_s: float,
        retry: RetryPolicy,
        *,
        may_move: bool,
    ) -> bool:
        """Wait for the next attempt. Returns False if it is the first one on another tier, to which
        the call may move."""
        full = fault.kind == "unavailable"
        if full:
            # It says nothing of the settings, which is what a first call's short patience is for.
            retry = self._retry
        wait_s = wait_before_retry(
            retry, attempts, elapsed_s, fault.retry_after_s, self._chance.random()
        )
        if wait_s is None:
            if (
                full
                and may_move
                and (other := self._choice.give_up(asyncio.get_running_loop().time()))
            ):
                self._observer.notice(
                    f"no capacity after {attempts} tries in {elapsed_s:,.0f} s: calls are sent on "
                    f"{other}, and now and then one as before"
                )
                return False
            gave_up = GaveUp(fault.kind, attempts, printable(str(fault)))
            if not full:
                self._failures.add(gave_up)
            raise gave_up
        self._observer.retrying(request.unit_id, request.place, fault.kind, wait_s, fault.in_short)
        await self._halt.sleep(wait_s)
        return True


def _is_filtered(reply: object) -> bool:
    return isinstance(reply, Reply) and reply.finish is Finish.CONTENT_FILTER


def _sum(cost: float | None, more: float | None) -> float | None:
    """Add two costs; None if either is unknown."""
    return None if cost is None or more is None else cost + more
