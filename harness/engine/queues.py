"""Where calls wait for their turn with a model."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from adapters.contract import EchoRefused, Fault
from harness.engine.limits import Billed, Budget, Pricing, RateLimit, is_free
from harness.engine.stopping import Halt, Stopped

Q = TypeVar("Q")
A = TypeVar("A", bound=Billed)


@dataclass(slots=True, eq=False)
class Seat:
    """A dialogue as one queue sees it. It has a seat in the queue of every role that it asks.

    number: position in the order of opening; lower numbers go first.
    held: slots that its replies came through and that it keeps until it asks again or ends. Its
        next round then does not wait behind newcomers, and a reply counts as in flight until it is
        on record.
    waiting: its calls that wait for a slot, and whatever else it waits for elsewhere. While there
        is any, it holds no slot: it may ask for more at a time than there are, and two dialogues
        that each wait for what the other one holds would wait for ever.
    """

    number: int
    held: int = 0
    waiting: int = 0


@dataclass(order=True, slots=True)
class _Waiting:
    number: int
    arrival: int
    upper: float = field(compare=False)
    turn: asyncio.Future[int] = field(compare=False)


class CallQueue(Generic[Q, A]):
    """Sends calls as rate limit and budget allow.

    Each call in flight takes a slot. A free slot goes to the dialogue that was opened first.
    """

    def __init__(
        self,
        send: Callable[[Q], Awaitable[A]],
        pricing: Pricing,
        rate_limit: RateLimit,
        budget: Budget,
        halt: Halt,
    ) -> None:
        self._send = send
        self._pricing = pricing
        self._rate_limit = rate_limit
        self._budget = budget
        self._halt = halt
        self._queue: list[_Waiting] = []
        self._arrivals = count()
        self._in_use = 0
        # Some providers do not count thoughts against the limit of tokens: a call then costs more
        # than was expected at most, and so may all others.
        self._dearer = 1.0
        self._expected = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        halt.subscribe(self._fail_waiting)

    def leave(self, seat: Seat) -> None:
        """Free the slots of a dialogue that is over, or that waits for something else."""
        self._in_use -= seat.held
        seat.held = 0
        self._pump()

    def rest(self, seat: Seat) -> None:
        """Note that the dialogue waits for something that this queue knows nothing of."""
        seat.waiting += 1
        self.leave(seat)

    def resume(self, seat: Seat) -> None:
        """Note that it no longer does."""
        seat.waiting -= 1

    async def submit(self, seat: Seat, request: Q, upper: float) -> A:
        """Send a call when its turn comes; `upper` is the most that it is expected to cost.

        Raises `Fault`, `Fatal`, `Stopped`.
        """
        ticket = await self._turn(seat, upper)
        sent = False
        try:
            reply = await self._send(request)
            sent = True
        except Fault as fault:
            now = asyncio.get_running_loop().time()
            self._rate_limit.failed(ticket, fault.kind, fault.retry_after_s, now)
            self._settle(upper, 0.0 if is_free(fault) else None)
            self._halt.check()
            raise
        except BaseException as error:
            # Cancelled in flight, or the run is ending: it may have been answered and billed.
            self._settle(upper, None)
            # An error ends the run, but the next call would be sent before it has.
            self._ended |= not isinstance(error, asyncio.CancelledError | EchoRefused)
            raise
        finally:
            if not sent:
                self._in_use -= 1
                self._pump()
        self._rate_limit.succeeded()
        self._settle(upper, self._pricing.cost(reply))
        seat.held += 1
        if seat.waiting:
            self.leave(seat)
        self._pump()
        return reply

    async def _turn(self, seat: Seat, upper: float) -> int:
        self._halt.check()
        loop = asyncio.get_running_loop()
        in_use = self._in_use - seat.held
        if (
            not self._queue
            and self._rate_limit.admits(in_use, loop.time())
            and self._budget.fits(upper * self._dearer)
        ):
            seat.held, self._in_use = 0, in_use + 1
            self._reserve(upper)
            return self._rate_limit.sent()
        turn: asyncio.Future[int] = loop.create_future()
        heapq.heappush(self._queue, _Waiting(seat.number, next(self._arrivals), upper, turn))
        seat.waiting += 1
        self.leave(seat)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._in_use -= 1
                self._settle(upper, 0.0)
                self._pump()
            raise
        finally:
            seat.waiting -= 1

    def _reserve(self, upper: float) -> None:
        self._expected += upper
        self._budget.reserve(upper * self._dearer)

    def _settle(self, upper: float, cost: float | None) -> None:
        self._expected -= upper
        self._budget.settle(upper * self._dearer, cost)
        if cost is not None and 0 < upper * self._dearer < cost:
            more = cost / upper - self._dearer
            self._dearer += more
            self._budget.reserve_more(self._expected * more)

    def _pump(self) -> None:
        """Admit waiting calls; called after everything that may have made room for one."""
        if self._ended or not self._queue:
            return
        now = asyncio.get_running_loop().time()
        while self._queue and self._halt.reason is None:
            first = self._queue[0]
            if first.turn.done():
                heapq.heappop(self._queue)
                continue
            if not self._rate_limit.admits(self._in_use, now):
                if self._rate_limit.resumes_at > now:
                    if self._timer:
                        self._timer.cancel()
                    resumes_at = self._rate_limit.resumes_at + 1e-3
                    self._timer = asyncio.get_running_loop().call_at(resumes_at, self._pump)
                return
            upper = first.upper * self._dearer
            if not self._budget.fits(upper):
                if self._budget.waiting:
                    self._budget.when_freed(self._pump)
                else:
                    self._halt.set(self._budget.exhausted(upper))
                return
            heapq.heappop(self._queue)
            self._in_use += 1
            self._reserve(first.upper)
            first.turn.set_result(self._rate_limit.sent())

    def _fail_waiting(self, reason: Stopped) -> None:
        for waiting in self._queue:
            if not waiting.turn.done():
                waiting.turn.set_exception(type(reason)(*reason.args))
        self._queue.clear()
