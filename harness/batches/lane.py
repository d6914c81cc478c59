"""Calls that a provider answers within a day, as dialogues make them.

A call is answered from the results that are there, or its request goes into a pack and the dialogue
is *parked*: it is closed without an outcome, which frees its page and its pictures, and a later
pass over the units plays it back from the record. `harness.batches.remote` sends packs and fetches
results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterator
from dataclasses import dataclass, field, replace

from adapters.batches.contract import Deferring, Relearned
from adapters.checks import checked
from adapters.contract import Fatal, Fault, PictureSource, Request
from adapters.conversation import Conversation, Finish, Reply
from harness.batches.log import Again, BatchLog, NewPack, Pack, PackedCall, beginning, packed_id
from harness.engine import Answered, AskLane, Budget, CostLimitReached, GaveUp, Lane, Pricing
from harness.engine.lanes import EngineState
from harness.engine.limits import UNPRICED, RetryPolicy
from harness.engine.queues import Seat
from harness.engine.stopping import Parked
from harness.printing import printable
from harness.runs import StepKey

ATTEMPTS = 3
"""Times a request is sent before its call is given up; starting the run again allows as many."""
FILTERED = "content_filter"
_NEW = 0
"""Number of the pack that is being filled."""


@dataclass(slots=True)
class _Sent:
    """A request in pack `n`; whether its highest cost is set aside; the offset of its result."""

    call: PackedCall
    n: int
    is_held: bool = False
    offset: int | None = None


@dataclass
class Spool:
    """The calls of the model under test that are made in batches.

    deferring: how the provider takes them.
    spools: whether new calls are made so; otherwise only what was sent before is waited for.
    recorded: the ids of the calls on record when the session began.
    ready: called once before the first request is put into a pack.
    first: the most that this costs, in US dollars.
    full, wanted: why no further call can be paid for, None as long as there is money; the most that
        the call would have cost, in US dollars.
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
    budget: Budget = field(init=False)
    pricing: Pricing = UNPRICED
    full: CostLimitReached | None = None
    wanted: float = 0.0
    fatal: Fatal | None = None
    again: dict[str, Again] = field(default_factory=dict)
    failed: dict[str, Fault] = field(default_factory=dict)
    _sent: dict[str, _Sent] = field(default_factory=dict)
    _equal: dict[str, str] = field(default_factory=dict)
    _new: NewPack | None = None
    _readied: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_ready: bool = False

    def begin(self, budget: Budget, pricing: Pricing) -> None:
        """Set aside in a budget what calls without a reply may cost. Raises `RunError`."""
        self.budget, self.pricing = budget, pricing
        for pack in self.log.packs.values():
            self.again |= pack.again
        for pack in self.log.live:
            for call in self.log.calls(pack.n):
                sent = self._keep(call, pack.n)
                if call.id not in self.again and call.call not in self.recorded:
                    self._hold(sent)

    # For the choice of units in a pass.

    @property
    def fetched(self) -> set[StepKey]:
        """Units and repeats with results that are not on record yet."""
        fetched = {pack.n for pack in self.log.at("fetched")}
        return {one.call.key for one in self._sent.values() if one.n in fetched}

    @property
    def waiting(self) -> set[StepKey]:
        """Units and repeats that wait for something that has not come back."""
        sent = self._sent.values()
        return {one.call.key for one in sent if one.is_held and one.offset is None} - self.fetched

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
                if not self._has_result(id):
                    break
                reply = self._read(id, request)
                if reply is not None:
                    if filtered or reply.finish is not Finish.CONTENT_FILTER:
                        return self._answered(id, reply, attempt)
                    # A filter may act at random; what it says twice is taken as its answer.
                    self._fail(id, FILTERED, self.pricing.cost(reply))
            filtered |= self.again[id].reason == FILTERED
            fault = self.failed.get(id)
            if fault is not None and attempt % ATTEMPTS == 0:
                raise GaveUp(fault.kind, attempt, printable(str(fault)))
        if id in self._sent:
            raise Parked
        equal = self._equal.get(beginning(id), "")
        if shares and equal in self._sent and equal not in self.again:
            if not self._has_result(equal):
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
        # Also while the first call is made and pictures are prepared, which takes a while.
        self.budget.hold(upper)
        try:
            await self.prepare()
            line = await self.deferring.line(id, request, self.pictures)
        finally:
            self.budget.release(upper, 0.0)
        limits, size = self.deferring.limits, len(line.data)
        if size >= limits.bytes:
            too_large = f"a request of {size / 1e6:.0f} MB is more than a batch may have"
            raise Fatal(f"{too_large}: send smaller pictures (--adapter-option max_pixels=N)")
        if self._new is not None and not self._new.has_room(limits, size, tokens):
            self.seal()
        unit_id, repeat = request.unit_id, request.repeat
        call = PackedCall(id, unit_id, repeat, call=request.id, upper=upper, sent=dict(line.sent))
        self._new = self._new or NewPack(self.log)
        self._new.add(call, line.data, tokens)
        self._hold(self._keep(call, _NEW))

    # For passes and `Remote`.

    def seal(self) -> None:
        """Make everything that was put into packs ready to be sent. Raises `RunError`."""
        if self._new is not None:
            n = self._new.seal()
            for id in self._new.calls:
                self._sent[id].n = n
            self._new = None

    def drop(self) -> None:
        """Forget what was put into packs and is not ready to be sent."""
        if self._new is not None:
            self._new.drop()
            self._new = None
        for id in self._ids(_NEW):
            self._release(self._sent.pop(id), 0.0)

    def take_results(self, pack: Pack) -> int:
        """Take up what has come back of a pack. Returns how many lines are of no request of it, or
        of one that has a result already.

        A request without a result counts at its highest cost, unless the provider says that it was
        not carried out: the line that is missing or damaged may be an answer.
        """
        strange = 0
        for id, offset in self._results(pack):
            sent = self._sent.get(id)
            if sent is not None and sent.n == pack.n and sent.offset is None:
                sent.offset = offset
            else:
                strange += 1
        status, unbilled = (pack.batch.status, pack.batch.unbilled) if pack.batch else ("", False)
        fault = Fault("server", f"the provider returned nothing for it ({status or 'ended'})")
        is_free = unbilled and not strange and not pack.unread
        for id in self._left(pack):
            if not self._has_result(id):
                self._fail(id, fault, 0.0 if is_free else None)
        return strange

    def is_foreign(self, pack: Pack) -> bool:
        """Return whether a pack has results, and all belong to none of its requests."""
        ids = {id for id, _ in self._results(pack)}
        return bool(ids) and ids.isdisjoint(self._ids(pack.n))

    def give_up(self, pack: Pack, why: Fault | str, cost: float | None = None) -> int:
        """Leave out a pack that is over. Returns the number of its calls that were not read.

        Without a cost they count at their highest: their results are lost, or came for units that
        had ended.
        """
        unread = self._left(pack)
        for id in unread:
            self._fail(id, why, cost)
        for id in self._ids(pack.n):
            del self._sent[id]
        return len(unread)

    # Parts of the above.

    def _ids(self, n: int) -> list[str]:
        return [id for id, one in self._sent.items() if one.n == n]

    def _left(self, pack: Pack) -> list[str]:
        """Return the requests of a pack whose cost is not booked."""
        return [id for id in self._ids(pack.n) if self._sent[id].is_held]

    def _has_result(self, id: str) -> bool:
        return id in self._sent and self._sent[id].offset is not None

    def _results(self, pack: Pack) -> Iterator[tuple[str, int]]:
        """Yield the ids in the results of a pack, "" for none, and where their lines begin."""
        offset = 0
        for line in self.log.results(pack.n):
            try:
                yield self.deferring.id_of(line), offset
            except ValueError:
                yield "", offset
            offset += len(line)

    def _keep(self, call: PackedCall, n: int) -> _Sent:
        sent = self._sent[call.id] = _Sent(call, n)
        known = self._equal.get(beginning(call.id), "")
        if known not in self._sent or known in self.again:
            self._equal[beginning(call.id)] = call.id
        return sent

    def _answered(self, id: str, reply: Reply, attempt: int) -> Answered[Reply]:
        sent = self._sent[id]
        # The reply to an equal call was billed once.
        cost = self.pricing.cost(reply) if sent.is_held else 0.0
        self._release(sent, cost)
        return Answered(reply, attempt, cost)

    def _read(self, id: str, request: Request) -> Reply | None:
        """Return the reply in a result; without one, note why and return None."""
        sent = self._sent[id]
        try:
            line = next(self.log.results(sent.n, sent.offset or 0), b"")
            outcome = self.deferring.read(line, request, sent.call.sent)
            if isinstance(outcome, Reply):
                # The adapter may be of another package. A batch is what is billed, whatever a
                # reply in it says.
                return replace(checked(outcome), tier="batch")
        except ValueError as error:
            outcome = Fault("malformed", f"its result cannot be read ({error})")
        if isinstance(outcome, Fatal):
            self.fatal = self.fatal or outcome
            self._fail(id, "refused", 0.0)
        elif isinstance(outcome, Relearned):
            self._fail(id, outcome.why, 0.0)
        else:
            # The provider does not bill what it says has failed; what cannot be read is an answer.
            is_answer = outcome.kind == "malformed" or outcome.status == 200
            self._fail(id, outcome, None if is_answer else 0.0)
        return None

    def _fail(self, id: str, why: Fault | str, cost: float | None) -> None:
        """Have a request asked again; without a known cost, it counts at its highest."""
        if isinstance(why, Fault):
            self.failed[id], why = why, why.kind
        sent = self._sent[id]
        again = Again(why, sent.call.upper if cost is None else cost)
        self.again[id] = self.log.packs[sent.n].again[id] = again
        self._release(sent, again.cost)

    def _hold(self, sent: _Sent) -> None:
        sent.is_held = True
        self.budget.hold(sent.call.upper)

    def _release(self, sent: _Sent, cost: float | None) -> None:
        if sent.is_held:
            sent.is_held = False
            self.budget.release(sent.call.upper, sent.call.upper if cost is None else cost)


@dataclass(frozen=True, slots=True)
class InBatches(Lane):
    """The way to a model that is asked in batches."""

    spool: Spool = field(kw_only=True)

    def opened(self, role: str, session: EngineState) -> BatchLane:
        return BatchLane(role, self, session)


class BatchLane(AskLane):
    """An open lane that answers calls from batches, except the first one of a session."""

    def __init__(self, role: str, lane: InBatches, session: EngineState) -> None:
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
                self.answerer.name = answered.reply.model or self.answerer.name
                return answered
            super().prepare_pictures(request.conversation)
        return await super().answer(seat, request, retry)
