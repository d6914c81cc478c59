"""The processes in which pages and pictures are prepared: one pool for all of a session.

    workers = Workers(2)
    answer = workers.do(Job.of(function), argument)     # blocks, so call it on `workers.threads`

A process is started when there is something to do, loads what that needs, and ends with this one.
If it dies, only what it was doing is affected.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from adapters.processes import Pool, available_cpus

_ENTRY = f"{Path(__file__).with_name('worker.py')}:serve"
_MOST = 8


class WorkFailed(Exception):
    """What a job raised in a process, in words, with the traceback there as a note."""


@dataclass(frozen=True, slots=True)
class Job:
    """What processes do with what they are given.

    name: what they know it by; `path.py:function` for a function of a file that is loaded without
        its package.
    code: the function pickled, with all that it holds; sent to each process once.
    """

    name: str
    code: bytes | None = None

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self | None:
        """The job of calling a function; None for one that other processes cannot have, since it is
        made of what only this one knows."""
        try:
            code = pickle.dumps(function)
        except (pickle.PicklingError, TypeError, AttributeError):
            return None
        # What the user's script defines is unknown to processes that do not run it.
        return None if b"__main__" in code else cls(hashlib.sha256(code).hexdigest(), code)


class Workers:
    """A fixed number of processes: `count`, or one per processor, but at most eight."""

    def __init__(self, count: int | None = None) -> None:
        # If a process dies, its work is tried once more in another.
        self._pool = Pool(_ENTRY, count or min(_MOST, available_cpus()), name="workers", attempts=2)

    @property
    def threads(self) -> ThreadPoolExecutor:
        """As many as there are processes."""
        return self._pool.threads

    @property
    def pids(self) -> tuple[int, ...]:
        """Ids of the running processes; empty until there is something to do."""
        return self._pool.pids

    def do(self, job: Job, *arguments: object) -> Any:
        """Do a job in a process that is idle, and return what its function returns.

        Raises:
            WorkFailed: the function raised.
            ChildEnded: two processes died over it, or the pool is closed.
        """
        answer = self._pool.ask((job.name, None, arguments))
        if answer is None:
            answer = self._pool.ask((job.name, job.code, arguments))
        value, failure = answer
        if failure is not None:
            error = WorkFailed(failure[0])
            error.add_note(failure[1])
            raise error
        return value

    def close(self) -> None:
        """End the processes at once; they have nothing to save. May be repeated."""
        self._pool.close()
