"""One session of a run: from rows to questions, dialogues, outcomes and records."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from adapters import BatchAdapter, Picture
from harness.engine import Job, Observer, Outcome
from harness.evaluation.history import latest
from harness.evaluation.plan import Plan
from harness.evaluation.questions import Question
from harness.evaluation.scene import PageScene
from harness.evaluation.summary import scoring_rules
from harness.pictures import Form, PictureStore
from harness.records import Step
from harness.runs import RunDirectory, StepRecord
from parsers import score
from parsers.records import Prediction, Status

AHEAD = 8
"""Steps prepared ahead of need: enough to hide one slow page."""

StepKey = tuple[str, int]


class Session:
    """Feeds the engine with dialogues and records what comes of them.

    on_scored: called with every step's record once it is written.
    """

    def __init__(
        self,
        plan: Plan,
        directory: RunDirectory,
        pictures: PictureStore,
        on_scored: Callable[[StepRecord], None],
        observer: Observer,
    ) -> None:
        settings, model = plan.settings, plan.model
        self._settings = settings
        self._dataset = plan.dataset
        self._protocol = plan.protocol
        self._model = model
        self._preparer = plan.preparer()
        self._directory = directory
        self._pictures = pictures
        self._on_scored = on_scored
        self._observer = observer
        # A model on this machine takes pixels; whatever goes over a wire takes bytes.
        batches = isinstance(model.adapter, BatchAdapter) and model.info.batch_size is not None
        self._form: Form = "pixels" if batches else "encoded"
        self._rules = scoring_rules(settings)
        last = plan.protocol.settings().get("history")
        self._last = last if isinstance(last, int) else None
        self._open: dict[StepKey, Question] = {}
        self._steps: dict[str, int] = {}

    def prepare_picture(self, picture: Picture) -> None:
        """Start preparing a picture that is going to be sent."""
        if self._model.policy is None:
            self._pictures.prepare(picture, self._form)

    async def jobs(self) -> AsyncIterator[Job]:
        """Yield the dialogues to be held, in file order; settle rows that are not asked about."""
        repeats = range(self._settings.times)
        done = self._directory.settled
        finished = {step for step, _ in done if all((step, repeat) in done for repeat in repeats)}
        left = self._dataset.without(finished)
        async with contextlib.aclosing(_ahead(self._preparer.questions(left))) as questions:
            async for question in questions:
                for repeat in repeats:
                    key = question.step.step_id, repeat
                    if key in done:
                        continue
                    if question.record.invalid is not None:
                        self._pass_over(question, repeat)
                    elif question.missed and self._settings.missed != "ask":
                        self._pass_over(question, repeat, Prediction.of(Status.NOT_OFFERED))
                    else:
                        self._open_step(key, question)
                        yield self._job(key, question)

    def _pass_over(
        self, question: Question, repeat: int, prediction: Prediction | None = None
    ) -> None:
        """Record a row without asking: an invalid one, or one scored with `prediction`."""
        record = replace(
            question.record,
            repeat=repeat,
            settled=True,
            prediction=prediction,
            scores=score(prediction, question.gold, self._rules) if prediction else None,
        )
        self._directory.append_step(record)
        self._on_scored(record)
        self._observer.passed_over(record.unit_id, repeat)

    def settle(self, outcome: Outcome) -> None:
        """Score an outcome and record the step."""
        key = outcome.step_id, outcome.repeat
        question = self._open[key]
        prediction = outcome.prediction
        record = replace(
            question.record,
            repeat=outcome.repeat,
            asked=True,
            settled=outcome.settled,
            error=outcome.error,
            prompt_tokens=outcome.prompt_tokens,
            calls=outcome.calls,
            prediction=prediction,
            scores=score(prediction, question.gold, self._rules) if prediction else None,
            usage=outcome.usage,
            cost=outcome.cost,
        )
        scene = question.step.scene
        if isinstance(scene, PageScene) and not record.pictures:
            record = replace(record, pictures=tuple(scene.shown))
        self._directory.append_step(record)
        self._close_step(key)
        self._on_scored(record)

    def _job(self, key: StepKey, question: Question) -> Job:
        step, choices = self._step(key, question), question.choices
        return Job(
            step_id=key[0],
            repeat=key[1],
            dialogue=lambda: self._protocol.dialogue(step, choices),
            recorded=self._directory.recorded.get(key, {}),
        )

    def _step(self, key: StepKey, question: Question) -> Step:
        """The step as this repeat sees it, with a shuffle of its own where there are several."""
        shuffled = self._settings.shuffles > 1
        return replace(question.step, shuffle=key[1]) if shuffled else question.step

    def _open_step(self, key: StepKey, question: Question) -> None:
        self._open[key] = question
        step = question.step
        self._steps[step.step_id] = self._steps.get(step.step_id, 0) + 1
        if self._model.policy is not None:
            seen = replace(self._step(key, question), history=latest(step.history, self._last))
            asked = seen, question.choices
            self._model.policy.announce(key[0], asked, question.secret, key[1])
            return
        for digest, data in question.sources.items():
            self._pictures.add(digest, data, step.step_id)

    def _close_step(self, key: StepKey) -> None:
        question = self._open.pop(key)
        step = question.step
        self._steps[step.step_id] -= 1
        last = not self._steps[step.step_id]
        if last:
            del self._steps[step.step_id]
        if self._model.policy is not None:
            if last:
                self._model.policy.forget(step.step_id)
            return
        for digest in question.sources:
            self._pictures.discard(digest)


async def _ahead(questions: Iterator[Question]) -> AsyncGenerator[Question, None]:
    """Prepare questions in a separate thread, a few ahead of need."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, "rows")
    waiting: asyncio.Queue[asyncio.Future[Question | None]] = asyncio.Queue()

    try:
        for _ in range(AHEAD):
            waiting.put_nowait(loop.run_in_executor(thread, next, questions, None))
        while (question := await waiting.get_nowait()) is not None:
            waiting.put_nowait(loop.run_in_executor(thread, next, questions, None))
            yield question
    finally:
        while not waiting.empty():
            waiting.get_nowait().cancel()
        thread.shutdown(wait=True, cancel_futures=True)
