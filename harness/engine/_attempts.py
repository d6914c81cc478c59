"""One call through all its tries."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace

from adapters.contract import Fault, Request
from adapters.conversation import Finish, Reply
from harness.engine._errors import GaveUp, TooManyFailures
from harness.engine._gate import CostOf
from harness.engine._halt import Halt
from harness.engine._lanes import Lane, Seat
from harness.engine._retry import wait_before_retry
from harness.engine.observer import Observer
from harness.engine.policy import EnginePolicy, RetryPolicy


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply, how often the call was sent for it, and what all of that cost."""

    reply: Reply
    attempts: int
    cost: float | None


class Attempts:
    """Tries calls until they are answered or given up, and counts how many in a row were not."""

    def __init__(
        self, lane: Lane, policy: EnginePolicy, cost_of: CostOf, observer: Observer, halt: Halt
    ) -> None:
        self._lane = lane
        self._policy = policy
        self._cost_of = cost_of
        self._observer = observer
        self._halt = halt
        self._failed_in_a_row = 0
        # The waits are the one thing left to chance; no result depends on them.
        self._chance = random.Random()

    async def answer(
        self, seat: Seat, request: Request, upper: float, retry: RetryPolicy | None = None
    ) -> Answered:
        """Raises `GaveUp` after the last try, `Fatal`, `Stopped`."""
        retry = retry or self._policy.retry
        attempts = 0
        first_failure: float | None = None
        filtered = False
        cost: float | None = None
        while True:
            attempts += 1
            try:
                reply = await self._lane.submit(seat, request, upper)
            except Fault as fault:
                now = asyncio.get_running_loop().time()
                first_failure = now if first_failure is None else first_failure
                await self._wait(request, fault, attempts, now - first_failure, retry)
                continue
            self._failed_in_a_row = 0
            cost = _sum(cost, self._cost_of(reply.usage))
            # A provider's filter is drawn by chance at times; what it says twice is its answer.
            if reply.finish is Finish.CONTENT_FILTER and not filtered:
                filtered = True
                continue
            return Answered(_writable(reply), attempts, cost)

    async def _wait(
        self, request: Request, fault: Fault, attempts: int, elapsed_s: float, retry: RetryPolicy
    ) -> None:
        wait_s = wait_before_retry(
            retry, attempts, elapsed_s, fault.retry_after_s, self._chance.random()
        )
        if wait_s is None:
            self._failed_in_a_row += 1
            gave_up = GaveUp(fault.kind, attempts, str(fault))
            if self._failed_in_a_row >= self._policy.failures_in_a_row:
                self._halt.set(
                    TooManyFailures(f"{self._failed_in_a_row} calls in a row failed: {gave_up}")
                )
            raise gave_up
        self._observer.retrying(request.step_id, request.place, fault.kind, wait_s)
        await self._halt.sleep(wait_s)


def _sum(cost: float | None, more: float | None) -> float | None:
    return more if cost is None else cost + (more or 0.0)


def _writable(reply: Reply) -> Reply:
    """The reply without halves of surrogate pairs: JSON can bring them, no file takes them."""
    try:
        reply.text.encode()
    except UnicodeEncodeError:
        text = reply.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return replace(reply, text=text, native=None)
    return reply
