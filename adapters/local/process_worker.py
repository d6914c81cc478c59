"""A worker in a process of its own: a GPU each, and no lock of the interpreter between them.

It ends when its parent does, however that happens. When it ends by itself, what it was working on
is a `Fault` for every row: the engine asks again, and whoever shares out the batches passes over a
worker that has `ended`.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from adapters.contract import Fatal, Fault
from adapters.local.options import LocalOptions
from adapters.local.serving import REDUCERS, Answer, Batch, Job, Ready, Release
from adapters.local.work import Generated, Plan, Work, WorkerStats
from adapters.processes import Child, ChildEnded

Results = list[Generated | Fault]


class ProcessWorker:
    """See `Worker`. Made at once; `wait` returns when the model is loaded."""

    def __init__(self, options: LocalOptions, device: str, *, threads: int | None = None) -> None:
        """`device` is torch's name in this process; `threads` are torch's on a CPU."""
        self._device = device
        inside, environment = _placed(device)
        self._child = Child(
            "adapters.local.serving:serve", environment=environment, reducers=REDUCERS
        )
        self._outbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._outbox.put(Job(options, inside, threads))
        self._ready: Future[Ready] = Future()
        self._open: dict[int, tuple[int, Future[Results]]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._ended: str | None = None
        self._closed = False
        self._stats = WorkerStats()
        self._notices: list[str] = []
        self._threads = [
            threading.Thread(target=target, name=f"{name}-{device}", daemon=True)
            for target, name in ((self._write, "to"), (self._read, "from"))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def device(self) -> str:
        return self._device

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def plan(self) -> Plan:
        return self.wait().plan

    @property
    def ended(self) -> str | None:
        """Why it takes no more batches; None as long as it does."""
        return self._ended

    def wait(self) -> Ready:
        """What is known once the model is loaded. Raises `Fatal` when it cannot be."""
        return self._ready.result()

    def submit(self, batch: Sequence[Work]) -> Future[Results]:
        """A result per work, in order; the future raises `Fatal`. Returns at once."""
        future: Future[Results] = Future()
        with self._lock:
            if self._ended is not None:
                self._lose(future, len(batch), self._ended)
                return future
            number = next(self._numbers)
            self._open[number] = len(batch), future
        self._outbox.put(Batch(number, batch))
        return future

    def release(self, unit_id: str) -> None:
        """Nothing of this step will be asked any more. Returns at once."""
        if self._ended is None:
            self._outbox.put(Release(unit_id))

    def stats(self) -> WorkerStats:
        """As of the last batch that was answered."""
        return self._stats

    def notices(self) -> list[str]:
        with self._lock:
            notices, self._notices = self._notices, []
            return notices

    def close(self) -> None:
        """End the process, in the middle of a batch if need be."""
        if self._closed:
            return
        self._closed = True
        self._outbox.put(None)
        self._child.end()
        for thread in self._threads:
            thread.join()
        self._child.close()

    def _write(self) -> None:
        try:
            while (message := self._outbox.get()) is not None:
                self._child.send(message)
        except ChildEnded:
            pass  # the reading thread finds out as well

    def _read(self) -> None:
        try:
            while True:
                self._take(self._child.receive())
        except ChildEnded as error:
            self._end(str(error))

    def _take(self, message: object) -> None:
        if isinstance(message, Ready):
            self._ready.set_result(message)
        elif isinstance(message, str):
            self._ready.set_exception(Fatal(message))
        else:
            assert isinstance(message, Answer)
            with self._lock:
                self._stats = message.stats
                self._notices += message.notices
                _, future = self._open.pop(message.number)
            if message.fatal is not None:
                future.set_exception(Fatal(message.fatal))
            else:
                future.set_result(message.results)

    def _end(self, how: str) -> None:
        if self._closed:
            reason = f"the model on {self._device} was closed"
        else:
            reason = f"the worker on {self._device} ended: {how}"
        with self._lock:
            self._ended = reason
            lost, self._open = self._open, {}
            if not self._closed and self._ready.done():
                self._notices.append(reason)
        if not self._ready.done():
            self._ready.set_exception(Fatal(f"{reason} while the model was being loaded"))
        for rows, future in lost.values():
            self._lose(future, rows, reason)
        self._outbox.put(None)

    def _lose(self, future: Future[Results], rows: int, reason: str) -> None:
        if self._closed:
            future.set_exception(Fatal(reason))
        else:
            future.set_result([Fault("server", reason) for _ in range(rows)])


def _placed(device: str) -> tuple[str, dict[str, str]]:
    """The device's name in a child that sees no other GPU, and the variables that see to it."""
    kind, _, index = device.partition(":")
    if kind != "cuda":
        return device, {}
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [name.strip() for name in seen.split(",")] if seen else None
    number = int(index or 0)
    return "cuda:0", {"CUDA_VISIBLE_DEVICES": names[number] if names else str(number)}


def start_workers(
    options: LocalOptions, devices: Sequence[str], threads: int | None = None
) -> list[ProcessWorker]:
    """A process for every device, all loading at the same time; returns when they have.

    `threads` are those of torch on a CPU, shared out. Raises `Fatal` when one of them cannot.
    """
    each = None if threads is None else max(1, threads // len(devices))
    workers: list[ProcessWorker] = []
    try:
        for device in devices:
            workers.append(ProcessWorker(options, device, threads=each))
        for worker in workers:
            worker.wait()
    except BaseException:
        for worker in workers:
            worker.close()
        raise
    return workers
