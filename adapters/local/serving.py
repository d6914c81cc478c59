"""The process of a worker: loads the model, works on what it is sent, ends with its parent.

`ProcessWorker` starts it as `python -m adapters.local.serving`. It reads a `Job`, answers with
`Ready` or with a text that says why not, then reads batches and releases. Everything goes through
`frames`, over descriptors that no library prints into.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, BinaryIO

from adapters.contract import Fatal, Fault
from adapters.local.frames import receive, send
from adapters.local.options import LocalOptions
from adapters.local.work import Generated, Plan, Work, WorkerStats


@dataclass(frozen=True, slots=True)
class Job:
    """What to load and where. `threads` are those of torch on a CPU; None: as many as it likes."""

    options: LocalOptions
    device: str
    threads: int | None


@dataclass(frozen=True, slots=True)
class Ready:
    """The model is loaded: what is known of it now, and the sizes that its device allows."""

    plan: Plan
    context_tokens: int | None
    facts: dict[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Calls to answer, with a number to answer to."""

    number: int
    works: Sequence[Work]


@dataclass(frozen=True, slots=True)
class Release:
    """A step is done."""

    step_id: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a batch: its results, or why the run must end."""

    number: int
    results: list[Generated | Fault]
    fatal: str | None
    stats: WorkerStats
    notices: list[str]


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answer until `jobs` ends. The process ends there, in the middle of a batch if need be."""
    received: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(jobs, received), daemon=True).start()
    lock = threading.Lock()

    def tell(message: object) -> None:
        with lock:
            try:
                send(answers, message)
            except OSError:
                os._exit(0)

    job: Job = received.get()
    try:
        worker = _worker(job, tell)
    except Fatal as error:
        tell(str(error))
        return
    while True:
        message = received.get()
        if isinstance(message, Release):
            worker.release(message.step_id)
        else:
            future = worker.submit(message.works)
            number = message.number
            future.add_done_callback(lambda done, n=number: tell(_answer(worker, n, done)))


def _worker(job: Job, tell: Any) -> Any:
    import torch

    from adapters.local import unloaded

    if job.threads is not None:
        torch.set_num_threads(job.threads)
    loaded = unloaded.load(job.options, job.device)
    # Not before: much of transformers comes with it, which fails over some installations.
    from adapters.local.worker import thread_worker

    worker = thread_worker(loaded, job.options)
    tell(Ready(worker.plan, loaded.context_tokens, dict(loaded.facts)))
    return worker


def _answer(worker: Any, number: int, done: Future[list[Generated | Fault]]) -> Answer:
    results: list[Generated | Fault] = []
    fatal: str | None = None
    try:
        results = done.result()
    except Fatal as error:
        fatal = str(error)
    except Exception as error:
        fatal = f"{type(error).__name__}: {error}"
    return Answer(number, results, fatal, worker.stats(), worker.notices())


def _read(jobs: BinaryIO, received: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            received.put(receive(jobs))
    except (EOFError, OSError):
        # The parent is gone or wants this to end; nothing here needs to be saved.
        os._exit(0)


def main() -> None:
    """Take the standard streams for frames, and give libraries others to print to."""
    # Ctrl-C reaches the whole process group; the main process decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    jobs = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    serve(jobs, answers)


if __name__ == "__main__":
    # As a module of its own name, so that what is pickled here has the name it has elsewhere.
    from adapters.local import serving

    serving.main()
