"""The engine: opens dialogues as there is room, answers what they ask, reports their outcomes."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from adapters.checks import checked
from adapters.contract import (
    Adapter,
    BatchAdapter,
    Fatal,
    Fault,
    Generation,
    PictureSource,
    Request,
)
from adapters.conversation import Conversation, Picture, Reply, user
from harness.engine.batches import BatchQueue, BatchRules
from harness.engine.cache import ReplyCache, VectorCache
from harness.engine.calls import CallLog, Calls, PromptTokens
from harness.engine.dialogues import Job, Jobs, OpenDialogue
from harness.engine.lanes import Lane
from harness.engine.limits import Budget, Pricing, RateLimit
from harness.engine.observer import Observer, Outcome
from harness.engine.queues import CallQueue, ConcurrentQueue, Seat
from harness.engine.retries import Attempts, RetryPolicy
from harness.engine.starvation import Starvation
from harness.engine.stopping import GaveUp, Halt, Stopped, most_severe
from parsers.records import Prediction, Status

_PREPARING = max(2, min(32, os.cpu_count() or 1))
"""Calls prepared at a time for a batch adapter: enough to keep every processor busy, few enough
that a call that a batch is waiting for soon finds one free."""
_FIRST_QUESTION = "Reply with the word: ready"
_FIRST_CALL = RetryPolicy(attempts=3, patience_s=60.0)


@dataclass(frozen=True, slots=True)
class EnginePolicy:
    """Limits of a session; none of them changes a reply.

    concurrency: most calls in flight; None takes the adapter's limit. The engine stays below it
        while the provider reports overload.
    open_dialogues: most dialogues in memory; None takes the adapter's limit, or else enough to keep
        calls coming.
    retry: for every call of a dialogue.
    first_call: for the preflight call, which keeps a user waiting who may have mistyped an address.
    call_timeout_s: limit for a single attempt; None for adapters that answer after hours.
    failures_in_a_row: stop the run after this many calls that failed for good without a reply in
        between.
    max_cost: US dollars, over all sessions of a run.
    settle_failures: settle steps without a reply as `no_reply` instead of leaving them unsettled.
    linger_s: how long an unfilled batch waits for more calls after the last one that came.
    """

    concurrency: int | None = None
    open_dialogues: int | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    first_call: RetryPolicy = _FIRST_CALL
    call_timeout_s: float | None = 600.0
    failures_in_a_row: int = 25
    max_cost: float | None = None
    settle_failures: bool = False
    linger_s: float = 0.25


class Engine:
    """One session with one model, and with those of other roles.

    log: records calls before their dialogues go on.
    prompt_tokens: estimates the tokens of a prompt, for outcomes, and to keep one over the model's
        context from being sent.
    spent: cost of earlier sessions in US dollars; it counts towards the cost limit.
    prepare_picture: called with each picture of a call that is going to be sent, while the call
        still waits for its turn; for batches, when the preparation of the call begins.
    roles: what is needed to ask the models of other roles, by role.
    vectors: the vectors of texts that were embedded before.
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
        prepare_picture: Callable[[Picture], None] | None = None,
        roles: Mapping[str, Lane] | None = None,
        vectors: VectorCache | None = None,
    ) -> None:
        policy = policy or EnginePolicy()
        if policy.max_cost is not None and pricing is None:
            raise Fatal(f"a cost limit needs prices, and none are known for {adapter.info.name}")
        self._adapter = adapter
        self._pictures = pictures
        self._generation = generation
        self._policy = policy
        self._observer = observer or Observer()
        self._halt = Halt()
        self._budget = Budget(policy.max_cost, spent, pricing)
        self._batch_adapter = _batch_adapter(adapter)
        self._prepare_picture = prepare_picture or _nothing
        ceiling = policy.concurrency or adapter.info.concurrency
        self._window = _window(adapter, policy, ceiling)
        self._queue = self._make_queue(ceiling)
        self._attempts = Attempts(
            self._queue,
            policy.retry,
            policy.failures_in_a_row,
            self._budget,
            self._observer,
            self._halt,
        )
        self._calls = Calls(
            adapter.info,
            self._attempts,
            log,
            cache,
            self._observer,
            self._budget,
            prompt_tokens,
            # For batches, pictures are prepared when the preparation of their call begins.
            self._prepare_picture if self._batch_adapter is None else _nothing,
        )
        self._opened = 0
        self._users: Counter[str] = Counter()

    def stop(self, reason: str = "stopped") -> None:
        """Send nothing more, wait for calls in flight, then let `run` raise `Stopped`."""
        self._halt.set(Stopped(reason))

    async def run(self, jobs: Jobs, settle: Callable[[Outcome], None]) -> None:
        """Hold the dialogues of `jobs`, which are fetched as there is room for them.

        `settle` is called with every outcome as its dialogue ends, but not for dialogues that the
        end of the session cut off. Raises

        * `Fatal` when the provider refuses for good; nothing more is sent,
        * `Stopped` after `stop`, at the cost limit, or after too many failures in a row,
        * `ProtocolError` when a protocol raised or yielded something it must not,
        * `RunError` when calls cannot be recorded.
        """
        try:
            async with asyncio.TaskGroup() as group:
                work = group.create_task(self._queue.work())
                await self._open_all(jobs, settle, group)
                work.cancel()
        except BaseExceptionGroup as errors:
            raise most_severe(errors) from None
        if self._halt.reason:
            raise self._halt.reason

    async def preflight(self, picture: Picture | None) -> Reply:
        """Ask the model for one word, to find out early what would end the run anyway.

        Shows `picture` unless it is None. The call is sent with the run's parameters, so that a
        refused one is found, too, and counts towards the cost limit; it belongs to no step and is
        not recorded. Raises `Fatal` with one line when the run cannot work, `Stopped` when the cost
        limit does not allow even this call.
        """
        request = first_request(picture, self._generation)
        seat = Seat(-1, request.step_id)
        try:
            async with asyncio.TaskGroup() as group:
                work = group.create_task(self._queue.work())
                upper = self._budget.upper_cost(request)
                retry = self._policy.first_call
                answered = await self._attempts.answer(seat, request, upper, retry)
                work.cancel()
        except BaseExceptionGroup as errors:
            error = most_severe(errors)
            if isinstance(error, GaveUp):
                raise Fatal(f"the model does not answer: {error}") from error
            raise error from None
        finally:
            self._queue.leave(seat)
        await self._release(request.step_id)
        self._pass_notices()
        return answered.reply

    @property
    def starvation(self) -> Starvation | None:
        """How long the model waited for batches; None for one that is not asked in batches."""
        return self._queue.starvation if isinstance(self._queue, BatchQueue) else None

    @property
    def spent(self) -> float:
        """US dollars spent, earlier sessions included; upper bounds where usage is unknown."""
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
            # One job is fetched ahead, so that the queue learns at once which dialogue is the last.
            while self._halt.reason is None and (job := await anext(source, None)) is not None:
                await window.acquire()
                if self._halt.reason is not None:
                    break
                task = group.create_task(self._drive(job, settle))
                drivers.add(task)
                task.add_done_callback(done)
        self._queue.last()
        while drivers:
            await asyncio.wait(drivers)

    async def _drive(self, job: Job, settle: Callable[[Outcome], None]) -> None:
        seat = Seat(self._opened, job.step_id)
        self._opened += 1
        dialogue = OpenDialogue(job, seat, job.generation or self._generation)
        self._users[job.step_id] += 1
        self._queue.enter(seat)
        self._observer.opened(job.step_id, job.repeat)
        prediction: Prediction | None = None
        error: str | None = None
        try:
            prediction = await self._converse(dialogue)
        except GaveUp as gave_up:
            error = str(gave_up)
            if self._policy.settle_failures:
                prediction = Prediction.of(Status.NO_REPLY)
        except Stopped:
            return
        finally:
            self._queue.leave(seat)
        await self._leave(job.step_id)
        outcome = dialogue.outcome(prediction, error)
        settle(outcome)
        self._observer.settled(outcome)
        self._pass_notices()

    async def _converse(self, dialogue: OpenDialogue) -> Prediction:
        try:
            turn = dialogue.advance(None)
            while not isinstance(turn, Prediction):
                turn = dialogue.advance(await self._calls.replies(dialogue, turn))
        finally:
            dialogue.close()
        return turn

    async def _leave(self, step_id: str) -> None:
        self._users[step_id] -= 1
        if not self._users[step_id]:
            del self._users[step_id]
            await self._release(step_id)

    async def _release(self, step_id: str) -> None:
        if self._batch_adapter:
            await self._batch_adapter.release(step_id)

    def _make_queue(self, ceiling: int) -> CallQueue:
        batch_size = self._adapter.info.batch_size
        if self._batch_adapter and batch_size:
            return BatchQueue(
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
                self._halt,
            )
        return ConcurrentQueue(self._send, RateLimit(ceiling), self._budget, self._halt)

    async def _send(self, request: Request) -> Reply:
        try:
            async with asyncio.timeout(self._policy.call_timeout_s):
                reply = await self._adapter.ask(request, self._pictures)
        except TimeoutError as error:
            limit = self._policy.call_timeout_s
            raise Fault(
                "timeout", f"no reply within {limit:g} s" if limit else str(error)
            ) from error
        return self._checked(reply)

    async def _send_many(self, requests: Sequence[Request]) -> list[Reply | Fault]:
        if self._batch_adapter is None:
            raise TypeError(f"{self._adapter.info.name} does not take batches")
        results = await self._batch_adapter.ask_many(requests, self._pictures)
        if len(results) != len(requests):
            name = self._adapter.info.name
            raise Fatal(f"{name} gave {len(results)} replies to {len(requests)} requests")
        return [one if isinstance(one, Fault) else self._checked(one) for one in results]

    def _checked(self, reply: Reply) -> Reply:
        """The reply, which nobody has looked at if the adapter is of another package."""
        try:
            return checked(reply)
        except ValueError as error:
            raise Fatal(
                f"the adapter of {self._adapter.info.name} returned a reply that a run cannot "
                f"record: {error}"
            ) from error

    async def _prepare(self, request: Request) -> int:
        if self._batch_adapter is None:
            raise TypeError(f"{self._adapter.info.name} does not take batches")
        # Pictures of earlier rounds were prepared then; an adapter that needs them again gets them.
        for message in request.conversation.added:
            for picture in message.pictures:
                self._prepare_picture(picture)
        return await self._batch_adapter.prepare(request, self._pictures)

    def _pass_notices(self) -> None:
        for text in self._adapter.notices():
            self._observer.notice(text)


def first_request(picture: Picture | None, generation: Generation) -> Request:
    """The preflight call, with `picture` unless it is None."""
    parts = [_FIRST_QUESTION] if picture is None else [picture, _FIRST_QUESTION]
    return Request(Conversation((user(*parts),)), generation, "preflight", "preflight")


def _batch_adapter(adapter: Adapter) -> BatchAdapter | None:
    if isinstance(adapter, BatchAdapter):
        return adapter
    if adapter.info.batch_size is not None:
        raise TypeError(f"{adapter.info.name} declares a batch size but does not take batches")
    return None


def _window(adapter: Adapter, policy: EnginePolicy, ceiling: int) -> int:
    """How many dialogues may be open: enough that calls never run out, but bounded."""
    info = adapter.info
    limits = [n for n in (policy.open_dialogues, info.open_dialogues) if n is not None]
    if info.batch_size is None:
        return max(1, min(limits, default=2 * ceiling))
    # The batches in flight, one whose replies are being read, and one being prepared.
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
