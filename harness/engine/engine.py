"""Drives dialogues: opens them as there is room, answers what they ask, hands on what they find."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
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
from adapters.conversation import Conversation, Picture, Reply, user
from harness.engine.batches import BatchQueue, BatchRules
from harness.engine.cache import ReplyCache
from harness.engine.calls import CallLog, Calls, PromptTokens
from harness.engine.dialogues import Job, Jobs, OpenDialogue
from harness.engine.limits import Budget, Pricing, RateLimit
from harness.engine.observer import Observer, Outcome
from harness.engine.queues import CallQueue, ConcurrentQueue, Seat
from harness.engine.retries import Attempts, RetryPolicy
from harness.engine.starvation import Starvation
from harness.engine.stopping import GaveUp, Halt, Stopped, most_severe
from parsers.records import Prediction, Status

_PREPARING = max(2, min(32, os.cpu_count() or 1))
"""Calls prepared for a batch adapter at a time: enough to keep every processor busy, and few enough
that a call which a batch waits for finds one free soon."""
_FIRST_QUESTION = "Reply with the word: ready"
_FIRST_CALL = RetryPolicy(attempts=3, patience_s=60.0)


@dataclass(frozen=True, slots=True)
class EnginePolicy:
    """Limits of a session; none of them changes a reply.

    concurrency: calls under way, at most; None for what the adapter declares. The engine stays
        below it while the provider says that it is too fast.
    open_dialogues: dialogues in memory, at most; None for what the adapter declares, else enough to
        keep calls coming.
    first_call: for the preflight call. A user waits for it who may have mistyped an address.
    call_timeout_s: ends a single try; None for never, for adapters that answer after hours.
    failures_in_a_row: the run stops after so many calls that failed for good with no reply in
        between.
    max_cost: in US dollars, over all sessions of a run.
    settle_failures: closes steps without a reply as `no_reply` instead of leaving them unsettled.
    linger_s: how long an unfilled batch waits for more calls after the last that came.
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
    """One session with one model.

    log: puts calls on record before their dialogues go on.
    prompt_tokens: estimates a prompt, for outcomes, and so that one over the model's context is not
        sent.
    spent: what earlier sessions cost, in US dollars; it counts towards the cost limit.
    ahead: called with every picture of a call that is going to be sent, while the call still waits
        for its turn; for batches, when its preparation begins.
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
        self._observer = observer or Observer()
        self._halt = Halt()
        self._budget = Budget(policy.max_cost, spent, pricing)
        self._batch_adapter = _batch_adapter(adapter)
        self._ahead = ahead or _nothing
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
                work = group.create_task(self._queue.work())
                await self._open_all(jobs, settle, group)
                work.cancel()
        except BaseExceptionGroup as errors:
            raise most_severe(errors) from None
        if self._halt.reason:
            raise self._halt.reason

    async def preflight(self, picture: Picture | None) -> Reply:
        """Ask the model for a word, to find out what would end the run anyway.

        Shows a picture unless `picture` is None. The call is sent with the parameters of the run,
        so that a refused one is found as well, and counts towards the cost limit; it belongs to no
        step and is not put on record. Raises `Fatal` with one line when the run cannot work,
        `Stopped` when the cost limit does not even allow for this call.
        """
        parts = [_FIRST_QUESTION] if picture is None else [picture, _FIRST_QUESTION]
        conversation = Conversation((user(*parts),))
        request = Request(conversation, self._generation, "preflight", "preflight")
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
        """How long the model waited for the engine; None for one that is not asked in batches."""
        return self._queue.starvation if isinstance(self._queue, BatchQueue) else None

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
                prediction = Prediction(Status.NO_REPLY)
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
