"""The lane for adapters that are asked many conversations at a time.

One batch is under way; the others' calls gather meanwhile. Calls of the same place and of similar
length go together, so that little is padded and a round's kept state is used while it is fresh.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from adapters.contract import Fault, Request
from adapters.conversation import Reply
from harness.engine._budget import Budget
from harness.engine._errors import Stopped
from harness.engine._gate import CostOf, cost_limit
from harness.engine._halt import Halt
from harness.engine._lanes import Seat

SendMany = Callable[[Sequence[Request]], Awaitable[list[Reply | Fault]]]


@dataclass(slots=True, eq=False)
class Waiting:
    """A call that waits for its batch; `length` is that of its texts, in characters."""

    number: int
    request: Request
    length: int
    upper: float
    turn: asyncio.Future[Reply]


def choose(waiting: Sequence[Waiting], size: int) -> tuple[list[Waiting], bool]:
    """The calls to send next, and whether they fill a batch.

    A place that fills a batch goes before one that does not; among equals the place where the
    dialogue opened first waits. That call goes, with those closest to it in length.
    """
    places: dict[str, list[Waiting]] = {}
    for call in waiting:
        places.setdefault(call.request.place, []).append(call)
    group = min(places.values(), key=lambda g: (len(g) < size, min(c.number for c in g)))
    first = min(group, key=lambda call: call.number)
    by_length = sorted(
        group, key=lambda c: (c is not first, abs(c.length - first.length), c.number)
    )
    chosen = by_length[:size]
    return chosen, len(chosen) == size


class Batches:
    """Gathers calls. A batch goes when it is full and nobody is about to join its place's queue.

    `more` says whether further dialogues can be opened; an unfilled batch waits for them, but at
    most `linger_s` seconds.
    """

    def __init__(
        self,
        send: SendMany,
        size: int,
        budget: Budget,
        cost_of: CostOf,
        halt: Halt,
        more: Callable[[], bool],
        linger_s: float,
    ) -> None:
        self._send = send
        self._size = size
        self._budget = budget
        self._cost_of = cost_of
        self._halt = halt
        self._more = more
        self._linger_s = linger_s
        self._waiting: list[Waiting] = []
        self._moving: set[Seat] = set()
        self._changed = asyncio.Event()
        halt.tell(self._dismiss)

    def enter(self, seat: Seat) -> None:
        self._moving.add(seat)

    def leave(self, seat: Seat) -> None:
        self._moving.discard(seat)
        self._changed.set()

    async def submit(self, seat: Seat, request: Request, upper: float) -> Reply:
        self._halt.check()
        length = sum(len(message.text) for message in request.conversation.messages)
        turn: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        call = Waiting(seat.number, request, length, upper, turn)
        self._waiting.append(call)
        self._moving.discard(seat)
        self._changed.set()
        try:
            return await turn
        finally:
            if call in self._waiting:
                self._waiting.remove(call)
            self._moving.add(seat)

    async def work(self) -> None:
        while True:
            await self._ripe()
            batch = self._take()
            if batch:
                await self._ask(batch)

    async def _ripe(self) -> None:
        loop = asyncio.get_running_loop()
        since: float | None = None
        while True:
            self._changed.clear()
            if self._waiting:
                since = loop.time() if since is None else since
                _, full = choose(self._waiting, self._size)
                left = since + self._linger_s - loop.time()
                if left <= 0 or (not self._moving and (full or not self._more())):
                    return
            else:
                left, since = None, None
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _take(self) -> list[Waiting]:
        chosen, _ = choose(self._waiting, self._size)
        batch = []
        for call in chosen:
            if not self._budget.fits(call.upper):
                break
            self._budget.reserve(call.upper)
            batch.append(call)
        for call in batch:
            self._waiting.remove(call)
        if not batch:
            self._halt.set(cost_limit(self._budget))
        return batch

    async def _ask(self, batch: Sequence[Waiting]) -> None:
        results = await self._send([call.request for call in batch])
        for call, result in zip(batch, results, strict=True):
            if isinstance(result, Fault):
                self._budget.settle_failure(call.upper, result.kind)
            else:
                self._budget.settle(call.upper, self._cost_of(result.usage))
            if call.turn.done():
                continue
            if isinstance(result, Fault):
                call.turn.set_exception(result)
            else:
                call.turn.set_result(result)
        # Whoever was answered runs before the next batch is chosen, and shows as moving.
        await asyncio.sleep(0)

    def _dismiss(self, reason: Stopped) -> None:
        for call in self._waiting:
            if not call.turn.done():
                call.turn.set_exception(type(reason)(*reason.args))
        self._waiting.clear()
