"""Calls that a provider answers within a day, as dialogues make them.

A call is answered from the results that are there, or its request goes into a pack and the dialogue
is *parked*: it is closed without an outcome, which frees its page and its pictures, and a later
pass over the units plays it back from the record. `harness.batches.remote` sends packs and fetches
results.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from adapters.batches.contract import Deferring, Relearned
from adapters.checks import checked
from adapters.contract import Fatal, Fault, PictureSource, Request
from adapters.conversation import Conversation, Finish, Reply
from harness.batches.log import Again, BatchLog, Pack, PackedCall
from harness.batches.packs import NewPack, Results
from harness.engine import Answered, AskLane, Budget, CostLimitReached, GaveUp, Lane, Pricing
from harness.engine.lanes import Session
from harness.engine.limits import UNPRICED, RetryPolicy
from harness.engine.queues import Seat
from harness.engine.stopping import Parked
from harness.printing import printable
from harness.runs import RunError, StepKey

ATTEMPTS = 3
"""Times a request is sent before its call is given up; starting the run again allows as many."""
FILTERED = "content_filter"
HALF = 20
"""Hexadecimal digits of each hash in the id of a request."""


@dataclass
class Spool:
    """The calls of the model under test that are made in batches.

    deferring: how the provider takes them.
    spools: whether new calls are made so; otherwise only what was sent before is waited for.
    recorded: the ids of the calls on record when the session began.
    ready: called once before the first request is put into a pack.
    full: why no further call can be paid for; None as long as there is money.
    fatal: what the provider says that would be said of every call.
    again: failed requests by id.
    """

    deferring: Deferring
    log: BatchLog
    pictures: PictureSource
    spools: bool
    recorded: Container[str]
    ready: Callable[[], Awaitable[None]]
    results: Results = field(init=False)
    budget: Budget = field(init=False)
    pricing: Pricing = UNPRICED
    full: CostLimitReached | None = None
    fatal: Fatal | None = None
    again: dict[str, Again] = field(default_factory=dict)
    _packed: dict[int, dict[str, PackedCall]] = field(default_factory=dict)
    _new: NewPack | None = None
    _unsealed: dict[str, PackedCall] = field(default_factory=dict)
    _calls: dict[str, PackedCall] = field(default_factory=dict)
    _held: dict[str, float] = field(default_factory=dict)
    _failed: dict[str, Fault] = field(default_factory=dict)
    _sent: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Of equal calls: the request of the last one sent, those that were answered, and the calls that
    # wait for another one's request.
    _equal: dict[str, str] = field(default_factory=dict)
    _answered: set[str] = field(default_factory=set)
    _waiting: dict[str, tuple[StepKey, str]] = field(default_factory=dict)
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
        out = self._held.keys() - self._unsealed.keys()
        keys = {self._calls[id].key for id in out if id not in self.results}
        others = {key for key, id in self._waiting.values() if id in out and id not in self.results}
        return (keys | others) - self.fetched

    def lets_go(self) -> bool:
        """Return whether calls have waited for an equal one that is over now: they are to be asked
        in another pass."""
        over = [call for call, (_, id) in self._waiting.items() if id not in self._held]
        for call in over:
            del self._waiting[call]
        return bool(over)

    # For dialogues.

    async def answer(
        self, request: Request, tokens: int, *, shares: bool
    ) -> Answered[Reply] | None:
        """Return the reply to a call whose prompt has about so many tokens, with its cost.

        shares: whether the reply to an equal call answers this one, which then waits for it.

        Returns None for a call that is to be made at once. Raises `Parked` until the reply is here,
        `GaveUp` after too many attempts, and as `Deferring.line`.
        """
        self._waiting.pop(request.id, None)
        attempt, filtered = 0, False
        while True:
            attempt += 1
            id = packed_id(request, attempt)
            if id not in self.again:
                if id not in self.results:
                    break
                reply = self._read(id, request)
                if reply is not None:
                    cost, upper = self.pricing.cost(reply), self._calls[id].upper
                    if filtered or reply.finish is not Finish.CONTENT_FILTER:
                        self._release(id, upper if cost is None else cost)
                        self._answered.add(_beginning(id))
                        return Answered(reply, attempt, cost)
                    # A filter may act at random; what it says twice is taken as its answer.
                    self._fail(id, FILTERED, upper if cost is None else cost)
            filtered |= self.again[id].reason == FILTERED
            fault = self._failed.get(id)
            if fault is not None and attempt % ATTEMPTS == 0:
                raise GaveUp(fault.kind, attempt, printable(str(fault)))
        if id in self._calls:
            raise Parked
        equal = self._equal.get(_beginning(id), "")
        if shares and equal in self._held and _beginning(id) not in self._answered:
            self._waiting[request.id] = (request.unit_id, request.repeat), equal
            raise Parked
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
        if self.full or not self.budget.fits(upper):
            self.full = self.full or self.budget.exhausted(upper)
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
            new.requests >= limits.requests
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
        try:
            self._new.add(call, data, tokens)
        except RunError:
            self.drop()
            raise
        self._keep(call, self._unsealed)

    # For passes and `Remote`.

    def seal(self) -> None:
        """Make everything that was put into packs ready to be sent. Raises `RunError`."""
        if self._new is not None and self._new.requests:
            self._packed[self._new.seal().n] = self._unsealed
            self._new, self._unsealed = None, {}

    def drop(self) -> None:
        """Forget what was put into packs and is not ready to be sent."""
        if self._new is not None:
            self._new.drop()
            self._new = None
        for id in self._unsealed:
            del self._calls[id]
            self._release(id, 0.0)
        self._unsealed = {}

    def take_results(self, pack: Pack) -> int:
        """Take up what has come back of a pack. Returns how many lines are of no request of it.

        A request without a result counts at its highest cost, unless the provider says that it was
        not carried out: the line that is missing or damaged may be an answer.
        """
        packed = self._packed[pack.n]
        strange = self.results.add(pack.n, packed)
        fault = Fault("server", f"the provider returned nothing for it ({pack.status or 'ended'})")
        is_free = pack.unbilled and not strange and not pack.unread
        for id in [id for id in packed if id in self._held and id not in self.results]:
            self._lose(id, fault, 0.0 if is_free else packed[id].upper)
        return strange

    def is_foreign(self, pack: Pack) -> bool:
        """Return whether the results of a pack belong to none of its requests."""
        return not any(id in self._packed[pack.n] for id, _ in self.results.ids(pack.n))

    def lose(self, pack: Pack, why: str) -> None:
        """Note that a pack has no results and that its cost is unknown."""
        for id in [id for id in self._packed[pack.n] if id in self._held]:
            self._lose(id, Fault("server", why), self._calls[id].upper)

    def give_up(self, pack: Pack, why: str, *, free: bool) -> int:
        """Note that the calls of a pack without a reply will not be read. Returns their number.

        They cost nothing if the pack was never sent. Otherwise, a unit was given up for another of
        its calls, say; they cost money all the same.
        """
        unread = [id for id in self._packed[pack.n] if id in self._held]
        for id in unread:
            self._fail(id, why, 0.0 if free else self._calls[id].upper)
        return len(unread)

    def forget(self, pack: Pack) -> None:
        """Leave out a pack that is over."""
        for id in self._packed.pop(pack.n):
            self.results.forget(id)
            del self._calls[id]

    def end_pass(self) -> None:
        """Allow failed calls as many attempts as at first."""
        self._failed.clear()

    # Parts of the above.

    def _keep(self, call: PackedCall, packed: dict[str, PackedCall]) -> None:
        # Of equal parameters, which are few, one object serves all calls.
        sent = self._sent.setdefault(repr(call.sent), call.sent)
        self._calls[call.id] = packed[call.id] = msgspec.structs.replace(call, sent=sent)
        self._equal[_beginning(call.id)] = call.id

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
            self._fail(id, "refused", 0.0)
        elif isinstance(outcome, Relearned):
            self._fail(id, outcome.why, 0.0)
        else:
            # The provider does not bill what it says has failed; what cannot be read is an answer.
            billed = outcome.kind == "malformed" or outcome.status == 200
            self._lose(id, outcome, call.upper if billed else 0.0)
        return None

    def _lose(self, id: str, fault: Fault, cost: float) -> None:
        self._failed[id] = fault
        self._fail(id, fault.kind, cost)

    def _fail(self, id: str, reason: str, cost: float) -> None:
        [n] = [n for n, packed in self._packed.items() if id in packed]
        self.again[id] = Again(reason, cost)
        self.log.packs[n].again[id] = self.again[id]
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


def packed_id(request: Request, attempt: int) -> str:
    """Return the id of a request in a batch.

    It follows from the call, from everything that the reply depends on, and from the attempt: a
    reply reaches its own call only, whatever becomes of the order of a file. Ids of equal calls
    begin alike.
    """
    call = f"{request.id}\n{request.equal}\n{attempt}"
    hashes = (hashlib.sha256(text.encode()).hexdigest() for text in (request.equal, call))
    return "v" + "".join(one[:HALF] for one in hashes)


def _beginning(id: str) -> str:
    return id[: 1 + HALF]
