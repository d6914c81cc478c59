"""One call of a dialogue: from the record, refused, from the cache, or asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from adapters.contract import AdapterInfo, Generation, Request
from adapters.conversation import Conversation, Finish, Picture, Reply
from harness.dialogue import Ask
from harness.engine._attempts import Answered, Attempts
from harness.engine._errors import ProtocolError, ReplayMismatch
from harness.engine._keys import call_id, model_key, request_key
from harness.engine._lanes import Seat
from harness.engine.cache import ReplyCache
from harness.engine.observer import Observer
from harness.runs import CallRecord, as_reply, message_record, reply_record

PromptTokens = Callable[[Conversation], int | None]


class CallLog(Protocol):
    """Where calls are put on record; `harness.runs.RunDirectory` is one."""

    async def record_call(self, record: CallRecord) -> None:
        """Returns when the record would survive a crash."""
        ...


@dataclass(slots=True, eq=False)
class Open:
    """A dialogue under way: who it is, its calls so far, and its conversations' digests.

    `prompt_tokens` is the estimate of its longest prompt so far, None before there was one.
    """

    step_id: str
    repeat: int
    seat: Seat
    generation: Generation
    recorded: Mapping[str, CallRecord]
    calls: dict[str, CallRecord | None] = field(default_factory=dict)
    digests: dict[int, tuple[Conversation, str]] = field(default_factory=dict)
    prompt_tokens: int | None = None

    def __str__(self) -> str:
        return f"step {self.step_id}" + (f", repeat {self.repeat}" if self.repeat else "")


class Calls:
    """Answers what dialogues ask, each call once and for all."""

    def __init__(
        self,
        info: AdapterInfo,
        attempts: Attempts,
        log: CallLog,
        cache: ReplyCache | None,
        observer: Observer,
        upper_cost: Callable[[Request], float],
        prompt_tokens: PromptTokens | None,
        ahead: Callable[[Picture], None],
    ) -> None:
        self._info = info
        self._attempts = attempts
        self._log = log
        self._cache = cache
        self._observer = observer
        self._upper_cost = upper_cost
        self._prompt_tokens = prompt_tokens
        self._ahead = ahead
        self._model_keys: dict[Generation, str] = {}

    async def reply(self, dialogue: Open, ask: Ask) -> Reply:
        """The reply to one ask; its record is on disk and in `dialogue.calls` by then.

        Raises `GaveUp`, `Stopped`, `Fatal`, `ProtocolError`, `RunError`.
        """
        if ask.place in dialogue.calls:
            raise ProtocolError(f"{dialogue}: '{ask.place}' was asked twice")
        dialogue.calls[ask.place] = None
        # Counted for calls on record and in the cache as well: a resumed run has the same numbers.
        tokens = self._count(ask.conversation)
        if tokens is not None:
            dialogue.prompt_tokens = max(tokens, dialogue.prompt_tokens or 0)
        digest = ask.conversation.digest()
        earlier = dialogue.digests.get(id(ask.conversation.earlier))
        dialogue.digests[id(ask.conversation)] = ask.conversation, digest
        recorded = dialogue.recorded.get(ask.place)
        if recorded is not None:
            return self._replay(dialogue, recorded, digest)
        generation = _for_this_call(dialogue.generation, ask)
        key = request_key(self._model_key(generation), digest, dialogue.repeat)
        added = ask.conversation.added if earlier else ask.conversation.messages
        request = Request(
            ask.conversation,
            generation,
            dialogue.step_id,
            ask.place,
            ask.continues,
            dialogue.repeat,
        )
        cached, answered = await self._answer(dialogue, request, key, tokens)
        record = CallRecord(
            id=call_id(dialogue.step_id, dialogue.repeat, ask.place),
            step_id=dialogue.step_id,
            repeat=dialogue.repeat,
            place=ask.place,
            request=key,
            conversation=digest,
            messages=tuple(message_record(message) for message in added),
            reply=reply_record(answered.reply),
            attempts=answered.attempts,
            from_cache=cached,
            cost=answered.cost,
            earlier=earlier[1] if earlier else None,
        )
        await self._log.record_call(record)
        if self._cache is not None and not cached:
            self._cache.put(key, answered.reply)
        dialogue.calls[ask.place] = record
        self._observer.called(record, replayed=False)
        return answered.reply

    async def _answer(
        self, dialogue: Open, request: Request, key: str, tokens: int | None
    ) -> tuple[bool, Answered]:
        context = self._info.context_tokens
        if tokens is not None and context is not None and tokens > context:
            return False, Answered(Reply("", Finish.TOO_LONG), 0, 0.0)
        if self._cache is not None:
            reply = await self._cache.get(key)
            if reply is not None:
                return True, Answered(reply, 0, 0.0)
        for picture in request.conversation.pictures:
            self._ahead(picture)
        upper = self._upper_cost(request)
        return False, await self._attempts.answer(dialogue.seat, request, upper)

    def _replay(self, dialogue: Open, recorded: CallRecord, digest: str) -> Reply:
        if recorded.conversation != digest:
            raise ReplayMismatch(
                f"{dialogue}: '{recorded.place}' asks something else than is on record; "
                "the data or the protocol changed since the run was started"
            )
        dialogue.calls[recorded.place] = recorded
        self._observer.called(recorded, replayed=True)
        return as_reply(recorded.reply)

    def _count(self, conversation: Conversation) -> int | None:
        return self._prompt_tokens(conversation) if self._prompt_tokens else None

    def _model_key(self, generation: Generation) -> str:
        if generation not in self._model_keys:
            self._model_keys[generation] = model_key(self._info, generation)
        return self._model_keys[generation]


def _for_this_call(generation: Generation, ask: Ask) -> Generation:
    if ask.max_tokens is None:
        return generation
    return replace(generation, max_tokens=ask.max_tokens)
