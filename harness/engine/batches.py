"""The queue for adapters that take many conversations at a time.

Calls are prepared as they come (the CPU's part, a bounded number at a time), then wait. Whenever
the adapter can take another batch, the first of these that exists is sent:

1. a cohort: the calls that continue the replies of one batch, once no other is on its way to it;
2. fresh calls of one round that were passed over too often;
3. a full batch of fresh calls of one round and similar length;
4. an unfilled batch, when nothing more can join it or the adapter has nothing else to do.

A cohort that is still gathering holds back fresh calls for a moment: the adapter has other batches
to work on, and what it keeps for the cohort takes memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from adapters.contract import Fault, Request
from adapters.conversation import Reply
from harness.engine.cohorts import (
    Cohort,
    Cohorts,
    Member,
    Waiting,
    choose,
    company,
    overdue,
    rows_together,
    turn,
)
from harness.engine.limits import Budget, Pricing
from harness.engine.queues import Seat
from harness.engine.starvation import Starvation, StarvationClock
from harness.engine.stopping import Halt, Stopped

SendMany = Callable[[Sequence[Request]], Awaitable[list[Reply | Fault]]]
Prepare = Callable[[Request], Awaitable[int]]

PATIENCE = 20
"""Multiple of `linger_s` that a cohort waits to be complete while other batches are in flight or
its calls are being prepared, and that an unfilled batch waits while calls still join it."""


@dataclass(frozen=True, slots=True)
class BatchRules:
    """Limits of the batch queue.

    size: most calls in a batch.
    slots: most batches in flight.
    window: most open dialogues.
    preparing: most calls being prepared at a time.
    linger_s: how long an unfilled batch waits for more calls while the adapter has nothing to do.
    """

    size: int
    slots: int = 1
    window: int = 1
    preparing: int = 8
    linger_s: float = 0.25


class BatchQueue:
    """Gathers calls and sends them in batches, in the order described above."""

    def __init__(
        self,
        send: SendMany,
        prepare: Prepare,
        pricing: Pricing,
        rules: BatchRules,
        budget: Budget,
        halt: Halt,
    ) -> None:
        self._send = send
        self._prepare = prepare
        self._pricing = pricing
        self._rules = rules
        self._budget = budget
        self._halt = halt
        self._waiting: list[Waiting] = []
        self._cohorts = Cohorts()
        self._turnstile = asyncio.Semaphore(rules.preparing)
        self._urgent = 0
        self._calm = asyncio.Event()
        self._calm.set()
        self._coming = 0
        self._under_way = 0
        self._last = False
        self._clock = StarvationClock(rules.slots)
        self._changed = asyncio.Event()
        halt.subscribe(self._fail_waiting)

    @property
    def starvation(self) -> Starvation:
        return self._clock.read()

    def enter(self, seat: Seat) -> None:
        self._cohorts.enter(seat, self._now())
        self._wake()

    def leave(self, seat: Seat) -> None:
        self._cohorts.leave(seat)
        self._wake()

    def rest(self, seat: Seat) -> None:
        self._cohorts.rest(seat)
        self._wake()

    def resume(self, seat: Seat) -> None:
        self._cohorts.end(seat, self._now())
        self._wake()

    def last(self) -> None:
        self._last = True
        self._wake()

    async def submit(self, seat: Seat, request: Request, upper: float) -> Reply:
        self._halt.check()
        after = self._cohorts.begin(seat, request, self._now())
        call: Waiting | None = None
        self._coming += 1
        try:
            try:
                length = await self._prepared(request, after)
            finally:
                self._coming -= 1
                if after:
                    self._cohorts.arrived(after)
                self._wake()
            self._halt.check()
            turn: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            call = Waiting(seat.number, request, length, upper, turn, seat, after, self._now())
            self._waiting.append(call)
            return await turn
        finally:
            if call is None or not call.ended:
                self._end(seat, call)

    async def work(self) -> None:
        self._clock = StarvationClock(self._rules.slots)
        async with asyncio.TaskGroup() as batches:
            while True:
                batch = await self._next()
                batches.create_task(self._ask(batch))

    async def _prepared(self, request: Request, after: Member | None) -> int:
        if after is not None:
            # A cohort waits for it, and most of the work was done a round ago: it goes first.
            self._urgent += 1
            self._calm.clear()
            try:
                return await self._prepare(request)
            finally:
                self._urgent -= 1
                if not self._urgent:
                    self._calm.set()
        async with self._turnstile:
            await self._calm.wait()
            self._halt.check()
            return await self._prepare(request)

    async def _next(self) -> list[Waiting]:
        """Return the next batch as soon as it may be sent; it counts as in flight from then on."""
        while True:
            self._changed.clear()
            again: float | None = None
            if self._under_way < self._rules.slots and self._waiting:
                chosen, again = self._pick(self._now())
                batch = self._paid_for(chosen)
                if batch:
                    self._wake()
                    self._clock.sent(len(batch))
                    self._under_way += 1
                    self._wake()
                    return batch
            try:
                async with asyncio.timeout_at(again):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _pick(self, now: float) -> tuple[list[Waiting], float | None]:
        """Choose the calls to send now, or none and when to look again unless woken before."""
        cohorts: dict[Cohort, list[Waiting]] = {}
        fresh: list[Waiting] = []
        for call in self._waiting:
            if call.cohort is None:
                fresh.append(call)
            else:
                cohorts.setdefault(call.cohort, []).append(call)
        again: list[float] = []
        held = False
        for cohort in dict.fromkeys((*self._cohorts, *cohorts)):
            since = self._cohorts.awaited(cohort)
            linger = self._rules.linger_s
            # An idle adapter waits for calls being prepared, not for records being written.
            patience = linger * (PATIENCE if self._under_way or cohort.coming else 1)
            if since is None or since + patience <= now:
                if cohort in cohorts:
                    return rows_together(cohorts[cohort]), None
                continue
            held = held or since + linger > now
            again.append(since + (linger if since + linger > now else patience))
        if not held and fresh:
            chosen, when = self._pick_fresh(fresh, now)
            if chosen:
                return chosen, None
            again += [] if when is None else [when]
        return [], min(again, default=None)

    def _pick_fresh(self, fresh: list[Waiting], now: float) -> tuple[list[Waiting], float | None]:
        late = overdue(fresh, self._rules.slots + 1)
        if late:
            chosen, full = company(late, self._rules.size), True
        else:
            chosen, full = choose(fresh, self._rules.size)
        # A small batch takes nearly as long as a full one, so wait for calls being prepared.
        since = [call.since for call in fresh]
        linger = self._rules.linger_s
        lingers = min(since) + PATIENCE * linger
        if not self._coming:
            lingers = min(lingers, max(since) + linger)
        if not full and lingers > now and (self._cohorts.moving or self._coming):
            return [], lingers
        if not full and not self._last:
            if self._under_way:
                return [], None
            if len(self._cohorts) < self._rules.window and lingers > now:
                return [], lingers
        sent = turn(chosen[0])
        for call in fresh:
            call.passed += turn(call) != sent
        return chosen, None

    def _paid_for(self, chosen: Sequence[Waiting]) -> list[Waiting]:
        batch = []
        for call in chosen:
            if not self._budget.fits(call.upper):
                break
            self._budget.reserve(call.upper)
            batch.append(call)
        for call in batch:
            self._waiting.remove(call)
        if chosen and not batch:
            if self._budget.waiting:
                self._budget.when_freed(self._wake)
            else:
                self._halt.set(self._budget.exhausted(chosen[0].upper))
        return batch

    async def _ask(self, batch: Sequence[Waiting]) -> None:
        try:
            results = await self._send([call.request for call in batch])
        finally:
            self._under_way -= 1
        answered = [
            (call.seat, call.request)
            for call, result in zip(batch, results, strict=True)
            if call.seat and not isinstance(result, Fault) and not call.turn.done()
        ]
        self._cohorts.answered(answered)
        for call, result in zip(batch, results, strict=True):
            if isinstance(result, Fault):
                self._budget.settle_failure(call.upper, result.kind)
            else:
                self._budget.settle(call.upper, self._pricing.cost(result))
            if call.turn.done():
                continue
            if call.seat:
                # Now, not when its task runs: the next batch may be chosen before that.
                self._end(call.seat, call)
            if isinstance(result, Fault):
                call.turn.set_exception(result)
            else:
                call.turn.set_result(result)
        self._wake()

    def _end(self, seat: Seat, call: Waiting | None) -> None:
        if call is not None:
            call.ended = True
            if call in self._waiting:
                self._waiting.remove(call)
        self._cohorts.end(seat, self._now())
        self._wake()

    def _wake(self) -> None:
        """Look for a batch again after a change, and note the new state on the clock."""
        remains = self._halt.reason is None and bool(
            self._waiting
            or self._coming
            or self._cohorts.moving
            or (len(self._cohorts) and not self._last)
        )
        self._clock.note(self._now(), self._under_way, remains)
        self._changed.set()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _fail_waiting(self, reason: Stopped) -> None:
        for call in self._waiting:
            if not call.turn.done():
                call.turn.set_exception(type(reason)(*reason.args))
        self._waiting.clear()
