"""The engine: opens dialogues as there is room, answers what they ask, reports their outcomes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.contract import Adapter, AskingSession, EchoRefused, Fatal, PictureSource
from adapters.conversation import Finish, Picture, Reply
from harness.engine.calls import Calls
from harness.engine.dialogues import CallLog, Job, Jobs, Observer, OpenDialogue, Outcome
from harness.engine.lanes import (
    AnyLane,
    EngineState,
    Lane,
    OpenLane,
    P,
)
from harness.engine.limits import Budget, EnginePolicy
from harness.engine.queues import A, Seat
from harness.engine.stopping import (
    ActFailed,
    GaveUp,
    Halt,
    Parked,
    Stopped,
    most_severe,
)
from harness.runs import CallRecord
from parsers.records import ENVIRONMENT_ERROR, Prediction, Status

if TYPE_CHECKING:
    from harness.engine.cache import ReplyCache


class Engine:
    """One session with one model, and with those of other roles.

    model: the model under test.
    log: records calls before their dialogues go on.
    spent: cost of earlier sessions in US dollars; it counts towards the cost limit.
    cache: replies of other runs, and where those of this one are kept.
    reuse: whether it answers calls, too, whose key does not settle which weights are asked.
    prepare_picture: called with each picture of a call that is going to be sent, while the call
        still waits for its turn; not for a model that gathers its calls itself.
    roles: what is needed to ask the models of other roles, by role; None for one that the model
        under test answers, too.
    shared: calls of earlier sessions that belong to a parent of several units, by id.
    """

    def __init__(
        self,
        model: Lane,
        pictures: PictureSource,
        log: CallLog,
        *,
        policy: EnginePolicy | None = None,
        cache: ReplyCache | None = None,
        reuse: bool = False,
        observer: Observer | None = None,
        spent: float = 0.0,
        prepare_picture: Callable[[Picture], None] | None = None,
        roles: Mapping[str, Lane | None] | None = None,
        shared: Mapping[str, CallRecord] | None = None,
    ) -> None:
        policy = policy or EnginePolicy()
        self._policy = policy
        self._observer = observer or Observer()
        self._halt = Halt()
        self._budget = Budget(policy.max_cost, spent)
        prepare = prepare_picture or (lambda picture: None)
        session = EngineState(
            policy, pictures, prepare, self._budget, self._observer, self._halt, reuse
        )
        self._log = log
        self._main = model.opened("", session)
        # Enough open dialogues that calls never run out, but bounded.
        limits = (policy.open_dialogues, self._main.info.open_dialogues)
        self._window = max(1, min((n for n in limits if n is not None), default=2 * model.ceiling))
        self._lanes: dict[str, AnyLane] = {"": self._main}
        for role, lane in (roles or {}).items():
            self._lanes[role] = _open_lane(role, lane, session) if lane else self._main
        self._each_lane = list(dict.fromkeys(self._lanes.values()))
        self._calls = Calls(
            self._lanes,
            log,
            self._observer,
            self._halt,
            policy,
            cache=cache,
            shared=shared or {},
        )
        self._opened = 0

    def stop(self, reason: str | Stopped = "stopped") -> None:
        """Send nothing more, wait for calls in flight, then let `run` raise `Stopped`."""
        self._halt.set(Stopped(reason) if isinstance(reason, str) else reason)

    async def run(
        self,
        jobs: Jobs,
        settle: Callable[[Outcome], None],
        park: Callable[[Job], None] = lambda job: None,
    ) -> None:
        """Hold the dialogues of `jobs`, which are fetched as there is room for them.

        `settle` is called with every outcome as its dialogue ends, but not for dialogues that the
        end of the session cut off, nor for those that wait for a reply that comes later: `park` is
        called with their jobs. Raises

        * `Fatal` when the provider refuses for good; nothing more is sent,
        * `Stopped` after `stop`, at the cost limit, or after too many failures in a row,
        * `ProtocolError` when a protocol raised or yielded something it must not,
        * `RunError` when calls cannot be recorded.
        """
        self._settle, self._park = settle, park
        try:
            async with asyncio.TaskGroup() as group:
                await self._open_all(jobs, group)
        except BaseExceptionGroup as errors:
            raise most_severe(errors) from None
        if self._halt.reason:
            raise self._halt.reason

    async def sleep(self, seconds: float) -> None:
        """Sleep, but raise `Stopped` as soon as the session is to end."""
        await self._halt.sleep(seconds)

    async def open(self, folder: Path, say: Callable[[str], None]) -> None:
        """Let every model get ready for its first call; see `adapters.contract.AskingSession`.

        Returns early after `stop`. Raises `Fatal`, and what a model's adapter raises.
        """
        for lane in self._each_lane:
            if lane.participant is not None:
                await lane.participant.open(AskingSession(folder, say, self.stop))

    async def introduce(self) -> None:
        """Have servers list the models that they serve, and keep what they say."""
        for lane in self._each_lane:
            self._log.note_answerer(lane.role, await lane.answerer.look())

    async def preflight(self, picture: Picture | None) -> Reply:
        """Ask the model for one word, to find out early what would end the run anyway.

        Shows `picture` unless it is None. The call is sent with the run's parameters: a refused
        one is found, too. It counts towards the cost limit; it belongs to no step and is
        not recorded. Raises `Fatal` with one line when the run cannot work, `Stopped` when the cost
        limit does not allow even this call.
        """
        reply = await self._first(self._main, picture)
        self._pass_notices()
        return reply

    async def preflight_roles(self, roles: Iterable[str]) -> None:
        """Ask the models of other roles for one word or vector each, as `preflight` does."""
        for role in roles:
            await self._first(self._lanes[role], None)
        self._pass_notices()

    async def _first(self, lane: OpenLane[P, A], picture: Picture | None) -> A:
        seat = Seat(-1)
        try:
            answered = await lane.answer(seat, lane.first(picture), self._policy.first_call)
        except GaveUp as error:
            if error.kind == "unavailable":
                # The settings are right, but the tier is full at the moment.
                raise Stopped(str(error)) from error
            who = "the model" if lane is self._main else f"the model of role '{lane.role}'"
            raise Fatal(f"{who} does not answer: {error}") from error
        finally:
            lane.queue.leave(seat)
        reply = answered.reply
        self._log.note_answerer(lane.role, await lane.answerer.look())
        if isinstance(reply, Reply) and reply.finish is Finish.PROVIDER_REFUSED:
            raise Fatal(reply.refusal)
        return reply

    @property
    def spent(self) -> float:
        """US dollars spent, earlier sessions included; upper bounds where usage is unknown."""
        return self._budget.spent

    async def _open_all(self, jobs: Jobs, group: asyncio.TaskGroup) -> None:
        window = asyncio.Semaphore(self._window)
        drivers: set[asyncio.Task[None]] = set()

        def done(task: asyncio.Task[None]) -> None:
            drivers.discard(task)
            window.release()

        async with contextlib.aclosing(_pull(jobs)) as source:
            # One job is fetched ahead, to be at hand when there is room.
            while self._halt.reason is None and (job := await anext(source, None)) is not None:
                await window.acquire()
                if self._halt.reason is not None:
                    break
                task = group.create_task(self._drive(job))
                drivers.add(task)
                task.add_done_callback(done)
        while drivers:
            await asyncio.wait(drivers)

    async def _drive(self, job: Job) -> None:
        self._observer.opened(job.unit_id, job.repeat)
        left = self._policy.environment_trials
        while True:
            dialogue = OpenDialogue(job, self._opened)
            self._opened += 1
            self._calls.open(dialogue)
            try:
                outcome = dialogue.outcome(await self._converse(dialogue), None)
                if job.renews and outcome.undelivered and not dialogue.asked:
                    job = dialogue.renewed()
                    continue
            except ActFailed as failed:
                outcome = dialogue.outcome(None, str(failed), ENVIRONMENT_ERROR)
                job = dialogue.again()
                left -= 1
                if left:
                    continue
            except EchoRefused as refused:
                if not dialogue.heard_before:
                    raise
                self._observer.notice(f"{dialogue} begins anew: {refused}")
                job = dialogue.renewed()
                continue
            except GaveUp as gave_up:
                settled = Prediction(Status.NO_REPLY) if self._policy.score_failures else None
                outcome = dialogue.outcome(settled, str(gave_up))
            except Parked:
                self._park(job)
                self._observer.parked(job.unit_id, job.repeat)
                return
            except Stopped:
                return
            finally:
                self._calls.close(dialogue)
            break
        self._settle(outcome)
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

    def _pass_notices(self) -> None:
        for lane in self._each_lane:
            for text in lane.notices():
                self._observer.notice(text)


def _open_lane(role: str, lane: Lane, session: EngineState) -> AnyLane:
    """Open the lane of a role. Raises `Fatal` if the cost limit needs prices that it lacks."""
    if isinstance(lane.model, Adapter):
        return lane.opened(role, session)
    from harness.engine.acts_and_embeds import EmbedLane

    return EmbedLane(role, lane, session)


async def _pull(jobs: Jobs) -> AsyncGenerator[Job]:
    if isinstance(jobs, AsyncGenerator):
        async with contextlib.aclosing(jobs) as opened:
            async for job in opened:
                yield job
    else:
        for job in jobs:
            yield job
