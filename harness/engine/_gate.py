"""The lane for adapters that are asked one conversation at a time, many of them side by side."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count

from adapters.contract import Fault, Request
from adapters.conversation import Reply, Usage
from harness.engine._budget import Budget
from harness.engine._errors import CostLimitReached, Stopped
from harness.engine._halt import Halt
from harness.engine._lanes import Seat
from harness.engine._limiter import Limiter

Send = Callable[[Request], Awaitable[Reply]]
CostOf = Callable[[Usage | None], float | None]


@dataclass(order=True, slots=True)
class _Waiting:
    number: int
    arrival: int
    upper: float = field(compare=False)
    turn: asyncio.Future[int] = field(compare=False)


class Gate:
    """A slot per call under way. Free slots go to the call of the dialogue opened first."""

    def __init__(
        self, send: Send, limiter: Limiter, budget: Budget, cost_of: CostOf, halt: Halt
    ) -> None:
        self._send = send
        self._limiter = limiter
        self._budget = budget
        self._cost_of = cost_of
        self._halt = halt
        self._queue: list[_Waiting] = []
        self._arrivals = count()
        self._in_use = 0
        self._timer: asyncio.TimerHandle | None = None
        halt.tell(self._dismiss)

    def enter(self, seat: Seat) -> None:
        return None

    def leave(self, seat: Seat) -> None:
        self._free(seat)

    def last(self) -> None:
        return None

    async def work(self) -> None:
        return None

    async def submit(self, seat: Seat, request: Request, upper: float) -> Reply:
        ticket = await self._turn(seat, upper)
        sent = False
        try:
            reply = await self._send(request)
            sent = True
        except Fault as fault:
            now = asyncio.get_running_loop().time()
            self._limiter.failed(ticket, fault.kind, fault.retry_after_s, now)
            self._budget.settle_failure(upper, fault.kind)
            raise
        except BaseException:
            # Cancelled on the way, or the end of the run: it may have been answered and billed.
            self._budget.settle(upper, None)
            raise
        finally:
            if not sent:
                self._in_use -= 1
                self._pump()
        self._limiter.succeeded()
        self._budget.settle(upper, self._cost_of(reply.usage))
        seat.held += 1
        if seat.waiting:
            self._free(seat)
        self._pump()
        return reply

    async def _turn(self, seat: Seat, upper: float) -> int:
        self._halt.check()
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, _Waiting(seat.number, next(self._arrivals), upper, turn))
        seat.waiting += 1
        self._free(seat)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._in_use -= 1
                self._budget.settle(upper, 0.0)
                self._pump()
            raise
        finally:
            seat.waiting -= 1

    def _free(self, seat: Seat) -> None:
        self._in_use -= seat.held
        seat.held = 0
        self._pump()

    def _pump(self) -> None:
        """Let in whoever may go. Called after everything that could have changed that."""
        now = asyncio.get_running_loop().time()
        while self._queue and self._halt.reason is None:
            first = self._queue[0]
            if first.turn.done():
                heapq.heappop(self._queue)
                continue
            if not self._limiter.admits(self._in_use, now):
                self._look_again(now)
                return
            if not self._budget.fits(first.upper):
                if not self._budget.waiting:
                    self._halt.set(cost_limit(self._budget))
                return
            heapq.heappop(self._queue)
            self._in_use += 1
            self._budget.reserve(first.upper)
            first.turn.set_result(self._limiter.sent())

    def _look_again(self, now: float) -> None:
        if self._limiter.resumes_at > now:
            if self._timer:
                self._timer.cancel()
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(self._limiter.resumes_at + 1e-3, self._pump)

    def _dismiss(self, reason: Stopped) -> None:
        for waiting in self._queue:
            if not waiting.turn.done():
                waiting.turn.set_exception(type(reason)(*reason.args))
        self._queue.clear()


def cost_limit(budget: Budget) -> CostLimitReached:
    """The end of the money, in one line."""
    return CostLimitReached(
        f"cost limit reached: ${budget.spent:.4f} of ${budget.limit or 0:.4f} are spent and the "
        "next call might pass it"
    )
