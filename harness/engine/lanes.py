"""Lanes: the way to the model of one role, with a queue, a rate limit and prices of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from adapters.checks import checked, checked_vectors
from adapters.contract import (
    Adapter,
    BatchAdapter,
    Fatal,
    Fault,
    Generation,
    PictureSource,
    Request,
)
from adapters.conversation import Conversation, Picture, Reply
from adapters.embedding import Embedded, Embedder
from harness.engine.batches import BatchQueue, BatchRules
from harness.engine.cache import model_key
from harness.engine.deferred import Deferred
from harness.engine.limits import (
    UNPRICED,
    Budget,
    EmbedRequest,
    Pricing,
    RateLimit,
    TierChoice,
)
from harness.engine.observer import Observer
from harness.engine.policy import EnginePolicy
from harness.engine.queues import A, CallQueue, ConcurrentQueue
from harness.engine.retries import Attempts, P
from harness.engine.stopping import Halt

PromptTokens = Callable[[Conversation], int | None]
T = TypeVar("T")

_PREPARING = max(2, min(32, os.cpu_count() or 1))
"""Calls prepared at a time for a batch adapter: enough to keep every processor busy, few enough
that a call that a batch is waiting for soon finds one free."""


@dataclass(frozen=True, slots=True)
class Lane:
    """What is needed to ask the model of one role.

    model: an adapter, or an embedder.
    generation: parameters of its calls; an embedder takes none.
    pricing: its prices; None if calls are free or their price is unknown.
    prompt_tokens: estimates the tokens of a prompt, to keep one over the model's context from being
        sent.
    concurrency: most calls in flight; None takes the model's limit.
    deferred: the calls that are made in batches of the provider, if any are.
    """

    model: Adapter | Embedder
    generation: Generation = field(default_factory=Generation)
    pricing: Pricing | None = None
    prompt_tokens: PromptTokens | None = None
    concurrency: int | None = None
    deferred: Deferred | None = None

    @property
    def ceiling(self) -> int:
        """Most calls in flight."""
        return self.concurrency or self.model.info.concurrency


@dataclass(frozen=True, slots=True)
class Session:
    """What all lanes share.

    window: most open dialogues.
    prepare_picture: called with the pictures of a call that is going to be sent.
    """

    policy: EnginePolicy
    pictures: PictureSource
    prepare_picture: Callable[[Picture], None]
    budget: Budget
    observer: Observer
    halt: Halt
    window: int


class OpenLane(Generic[P, A]):
    """A lane in a session. Nothing but its queue knows how its model likes to be asked.

    answer: sends a call until it is answered, as `Attempts.answer`.
    """

    def __init__(
        self, role: str, lane: Lane, session: Session, queue: CallQueue[P, A] | None = None
    ) -> None:
        info, limit, policy = lane.model.info, session.policy.max_cost, session.policy
        if limit is not None and lane.pricing is None and (info.billed or not role):
            raise Fatal(f"a cost limit needs prices, and none are known for {info.name}")
        self.role = role
        self.pricing = lane.pricing or UNPRICED
        self._model = lane.model
        self._timeout_s = policy.call_timeout_s
        self._choice = TierChoice(() if role else policy.tiers)
        self.queue = queue or ConcurrentQueue(
            self._send, self.pricing, RateLimit(lane.ceiling), session.budget, session.halt
        )
        attempts = Attempts(
            self.queue,
            policy.retry,
            policy.failures_in_a_row,
            self.pricing,
            session.observer,
            session.halt,
            self._choice,
        )
        self.answer = attempts.answer

    def notices(self) -> list[str]:
        """What the user must know of the model and its prices since the last call."""
        return [*self._model.notices(), *self.pricing.notices()]

    async def release(self, unit_id: str) -> None:
        """Drop what is kept for a step."""

    async def _send(self, request: P) -> A:
        """Make a call once. Raises `Fault`, `Fatal`."""
        raise NotImplementedError

    async def _in_time(self, call: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await call
        except TimeoutError as error:
            limit = self._timeout_s
            raise Fault(
                "timeout", f"no reply within {limit:g} s" if limit else str(error)
            ) from error


class AskLane(OpenLane[Request, Reply]):
    """The way to a model that continues conversations."""

    def __init__(self, role: str, adapter: Adapter, lane: Lane, session: Session) -> None:
        self.info = adapter.info
        self.generation = lane.generation
        self.deferred = lane.deferred
        self._adapter = adapter
        self._pictures = session.pictures
        self._prompt_tokens = lane.prompt_tokens
        self._prepare_picture = session.prepare_picture
        self._batch_adapter = _batch_adapter(adapter)
        self._keys: dict[Generation, str] = {}
        size = self.info.batch_size
        self.batches: BatchQueue | None = None
        if self._batch_adapter and size:
            linger_s = session.policy.linger_s
            at_once, window = self.info.batches_at_once, session.window
            self.batches = BatchQueue(
                self._send_many,
                self._prepare,
                lane.pricing or UNPRICED,
                BatchRules(size, at_once, window, _PREPARING, linger_s),
                session.budget,
                session.halt,
            )
        super().__init__(role, lane, session, self.batches)

    def key(self, generation: Generation) -> str:
        """The part of a request's key that its calls share."""
        if generation not in self._keys:
            self._keys[generation] = model_key(self.info, generation)
        return self._keys[generation]

    def count(self, conversation: Conversation) -> int | None:
        """Estimated tokens of a prompt, None if nothing estimates."""
        return self._prompt_tokens(conversation) if self._prompt_tokens else None

    def prepare_pictures(self, conversation: Conversation) -> None:
        """Have the pictures of a call prepared that now waits for its turn.

        For batches, this is done when the preparation of their call begins.
        """
        if self._batch_adapter is None:
            for picture in conversation.pictures:
                self._prepare_picture(picture)

    async def release(self, unit_id: str) -> None:
        if self._batch_adapter:
            await self._batch_adapter.release(unit_id)

    async def _send(self, request: Request) -> Reply:
        now = asyncio.get_running_loop().time()
        if tier := self._choice.tier(now):
            request = replace(request, tier=tier)
        try:
            reply = await self._in_time(self._adapter.ask(request, self._pictures))
        except Fault as fault:
            if fault.kind == "unavailable":
                self._choice.refused(asyncio.get_running_loop().time())
            raise
        self._choice.answered(tier)
        reply = self._checked(reply)
        self.pricing.served(reply)
        return reply

    async def _send_many(self, requests: Sequence[Request]) -> list[Reply | Fault]:
        if self._batch_adapter is None:
            raise TypeError(f"{self.info.name} does not take batches")
        results = await self._batch_adapter.ask_many(requests, self._pictures)
        if len(results) != len(requests):
            name = self.info.name
            raise Fatal(f"{name} gave {len(results)} replies to {len(requests)} requests")
        return [one if isinstance(one, Fault) else self._checked(one) for one in results]

    def _checked(self, reply: Reply) -> Reply:
        """The reply, which nobody has looked at if the adapter is of another package."""
        try:
            return checked(reply)
        except ValueError as error:
            raise Fatal(
                f"the adapter of {self.info.name} returned a reply that a run cannot "
                f"record: {error}"
            ) from error

    async def _prepare(self, request: Request) -> int:
        if self._batch_adapter is None:
            raise TypeError(f"{self.info.name} does not take batches")
        # Pictures of earlier rounds were prepared then; an adapter that needs them again gets them.
        for message in request.conversation.added:
            for picture in message.pictures:
                self._prepare_picture(picture)
        return await self._batch_adapter.prepare(request, self._pictures)


