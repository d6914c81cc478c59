"""The calls of a dialogue: replayed from the record, answered by the cache, or sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from msgspec import UNSET, UnsetType

from adapters.contract import AdapterInfo, Generation, Request
from adapters.conversation import Conversation, Finish, Picture, Reply
from harness.dialogue import Ask, Asks, Call, Replies
from harness.engine.cache import ReplyCache, model_key, request_key
from harness.engine.dialogues import OpenDialogue
from harness.engine.limits import Budget
from harness.engine.observer import Observer
from harness.engine.retries import Answered, Attempts
from harness.engine.stopping import ProtocolError, ReplayMismatch, most_severe
from harness.runs import CallRecord, MessageRecord

PromptTokens = Callable[[Conversation], int | None]


class CallLog(Protocol):
    """Where calls are recorded; `harness.runs.RunDirectory` is one."""

    async def record_call(self, record: CallRecord) -> None:
        """Return once the record would survive a crash."""
        ...


def call_id(step_id: str, repeat: int, place: str) -> str:
    """Return the name of a call, unique within a run."""
    return f"{step_id}/{repeat}/{place}"


class Calls:
    """Answers what dialogues ask, making each call once."""

    def __init__(
        self,
        info: AdapterInfo,
        attempts: Attempts,
        log: CallLog,
        cache: ReplyCache | None,
        observer: Observer,
        budget: Budget,
        prompt_tokens: PromptTokens | None,
        prepare_picture: Callable[[Picture], None],
    ) -> None:
        self._info = info
        self._attempts = attempts
        self._log = log
        self._cache = cache
        self._observer = observer
        self._budget = budget
        self._prompt_tokens = prompt_tokens
        self._prepare_picture = prepare_picture
        self._model_keys: dict[Generation, str] = {}

    async def replies(self, dialogue: OpenDialogue, asks: Asks) -> Replies:
        """Answer everything that a dialogue yielded at once, in the order of asking.

        Raises as `reply`; when one call fails, the others are cancelled.
        """
        if not isinstance(asks, tuple):
            return await self.reply(dialogue, asks)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self.reply(dialogue, ask)) for ask in asks]
        except BaseExceptionGroup as errors:
            raise most_severe(errors) from None
        return tuple(task.result() for task in tasks)

    async def reply(self, dialogue: OpenDialogue, ask: Call) -> Reply:
        """Answer one ask; its record is on disk and in `dialogue.calls` when this returns.

        Raises `GaveUp`, `Stopped`, `Fatal`, `ProtocolError`, `RunError`.
        """
        if not isinstance(ask, Ask) or ask.role:
            raise ProtocolError(f"{dialogue}: '{ask.place}' asks nobody that this run knows")
        if ask.place in dialogue.calls:
            raise ProtocolError(f"{dialogue}: '{ask.place}' was asked twice")
        dialogue.calls[ask.place] = None
        # Counted for replayed and cached calls, too, so that a resumed run has the same numbers.
        tokens = self._count(ask.conversation)
        if tokens is not None:
            dialogue.prompt_tokens = max(tokens, dialogue.prompt_tokens or 0)
        digest = ask.conversation.digest()
        earlier = dialogue.digests.get(id(ask.conversation.earlier))
        dialogue.digests[id(ask.conversation)] = ask.conversation, digest
        recorded = dialogue.job.recorded.get(ask.place)
        if recorded is not None:
            return self._replay(dialogue, recorded, digest)
        job = dialogue.job
        generation = _for_this_call(dialogue.generation, ask)
        key = request_key(self._model_key(generation), digest, job.repeat)
        added = ask.conversation.added if earlier else ask.conversation.messages
        request = Request(
            ask.conversation, generation, job.step_id, ask.place, ask.continues, job.repeat
        )
        cached, answered = await self._answer(dialogue, request, key, tokens)
        record = CallRecord(
            id=call_id(job.step_id, job.repeat, ask.place),
            step_id=job.step_id,
            repeat=job.repeat,
            place=ask.place,
            request=key,
            conversation=digest,
            messages=tuple(MessageRecord.of(message) for message in added),
            reply=answered.reply,
            attempts=answered.attempts,
            from_cache=cached,
            cost=answered.cost,
            price=_price(self._budget.cost_of(answered.reply.usage)) if cached else UNSET,
            earlier=earlier[1] if earlier else None,
        )
        await self._log.record_call(record)
        if self._cache is not None and not cached:
            self._cache.put(key, answered.reply)
        dialogue.calls[ask.place] = record
        self._observer.called(record, replayed=False)
        return answered.reply

    async def _answer(
        self, dialogue: OpenDialogue, request: Request, key: str, tokens: int | None
    ) -> tuple[bool, Answered]:
        context = self._info.context_tokens
        if tokens is not None and context is not None and tokens > context:
            return False, Answered(Reply("", Finish.TOO_LONG), 0, 0.0)
        if self._cache is not None:
            reply = await self._cache.get(key)
            if reply is not None:
                return True, Answered(reply, 0, 0.0)
        for picture in request.conversation.pictures:
            self._prepare_picture(picture)
        upper = self._budget.upper_cost(request)
        return False, await self._attempts.answer(dialogue.seat, request, upper)

    def _replay(self, dialogue: OpenDialogue, recorded: CallRecord, digest: str) -> Reply:
        if recorded.conversation != digest:
            raise ReplayMismatch(
                f"{dialogue}: '{recorded.place}' asks something other than what is on "
                "record; the data or the protocol has changed since the run was started"
            )
        dialogue.calls[recorded.place] = recorded
        self._observer.called(recorded, replayed=True)
        return recorded.reply

    def _count(self, conversation: Conversation) -> int | None:
        return self._prompt_tokens(conversation) if self._prompt_tokens else None

    def _model_key(self, generation: Generation) -> str:
        if generation not in self._model_keys:
            self._model_keys[generation] = model_key(self._info, generation)
        return self._model_keys[generation]


def _price(cost: float | None) -> float | UnsetType:
    return UNSET if cost is None else cost


def _for_this_call(generation: Generation, ask: Ask) -> Generation:
    if ask.max_tokens is None:
        return generation
    return replace(generation, max_tokens=ask.max_tokens)
