"""Drives dialogues: opens them as there is room, answers what they ask, hands on what they find."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field

from adapters.contract import (
    Adapter,
    BatchAdapter,
    Fatal,
    Fault,
    Generation,
    PictureSource,
    Request,
)
from adapters.conversation import Picture, Reply, Usage
from harness.dialogue import Ask, Asks, Dialogue, Replies
from harness.engine._attempts import Attempts
from harness.engine._batches import Batches, BatchRules
from harness.engine._budget import Budget
from harness.engine._calls import CallLog, Calls, Open, PromptTokens
from harness.engine._errors import GaveUp, Stopped, chief
from harness.engine._gate import Gate
from harness.engine._halt import Halt
from harness.engine._lanes import Lane, Seat
from harness.engine._limiter import Limiter
from harness.engine._starvation import Starvation
from harness.engine._talk import Talk
from harness.engine.cache import ReplyCache
from harness.engine.observer import Observer, Outcome
from harness.engine.policy import EnginePolicy, Pricing
from harness.runs import CallRecord
from parsers.records import Prediction, Status

_PREPARING = max(2, min(32, os.cpu_count() or 1))
"""Calls prepared for a batch adapter at a time: enough to keep every processor busy, and few enough
that a call which a batch waits for finds one free soon."""


@dataclass(frozen=True, slots=True)
class Job:
    """A dialogue to be held. `recorded` are its calls of earlier sessions, by place.

    `generation` stands in for the engine's, where a repeat is to have its own seed, say.
    """

    step_id: str
    dialogue: Callable[[], Dialogue]
    repeat: int = 0
    recorded: Mapping[str, CallRecord] = field(default_factory=dict)
    generation: Generation | None = None


Jobs = Iterable[Job] | AsyncIterable[Job]


class Engine:
    """One session with one model.

    `log` puts calls on record before their dialogues go on. `prompt_tokens` estimates a prompt, for
    outcomes, and so that one over the model's context is not sent. `spent` is what earlier sessions
    cost in US dollars; it counts towards the cost limit. `ahead` is told of every picture of a call
    that is going to be sent, while the call still waits for its turn; for batches, when its
    preparation begins.
    """

    def __init__(
        self,
        adapter: Adapter,
        pictures: PictureSource,
        generation: Generation,
        log: CallLog,
        *,
        policy: EnginePolicy | None = None,
        cache: ReplyCache | None = None,
        pricing: Pricing | None = None,
        prompt_tokens: PromptTokens | None = None,
        observer: Observer | None = None,
        spent: float = 0.0,
        ahead: Callable[[Picture], None] | None = None,
    ) -> None:
        policy = policy or EnginePolicy()
        if policy.max_cost is not None and pricing is None:
            raise Fatal(f"a cost limit needs prices, and there is none for {adapter.info.name}")
        self._adapter = adapter
        self._pictures = pictures
        self._generation = generation
        self._policy = policy
        self._pricing = pricing
        self._observer = observer or Observer()
        self._halt = Halt()
        self._budget = Budget(policy.max_cost, spent)
        self._batch_adapter = _batch_adapter(adapter)
        self._ahead = ahead or _nothing
        ceiling = policy.concurrency or adapter.info.concurrency
        self._window = _window(adapter, policy, ceiling)
        self._lane = self._make_lane(ceiling)
        self._attempts = Attempts(self._lane, policy, self._cost_of, self._observer, self._halt)
        self._calls = Calls(
            adapter.info,
            self._attempts,
            log,
            cache,
            self._observer,
            self._upper_cost,
            prompt_tokens,
            # For batches it is said when the preparation of the call begins.
            self._ahead if self._batch_adapter is None else _nothing,
        )
        self._opened = 0
        self._users: Counter[str] = Counter()

    def stop(self, reason: str = "stopped") -> None:
        """Send nothing more, wait for the calls under way, then let `run` raise `Stopped`."""
        self._halt.set(Stopped(reason))

    async def run(self, jobs: Jobs, settle: Callable[[Outcome], None]) -> None:
        """Hold the dialogues of `jobs`, which are fetched as there is room for them.

        `settle` gets every outcome at once, in the order in which dialogues end. It is not called
        for dialogues that the end of the session cut off. Raises

        * `Fatal` when the provider refuses for good; nothing more is sent,
        * `Stopped` after `stop`, at the cost limit or after too many failures in a row,
        * `ProtocolError` when a dialogue raised or asked wrongly,
        * `RunError` when calls cannot be put on record.
        """
        try:
            async with asyncio.TaskGroup() as group:
                work = group.create_task(self._lane.work())
                await self._open_all(jobs, settle, group)
                work.cancel()
        except BaseExceptionGroup as errors:
            raise chief(errors) from None
        if self._halt.reason:
            raise self._halt.reason

    async def ask_first(self, request: Request) -> Reply:
        """Send a call that belongs to no step and is not put on record. See `preflight`."""
        seat = Seat(-1, request.step_id)
        try:
            async with asyncio.TaskGroup() as group:
                work = group.create_task(self._lane.work())
                upper = self._upper_cost(request)
                retry = self._policy.first_call
                answered = await self._attempts.answer(seat, request, upper, retry)
                work.cancel()
        except BaseExceptionGroup as errors:
            raise chief(errors) from None
        finally:
            self._lane.leave(seat)
        await self._release(request.step_id)
        self._pass_notices()
        return answered.reply

    @property
    def generation(self) -> Generation:
        return self._generation

    @property
    def starvation(self) -> Starvation | None:
        """How long the model waited for the engine; None for one that is not asked in batches."""
        return self._lane.starvation if isinstance(self._lane, Batches) else None

    @property
    def spent(self) -> float:
        """US dollars spent so far, earlier sessions included; estimates where nothing was told."""
        return self._budget.spent

    async def _open_all(
        self, jobs: Jobs, settle: Callable[[Outcome], None], group: asyncio.TaskGroup
    ) -> None:
        window = asyncio.Semaphore(self._window)
        drivers: set[asyncio.Task[None]] = set()

        def done(task: asyncio.Task[None]) -> None:
            drivers.discard(task)
            window.release()

        async with contextlib.aclosing(_pull(jobs)) as source:
            # One job is fetched ahead, so that the lane learns at once which dialogue is the last.
            while self._halt.reason is None and (job := await anext(source, None)) is not None:
                await window.acquire()
                if self._halt.reason is not None:
                    break
                task = group.create_task(self._drive(job, settle))
                drivers.add(task)
                task.add_done_callback(done)
        self._lane.last()
        while drivers:
            await asyncio.wait(drivers)

    async def _drive(self, job: Job, settle: Callable[[Outcome], None]) -> None:
        seat = Seat(self._opened, job.step_id)
        self._opened += 1
        generation = job.generation or self._generation
        dialogue = Open(job.step_id, job.repeat, seat, generation, job.recorded)
        self._users[job.step_id] += 1
        self._lane.enter(seat)
        self._observer.opened(job.step_id, job.repeat)
        prediction: Prediction | None = None
        error: str | None = None
        try:
            prediction = await self._converse(dialogue, job.dialogue)
        except GaveUp as gave_up:
            error = str(gave_up)
            if self._policy.settle_failures:
                prediction = Prediction(Status.NO_REPLY)
        except Stopped:
            return
        finally:
            self._lane.leave(seat)
        await self._leave(job.step_id)
        outcome = _outcome(dialogue, prediction, error)
        settle(outcome)
        self._observer.settled(outcome)
        self._pass_notices()

    async def _converse(self, dialogue: Open, begin: Callable[[], Dialogue]) -> Prediction:
        talk = Talk(str(dialogue), begin)
        try:
            turn = talk.advance(None)
            while not isinstance(turn, Prediction):
                turn = talk.advance(await self._replies(dialogue, turn))
        finally:
            talk.close()
        return turn

    async def _replies(self, dialogue: Open, asks: Asks) -> Replies:
        if isinstance(asks, Ask):
            return await self._calls.reply(dialogue, asks)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._calls.reply(dialogue, ask)) for ask in asks]
        except BaseExceptionGroup as errors:
            raise chief(errors) from None
        return tuple(task.result() for task in tasks)

    async def _leave(self, step_id: str) -> None:
        self._users[step_id] -= 1
        if not self._users[step_id]:
            del self._users[step_id]
            await self._release(step_id)

    async def _release(self, step_id: str) -> None:
        if self._batch_adapter:
            await self._batch_adapter.release(step_id)

    def _make_lane(self, ceiling: int) -> Lane:
        batch_size = self._adapter.info.batch_size
        if self._batch_adapter and batch_size:
            return Batches(
                self._send_many,
                self._prepare,
                BatchRules(
                    batch_size,
                    self._adapter.info.batches_at_once,
                    self._window,
                    _PREPARING,
                    self._policy.linger_s,
                ),
                self._budget,
                self._cost_of,
                self._halt,
            )
        return Gate(self._send, Limiter(ceiling), self._budget, self._cost_of, self._halt)

    async def _send(self, request: Request) -> Reply:
        try:
            async with asyncio.timeout(self._policy.call_timeout_s):
                return await self._adapter.ask(request, self._pictures)
        except TimeoutError as error:
            limit = self._policy.call_timeout_s
            raise Fault(
                "timeout", f"no reply within {limit:g} s" if limit else str(error)
            ) from error

    async def _send_many(self, requests: Sequence[Request]) -> list[Reply | Fault]:
        if self._batch_adapter is None:
            raise TypeError(f"{self._adapter.info.name} takes no batches")
        return await self._batch_adapter.ask_many(requests, self._pictures)

    async def _prepare(self, request: Request) -> int:
        if self._batch_adapter is None:
            raise TypeError(f"{self._adapter.info.name} takes no batches")
        # Those of earlier rounds were looked at; an adapter that needs them again asks for them.
        for message in request.conversation.added:
            for picture in message.pictures:
                self._ahead(picture)
        return await self._batch_adapter.prepare(request, self._pictures)

    def _cost_of(self, usage: Usage | None) -> float | None:
        return self._pricing.cost_of(usage) if self._pricing and usage else None

    def _upper_cost(self, request: Request) -> float:
        return self._pricing.upper_cost(request) if self._pricing else 0.0

    def _pass_notices(self) -> None:
        for text in self._adapter.notices():
            self._observer.notice(text)


def _batch_adapter(adapter: Adapter) -> BatchAdapter | None:
    if isinstance(adapter, BatchAdapter):
        return adapter
    if adapter.info.batch_size is not None:
        raise TypeError(f"{adapter.info.name} declares a batch size but takes no batches")
    return None


def _window(adapter: Adapter, policy: EnginePolicy, ceiling: int) -> int:
    """How many dialogues are in memory: enough that calls never run out, but bounded."""
    info = adapter.info
    limits = [n for n in (policy.open_dialogues, info.open_dialogues) if n is not None]
    if info.batch_size is None:
        return max(1, min(limits, default=2 * ceiling))
    # The batches under way, one whose replies are read, and one being prepared to choose from.
    enough = (info.batches_at_once + 2) * info.batch_size
    return max(1, min(limits if policy.open_dialogues else [*limits, enough]))


def _nothing(picture: Picture) -> None:
    return None


async def _pull(jobs: Jobs) -> AsyncGenerator[Job]:
    if isinstance(jobs, AsyncIterable):
        async for job in jobs:
            yield job
    else:
        for job in jobs:
            yield job


def _outcome(dialogue: Open, prediction: Prediction | None, error: str | None) -> Outcome:
    records = [record for record in dialogue.calls.values() if record]
    usages = [record.reply.usage for record in records if record.reply.usage]
    costs = [record.cost for record in records if record.cost is not None]
    return Outcome(
        step_id=dialogue.step_id,
        repeat=dialogue.repeat,
        prediction=prediction,
        error=error,
        calls=tuple(record.id for record in records),
        usage=sum(usages, Usage()) if usages else None,
        cost=sum(costs) if costs else None,
        prompt_tokens=dialogue.prompt_tokens,
    )
