"""Asking a model to continue a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET

from adapters.contract import Generation, Request
from adapters.conversation import Finish, Reply
from harness.dialogue import Ask
from harness.engine.dialogues import CallLog, KeptReply, MadeCall, OpenDialogue, Pending
from harness.engine.keys import request_key
from harness.engine.lanes import Answered, AnyLane, AskLane
from harness.engine.stopping import ProtocolError
from harness.runs import MessageRecord

if TYPE_CHECKING:
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
