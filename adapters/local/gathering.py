"""Gathers what is asked at the same time into batches.

Each request is prepared as it comes (the CPU's part, a bounded number at a time), then waits.
Whenever the model can take another batch, the first of these that exists is sent:

1. a cohort: the requests that continue the replies of one batch, once no other is on its way to it;
2. fresh requests of one round that were passed over too often;
3. a full batch of fresh requests of one round and similar length;
4. an unfilled batch, when nothing more can join it or the model has nothing else to do.

A cohort that is still gathering holds back fresh requests for a moment: the model has other batches
to work on, and what it keeps for the cohort takes memory.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from adapters.contract import (
    Dialogue,
    Fatal,
    Fault,
    Participant,
    PictureSource,
    Request,
)
from adapters.conversation import Reply
from adapters.local.starvation import Starvation, StarvationClock
from adapters.local.waiting import (
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

SendMany = Callable[[Sequence[Request], PictureSource], Awaitable[Sequence[Reply | Fault]]]
Prepare = Callable[[Request, PictureSource], Awaitable[int]]

PATIENCE = 20
"""Multiple of `linger_s` that a cohort waits to be complete while other batches are in flight or
its requests are being prepared, and that an unfilled batch waits while requests still join it."""
PREPARING = max(2, min(32, os.cpu_count() or 1))
"""Requests prepared at a time: enough to keep every processor busy, few enough that one that a
batch is waiting for soon finds a processor free."""


@dataclass(frozen=True, slots=True)
class BatchRules:
    """Limits of batches.

    size: most requests in a batch.
    at_once: most batches in flight; a busy device then finds the next one waiting.
    kept: most dialogues whose state the model keeps between rounds; None for no limit.
    linger_s: seconds that an unfilled batch waits for more while the model has nothing to do.
    """

    size: int
    at_once: int = 1
    kept: int | None = None
    linger_s: float = 0.25

    @property
    def window(self) -> int:
        """Most open dialogues: those of the batches in flight, of one whose replies are being read,
        and of one being prepared."""
        enough = (self.at_once + 2) * self.size
        return max(1, enough if self.kept is None else min(self.kept, enough))


class Gatherer(Participant):
    """Makes batches of requests and sends them, in the order described above.

    rules: see `BatchRules`.

    Use it from one event loop at a time. Outside a session nothing is waited for.
    """

    def __init__(self, send: SendMany, prepare: Prepare, rules: BatchRules) -> None:
        """Send batches by `send`, after each request was prepared by `prepare`."""
        self._send_many = send
        self._prepare = prepare
        self.rules = rules
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin()

    def _begin(self) -> None:
        self._waiting: list[Waiting] = []
        self._cohorts = Cohorts()
        self._numbers: dict[Dialogue, int] = {}
        self._opened = 0
        self._turnstile = asyncio.Semaphore(PREPARING)
        self._urgent = 0
        self._calm = asyncio.Event()
        self._calm.set()
        self._coming = 0
        self._under_way = 0
        self._is_last = True
        self._is_in_session = False
        self._stopped = ""
        self._clock = StarvationClock(self.rules.at_once)
        self._look: asyncio.Handle | None = None
        self._look_again: asyncio.TimerHandle | None = None
        self._batches: set[asyncio.Task[None]] = set()

    @property
    def starvation(self) -> Starvation:
        """Return how long the model waited for batches in this session."""
        return self._clock.read()

    def begun(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begin()
        self._is_last, self._is_in_session = False, True

    def entered(self, dialogue: Dialogue) -> None:
        self._number(dialogue)
        self._cohorts.enter(dialogue, self._now())
        self._wake()

    def left(self, dialogue: Dialogue) -> None:
        self._numbers.pop(dialogue, None)
        self._cohorts.leave(dialogue)
        self._wake()

    def away(self, dialogue: Dialogue) -> None:
        self._cohorts.rest(dialogue)
        self._wake()

    def back(self, dialogue: Dialogue) -> None:
        self._cohorts.end(dialogue, self._now())
        self._wake()

    def last(self) -> None:
        self._is_last = True
        self._wake()

    def interrupt(self, reason: str) -> None:
        self._stopped = reason
        for call in self._waiting:
            if not call.turn.done():
                call.turn.set_exception(Fault("connection", reason))
        self._waiting.clear()

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once, in a batch with what else is asked. Raises `Fault` or `Fatal`."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._begin()
        dialogue = request.unit_id, request.repeat
        number = self._number(dialogue)
        after = self._cohorts.begin(dialogue, request, self._now())
        call: Waiting | None = None
        self._coming += 1
        try:
            try:
                length = await self._prepared(request, pictures, after)
            finally:
                self._coming -= 1
                if after:
                    self._cohorts.arrived(after)
            self._check()
            turn: asyncio.Future[Reply] = loop.create_future()
            call = Waiting(number, request, pictures, length, turn, after, self._now())
            self._waiting.append(call)
            self._wake()
            return await turn
        finally:
            if call is None or not call.ended:
                self._end(dialogue, call)
            if not self._is_in_session:
                self.left(dialogue)

    def _number(self, dialogue: Dialogue) -> int:
        """Position of a dialogue in the order of opening."""
        if dialogue not in self._numbers:
            self._numbers[dialogue] = self._opened
            self._opened += 1
        return self._numbers[dialogue]

    async def _prepared(
        self, request: Request, pictures: PictureSource, after: Member | None
    ) -> int:
        if after is not None:
            # A cohort waits for it, and most of the work was done a round ago: it goes first.
            self._urgent += 1
            self._calm.clear()
            try:
                return await self._prepare(request, pictures)
            finally:
                self._urgent -= 1
                if not self._urgent:
                    self._calm.set()
        async with self._turnstile:
            await self._calm.wait()
            self._check()
            return await self._prepare(request, pictures)

    def _check(self) -> None:
        if self._stopped:
            raise Fault("connection", self._stopped)

    def _send(self) -> None:
        """Send every batch that may be sent now."""
        self._look = None
        if self._look_again is not None:
            self._look_again.cancel()
            self._look_again = None
        while self._under_way < self.rules.at_once and self._waiting:
            batch, again = self._pick(self._now())
            if not batch:
                if again is not None:
                    self._look_again = self._running.call_at(again, self._send)
                return
            for call in batch:
                self._waiting.remove(call)
            self._note()
            self._clock.sent(len(batch))
            self._under_way += 1
            self._note()
            task = self._running.create_task(self._answer(batch))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)

    def _pick(self, now: float) -> tuple[list[Waiting], float | None]:
        """Choose the requests to send now, or none and when to look again unless woken before."""
        cohorts: dict[Cohort, list[Waiting]] = {}
        fresh: list[Waiting] = []
        for call in self._waiting:
            if call.cohort is None:
                fresh.append(call)
            else:
                cohorts.setdefault(call.cohort, []).append(call)
        again: list[float] = []
        gathering = False
        linger = self.rules.linger_s
        for cohort in dict.fromkeys((*self._cohorts, *cohorts)):
            since = self._cohorts.awaited(cohort)
            # An idle model waits for requests being prepared, not for records being written.
            patience = linger * (PATIENCE if self._under_way or cohort.coming else 1)
            if since is None or since + patience <= now:
                if cohort in cohorts:
                    return rows_together(cohorts[cohort]), None
                continue
            gathering = gathering or since + linger > now
            again.append(since + (linger if since + linger > now else patience))
        if not gathering and fresh:
            chosen, when = self._pick_fresh(fresh, now)
            if chosen:
                return chosen, None
            again += [] if when is None else [when]
        return [], min(again, default=None)

    def _pick_fresh(self, fresh: list[Waiting], now: float) -> tuple[list[Waiting], float | None]:
        late = overdue(fresh, self.rules.at_once + 1)
        if late:
            chosen, full = company(late, self.rules.size), True
        else:
            chosen, full = choose(fresh, self.rules.size)
        # A small batch takes nearly as long as a full one, so wait for requests being prepared.
        since = [call.since for call in fresh]
        linger = self.rules.linger_s
        lingers = min(since) + PATIENCE * linger
        if not self._coming:
            lingers = min(lingers, max(since) + linger)
        if not full and lingers > now and (self._cohorts.moving or self._coming):
            return [], lingers
        if not full and not self._is_last:
            if self._under_way:
                return [], None
            if len(self._cohorts) < self.rules.window and lingers > now:
                return [], lingers
        sent = turn(chosen[0])
        for call in fresh:
            call.passed += turn(call) != sent
        return chosen, None

    async def _answer(self, batch: Sequence[Waiting]) -> None:
        results: Sequence[Reply | BaseException]
        try:
            results = await self._send_many([call.request for call in batch], batch[0].pictures)
            if len(results) != len(batch):
                raise Fatal(f"{len(results)} replies came for a batch of {len(batch)} requests")
        except Exception as error:
            results = [error] * len(batch)
        finally:
            self._under_way -= 1
        self._cohorts.answered(
            call.request
            for call, result in zip(batch, results, strict=True)
            if not isinstance(result, BaseException) and not call.turn.done()
        )
        for call, result in zip(batch, results, strict=True):
            if call.turn.done():
                continue
            # Now, not when its task runs: the next batch may be chosen before that.
            call.ended = True
            self._cohorts.end(call.request.dialogue, self._now())
            if isinstance(result, BaseException):
                call.turn.set_exception(result)
            else:
                call.turn.set_result(result)
        self._wake()

    def _end(self, dialogue: Dialogue, call: Waiting | None) -> None:
        if call is not None:
            call.ended = True
            if call in self._waiting:
                self._waiting.remove(call)
        self._cohorts.end(dialogue, self._now())
        self._wake()

    def _wake(self) -> None:
        """Note a change on the clock, and look for a batch again."""
        self._note()
        if self._look is None and self._waiting and self._under_way < self.rules.at_once:
            self._look = self._running.call_soon(self._send)

    def _note(self) -> None:
        remains = not self._stopped and bool(
            self._waiting
            or self._coming
            or self._cohorts.moving
            or (len(self._cohorts) and not self._is_last)
        )
        self._clock.note(self._now(), self._under_way, remains)

    @property
    def _running(self) -> asyncio.AbstractEventLoop:
        return self._loop or asyncio.get_running_loop()

    def _now(self) -> float:
        return self._running.time()
