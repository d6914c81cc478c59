"""From options to an adapter that can be asked: models on their devices, workers around them.

A worker in a child process: one GPU each, and no shared interpreter lock.

It ends when its parent does, however that happens. When it ends by itself, what it was working on
is a `Fault` for every row: the engine asks again, and batches then go to workers other than a
worker that has `ended`.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace

import torch

from adapters.contract import AdapterInfo, Fault
from adapters.local.adapter import LocalAdapter
from adapters.local.contract import Generated, Loaded, Plan, Unloaded, Work, Worker, WorkerStats
from adapters.local.memory import free_bytes
from adapters.local.options import LocalOptions, devices_of, not_loaded, visible
from adapters.local.worker import Answered, Job, Ready, Release, thread_worker
from adapters.processes import Child
from adapters.processes.exchange import Answer, Exchange


class ProcessWorker(Exchange):
    """A `Worker` in a process. Made at once; `wait` returns when the model is loaded."""

    def __init__(self, options: LocalOptions, device: str, *, threads: int | None = None) -> None:
        """`device` is torch's name in this process; `threads` are torch's on a CPU."""
        self.device = device
        self._stats = WorkerStats()
        # A child sees no other GPU.
        inside, environment = "cuda:0" if device.startswith("cuda") else device, visible([device])
        super().__init__(
            Child("adapters.local.worker:serve", environment=environment),
            Job(options, inside, threads),
            who=f"the worker on {device}",
            lost=not_loaded,
        )

    @property
    def plan(self) -> Plan:
        return self.wait().plan

    def wait(self) -> Ready:
        """Wait until the model is loaded and return its facts. Raises `Fatal` if it cannot be."""
        ready: Ready = self.first.result()
        return ready

    def submit(self, batch: Sequence[Work]) -> Future[list[Generated | Fault]]:
        """Return a result per work, in order; the future raises `Fatal`. Returns at once."""
        return self.ask(batch, lost=lambda reason: [Fault("server", reason) for _ in batch])

    def release(self, unit_id: str) -> None:
        """Nothing of this step will be asked any more. Returns at once."""
        self.tell(Release(unit_id))

    def stats(self) -> WorkerStats:
        """Counts as of the last answered batch."""
        return self._stats

    def _take(self, answer: Answer) -> None:
        if isinstance(answer, Answered):
            self._stats = answer.stats
            self._notices += answer.notices
        super()._take(answer)


def start_workers(
    options: LocalOptions, devices: Sequence[str], threads: int | None = None
) -> list[ProcessWorker]:
    """Start a process for every device; return when all have loaded their models.

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


_log = logging.getLogger(__name__)
LONG_S = 2.0
"""Seconds of loading after which a log line says what is being loaded."""


def start(options: LocalOptions, info: AdapterInfo, model: Unloaded) -> LocalAdapter:
    """Load the model once per device: a single copy in this process, several in a process each.

    `info` is the declaration made before loading. A load that takes long, as most do, is logged.

    Raises `Fatal` with one line for a model that cannot be loaded.
    """
    devices = devices_of(options)
    where = f"GPUs ({options.device_map})" if options.device_map else ", ".join(devices)
    with announced(info.name, where):
        if len(devices) > 1:
            return _in_processes(options, info, model, devices)
        loaded = model.load()
        return adapter(options, info, loaded, [thread_worker(loaded, options)])


@contextmanager
def announced(name: str, where: str) -> Iterator[None]:
    """Log what is being loaded if that takes long."""
    long = threading.Timer(LONG_S, _log.info, ("loading %s on %s ...", name, where))
    long.daemon = True
    long.start()
    try:
        yield
    finally:
        long.cancel()


def _in_processes(
    options: LocalOptions, info: AdapterInfo, model: Unloaded, devices: Sequence[str]
) -> LocalAdapter:
    # Before any process is started: an error about the files is then raised once.
    model.fetch()
    workers = start_workers(options, devices, torch.get_num_threads())
    first = workers[0].wait()
    known = Loaded(None, model.family, devices[0], first.context_tokens, first.facts)
    return adapter(options, info, known, workers)


def adapter(
    options: LocalOptions, info: AdapterInfo, loaded: Loaded, workers: Sequence[Worker]
) -> LocalAdapter:
    """Return the adapter over workers that each have the model `loaded`."""
    dtype = getattr(torch, str(loaded.facts.get("dtype")), None)
    return LocalAdapter(
        replace(info, context_tokens=loaded.context_tokens, text_tokens=loaded.family.text_tokens),
        loaded.family,
        workers,
        threads=max(1, min(8, (os.cpu_count() or 2) - len(workers))),
        prepared_bytes=max(2**28, free_bytes("cpu") // 4),
        dtype=dtype if isinstance(dtype, torch.dtype) and dtype.is_floating_point else None,
        facts={
            **loaded.facts,
            "workers": [worker.device for worker in workers],
            "batch_size": [worker.plan.rows for worker in workers],
            "kv_reuse": options.kv_reuse,
        },
    )
