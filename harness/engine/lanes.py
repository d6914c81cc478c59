"""Lanes: the way to one role's model, with its own queue, rate limit and prices."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from adapters.checks import checked, checked_vectors
from adapters.contract import (
    Adapter,
    Fatal,
    Fault,
    Generation,
    Participant,
    PictureSource,
    Request,
)
from adapters.conversation import Conversation, Picture, Reply
from adapters.embedding import Embedded, Embedder
from harness.engine.cache import model_key
from harness.engine.caller import Caller
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
from harness.engine.queues import A, CallQueue
from harness.engine.retries import Attempts, P
from harness.engine.stopping import Halt

PromptTokens = Callable[[Conversation], int | None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lane:
    """Everything needed to ask the model of one role.

    model: an adapter, or an embedder.
    generation: parameters of its calls; an embedder takes none.
    pricing: its prices; None if calls are free or their price is unknown.
    prompt_tokens: estimates the tokens of a prompt, to keep one over the model's context from being
        sent.
    concurrency: most calls in flight; None takes the model's limit.
    caller: hands calls over to be answered later; None if none are.
    """

    model: Adapter | Embedder
    generation: Generation = field(default_factory=Generation)
    pricing: Pricing | None = None
    prompt_tokens: PromptTokens | None = None
    concurrency: int | None = None
    caller: Caller | None = None

    @property
    def ceiling(self) -> float:
        """Most calls in flight; infinite for a model that gathers them itself."""
        limit = self.model.info.concurrency
        return math.inf if limit is None else self.concurrency or limit


@dataclass(frozen=True, slots=True)
class Session:
    """State that all lanes share.

    prepare_picture: called with the pictures of a call that is going to be sent.
    """

    policy: EnginePolicy
    pictures: PictureSource
    prepare_picture: Callable[[Picture], None]
    budget: Budget
    observer: Observer
    halt: Halt


class OpenLane(Generic[P, A]):
    """A lane in a session.

    answer: sends a call until it is answered, as `Attempts.answer`.
    participant: the model, or one that does nothing for a model that takes no part in the session.
    """

    def __init__(self, role: str, lane: Lane, session: Session) -> None:
        model, limit, policy = lane.model, session.policy.max_cost, session.policy
        info = model.info
        if limit is not None and lane.pricing is None and (info.billed or not role):
            raise Fatal(f"a cost limit needs prices, and none are known for {info.name}")
        self.role = role
        self.pricing = lane.pricing or UNPRICED
        self._model = model
        self.participant = model if isinstance(model, Participant) else Participant()
        session.halt.subscribe(lambda reason: self.participant.interrupt(str(reason)))
        limit_s = (policy.call_timeout_s or math.inf) + info.wait_s
        self._timeout_s = None if math.isinf(limit_s) else limit_s
        self._choice = TierChoice(() if role else policy.tiers)
        self.queue: CallQueue[P, A] = CallQueue(
            self._send,
            self.pricing,
            RateLimit(lane.ceiling),
            session.budget,
            session.halt,
            self.participant,
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
        """Return new notices about the model and its prices for the user."""
        return [*self._model.notices(), *self.pricing.notices()]

    async def release(self, unit_id: str) -> None:
        """Drop what is kept for a unit."""
        await self.participant.release(unit_id)

    async def _send(self, request: P) -> A:
        """Make a call once. Raises `Fault`, `Fatal`."""
        raise NotImplementedError

    async def _in_time(self, call: Awaitable[T]) -> T:
        limit = self._timeout_s
        try:
            if limit is None:
                return await call
            async with asyncio.timeout(limit):
                return await call
        except TimeoutError as error:
            raise Fault(
                "timeout", f"no reply within {limit:g} s" if limit else str(error)
            ) from error


class AskLane(OpenLane[Request, Reply]):
    """The way to a model that continues conversations."""

    def __init__(self, role: str, adapter: Adapter, lane: Lane, session: Session) -> None:
        self.info = adapter.info
        self.generation = lane.generation
        self.caller = lane.caller
        self._adapter = adapter
        self._pictures = session.pictures
        self._prompt_tokens = lane.prompt_tokens
        self._prepare_picture = session.prepare_picture
        self._keys: dict[Generation, str] = {}
        super().__init__(role, lane, session)

    def key(self, generation: Generation) -> str:
        """Return the part of a request's key that its calls share."""
        if generation not in self._keys:
            self._keys[generation] = model_key(self.info, generation)
        return self._keys[generation]

    def count(self, conversation: Conversation) -> int | None:
        """Estimated tokens of a prompt, None if nothing estimates."""
        return self._prompt_tokens(conversation) if self._prompt_tokens else None

    def prepare_pictures(self, conversation: Conversation) -> None:
        """Have the pictures of a call prepared that now waits for its turn.

        A model that gathers its calls fetches them itself, the most urgent ones first.
        """
        if self.info.concurrency is not None:
            for picture in conversation.pictures:
                self._prepare_picture(picture)

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

    def _checked(self, reply: Reply) -> Reply:
        """Return the reply after checking it: the adapter may be of another package."""
        try:
            return checked(reply)
        except ValueError as error:
            raise Fatal(
                f"the adapter of {self.info.name} returned a reply that a run cannot "
                f"record: {error}"
            ) from error


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
