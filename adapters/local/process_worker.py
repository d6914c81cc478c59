"""A worker in a child process: one GPU each, and no shared interpreter lock.

It ends when its parent does, however that happens. When it ends by itself, what it was working on
is a `Fault` for every row: the engine asks again, and batches then go to workers other than a
worker that has `ended`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from adapters.contract import Fault
from adapters.local.devices import visible
from adapters.local.options import LocalOptions
from adapters.local.serving import REDUCERS, Answered, Job, Ready, Release
from adapters.local.work import Generated, Plan, Work, WorkerStats
from adapters.processes import Child
from adapters.processes.exchange import Answer, Exchange


class ProcessWorker:
    """Made at once; `wait` returns when the model is loaded."""

    def __init__(self, options: LocalOptions, device: str, *, threads: int | None = None) -> None:
        """`device` is torch's name in this process; `threads` are torch's on a CPU."""
        self._device = device
        self._stats = WorkerStats()
        inside, environment = _placed(device)
        self._exchange = Exchange(
            Child("adapters.local.serving:serve", environment=environment, reducers=REDUCERS),
            Job(options, inside, threads),
            who=f"the worker on {device}",
            heard=self._heard,
        )

    @property
    def device(self) -> str:
        return self._device

    @property
    def pid(self) -> int:
        return self._exchange.pid

    @property
    def plan(self) -> Plan:
        return self.wait().plan

    @property
    def ended(self) -> str | None:
        """Why it takes no more batches; None as long as it does."""
        return self._exchange.ended

    def wait(self) -> Ready:
        """Wait until the model is loaded and return its facts. Raises `Fatal` if it cannot be."""
        ready: Ready = self._exchange.ready.result()
        return ready

    def submit(self, batch: Sequence[Work]) -> Future[list[Generated | Fault]]:
        """Return a result per work, in order; the future raises `Fatal`. Returns at once."""
        return self._exchange.ask(
            batch, lost=lambda reason: [Fault("server", reason) for _ in batch]
        )

    def release(self, unit_id: str) -> None:
        """Nothing of this step will be asked any more. Returns at once."""
        self._exchange.tell(Release(unit_id))

    def stats(self) -> WorkerStats:
        """Counts as of the last answered batch."""
        return self._stats

    def notices(self) -> list[str]:
        return self._exchange.notices()

    def close(self) -> None:
        """End the process, in the middle of a batch if need be."""
        self._exchange.close()

    def _heard(self, answer: Answer) -> None:
        if isinstance(answer, Answered):
            self._stats = answer.stats
            self._exchange.note(answer.notices)


def _placed(device: str) -> tuple[str, dict[str, str]]:
    """Return the device's name in a child that sees no other GPU, and the variables that see to
    it."""
    return "cuda:0" if device.startswith("cuda") else device, visible([device])


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
