"""A loop whose clock jumps to the next timer, and a device that works on one batch at a time.

Nothing sleeps for real, so that seconds can be compared exactly.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from adapters.contract import Fault, PictureSource, Request
from adapters.conversation import Reply
from harness.engine import Engine, Job, Outcome
from harness.runs import CallRecord
from tests.harness.engine.support import Answer, BatchModel, Log, echo

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError(f"nothing is going to happen any more at {self.now} s")
        self.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Waits for timers in no time, and fails where everything waits for ever. No threads."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def virtually(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def hold(driver: Engine, jobs: Iterable[Job]) -> list[Outcome]:
    """Hold the dialogues in virtual time; the outcomes in the order of the steps' ids."""
    outcomes: list[Outcome] = []
    virtually(driver.run(jobs, outcomes.append))
    return sorted(outcomes, key=lambda outcome: (outcome.unit_id, outcome.repeat))


@dataclass(frozen=True)
class Run:
    """A batch on the device: its calls, from when to when, and how many messages they had."""

    calls: tuple[tuple[str, str], ...]
    begun: float
    ended: float
    turns: frozenset[int] = frozenset()

    @property
    def steps(self) -> frozenset[str]:
        return frozenset(step for step, _ in self.calls)

    @property
    def place(self) -> str:
        (place,) = {place for _, place in self.calls}
        return place


class Device(BatchModel):
    """Works on batches one after the other, `batch_s` seconds each.

    Preparing a call takes `prepare_s` on one of `cpus` processors.
    """

    def __init__(
        self,
        answer: Answer = echo,
        *,
        batch_s: float | Callable[[Sequence[Request]], float] = 1.0,
        prepare_s: float | Callable[[Request], float] = 0.0,
        cpus: int = 4,
        **info: Any,
    ) -> None:
        super().__init__(answer, **{"batches_at_once": 2, **info})
        self._batch_s = batch_s
        self._prepare_s = prepare_s
        self._device = asyncio.Lock()
        self._cpus = asyncio.Semaphore(cpus)
        self.runs: list[Run] = []
        self.under_way = self.most_under_way = 0
        self.preparing = self.most_preparing = 0
        self.prepared: list[tuple[str, str]] = []

    async def prepare(self, request: Request, pictures: PictureSource) -> int:
        self.preparing += 1
        self.most_preparing = max(self.most_preparing, self.preparing)
        try:
            async with self._cpus:
                seconds = self._prepare_s
                await asyncio.sleep(seconds(request) if callable(seconds) else seconds)
        finally:
            self.preparing -= 1
        self.prepared.append((request.unit_id, request.place))
        return await super().prepare(request, pictures)

    async def ask_many(
        self, requests: Sequence[Request], pictures: PictureSource
    ) -> list[Reply | Fault]:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            async with self._device:
                loop = asyncio.get_running_loop()
                begun = loop.time()
                seconds = self._batch_s
                await asyncio.sleep(seconds(requests) if callable(seconds) else seconds)
                calls = tuple((request.unit_id, request.place) for request in requests)
                turns = frozenset(len(request.conversation.messages) for request in requests)
                self.runs.append(Run(calls, begun, loop.time(), turns))
                return await super().ask_many(requests, pictures)
        finally:
            self.under_way -= 1

    @property
    def idle_s(self) -> float:
        """Seconds in which the device stood still between its first and its last batch."""
        pairs = zip(self.runs, self.runs[1:], strict=False)
        return sum(later.begun - earlier.ended for earlier, later in pairs)


class SlowLog(Log):
    """Takes its time to put calls on record."""

    def __init__(self, seconds: Callable[[str], float]) -> None:
        super().__init__()
        self._seconds = seconds

    async def record_call(self, record: CallRecord, blobs: Sequence[bytes] = ()) -> None:
        await asyncio.sleep(self._seconds(record.id))
        await super().record_call(record, blobs)