class EmbedLane(OpenLane[EmbedRequest, Embedded]):
    """The way to an embedder."""

    def __init__(self, role: str, embedder: Embedder, lane: Lane, session: Session) -> None:
        self.info = embedder.info
        self.key = model_key(self.info)
        self._embedder = embedder
        super().__init__(role, lane, session)

    async def _send(self, request: EmbedRequest) -> Embedded:
        embedded = await self._in_time(self._embedder.embed(request.texts))
        try:
            return checked_vectors(embedded, len(request.texts), self.info.dimensions)
        except ValueError as error:
            raise Fatal(
                f"the embedder {self.info.name} returned vectors that a run cannot record: {error}"
            ) from error


AnyLane = AskLane | EmbedLane


def open_lane(role: str, lane: Lane, session: Session) -> AnyLane:
    """Open the lane of a role. Raises `Fatal` if the cost limit needs prices that it lacks."""
    if isinstance(lane.model, Embedder):
        return EmbedLane(role, lane.model, lane, session)
    return AskLane(role, lane.model, lane, session)


def _batch_adapter(adapter: Adapter) -> BatchAdapter | None:
    if isinstance(adapter, BatchAdapter):
        return adapter
    if adapter.info.batch_size is not None:
        raise TypeError(f"{adapter.info.name} declares a batch size but does not take batches")
    return None
