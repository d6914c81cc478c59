"""Calls that a provider answers within a day, as dialogues make them.

Dialogues are played back from the record. A call is answered from the results that are there, or
its request goes into a pack and the dialogue is *parked*: it is closed without an outcome, which
frees its page and its pictures, and a later pass over the units plays it back and goes on.
`harness.batches.remote` sends packs and fetches results.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace

import msgspec

from adapters.batches.contract import Deferring, PackLimits, Relearned
from adapters.checks import checked
from adapters.contract import Fatal, Fault, PictureSource, Request
from adapters.conversation import Finish, Reply
from harness.batches.equal import EqualCalls, packed_id
from harness.batches.log import Again, BatchLog, Pack, PackedCall
from harness.batches.packs import NewPack, Results
from harness.engine import Answered, Budget, Pricing
from harness.engine.stopping import CostLimitReached, GaveUp, Parked
from harness.printing import printable
from harness.runs import RunError, StepKey

ATTEMPTS = 3
"""Times a request is sent before its call is given up; starting the run again allows as many."""
FILTERED = "content_filter"


@dataclass
class BatchCaller:
    """The calls of the model under test that are made in batches.

    deferring: how the provider takes them.
    budget: the session's, from `begin` on.
    spools: whether new calls are made so; otherwise only what was sent before is waited for.
    pricing: of calls in batches.
    is_recorded: whether a call of a unit and repeat is on record, by its name within its dialogue.
    ready: called once before the first request is put into a pack.
    full: why no further call can be paid for; None as long as there is money.
    fatal: what the provider says that would be said of every call.
    equal: the calls that wait for the reply to an equal one.
    """

    deferring: Deferring
    log: BatchLog
    pictures: PictureSource
    pricing: Pricing
    spools: bool
    is_recorded: Callable[[StepKey, str], bool]
    ready: Callable[[], Awaitable[None]]
    results: Results = field(init=False)
    budget: Budget = field(init=False)
    full: CostLimitReached | None = None
    fatal: Fatal | None = None
    equal: EqualCalls = field(default_factory=EqualCalls)
    _calls: dict[str, PackedCall] = field(default_factory=dict)
    _packed: dict[int, dict[str, PackedCall]] = field(default_factory=dict)
    _unsealed: dict[str, PackedCall] = field(default_factory=dict)
    _held: dict[str, float] = field(default_factory=dict)
    _failed: dict[str, Fault] = field(default_factory=dict)
    _again: dict[str, Again] = field(default_factory=dict)
    _next: dict[str, int] = field(default_factory=dict)
    _new: NewPack | None = None
    _sent: dict[str, dict[str, object]] = field(default_factory=dict)
    _readied: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_ready: bool = False

    def __post_init__(self) -> None:
        self.results = Results(self.log)

    def begin(self, budget: Budget) -> None:
        """Set aside in a budget what calls in batches may cost. See `Caller.begin`."""
        self.budget = budget
        for pack in self.log.live:
            self._take(pack.n, self.log.calls(pack.n))
        self._again.update(self.log.again)

    # For the choice of units in a pass.

    @property
    def fetched(self) -> set[StepKey]:
        """Units and repeats with results that are not on record yet."""
        fetched = (self._packed[pack.n] for pack in self.log.live if pack.fetched)
        return {call.key for calls in fetched for call in calls.values()}

    @property
    def parked(self) -> set[StepKey]:
        """Units and repeats that wait for something that has not come back."""
        waiting = {call.key for id, call in self._calls.items() if id not in self.results}
        return waiting.union(self.equal.units(self.results)) - self.fetched

    # For dialogues.

    async def arrived(self, request: Request) -> Answered[Reply] | None:
        """Return the reply to a call if it has come back. See `Caller.arrived`."""
        self.equal.ask(request)
        attempt, filtered = 0, False
        while True:
            attempt += 1
            id = packed_id(request, attempt)
            if id not in self._again:
                if id not in self.results:
                    break
                reply = self._read(id, request)
                if reply is not None and (filtered or reply.finish is not Finish.CONTENT_FILTER):
                    return Answered(reply, attempt, self._settle(id, reply))
                if reply is not None:
                    # A filter may act at random; what it says twice is taken as its answer.
                    self._note_again(id, attempt, FILTERED, self._settle(id, reply) or 0.0)
            filtered |= self._again[id].reason == FILTERED
            fault = self._failed.get(id)
            if fault is not None and attempt % ATTEMPTS == 0:
                raise GaveUp(fault.kind, attempt, printable(str(fault)))
        if id in self._calls:
            raise Parked
        self._next[request.id] = attempt
        return None

    async def prepare(self) -> None:
        """Try the model out before the first call is handed over. See `Caller.prepare`."""
        async with self._readied:
            if self.spools and not self._is_ready:
                await self.ready()
                self._is_ready = True

    async def hand_over(self, request: Request, tokens: int, *, shares: bool) -> None:
        """Put a call's request into a pack. See `Caller.hand_over`."""
        attempt = self._next.pop(request.id)
        id = packed_id(request, attempt)
        if shares and self.equal.wait(request, id, self._again):
            raise Parked
        if not self.spools:
            return
        upper = self.pricing.upper_cost(replace(request, tier="batch"))
        if id in self._calls:
            raise Parked
        if self.full or not self.budget.fits(upper):
            self.full = self.full or self.budget.exhausted(upper)
            raise Parked
        self._hold(id, upper)
        try:
            await self.prepare()
            line = await self.deferring.line(id, request, self.pictures)
        except BaseException:
            self._release(id, 0.0)
            raise
        call = PackedCall(
            id=id,
            unit_id=request.unit_id,
            repeat=request.repeat,
            place=request.name,
            attempt=attempt,
            upper=upper,
            sent=dict(line.sent),
        )
        self._pack(call, line.data, tokens)
        raise Parked

    # For `Remote`.

    def seal(self) -> None:
        """Have everything that was put into packs ready to be sent. Raises `RunError`."""
        if self._new is not None and self._new.requests:
            token = f"vlm-eval-{secrets.token_hex(8)}"
            self._packed[self._new.seal(token).n] = self._unsealed
            self._new, self._unsealed = None, {}

    def drop(self) -> None:
        """Forget what was put into packs and is not ready to be sent."""
        if self._new is not None:
            self._new.drop()
            self._new = None
        for id in self._unsealed:
            del self._calls[id]
            self.equal.forget(id)
            self._release(id, 0.0)
        self._unsealed = {}

    def take_results(self, pack: Pack) -> int:
        """Take up what has come back of a pack. Returns how many lines are of no request of it.

        A request without a result counts at its highest cost, unless the provider says that it was
        not carried out: the line that is missing or damaged may be an answer.
        """
        calls = self._packed[pack.n]
        missing, strange = self.results.add(pack.n, calls, self.deferring.id_of)
        why = pack.status or "ended"
        free = pack.unbilled and not strange and not pack.unread
        for id in missing:
            fault = Fault("server", f"the provider returned nothing for it ({why})")
            self._fail(id, fault, 0.0 if free else calls[id].upper)
        return strange

    def is_foreign(self, pack: Pack) -> bool:
        """Return whether the results of a pack belong to none of its requests."""
        return not self.results.any_of(pack.n, self._packed[pack.n], self.deferring.id_of)

    def lose(self, pack: Pack, why: str) -> None:
        """Note that a pack has no results and that its cost is unknown."""
        for id, call in self._packed[pack.n].items():
            self._fail(id, Fault("server", why), call.upper)

    def withdraw(self, pack: Pack, why: str) -> None:
        """Note that a pack was not sent."""
        for id, call in self._packed[pack.n].items():
            self._note_again(id, call.attempt, why, 0.0)
            self._release(id, 0.0)

    def again_in(self, pack: Pack) -> dict[str, Again]:
        """Return the requests of a pack that are sent anew."""
        return {id: self._again[id] for id in self._packed[pack.n] if id in self._again}

    def leave_unread(self, pack: Pack) -> int:
        """Note the results that no dialogue has asked for; they cost money all the same.

        So it is where a unit was given up for another of its calls. Returns how many these are.
        """
        unread = {id: call for id, call in self._packed[pack.n].items() if id in self._held}
        for id, call in unread.items():
            self._note_again(id, call.attempt, "not read", call.upper)
            self._release(id, call.upper)
        return len(unread)

    def forget(self, pack: Pack) -> None:
        """All of a pack is on record."""
        ids = self._packed.pop(pack.n)
        self.results.forget(ids)
        for id in ids:
            del self._calls[id]
            self.equal.forget(id)
            self._release(id, 0.0)

    def end_pass(self) -> None:
        """Allow failed calls as many attempts as at first."""
        self._failed.clear()

    # Parts of the above.

    def _take(self, n: int, calls: Iterable[PackedCall]) -> None:
        pack = self._packed[n] = {}
        for call in calls:
            self._keep(call, pack)
            if call.id not in self.log.again and not self.is_recorded(call.key, call.place):
                self._hold(call.id, call.upper)

    def _pack(self, call: PackedCall, data: bytes, tokens: int) -> None:
        limits = self.deferring.limits
        if len(data) >= limits.bytes:
            raise Fatal(
                f"a request of {len(data) / 1e6:.0f} MB is more than a batch may have: "
                "send smaller pictures (--adapter-option max_pixels=N)"
            )
        if self._new is not None and _is_over(self._new, limits, len(data), tokens):
            self.seal()
        self._new = self._new or NewPack(self.log)
        try:
            self._new.add(call, data, tokens)
        except RunError:
            self.drop()
            raise
        self._keep(call, self._unsealed)

    def _keep(self, call: PackedCall, pack: dict[str, PackedCall]) -> None:
        # Of equal parameters, which are few, one object serves all calls.
        sent = self._sent.setdefault(repr(call.sent), call.sent)
        self._calls[call.id] = pack[call.id] = msgspec.structs.replace(call, sent=sent)
        self.equal.pack(self._calls[call.id])

    def _read(self, id: str, request: Request) -> Reply | None:
        """Return the reply in a result; without one, note why and return None."""
        attempt = self._calls[id].attempt
        try:
            result = self.deferring.read(self.results.line(id), request, self._calls[id].sent)
            # A reply that an adapter of another package read is not checked yet.
            told = result.outcome
            outcome = checked(told) if isinstance(told, Reply) else told
        except ValueError as error:
            outcome = Fault("malformed", f"its result cannot be read ({error})")
        if isinstance(outcome, Reply):
            # A batch is what is billed, whatever a reply in it says.
            return replace(outcome, tier="batch")
        if isinstance(outcome, Fatal):
            self.fatal = self.fatal or outcome
            self._note_again(id, attempt, "refused", 0.0)
        elif isinstance(outcome, Relearned):
            self._note_again(id, attempt, outcome.why, 0.0)
        else:
            # The provider does not bill what it says has failed; what cannot be read is an answer.
            billed = outcome.kind == "malformed" or outcome.status == 200
            self._fail(id, outcome, self._calls[id].upper if billed else 0.0)
        self._release(id, self._again[id].cost)
        return None

    def _fail(self, id: str, fault: Fault, cost: float = 0.0) -> None:
        self._failed[id] = fault
        self._note_again(id, self._calls[id].attempt, fault.kind, cost)
        self._release(id, cost)

    def _note_again(self, id: str, attempt: int, reason: str, cost: float) -> None:
        self._again[id] = Again(attempt, reason, cost)

    def _settle(self, id: str, reply: Reply) -> float | None:
        cost = self.pricing.cost(reply)
        self._release(id, self._calls[id].upper if cost is None else cost)
        return cost

    def _hold(self, id: str, upper: float) -> None:
        self._held[id] = upper
        self.budget.hold(upper)

    def _release(self, id: str, cost: float) -> None:
        upper = self._held.pop(id, None)
        if upper is not None:
            self.budget.release(upper, cost)


def _is_over(pack: NewPack, limits: PackLimits, size: int, tokens: int) -> bool:
    queued = limits.queued_tokens
    return (
        pack.requests >= limits.requests
        or pack.bytes + size + 1 > limits.bytes
        or (queued is not None and pack.tokens + tokens > queued // 2)
    )
