"""One session of a run: from units to questions, dialogues, outcomes and records."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
)
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters import Picture
from harness.benchmarks.contract import calls_about
from harness.benchmarks.scoring import scored, scorer_of
from harness.benchmarks.shows import Ready
from harness.dialogue import SCREENSHOT, Ask, Call, Dialogue, Observation, changed
from harness.engine import Engine, Environment, Job, Outcome, says_nothing
from harness.pictures import Form, PictureStore
from harness.planning.plan import Plan
from harness.policies import About
from harness.printing import first_and_others
from harness.runs import RunDirectory, digest_of
from harness.runs.records import Unit
from harness.session.deployment import Deployment
from harness.session.observers import SessionObserver
from parsers.records import SCORING_ERROR

AHEAD = 8
"""Questions prepared ahead of need: enough to hide one slow page."""

UnitKey = tuple[str, int]


class Session:
    """Feed the engine with dialogues and record their outcomes."""

    def __init__(
        self,
        plan: Plan,
        directory: RunDirectory,
        pictures: PictureStore,
        observer: SessionObserver,
        deployment: Deployment,
    ) -> None:
        model = plan.model
        self._plan = plan
        self._settings = plan.settings
        self._protocol = plan.protocol
        self._score = scorer_of(plan.source, plan.source.declared)
        self._model = model
        self._directory = directory
        self._pictures = pictures
        self._observer = observer
        self._deployment = deployment
        # Calls of an earlier session that stopped since nothing was answered are made anew.
        self._renews = deployment.weighs and directory.manifest.stopped_without_answers
        self.shared = {
            id: call
            for id, call in directory.shared.items()
            if not (self._renews and call.embed is None and says_nothing(call.reply))
        }
        self._ended: set[UnitKey] = set()
        # A model on this machine takes pixels; whatever goes over a wire takes bytes.
        self._form: Form = "pixels" if model.info.runs_here else "encoded"
        self._open: dict[UnitKey, Ready[Any]] = {}
        self._unscored = False

    def prepare_picture(self, picture: Picture) -> None:
        """Start preparing a picture that is going to be sent."""
        if self._model.sees:
            self._pictures.prepare(picture, self._form)

    async def jobs(self, left_out: Collection[UnitKey] = ()) -> AsyncGenerator[Job]:
        """Yield the dialogues in order; settle units that are not asked.

        May be called again in a session: dialogues that have ended are left out, and so are the
        units and repeats of `left_out`.
        """
        done = self._directory.settled.union(self._ended, left_out)
        repeats = range(self._settings.times)
        finished = {unit for unit, _ in done if all((unit, repeat) in done for repeat in repeats)}
        prepared = ahead(self._plan.ready_of(self._plan.dataset.without(finished)))
        async with contextlib.aclosing(prepared) as questions:
            async for question in questions:
                for repeat in repeats:
                    key = question.unit_id, repeat
                    if key in done:
                        continue
                    if question.unit.invalid is not None or question.known is not None:
                        # It is not asked about: invalid, or its outcome is known.
                        unit = replace(question.unit, repeat=repeat, settled=True)
                        self._record(scored(replace(unit, prediction=question.known), self._score))
                        self._observer.passed_over(unit.unit_id, repeat)
                        continue
                    asked = self._open[key] = self._repeated(question, repeat)
                    if self._model.sees:
                        for digest, data in asked.sources.items():
                            self._pictures.add(digest, data, question.unit_id)
                    yield self._job(key, asked)

    async def say_what_is_kept(self, engine: Engine) -> None:
        """Say how many calls of a new run would be answered with `--cache` and are not without."""
        plan, least, most = self._plan, 0, 0

        async def jobs() -> AsyncGenerator[Job]:
            nonlocal least, most
            async with contextlib.aclosing(ahead(plan.ready_of(plan.left))) as questions:
                async for question in questions:
                    if question.unit.invalid is not None or question.known is not None:
                        continue
                    fewest, highest = calls_about(plan.source, question.view.count, plan.shows)
                    for repeat in range(plan.settings.times):
                        least += fewest
                        most += highest
                        asked = self._repeated(question, repeat)
                        yield self._job((question.unit_id, repeat), asked)

        found = await engine.left_aside(jobs())
        if not found:
            return
        places = list(dict.fromkeys(self._place(run) for run, _ in found.most_common()))
        total = f"{most:,}" if least == most else f"up to {most:,}"
        calls = f"{found.total():,} of {total} calls"
        self._observer.notice(
            f"{calls} are answered in {first_and_others(places)}: --cache takes them"
        )

    def _place(self, run: str) -> str:
        """Name a run, or the model that it asked if the run is gone, which its replies outlive."""
        own = self._plan.directory
        folders = [folder / run for folder in (Path(), own.parent)] if run else []
        if any(one.is_dir() and one.resolve() != own.resolve() for one in folders):
            return run
        info = self._model.info
        address = f" at {info.endpoint}" if "/" in (info.endpoint or "") else ""
        return f"replies kept of {info.name}{address}"

    def _repeated(self, question: Ready[Any], repeat: int) -> Ready[Any]:
        view = question.view
        view = view.shuffled(repeat) if self._settings.shuffles > 1 else view.again()
        return replace(question, view=view)

    def park(self, job: Job) -> None:
        """Close a unit whose dialogue waits for a reply that comes later."""
        self._close_unit((job.unit_id, job.repeat))

    def settle(self, outcome: Outcome) -> None:
        """Score an outcome, and record the units that are settled by now."""
        key = outcome.unit_id, outcome.repeat
        question = self._open[key]
        record = replace(
            question.unit,
            repeat=outcome.repeat,
            asked=True,
            invalid=outcome.invalid or question.unit.invalid,
            settled=outcome.settled,
            error=outcome.error,
            pictures=question.unit.pictures or question.view.looked_up,
            prompt_tokens=outcome.prompt_tokens,
            calls=outcome.calls,
            prediction=outcome.prediction,
            trial=outcome.trial,
            usage=outcome.usage,
            cost=outcome.cost,
            roles=outcome.roles,
            tiers=outcome.tiers,
        )
        record = scored(record, self._score)
        if record.invalid == SCORING_ERROR and not self._unscored:
            self._unscored = True
            self._observer.notice(
                f"warning: {record.kind} {record.unit_id} is not scored: {record.error}; further "
                "ones are only counted (--debug prints all tracebacks)"
            )
        self._ended.add(key)
        self._close_unit(key)
        for settled in self._deployment.take(record, outcome):
            self._record(settled)

    def end(self) -> None:
        """Record the units that only the end of the session settles."""
        for record in self._deployment.rest():
            self._record(record)

    def _record(self, record: Unit[Any]) -> None:
        self._directory.append_step(record)
        self._observer.recorded(record)

    def _job(self, key: UnitKey, question: Ready[Any]) -> Job:
        return Job(
            unit_id=key[0],
            repeat=key[1],
            dialogue=lambda: self._dialogue(question),
            recorded=self._directory.recorded.get(key, {}),
            environment=self._environment(key, question),
            kind=question.unit.kind,
            renews=self._renews,
        )

    def _dialogue(self, question: Ready[Any]) -> Dialogue:
        """The dialogue about a unit. Only a policy's calls carry the right answer, and what they
        are about."""
        dialogue = self._plan.source.dialogue(question.view, self._plan.shows)
        if self._model.policy is None:
            return dialogue
        secret = question.secret if self._model.policy.needs_gold else None
        seen = question.view.latest(self._protocol.history_shown.actions)

        def about(call: Call) -> Call:
            if not isinstance(call, Ask):
                return call
            step = "" if call.about is None else call.place.partition("/")[0]
            return replace(call, about=About(call.about or seen, secret, step))

        return changed(dialogue, about)

    def _environment(
        self, key: UnitKey, question: Ready[Any]
    ) -> Callable[[], Awaitable[Environment]] | None:
        opens = question.opens
        if opens is None or not self._model.sees:
            return opens

        async def opened() -> Environment:
            most = self._protocol.history_shown.pictures[1]
            return Watched(await opens(), self._pictures, key[0], most)

        return opened

    def _close_unit(self, key: UnitKey) -> None:
        question = self._open.pop(key)
        if not self._model.sees:
            return
        for digest in question.sources:
            self._pictures.discard(digest)


class Watched:
    """An environment whose last screenshots can be shown while it is open, `most` of them."""

    def __init__(
        self, environment: Environment, pictures: PictureStore, unit_id: str, most: int
    ) -> None:
        self._environment = environment
        self._pictures = pictures
        self._unit_id = unit_id
        self._most = most
        self._held: list[str] = []

    async def act(self, action: Any) -> Observation:
        seen = await self._environment.act(action)
        if SCREENSHOT in seen.blobs:
            digest = digest_of(seen.blobs[SCREENSHOT])
            self._pictures.add(digest, seen.blobs[SCREENSHOT], self._unit_id)
            self._held.append(digest)
            while len(self._held) > self._most:
                self._pictures.discard(self._held.pop(0))
        return seen

    async def close(self) -> None:
        for digest in self._held:
            self._pictures.discard(digest)
        await self._environment.close()


async def ahead(questions: Iterator[Ready[Any]]) -> AsyncGenerator[Ready[Any], None]:
    """Yield questions in order, a few of them prepared in a thread ahead of need.

    Raises `UserError` when the turn of a unit comes that cannot be asked about.
    """
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, "questions")
    waiting: deque[asyncio.Future[Ready[Any] | None]] = deque()
    try:
        for _ in range(AHEAD):
            waiting.append(loop.run_in_executor(thread, next, questions, None))
        while (question := await waiting.popleft()) is not None:
            waiting.append(loop.run_in_executor(thread, next, questions, None))
            yield question
    finally:
        for future in waiting:
            future.cancel()
        # A unit may be waited for that only other work of this loop brings about.
        await asyncio.to_thread(thread.shutdown, cancel_futures=True)
