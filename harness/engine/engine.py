"""The engine: opens dialogues as there is room, answers what they ask, reports their outcomes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping
from typing import TypeVar

from adapters.contract import Adapter, Fatal, Generation, PictureSource, Request
from adapters.conversation import Conversation, Picture, Reply, user
from harness.engine.acts import ActFailed
from harness.engine.cache import ReplyCache, VectorCache
from harness.engine.calls import CallLog, Calls
from harness.engine.deferred import Deferred
from harness.engine.dialogues import Job, Jobs, OpenDialogue
from harness.engine.lanes import AnyLane, AskLane, Lane, OpenLane, PromptTokens, Session, open_lane
from harness.engine.limits import Budget, EmbedRequest, Pricing
from harness.engine.observer import Observer, Outcome
from harness.engine.policy import EnginePolicy
from harness.engine.queues import A, Seat
from harness.engine.retries import P
from harness.engine.starvation import Starvation
from harness.engine.stopping import GaveUp, Halt, Parked, Stopped, most_severe
from harness.runs import CallRecord
from parsers.records import ENVIRONMENT_ERROR, Prediction, Status

T = TypeVar("T")
_PREFLIGHT = "preflight"
_FIRST_QUESTION, _FIRST_TEXT = "Reply with the word: ready", "ready"


class Engine:
    """One session with one model, and with those of other roles.

    log: records calls before their dialogues go on.
    prompt_tokens: estimates the tokens of a prompt, for outcomes, and to keep one over the model's
        context from being sent.
    spent: cost of earlier sessions in US dollars; it counts towards the cost limit.
    prepare_picture: called with each picture of a call that is going to be sent, while the call
        still waits for its turn; for batches, when the preparation of the call begins.
    roles: what is needed to ask the models of other roles, by role; None for one that the model
        under test answers, too.
    vectors: the vectors of texts that were embedded before.
    shared: calls of earlier sessions that belong to a parent of several units, by id.
    deferred: the calls that are made in batches of the provider; its budget is that of the session.
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
        roles: Mapping[str, Lane | None] | None = None,
        vectors: VectorCache | None = None,
        shared: Mapping[str, CallRecord] | None = None,
        deferred: Deferred | None = None,
    ) -> None:
        policy = policy or EnginePolicy()
        self._policy = policy
        self._generation = generation
        self._observer = observer or Observer()
        self._halt = Halt()
        self._budget = deferred.budget if deferred else Budget(policy.max_cost, spent)
        main = Lane(adapter, generation, pricing, prompt_tokens, policy.concurrency, deferred)
        self._window = _window(adapter, policy, main.ceiling)
        session = Session(
            policy,
            pictures,
            prepare_picture or _nothing,
            self._budget,
            self._observer,
            self._halt,
            self._window,
        )
        self._main = AskLane("", adapter, main, session)
        self._lanes: dict[str, AnyLane] = {"": self._main}
        for role, lane in (roles or {}).items():
            self._lanes[role] = open_lane(role, lane, session) if lane else self._main
        self._each_lane = list(dict.fromkeys(self._lanes.values()))
        self._calls = Calls(
            self._lanes,
            log,
            self._observer,
            self._halt,
            cache=cache,
            vectors=vectors,
            shared=shared or {},
            act_timeout_s=policy.call_timeout_s,
            failures_in_a_row=policy.failures_in_a_row,
        )
        self._opened = 0
        self._users: Counter[str] = Counter()

    def stop(self, reason: str = "stopped") -> None:
        """Send nothing more, wait for calls in flight, then let `run` raise `Stopped`."""
        self._halt.set(Stopped(reason))

    async def run(
        self,
        jobs: Jobs,
        settle: Callable[[Outcome], None],
        park: Callable[[Job], None] = lambda job: None,
    ) -> None:
        """Hold the dialogues of `jobs`, which are fetched as there is room for them.

        `settle` is called with every outcome as its dialogue ends, but not for dialogues that the
        end of the session cut off, nor for those that wait for a batch of the provider: `park` is
        called with their jobs. Raises

        * `Fatal` when the provider refuses for good; nothing more is sent,
        * `Stopped` after `stop`, at the cost limit, or after too many failures in a row,
        * `ProtocolError` when a protocol raised or yielded something it must not,
        * `RunError` when calls cannot be recorded.
        """
        try:
            async with asyncio.TaskGroup() as group:
                work = [group.create_task(lane.queue.work()) for lane in self._each_lane]
                await self._open_all(jobs, settle, park, group)
                for task in work:
                    task.cancel()
        except BaseExceptionGroup as errors:
            raise most_severe(errors) from None
        if self._halt.reason:
            raise self._halt.reason

    async def sleep(self, seconds: float) -> None:
        """Sleep, but raise `Stopped` as soon as the session is to end."""
        await self._halt.sleep(seconds)

    async def preflight(self, picture: Picture | None) -> Reply:
        """Ask the model for one word, to find out early what would end the run anyway.

        Shows `picture` unless it is None. The call is sent with the run's parameters, so that a
        refused one is found, too, and counts towards the cost limit; it belongs to no step and is
        not recorded. Raises `Fatal` with one line when the run cannot work, `Stopped` when the cost
        limit does not allow even this call.
        """
        reply = await self._first(self._main, first_request(picture, self._generation))
        self._pass_notices()
        return reply

    async def preflight_roles(self, roles: Iterable[str]) -> None:
        """Ask the models of other roles for one word or vector each, as `preflight` does."""
        for role in roles:
            lane = self._lanes[role]
            if isinstance(lane, AskLane):
                await self._first(lane, first_request(None, lane.generation))
            else:
                request = EmbedRequest((_FIRST_TEXT,), _PREFLIGHT, _PREFLIGHT)
                await self._first(lane, request)
        self._pass_notices()

    async def _first(self, lane: OpenLane[P, A], request: P) -> A:
        seat = Seat(-1, _PREFLIGHT)
        try:
            async with asyncio.TaskGroup() as group:
                work = group.create_task(lane.queue.work())
                answered = await lane.answer(seat, request, self._policy.first_call)
                work.cancel()
        except BaseExceptionGroup as errors:
            error = most_severe(errors)
            if isinstance(error, GaveUp) and error.kind == "unavailable":
                # Nothing is wrong with the settings; there is no room on the tier at the moment.
                raise Stopped(str(error)) from error
            if isinstance(error, GaveUp):
                who = "the model" if lane is self._main else f"the model of role '{lane.role}'"
                raise Fatal(f"{who} does not answer: {error}") from error
            raise error from None
        finally:
            lane.queue.leave(seat)
        await lane.release(_PREFLIGHT)
        return answered.reply

    @property
    def starvation(self) -> Starvation | None:
        """How long the model waited for batches; None for one that is not asked in batches."""
        return self._main.batches.starvation if self._main.batches else None

    @property
    def spent(self) -> float:
        """US dollars spent, earlier sessions included; upper bounds where usage is unknown."""
        return self._budget.spent

    async def _open_all(
        self,
        jobs: Jobs,
        settle: Callable[[Outcome], None],
        park: Callable[[Job], None],
        group: asyncio.TaskGroup,
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
                task = group.create_task(self._drive(job, settle, park))
                drivers.add(task)
                task.add_done_callback(done)
        for lane in self._each_lane:
            lane.queue.last()
        while drivers:
            await asyncio.wait(drivers)

    async def _drive(
        self, job: Job, settle: Callable[[Outcome], None], park: Callable[[Job], None]
    ) -> None:
        self._users[job.unit_id] += 1
        self._observer.opened(job.unit_id, job.repeat)
        for left in reversed(range(self._policy.environment_trials)):
            dialogue = OpenDialogue(job, self._opened, job.generation or self._generation)
            self._opened += 1
            self._calls.open(dialogue)
            try:
                outcome = dialogue.outcome(await self._converse(dialogue), None)
            except ActFailed as failed:
                outcome = dialogue.outcome(None, str(failed), ENVIRONMENT_ERROR)
                job = dialogue.again()
                if left:
                    continue
            except GaveUp as gave_up:
                settled = Prediction(Status.NO_REPLY) if self._policy.settle_failures else None
                outcome = dialogue.outcome(settled, str(gave_up))
            except Parked:
                await self._leave(job.unit_id)
                park(job)
                self._observer.parked(job.unit_id, job.repeat)
                return
            except Stopped:
                return
            finally:
                self._calls.close(dialogue)
            break
        await self._leave(job.unit_id)
        settle(outcome)
        self._observer.settled(outcome)
        self._pass_notices()

    async def _converse(self, dialogue: OpenDialogue) -> Prediction:
        try:
            turn = dialogue.advance(None)
            while not isinstance(turn, Prediction):
                turn = dialogue.advance(await self._calls.results(dialogue, turn))
        finally:
            dialogue.close()
            await dialogue.leave_environment()
        return turn

    async def _leave(self, unit_id: str) -> None:
        self._users[unit_id] -= 1
        if not self._users[unit_id]:
            del self._users[unit_id]
            for lane in self._each_lane:
                await lane.release(unit_id)

    def _pass_notices(self) -> None:
        for lane in self._each_lane:
            for text in lane.notices():
                self._observer.notice(text)


def first_request(picture: Picture | None, generation: Generation) -> Request:
    """The preflight call, with `picture` unless it is None."""
    parts = [_FIRST_QUESTION] if picture is None else [picture, _FIRST_QUESTION]
    return Request(Conversation((user(*parts),)), generation, _PREFLIGHT, _PREFLIGHT)


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
