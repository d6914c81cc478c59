"""The process of a worker: loads the model, answers batches, ends with its parent.

`ProcessWorker` starts it as a child that runs `serve`. It answers a `Job` with `Ready`, and then
every batch; in between it receives units to release (`adapters.processes.exchange`).
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from pickle import PickleBuffer
from typing import Any

import torch

from adapters.contract import Fatal, Fault
from adapters.local.options import LocalOptions, line
from adapters.local.work import Generated, Plan, WorkerStats
from adapters.processes.child import Receive, Reducers, Send
from adapters.processes.exchange import Answer


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
    from adapters.local import unloaded

    if job.threads is not None:
        torch.set_num_threads(job.threads)
    loaded = unloaded.load(job.options, job.device)
    # Not before: much of transformers comes with it, which fails over some installations.
    from adapters.local.worker import thread_worker

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


def _plain(tensor: torch.Tensor) -> Any:
    # Torch would pickle the bytes into the message, and numpy does not know bfloat16.
    flat: Any = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
    return _tensor, (PickleBuffer(flat), tensor.dtype, tuple(tensor.shape))


def _tensor(data: bytearray, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    if not data:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(data, dtype=dtype).reshape(shape)


REDUCERS: Reducers = {torch.Tensor: _plain}
"""Reducers that send the bytes of tensors separately from a message."""
