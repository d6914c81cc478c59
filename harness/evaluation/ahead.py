"""Questions before they are needed: prepared in a thread of this process, or in the workers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from adapters.processes import ChildEnded
from harness.benchmarks import Dataset
from harness.errors import UserError
from harness.evaluation.plan import Plan
from harness.evaluation.units import Apart, Question
from harness.workers import Workers

AHEAD = 8
"""Units prepared ahead of need: enough to hide one slow page."""
TOGETHER = 4
"""Units that a worker is given at a time, so that handing them over takes little of the time."""
WORTH = 250
"""Units for which workers are started: for fewer it takes longer than they save."""

Answers = Sequence[Question | UserError]
Batch = Answers | Future[Answers]


async def ahead(
    plan: Plan, dataset: Dataset[Any], workers: Workers
) -> AsyncGenerator[Question, None]:
    """Yield the questions of a part of a plan's units, in order, a few prepared ahead of need.

    Raises `UserError` when the turn of a unit comes that cannot be asked about.
    """
    apart = plan.apart(dataset) if len(dataset) >= WORTH else None
    batches: Iterator[Batch]
    if apart is None:
        batches, count = ((question,) for question in plan.questions_of(dataset)), AHEAD
    else:
        batches, count = _sent(apart, workers), AHEAD // TOGETHER + 1
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, "units")
    waiting: deque[asyncio.Future[Batch | None]] = deque()
    try:
        for _ in range(count):
            waiting.append(loop.run_in_executor(thread, next, batches, None))
        while (batch := await waiting.popleft()) is not None:
            answers = await asyncio.wrap_future(batch) if isinstance(batch, Future) else batch
            waiting.append(loop.run_in_executor(thread, next, batches, None))
            for answer in answers:
                if isinstance(answer, UserError):
                    raise answer
                yield answer
    finally:
        for future in waiting:
            future.cancel()
        thread.shutdown(wait=True, cancel_futures=True)


def _sent(apart: Apart, workers: Workers) -> Iterator[Batch]:
    """Read units and send them to the workers, some at a time."""
    units: list[Any] = []
    failure: UserError | None = None
    try:
        for unit in apart.units:
            units.append(unit)
            if len(units) == TOGETHER:
                yield workers.threads.submit(_answers, apart, workers, tuple(units))
                units.clear()
    except UserError as error:
        failure = error
    if units:
        yield workers.threads.submit(_answers, apart, workers, tuple(units))
    if failure is not None:
        yield (failure,)


def _answers(apart: Apart, workers: Workers, units: Sequence[Any]) -> Answers:
    """Questions or errors, in order, in a thread that waits for a worker."""
    try:
        answers = workers.do(apart.job, units)
    except ChildEnded as error:
        if len(units) == 1:
            reason = f"preparing it ended two worker processes ({error})"
            return [_tried(apart.lost, units[0], reason)]
        # One of them ended the processes; the others are not affected.
        return [answer for unit in units for answer in _answers(apart, workers, (unit,))]
    return [
        answer if isinstance(answer, UserError) else _tried(apart.told, answer)
        for answer in answers
    ]


def _tried(function: Callable[..., Question], *arguments: Any) -> Question | UserError:
    try:
        return function(*arguments)
    except UserError as error:
        return error
