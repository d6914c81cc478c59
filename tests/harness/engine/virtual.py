"""A loop whose clock jumps to the next timer: nothing sleeps, and times are exact."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from harness.engine import Engine, Job, Outcome

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
