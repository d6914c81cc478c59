"""Lanes: the way to one role's model, with its own queue, retries, rate limit and prices.

The hash of everything that a reply depends on is the `request` of a recorded call, and finds a
reply in the cache. These count: provider, model, revision, endpoint, everything the adapter
declares in `settings`, every generation parameter (the seed among them), the repeat index, the
sample, the trial where an episode was started anew, and the conversation, whose digest covers
texts, native parts, and pictures by source digest and recipe. Where decoding is not known to be
greedy, the unit and the name of the call count, too: equal calls of a run are all made, and a later
run may reuse their replies. API keys, time limits, concurrency and marks for the provider's prompt
cache do not count.

Replies of other runs are kept under it where it settles the weights. Elsewhere the key that they
are kept under (`Answerer.kept_as`) says who answered, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from adapters.checks import checked
from adapters.contract import (
    Adapter,
    Fatal,
    Fault,
    Generation,
    ModelInfo,
    ModelLister,
    Participant,
    PictureSource,
    Request,
)
from adapters.conversation import Conversation, Finish, Picture, Reply, canonical_json, user
from harness.engine.dialogues import Observer
from harness.engine.limits import (
    FIRST_CALLS,
    UNPRICED,
    UNREADABLE_ATTEMPTS,
    Budget,
    EnginePolicy,
    Pricing,
    RateLimit,
    RetryPolicy,
    wait_before_retry,
)
from harness.engine.queues import A, CallQueue, Seat
from harness.engine.stopping import FailuresInARow, GaveUp, Halt, ProtocolError, Stopped
from harness.errors import ExtensionError, UserError, raised
from harness.printing import printable
from harness.runs.manifest import REPLY

if TYPE_CHECKING:
    from adapters.embedding import Embedder


FORM = 1
"""Version of the key, raised when a request gets another hash or a stored reply another meaning."""


def model_key(info: ModelInfo, generation: Generation | None = None) -> str:
    """Return the part of the key that all calls of a model share, with this generation if any."""
    return canonical_json(
        {
            "form": FORM,
            "provider": info.provider,
            "model": info.model,
            "revision": info.revision,
            "endpoint": info.endpoint,
            "settings": dict(info.settings),
            **({"generation": generation.plain()} if generation else {}),
        }
    )


def request_key(
    model: str, conversation: str, repeat: int, trial: int = 0, sample: int = 0, of: str = ""
) -> str:
    """Return the hash of a call, from its `model_key` and the conversation's digest.

    `of` is whose call it is, where decoding is not known to be greedy: equal calls differ by it.
    """
    attempt = f"\n{trial}" if trial else ""
    drawn = f"\nsample {sample} {of}" if sample or of else ""
    text = f"{model}\n{conversation}\n{repeat}{attempt}{drawn}"
    return hashlib.sha256(text.encode()).hexdigest()


class Answerer:
    """Known facts about the models behind a lane.

    reuses: whether replies of other runs may answer them.
    listed: what the server's list of models says of this one.
    name: the model that the last reply named; "" before the first.
    """

    def __init__(self, model: object, info: ModelInfo, *, reuses: bool) -> None:
        self.reuses = reuses or info.weights_known
        self.listed: Mapping[str, str] = {}
        self.name = ""
        self._info = info
        self._lists = model if isinstance(model, ModelLister) and not info.weights_known else None

    async def look(self) -> Mapping[str, str]:
        """Return what the server says of the model, in its list of models and in the last reply.

        The list is asked for once, and only where nothing else settles the weights.
        """
        lists, self._lists = self._lists, None
        if lists is not None:
            with contextlib.suppress(Fault):
                self.listed = await lists.listed()
        return {**self.listed, **({REPLY: self.name} if self.name else {})}

    def kept_as(self, key: str, name: str = "") -> str:
        """Return the key of a kept reply; "" while it is not known who answers.

        `name` is the model that a reply to be kept names; for one to be found, the last one heard.
        """
        if self._info.weights_known:
            return key
        name = name or self.name
        if not name:
            return ""
        facts = {"model": model_key(self._info), "name": name, "listed": dict(self.listed)}
        return f"{hashlib.sha256(canonical_json(facts).encode()).hexdigest()[:32]}-{key}"


PREFLIGHT = "preflight"
"""Unit and place of the calls before the first step."""
_FIRST_QUESTION = "Reply with the word: ready"

PromptTokens = Callable[[Conversation], int | None]
T = TypeVar("T")


class _Placed(Protocol):
    """A call: a `Request`, or an `EmbedRequest`."""

    @property
    def unit_id(self) -> str: ...

    @property
    def place(self) -> str: ...


P = TypeVar("P", bound=_Placed)


@dataclass(frozen=True, slots=True)
class Answered(Generic[A]):
    """A reply, how often the call was sent for it, and the cost of all attempts in US dollars."""

    reply: A
    attempts: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Lane:
    """Everything needed to ask the model of one role.

    model: an adapter, or an embedder.
    generation: parameters of its calls; an embedder takes none.
    pricing: its prices; None if calls are free or their price is unknown.
    prompt_tokens: estimates the tokens of a prompt, to keep one over the model's context from being
        sent.
    concurrency: most calls in flight; None takes the model's limit. The engine stays below it while
        the provider reports overload.
    """

    model: Adapter | Embedder
    generation: Generation = field(default_factory=Generation)
    pricing: Pricing | None = None
    prompt_tokens: PromptTokens | None = None
    concurrency: int | None = None

    @property
    def ceiling(self) -> int:
        """Most calls in flight."""
        return self.concurrency or self.model.info.concurrency

    def opened(self, role: str, session: EngineState) -> AskLane:
        """Open the lane of an adapter in a session. Raises `Fatal` if the cost limit needs prices
        that it lacks."""
        return AskLane(role, self, session)


@dataclass(frozen=True, slots=True)
class EngineState:
    """State that all lanes share.

    prepare_picture: called with the pictures of a call that is going to be sent.
    reuse: whether replies of other runs may answer calls whose key does not settle the weights.
    """

    policy: EnginePolicy
    pictures: PictureSource
    prepare_picture: Callable[[Picture], None]
    budget: Budget
    observer: Observer
    halt: Halt
    reuse: bool = False


class OpenLane(Generic[P, A]):
    """A lane in a session: sends calls until they are answered or given up.

    It stops the session after many given-up calls in a row. A tier without capacity is not counted.

    participant: the model, None for one that takes no part in the session.
    """

    def __init__(self, role: str, lane: Lane, session: EngineState) -> None:
        model, limit, policy = lane.model, session.policy.max_cost, session.policy
        info = model.info
        if limit is not None and lane.pricing is None and (info.billed or not role):
            raise Fatal(f"a cost limit needs prices, and none are known for {info.name}")
        self.role = role
        self.pricing = lane.pricing or UNPRICED
        self._model = model
        self.answerer = Answerer(model, info, reuses=session.reuse)
        self.participant = model if isinstance(model, Participant) else None
        if isinstance(model, Participant):
            session.halt.subscribe(lambda reason: model.interrupt(str(reason)))
        limit_s = (policy.call_timeout_s or math.inf) + info.wait_s
        self._timeout_s = None if math.isinf(limit_s) else limit_s
        self._tier = "" if role else policy.tier
        self.queue: CallQueue[P, A] = CallQueue(
            self._send,
            self.pricing,
            # A model on this machine cannot be overloaded: its first batch is a full one.
            RateLimit(
                lane.ceiling,
                policy.retry.patience_s,
                first=lane.ceiling if info.runs_here else FIRST_CALLS,
            ),
            session.budget,
            session.halt,
        )
        self._retry = policy.retry
        self._failures = FailuresInARow("calls", policy.failures_in_a_row, session.halt)
        self._observer = session.observer
        self._halt = session.halt
        # Only waits are random; no result depends on them.
        self._chance = random.Random()

    def notices(self) -> list[str]:
        """Return new notices about the model and its prices for the user."""
        return [*self._model.notices(), *self.pricing.notices()]

    def first(self, picture: Picture | None) -> P:
        """Return the preflight call, with `picture` unless it is None."""
        raise NotImplementedError

    async def _send(self, request: P) -> A:
        """Make a call once. Raises `Fault`, `Fatal`."""
        raise NotImplementedError

    async def answer(self, seat: Seat, request: P, retry: RetryPolicy | None = None) -> Answered[A]:
        """Send a call until it is answered.

        Raises `GaveUp`, `Fatal`, `Stopped`, and `Parked` if its reply comes later.
        """
        retry = retry or self._retry
        upper = self.pricing.upper_cost(request)
        attempts = 0
        first_failure: float | None = None
        filtered = False
        unreadable = 0
        cost: float | None = 0.0
        while True:
            attempts += 1
            try:
                reply = await self.queue.submit(seat, request, upper)
            except Fault as fault:
                now = asyncio.get_running_loop().time()
                first_failure = now if first_failure is None else first_failure
                unreadable += fault.kind == "malformed"
                if unreadable == UNREADABLE_ATTEMPTS:
                    retry = replace(retry, attempts=min(retry.attempts, attempts))
                await self._wait(request, fault, attempts, now - first_failure, retry)
                continue
            self._failures.count = 0
            price = self.pricing.cost(reply)
            cost = None if cost is None or price is None else cost + price
            # A provider's filter may act at random; what it says twice is taken as its answer.
            again = isinstance(reply, Reply) and reply.finish is Finish.CONTENT_FILTER
            if again and not filtered:
                filtered = True
                continue
            self.answerer.name = reply.model or self.answerer.name
            return Answered(reply, attempts, cost)

    async def _wait(
        self, request: P, fault: Fault, attempts: int, elapsed_s: float, retry: RetryPolicy
    ) -> None:
        """Wait for the next attempt. Raises `GaveUp` if there is none, `Stopped`."""
        full = fault.kind == "unavailable"
        if full:
            # It says nothing of the settings, which is what a first call's short patience is for.
            retry = self._retry
        wait_s = wait_before_retry(
            retry, attempts, elapsed_s, fault.retry_after_s, self._chance.random()
        )
        if wait_s is None:
            gave_up = GaveUp(fault.kind, attempts, printable(str(fault)))
            if not full:
                self._failures.add(gave_up)
            raise gave_up
        self._observer.retrying(request.unit_id, request.place, fault.kind, wait_s, fault.in_short)
        await self._halt.sleep(wait_s)

    async def _in_time(self, call: Awaitable[T]) -> T:
        limit = self._timeout_s
        try:
            async with asyncio.timeout(limit):
                return await call
        except TimeoutError as error:
            raise Fault(
                "timeout", f"no reply within {limit:g} s" if limit else str(error)
            ) from error


class AskLane(OpenLane[Request, Reply]):
    """The way to a model that continues conversations."""

    def __init__(self, role: str, lane: Lane, session: EngineState) -> None:
        assert isinstance(lane.model, Adapter)
        self.info = lane.model.info
        self.generation = lane.generation
        self._adapter = lane.model
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
        """Have the pictures of a call prepared that now waits for its turn."""
        for picture in conversation.pictures:
            self._prepare_picture(picture)

    def first(self, picture: Picture | None) -> Request:
        return first_request(picture, self.generation)

    async def _send(self, request: Request) -> Reply:
        if request.conversation.tools and not self.info.takes_tools:
            raise Fatal(
                f"{request.unit_id}, call '{request.place}': the adapter of {self.info.name} does "
                "not send tools; choose another model, or a protocol that asks in words"
            )
        if self._tier:
            request = replace(request, tier=self._tier)
        try:
            reply = await self._in_time(self._adapter.ask(request, self._pictures))
        except (Fault, Fatal, UserError, Stopped, ProtocolError, MemoryError):
            raise
        except Exception as error:
            raise ExtensionError(
                f"{request.unit_id}, call '{request.place}': the adapter of {self.info.name} "
                f"raised {raised(error)}"
            ) from error
        try:
            # The adapter may be of another package.
            reply = checked(reply)
        except ValueError as error:
            raise Fatal(
                f"the adapter of {self.info.name} returned a reply that a run cannot "
                f"record: {error}"
            ) from error
        self.pricing.served(reply)
        return reply


AnyLane = OpenLane[Any, Any]


def first_request(picture: Picture | None, generation: Generation) -> Request:
    """Return the preflight call, with `picture` unless it is None."""
    parts = [_FIRST_QUESTION] if picture is None else [picture, _FIRST_QUESTION]
    return Request(Conversation((user(*parts),)), generation, PREFLIGHT, PREFLIGHT)
