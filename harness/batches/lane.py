"""Calls that a provider answers within a day, as dialogues make them.

A call is answered from the results that are there, or its request goes into a pack and the dialogue
is *parked*: it is closed without an outcome, which frees its page and its pictures, and a later
pass over the units plays it back from the record. `harness.batches.remote` sends packs and fetches
results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from adapters.batches.contract import Deferring, Relearned
from adapters.checks import checked
from adapters.contract import Fatal, Fault, PictureSource, Request
from adapters.conversation import Conversation, Finish, Reply
from harness.batches.log import Again, BatchLog, Pack, PackedCall
from harness.batches.packs import NewPack, Results, beginning, packed_id
from harness.engine import Answered, AskLane, Budget, CostLimitReached, GaveUp, Lane, Pricing
from harness.engine.lanes import Session
from harness.engine.limits import UNPRICED, RetryPolicy
from harness.engine.queues import Seat
from harness.engine.stopping import Parked
from harness.printing import printable
from harness.runs import StepKey

ATTEMPTS = 3
"""Times a request is sent before its call is given up; starting the run again allows as many."""
FILTERED = "content_filter"


@dataclass
class Spool:
    """The calls of the model under test that are made in batches.

    deferring: how the provider takes them.
    spools: whether new calls are made so; otherwise only what was sent before is waited for.
    recorded: the ids of the calls on record when the session began.
    ready: called once before the first request is put into a pack.
    first: the most that this costs, in US dollars.
    full: why no further call can be paid for; None as long as there is money.
    wanted: the most that the call would have cost, in US dollars.
    fatal: what the provider says that would be said of every call.
    again: failed requests by id.
    failed: why, for those of the last pass.
    """

    deferring: Deferring
    log: BatchLog
    pictures: PictureSource
    spools: bool
    recorded: Container[str]
    ready: Callable[[], Awaitable[None]]
    first: float = 0.0
    results: Results = field(init=False)
    budget: Budget = field(init=False)
    pricing: Pricing = UNPRICED
    full: CostLimitReached | None = None
    wanted: float = 0.0
    fatal: Fatal | None = None
    again: dict[str, Again] = field(default_factory=dict)
    failed: dict[str, Fault] = field(default_factory=dict)
    _packed: dict[int, dict[str, PackedCall]] = field(default_factory=dict)
    _new: NewPack | None = None
    _calls: dict[str, PackedCall] = field(default_factory=dict)
    _held: dict[str, float] = field(default_factory=dict)
    _sent: dict[str, dict[str, Any]] = field(default_factory=dict)
    _equal: dict[str, str] = field(default_factory=dict)
    _readied: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_ready: bool = False

    def __post_init__(self) -> None:
        self.results = Results(self.log, self.deferring.id_of)
        for pack in self.log.packs.values():
            self.again |= pack.again

    def begin(self, budget: Budget, pricing: Pricing) -> None:
        """Set aside in a budget what calls without a reply may cost. Raises `RunError`."""
        self.budget, self.pricing = budget, pricing
        for pack in self.log.live:
            packed = self._packed[pack.n] = {}
            for call in self.log.calls(pack.n):
                self._keep(call, packed)
                if call.id not in self.again and call.call not in self.recorded:
                    self._hold(call.id, call.upper)

    # For the choice of units in a pass.

    @property
    def fetched(self) -> set[StepKey]:
        """Units and repeats with results that are not on record yet."""
        packs = (self._packed[pack.n] for pack in self.log.live if pack.is_fetched)
        return {call.key for calls in packs for call in calls.values()}

    @property
    def waiting(self) -> set[StepKey]:
        """Units and repeats that wait for something that has not come back."""
        keys = {self._calls[id].key for id in self._held if id not in self.results}
        return keys - self.fetched

    # For dialogues.

    async def answer(
        self, request: Request, tokens: int, *, shares: bool
    ) -> Answered[Reply] | None:
        """Return the reply to a call whose prompt has about so many tokens, with its cost.

        shares: whether the reply to an equal call answers this one, which then waits for it.

        Returns None for a call that is to be made at once. Raises `Parked` until the reply is here,
        `GaveUp` after too many attempts, and as `Deferring.line`.
        """
        attempt, filtered = 0, False
        while True:
            attempt += 1
            id = packed_id(request, attempt)
            if id not in self.again:
                if id not in self.results:
                    break
                reply = self._read(id, request)
                if reply is not None:
                    if filtered or reply.finish is not Finish.CONTENT_FILTER:
                        return self._answered(id, reply, attempt)
                    # A filter may act at random; what it says twice is taken as its answer.
                    self._fail(id, FILTERED, cost=self.pricing.cost(reply))
            filtered |= self.again[id].reason == FILTERED
            fault = self.failed.get(id)
            if fault is not None and attempt % ATTEMPTS == 0:
                raise GaveUp(fault.kind, attempt, printable(str(fault)))
        if id in self._calls:
            raise Parked
        equal = self._equal.get(beginning(id)) if shares else None
        if equal is not None and equal not in self.again:
            if equal not in self.results:
                raise Parked
            reply = self._read(equal, request)
            if reply is not None and reply.finish is Finish.STOP:
                return self._answered(equal, reply, 1)
        if not self.spools:
            return None
        await self._spool(id, request, tokens)
        raise Parked

    async def prepare(self) -> None:
        """Try the model out once, before the first request is put into a pack."""
        async with self._readied:
            if self.spools and not self._is_ready:
                await self.ready()
                self._is_ready = True

    async def _spool(self, id: str, request: Request, tokens: int) -> None:
        upper = self.pricing.upper_cost(replace(request, tier="batch"))
        # Without money for the first call, results are read first: they free some.
        wanted = upper + (0.0 if self._is_ready else self.first)
        if self.full or not self.budget.fits(wanted):
            if self.full is None:
                self.full, self.wanted = self.budget.exhausted(wanted), wanted
            return
        self._hold(id, upper)
        try:
            await self.prepare()
            line = await self.deferring.line(id, request, self.pictures)
        except BaseException:
            self._release(id, 0.0)
            raise
        limits, data = self.deferring.limits, line.data
        if len(data) >= limits.bytes:
            raise Fatal(
                f"a request of {len(data) / 1e6:.0f} MB is more than a batch may have: "
                "send smaller pictures (--adapter-option max_pixels=N)"
            )
        if (new := self._new) is not None and (
            len(new.calls) >= limits.requests
            or new.bytes + len(data) + 1 > limits.bytes
            or (limits.queued_tokens and new.tokens + tokens > limits.queued_tokens // 2)
        ):
            self.seal()
        call = PackedCall(
            id=id,
            unit_id=request.unit_id,
            repeat=request.repeat,
            call=request.id,
            upper=upper,
            sent=dict(line.sent),
        )
        self._new = self._new or NewPack(self.log)
        self._new.add(call, data, tokens)
        self._keep(call, self._new.calls)

    # For passes and `Remote`.

    def seal(self) -> None:
        """Make everything that was put into packs ready to be sent. Raises `RunError`."""
        if self._new is not None and self._new.calls:
            self._packed[self._new.seal().n] = self._new.calls
            self._new = None

    def drop(self) -> None:
        """Forget what was put into packs and is not ready to be sent."""
        new, self._new = self._new, None
        if new is not None:
            new.drop()
            for id in new.calls.keys() & self._calls.keys():
                del self._calls[id]
                self._release(id, 0.0)

    def take_results(self, pack: Pack) -> int:
        """Take up what has come back of a pack. Returns how many lines are of no request of it.

        A request without a result counts at its highest cost, unless the provider says that it was
        not carried out: the line that is missing or damaged may be an answer.
        """
        strange = self.results.add(pack.n, self._packed[pack.n])
        fault = Fault("server", f"the provider returned nothing for it ({pack.status or 'ended'})")
        is_free = pack.unbilled and not strange and not pack.unread
        for id in self._left(pack):
            if id not in self.results:
                self._fail(id, fault, free=is_free)
        return strange

    def is_foreign(self, pack: Pack) -> bool:
        """Return whether a pack has results, and all belong to none of its requests."""
        ids = {id for id, _ in self.results.ids(pack.n)}
        return bool(ids) and not ids & self._packed[pack.n].keys()

    def give_up(self, pack: Pack, why: Fault | str, *, free: bool = False) -> int:
        """Leave out a pack that is over. Returns the number of its calls that were not read.

        They count at their highest cost, unless they are free: their results are lost, or came for
        units that had ended.
        """
        unread = self._left(pack)
        for id in unread:
            self._fail(id, why, free=free)
        for id in self._packed.pop(pack.n):
            self.results.forget(id)
            del self._calls[id]
            if self._equal.get(beginning(id)) == id:
                del self._equal[beginning(id)]
        return len(unread)

    # Parts of the above.

    def _left(self, pack: Pack) -> list[str]:
        """Return the requests of a pack whose cost is not booked."""
        return [id for id in self._packed[pack.n] if id in self._held]

    def _keep(self, call: PackedCall, packed: dict[str, PackedCall]) -> None:
        # Of equal parameters, which are few, one object serves all calls.
        sent = self._sent.setdefault(repr(call.sent), call.sent)
        self._calls[call.id] = packed[call.id] = msgspec.structs.replace(call, sent=sent)
        if self._equal.setdefault(beginning(call.id), call.id) in self.again:
            self._equal[beginning(call.id)] = call.id

    def _answered(self, id: str, reply: Reply, attempt: int) -> Answered[Reply]:
        # The reply to an equal call was billed once.
        cost = self.pricing.cost(reply) if id in self._held else 0.0
        self._release(id, self._held.get(id, 0.0) if cost is None else cost)
        return Answered(reply, attempt, cost)

    def _read(self, id: str, request: Request) -> Reply | None:
        """Return the reply in a result; without one, note why and return None."""
        call = self._calls[id]
        try:
            outcome = self.deferring.read(self.results.line(id), request, call.sent)
            if isinstance(outcome, Reply):
                outcome = checked(outcome)  # The adapter may be of another package.
        except ValueError as error:
            outcome = Fault("malformed", f"its result cannot be read ({error})")
        if isinstance(outcome, Reply):
            # A batch is what is billed, whatever a reply in it says.
            return replace(outcome, tier="batch")
        if isinstance(outcome, Fatal):
            self.fatal = self.fatal or outcome
            self._fail(id, "refused", free=True)
        elif isinstance(outcome, Relearned):
            self._fail(id, outcome.why, free=True)
        else:
            # The provider does not bill what it says has failed; what cannot be read is an answer.
            self._fail(id, outcome, free=outcome.kind != "malformed" and outcome.status != 200)
        return None

    def _fail(
        self, id: str, why: Fault | str, *, free: bool = False, cost: float | None = None
    ) -> None:
        """Have a request asked again; without a known cost, it counts at its highest."""
        if isinstance(why, Fault):
            self.failed[id], why = why, why.kind
        if cost is None:
            cost = 0.0 if free else self._calls[id].upper
        [n] = [n for n, packed in self._packed.items() if id in packed]
        self.again[id] = self.log.packs[n].again[id] = Again(why, cost)
        self._release(id, cost)

    def _hold(self, id: str, upper: float) -> None:
        self._held[id] = upper
        self.budget.hold(upper)

    def _release(self, id: str, cost: float) -> None:
        upper = self._held.pop(id, None)
        if upper is not None:
            self.budget.release(upper, cost)


@dataclass(frozen=True, slots=True)
class InBatches(Lane):
    """The way to a model that is asked in batches."""

    spool: Spool = field(kw_only=True)

    def opened(self, role: str, session: Session) -> BatchLane:
        return BatchLane(role, self, session)


class BatchLane(AskLane):
    """An open lane that answers calls from batches, except the first one of a session."""

    def __init__(self, role: str, lane: InBatches, session: Session) -> None:
        super().__init__(role, lane, session)
        self._spool = lane.spool
        self._spool.begin(session.budget, self.pricing)

    def prepare_pictures(self, conversation: Conversation) -> None:
        """Prepare nothing ahead: most calls wait, and the others are made one by one."""

    async def answer(
        self, seat: Seat, request: Request, retry: RetryPolicy | None = None
    ) -> Answered[Reply]:
        if request.id:  # The first call of a session is on no record, and has none.
            tokens, shares = self.count(request.conversation), self.info.greedy(request.generation)
            answered = await self._spool.answer(request, tokens or 0, shares=shares)
            if answered is not None:
                self.answerer.hear(answered.reply.model)
                return answered
            super().prepare_pictures(request.conversation)
        return await super().answer(seat, request, retry)
