"""The calls of a dialogue: replayed from the record, or made, each of them once.

An equal call that is under way is waited for: its answer is then on record. So is a shared call,
which is made once in a run for all units of a parent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from msgspec import UNSET

from adapters.contract import Generation, Request
from adapters.conversation import Finish, Reply
from harness.dialogue import Act, Ask, Asks, Call, Embed, Replies, Result
from harness.engine.dialogues import CallLog, KeptReply, MadeCall, Observer, OpenDialogue, Pending
from harness.engine.lanes import Answered, AnyLane, AskLane, request_key
from harness.engine.limits import EnginePolicy
from harness.engine.queues import Seat
from harness.engine.stopping import (
    Halt,
    Parked,
    ProtocolError,
    ReplayMismatch,
    most_severe,
)
from harness.runs import CallRecord, MessageRecord
from harness.runs.records import call_id, result_of, shared_unit

if TYPE_CHECKING:
    from harness.engine.acts_and_embeds import Embedding
    from harness.engine.cache import ReplyCache


@dataclass(frozen=True)
class Asking:
    """Makes the calls of asks: from equal calls of this run or of others, or by sending them."""

    lanes: Mapping[str, AnyLane]
    log: CallLog
    cache: ReplyCache | None

    def note(self, dialogue: OpenDialogue, ask: Ask, digest: str) -> int | None:
        """Note a conversation and return the estimated tokens of its prompt.

        Recorded replies are reported, too: a resumed run has the same numbers.
        """
        tokens = self._lane(dialogue, ask).count(ask.conversation)
        if tokens is not None and not ask.role and tokens >= (dialogue.prompt_tokens or 0):
            dialogue.prompt_tokens = tokens
        dialogue.digests[id(ask.conversation)] = ask.conversation, digest
        return tokens

    def key(self, pending: Pending) -> str:
        """Hash of everything that the reply depends on."""
        ask = _ask(pending)
        lane = self._lane(pending.dialogue, ask)
        greedy = lane.info.greedy(_generation(lane, pending.dialogue, ask))
        return self._key(pending, "" if greedy else f"{pending.unit_id}\n{ask.name}")

    def _key(self, pending: Pending, of: str = "") -> str:
        ask, dialogue = _ask(pending), pending.dialogue
        lane = self._lane(dialogue, ask)
        generation = _generation(lane, dialogue, ask)
        return request_key(
            lane.key(generation), pending.digest, dialogue.job.repeat, pending.trial, ask.sample, of
        )

    async def make(self, pending: Pending, key: str) -> MadeCall:
        """Raises `GaveUp`, `Parked`, `Stopped`, `Fatal`."""
        ask, dialogue = _ask(pending), pending.dialogue
        lane, job = self._lane(dialogue, ask), dialogue.job
        conversation = ask.conversation
        earlier = dialogue.digests.get(id(conversation.earlier))
        if pending.asked_by:
            earlier = None  # Its line is complete by itself.
        request = Request(
            conversation,
            _generation(lane, dialogue, ask),
            job.unit_id,
            ask.place,
            ask.continues,
            job.repeat,
            ask.sample,
            ask.name,
            id=pending.id,
            # A model that refuses a temperature is greedy no longer: its calls stay the same ones.
            equal=self._key(pending),
            about=ask.about,
            by_protocol=ask.own,
        )
        kept, answered = await self._answer(pending, lane, request, key)
        cached = kept is not None
        reply = answered.reply
        added = conversation.added if earlier else conversation.messages
        price = lane.pricing.cost(reply) if cached else None
        record = pending.record(
            key,
            messages=tuple(MessageRecord.of(message) for message in added),
            reply=reply,
            attempts=answered.attempts,
            from_cache=cached,
            cost=answered.cost,
            price=UNSET if price is None else price,
            reused_from=kept.run if kept is not None else "",
            earlier=earlier[1] if earlier else None,
            role=ask.role,
            sample=ask.sample,
            temperature=ask.temperature,
            seed=ask.seed,
        )
        return MadeCall(record, reply)

    def keep(self, pending: Pending, made: MadeCall) -> None:
        """Put a reply into the cache once it is on record."""
        if self.cache is None or made.record.from_cache:
            return
        reply, answerer = made.record.reply, self._lane(pending.dialogue, _ask(pending)).answerer
        if key := answerer.kept_as(made.record.request, reply.model):
            self.cache.keep(key, reply)

    async def _answer(
        self, pending: Pending, lane: AskLane, request: Request, key: str
    ) -> tuple[KeptReply | None, Answered[Reply]]:
        tokens, context = pending.tokens, lane.info.context_tokens
        if tokens is not None and context is not None and tokens > context:
            return None, Answered(Reply("", Finish.TOO_LONG), 0, 0.0)
        kept: KeptReply | None = None
        is_greedy = lane.info.greedy(request.generation)  # Otherwise no two keys are equal.
        if is_greedy and (equal := await self.log.equal(key)) is not None:
            kept = KeptReply(equal.reply, equal.reused_from)
        elif self.cache is not None and lane.answerer.reuses:
            # Of those who answer now, as far as that is known.
            name = lane.answerer.kept_as(key)
            kept = await self.cache.get(name) if name else None
        if kept is not None:
            return kept, Answered(kept.reply, 0, 0.0)
        lane.prepare_pictures(request.conversation)
        return None, await lane.answer(pending.dialogue.seats[lane.role], request)

    def _lane(self, dialogue: OpenDialogue, ask: Ask) -> AskLane:
        lane = self.lanes[ask.role]
        if not isinstance(lane, AskLane):
            raise ProtocolError(f"{dialogue}: '{ask.place}' asks '{ask.role}', which only embeds")
        return lane


def _ask(pending: Pending) -> Ask:
    assert isinstance(pending.call, Ask)
    return pending.call


def _generation(lane: AskLane, dialogue: OpenDialogue, ask: Ask) -> Generation:
    return ask.generation(lane.generation, dialogue.job.repeat)


@dataclass(slots=True, eq=False)
class Flights:
    """Calls in flight, by a key that equal calls share."""

    _landed: dict[str, asyncio.Event] = field(default_factory=dict)

    def __contains__(self, key: str) -> bool:
        return key in self._landed

    async def landed(self, key: str) -> None:
        """Return when the call of this key that is under way has ended, however it ended."""
        if key in self._landed:
            await self._landed[key].wait()

    @contextmanager
    def under_way(self, key: str) -> Iterator[None]:
        """Make others wait for this call; of no effect while another one of the key is made."""
        if key in self._landed:
            yield
            return
        event = self._landed[key] = asyncio.Event()
        try:
            yield
        finally:
            del self._landed[key]
            event.set()


class Maker(Protocol):
    """Makes the calls of one type."""

    def key(self, pending: Pending) -> str:
        """Return the hash of everything that the answer depends on."""
        ...

    async def make(self, pending: Pending, key: str) -> MadeCall:
        """Make a call. Raises as `Calls.result`."""
        ...

    def keep(self, pending: Pending, made: MadeCall) -> None:
        """Put an answer into the cache once it is on record."""
        ...


class Calls:
    """Makes the calls of dialogues, or answers them from the record.

    shared: shared calls on record, by id.
    """

    def __init__(
        self,
        lanes: Mapping[str, AnyLane],
        log: CallLog,
        observer: Observer,
        halt: Halt,
        policy: EnginePolicy,
        *,
        cache: ReplyCache | None,
        shared: Mapping[str, CallRecord],
    ) -> None:
        self._lanes = lanes
        self._log = log
        self._observer = observer
        self._halt = halt
        self._policy = policy
        self._asking = Asking(lanes, log, cache)
        self._shared = dict(shared)
        self._made_for: dict[tuple[str, int], dict[str, CallRecord]] = {}
        for id, record in shared.items():
            self._made_for.setdefault(record.payer, {})[id] = record
        self._flights = Flights()

    def open(self, dialogue: OpenDialogue) -> None:
        """Give a dialogue its seat, and the shared calls that were made for it before."""
        dialogue.seats[""] = Seat(dialogue.number)
        dialogue.shared.update(self._made_for.get(dialogue.key, {}))

    def close(self, dialogue: OpenDialogue) -> None:
        """Release the slots of a dialogue."""
        for role, seat in dialogue.seats.items():
            self._lanes[role].queue.leave(seat)

    async def results(self, dialogue: OpenDialogue, asks: Asks) -> Replies:
        """Answer everything that a dialogue yielded at once, in its order.

        Raises as `result`; when one call fails, the others are cancelled, but not when one is
        parked.
        """
        if not isinstance(asks, tuple):
            self._sit(dialogue, asks)
            return await self.result(dialogue, asks)
        if sum(isinstance(call, Act) for call in asks) > 1:
            raise ProtocolError(f"{dialogue}: two actions at the same time")
        # All of them before the first call, which must not hold what another one waits for.
        for call in asks:
            self._sit(dialogue, call)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._or_parked(dialogue, call)) for call in asks]
        except BaseExceptionGroup as errors:
            raise most_severe(errors) from None
        results = [task.result() for task in tasks]
        for result in results:
            if isinstance(result, Parked):
                raise result
        return tuple(result for result in results if not isinstance(result, Parked))

    async def _or_parked(self, dialogue: OpenDialogue, call: Call) -> Result | Parked:
        """Return the result of one of several calls; all are made before one of them parks the
        dialogue."""
        try:
            return await self.result(dialogue, call)
        except Parked as parked:
            return parked

    async def result(self, dialogue: OpenDialogue, call: Call) -> Result:
        """Answer one call; its record is on disk and in `dialogue.calls` when this returns.

        Raises `GaveUp`, `Parked`, `Stopped`, `Fatal`, `ProtocolError`, `RunError`.
        """
        if call.name in dialogue.calls:
            raise ProtocolError(f"{dialogue}: '{call.name}' was asked twice")
        dialogue.calls[call.name] = None
        pending = self.pending(dialogue, call)
        lane = None if isinstance(call, Act) else self._lane_of(call)
        with self._resting(dialogue, lane):
            if pending.asked_by:
                return await self._share(pending)
            recorded = dialogue.recorded.get(call.name)
            if recorded is None:
                return await self._make(pending)
            result = await self._replay(pending, recorded)
            self._observer.called(recorded, replayed=True)
            return result

    async def _share(self, pending: Pending) -> Result:
        """Make a shared call, unless it is on record or another unit is making it."""
        while (record := self._shared.get(pending.id)) is None:
            if pending.id not in self._flights:
                with self._flights.under_way(pending.id):
                    return await self._make(pending)
            with self._resting(pending.dialogue, None):
                await self._flights.landed(pending.id)
        return await self._replay(pending, record)

    async def _make(self, pending: Pending) -> Result:
        maker: Maker
        match pending.call:
            case Ask():
                maker = self._asking
            case Embed():
                maker = self._embedding
            case Act():
                maker = self._acting
        key = maker.key(pending)
        # Actions that look equal are not: each changes the state of its environment.
        flight = pending.id if isinstance(pending.call, Act) else key
        if flight in self._flights:
            with self._resting(pending.dialogue, None):
                await self._flights.landed(flight)
        with self._flights.under_way(flight):
            made = await maker.make(pending, key)
            await self._log.record_call(made.record, made.blobs)
            maker.keep(pending, made)
        if pending.asked_by:
            self._shared[pending.id] = pending.dialogue.shared[pending.id] = made.record
        pending.dialogue.calls[pending.call.name] = made.record
        pending.dialogue.asked = True
        self._observer.called(made.record, replayed=False)
        return made.result

    async def _replay(self, pending: Pending, recorded: CallRecord) -> Result:
        dialogue = pending.dialogue
        if recorded.conversation != pending.digest:
            raise ReplayMismatch(
                f"{dialogue}: '{recorded.name}' asks something other than what is on "
                "record; the data or the protocol has changed since the run was started"
            )
        blobs = {digest: await self._log.blob(digest) for digest in recorded.blobs}
        dialogue.calls[recorded.name] = recorded
        return result_of(recorded, blobs.__getitem__)

    def pending(self, dialogue: OpenDialogue, call: Call) -> Pending:
        """Describe a call. Raises `ProtocolError` for one that cannot be recorded."""
        try:
            digest = call.digest()
        except (TypeError, ValueError) as error:
            what = f"{dialogue}: '{call.place}'"
            raise ProtocolError(f"{what} has no form in JSON: {error}") from error
        tokens = self._asking.note(dialogue, call, digest) if isinstance(call, Ask) else None
        job = dialogue.job
        if not isinstance(call, Act) and call.shared:
            parent = shared_unit(call.shared)
            name = call_id(parent, job.repeat, call.name)
            return Pending(dialogue, call, digest, name, parent, 0, job.unit_id, tokens)
        name = call_id(job.unit_id, job.repeat, call.name, dialogue.trial)
        return Pending(dialogue, call, digest, name, job.unit_id, dialogue.trial, "", tokens)

    @cached_property
    def _embedding(self) -> Embedding:
        from harness.engine.acts_and_embeds import Embedding

        return Embedding(self._lanes, self._log)

    @cached_property
    def _acting(self) -> Maker:
        from harness.engine.acts_and_embeds import Acting

        policy = self._policy
        return Acting(policy.call_timeout_s, policy.failures_in_a_row, self._halt)

    def _lane_of(self, call: Ask | Embed) -> str:
        """Return the role whose lane a call takes: its own, or that of the model under test."""
        return self._lanes[call.role].role

    def _sit(self, dialogue: OpenDialogue, call: Call) -> None:
        if isinstance(call, Act):
            return
        if call.role not in self._lanes:
            known = ", ".join(f"'{role}'" for role in self._lanes)
            raise ProtocolError(
                f"{dialogue}: '{call.place}' asks the role '{call.role}', and there are {known}"
            )
        dialogue.seats.setdefault(self._lane_of(call), Seat(dialogue.number))

    @contextmanager
    def _resting(self, dialogue: OpenDialogue, role: str | None) -> Iterator[None]:
        """Hold no slot of a lane but that of `role` while the dialogue waits."""
        others = [other for other in dialogue.seats if other != role]
        for other in others:
            self._lanes[other].queue.rest(dialogue.seats[other])
        try:
            yield
        finally:
            for other in others:
                self._lanes[other].queue.resume(dialogue.seats[other])
