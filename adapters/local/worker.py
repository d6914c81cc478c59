"""A worker in a thread of this process: one thread, one device, one copy of the model.

The process of a worker: loads the model, answers batches, ends with its parent.

`ProcessWorker` starts it as a child that runs `serve`. It answers a `Job` with `Ready`, and then
every batch; in between it receives units to release (`adapters.processes.exchange`).
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch

from adapters.contract import Fatal, Fault
from adapters.local.contract import Generated, Loaded, Plan, Work, WorkerStats
from adapters.local.generate import Generator
from adapters.local.memory import (
    CPU_ROWS,
    MOST_ROWS,
    free_bytes,
    plan,
    typical_tokens,
    worked_per_token,
)
from adapters.local.options import LocalOptions, line, model_failed
from adapters.local.self_test import Conversations, alone_notice, rows_may_share
from adapters.local.unloaded import load
from adapters.processes.child import Receive, Send
from adapters.processes.exchange import Answer

Results = list[Generated | Fault]


class ThreadWorker:
    """The model is used by the worker's thread alone. See `Worker`."""

    def __init__(
        self,
        loaded: Loaded,
        *,
        rows: int | None = None,
        kv_reuse: bool = True,
        notices: Sequence[str] = (),
    ) -> None:
        """`rows` is the batch size; None: as many as fit into the memory that is free now.
        `notices` are the first that `notices()` returns."""
        self._device = loaded.device
        self._plan = planned(loaded, rows)
        self._generator = Generator(loaded, rows=self._plan.rows, kv_reuse=kv_reuse)
        self._queue: queue.SimpleQueue[tuple[Sequence[Work], Future[Results]] | None] = (
            queue.SimpleQueue()
        )
        self._notices = list(notices)
        self._released: list[str] = []
        self._starved = 0.0
        self._closed = False
        self._ended: str | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(
            target=self._work, name=f"model-{loaded.device}", daemon=True
        )
        self._thread.start()

    @property
    def device(self) -> str:
        return self._device

    @property
    def plan(self) -> Plan:
        return self._plan

    @property
    def ended(self) -> str | None:
        """The error that ended the thread between two batches, if one did."""
        return self._ended

    def submit(self, batch: Sequence[Work]) -> Future[Results]:
        """Return a result per work, in order; the future raises `Fatal`. Returns at once."""
        future: Future[Results] = Future()
        with self._lock:
            if self._ended is not None:
                future.set_exception(Fatal(self._ended))
            elif self._closed:
                future.set_exception(Fatal(f"the model on {self._device} was closed"))
            else:
                self._queue.put((batch, future))
        return future

    def release(self, unit_id: str) -> None:
        """Nothing of this step will be asked any more; done before the next batch."""
        self._released.append(unit_id)
        if self._queue.empty() and not self._closed:
            self._queue.put(([], Future()))

    def stats(self) -> WorkerStats:
        return self._generator.stats.plus(starved_s=self._starved)

    def notices(self) -> list[str]:
        notices, self._notices = [*self._notices, *self._generator.notices()], []
        return notices

    def close(self) -> None:
        """Give up the batch under way and the rest, free the device."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._ended is None:
                self._generator.interrupt()
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        reason = None
        try:
            self._answer()
        except BaseException as error:
            reason = model_failed(self._device, error)
        # From here on `submit` refuses, so that nothing waits in a queue that nobody reads.
        with self._lock:
            self._ended = reason
        while not self._queue.empty():
            left = self._queue.get()
            if left is not None and reason is None:
                left[1].cancel()
            elif left is not None and left[1].set_running_or_notify_cancel():
                left[1].set_exception(Fatal(str(reason)))
        with suppress(Exception):  # A device that failed may not even take its memory back.
            self._generator.close()

    def _answer(self) -> None:
        """Answer batches until the worker is closed. An error outside of them ends it."""
        idle_since: float | None = None
        while (entry := self._queue.get()) is not None:
            batch, future = entry
            try:
                self._forget()
            except BaseException:
                self._queue.put(entry)  # To be failed with all that waits.
                raise
            if not batch or not future.set_running_or_notify_cancel():
                continue
            if idle_since is not None:
                self._starved += time.monotonic() - idle_since
            try:
                results = self._generator.run(batch)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(results)
            idle_since = time.monotonic()

    def _forget(self) -> None:
        while self._released:
            self._generator.release(self._released.pop())


def planned(loaded: Loaded, rows: int | None) -> Plan:
    """Return the batch size and number of open dialogues for this device, once the model is
    loaded."""
    # First, since it is measured by a call of the model, which takes some memory for good.
    kept = loaded.family.cache_bytes_per_token(loaded.model)
    return plan(
        free_bytes(loaded.device),
        kept,
        worked_per_token(loaded.model),
        typical_tokens(loaded.family, loaded.context_tokens),
        rows if loaded.family.together else 1,
        CPU_ROWS if loaded.device == "cpu" else MOST_ROWS,
    )


def thread_worker(loaded: Loaded, options: LocalOptions) -> ThreadWorker:
    """Return a worker with these options, with batches of one row for a model whose rows change
    each other's replies. Raises `Fatal` for a model that cannot be called or replies wrongly."""
    rows, notices = options.batch_size, list(loaded.notices)
    try:
        together = planned(loaded, rows).rows > 1
        talks = Conversations(loaded, kv_reuse=options.kv_reuse)
        share = rows_may_share(talks.ask, talks.in_full, loaded.model, together=together)
        if together and not share:
            rows = 1
            notices.append(alone_notice(options.name))
        return ThreadWorker(loaded, rows=rows, kv_reuse=options.kv_reuse, notices=notices)
    except Fatal:
        raise
    except Exception as error:
        # The first call of a model that may be untested here.
        raise Fatal(model_failed(loaded.device, error)) from error


