"""A device that takes its time and computes nothing: only the code that feeds it is measured."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future

from adapters.contract import Fault
from adapters.conversation import Finish
from adapters.local.contract import Generated, Plan, Work, WorkerStats

Results = list[Generated | Fault]


class PretendedWorker:
    """Works on a batch for `seconds`, one after the other, and replies the same to everybody."""

    device = "pretended"
    ended = None

    def __init__(self, rows: int, seconds: float) -> None:
        self.plan = Plan(rows, 4 * rows)
        self._seconds = seconds
        self._stats = WorkerStats()
        self._queue: queue.SimpleQueue[tuple[Sequence[Work], Future[Results]] | None] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, batch: Sequence[Work]) -> Future[Results]:
        future: Future[Results] = Future()
        self._queue.put((batch, future))
        return future

    def release(self, unit_id: str) -> None:
        return None

    def stats(self) -> WorkerStats:
        return self._stats

    def notices(self) -> list[str]:
        return []

    def close(self) -> None:
        self._queue.put(None)

    def _work(self) -> None:
        idle_since: float | None = None
        while (entry := self._queue.get()) is not None:
            batch, future = entry
            waited = 0.0 if idle_since is None else time.monotonic() - idle_since
            time.sleep(self._seconds)
            prompt = sum(work.encoded.length for work in batch)
            tokens = sum(work.generation.max_tokens for work in batch)
            self._stats = self._stats.plus(
                batches=1,
                rows=len(batch),
                prompt_tokens=prompt,
                generated_tokens=tokens,
                busy_s=self._seconds,
                starved_s=waited,
            )
            idle_since = time.monotonic()
            future.set_result(
                [
                    Generated((1,) * w.generation.max_tokens, Finish.LENGTH, w.encoded.length, 0, 0)
                    for w in batch
                ]
            )