@dataclass(frozen=True, slots=True)
class Job:
    """A model to load and its device. `threads` are torch's on a CPU; None: torch's default."""

    options: LocalOptions
    device: str
    threads: int | None


@dataclass(frozen=True, slots=True)
class Ready:
    """The model is loaded: facts about it, and the batch sizes that its device allows."""

    plan: Plan
    context_tokens: int | None
    facts: dict[str, object]


@dataclass(frozen=True, slots=True)
class Release:
    """A step is finished."""

    unit_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Answer):
    """The results of a batch, with the worker's counts and notices after it."""

    stats: WorkerStats
    notices: list[str]


def serve(receive: Receive, send: Send) -> None:
    """Load the model and answer for good, or until it turns out that it cannot be loaded."""
    number, job = receive()
    try:
        worker, ready = _worker(job)
    except Fatal as error:
        send(Answer(number, None, fatal=str(error)))
        return
    send(Answer(number, ready))
    while True:
        number, message = receive()
        if isinstance(message, Release):
            worker.release(message.unit_id)
        else:
            future = worker.submit(message)
            future.add_done_callback(lambda done, n=number: send(_answer(worker, n, done)))


def _worker(job: Job) -> tuple[Any, Ready]:
    if job.threads is not None:
        torch.set_num_threads(job.threads)
    loaded = load(job.options, job.device)
    worker = thread_worker(loaded, job.options)
    return worker, Ready(worker.plan, loaded.context_tokens, dict(loaded.facts))


def _answer(worker: Any, number: int, done: Future[list[Generated | Fault]]) -> Answered:
    results: list[Generated | Fault] = []
    fatal: str | None = None
    try:
        results = done.result()
    except Fatal as error:
        fatal = str(error)
    except Exception as error:
        fatal = f"{type(error).__name__}: {line(error)}"
    stats, notices = worker.stats(), worker.notices()
    return Answered(number=number, result=results, fatal=fatal, stats=stats, notices=notices)
