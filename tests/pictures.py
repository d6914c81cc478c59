"""Processes that prepare pictures and outlive the run that started them.

A run starts its own; most tests of runs are not about that, and a new one costs as much as the rest
of a short run.
"""

from __future__ import annotations

import atexit
from typing import Any

import pytest

import adapters.processes as processes
from adapters.processes import Child, Entry

_IMAGING = "imaging.py:serve"
_idle: list[KeptChild] = []


class KeptChild(Child):
    """A child that waits for the next run unless it is ended amid its work."""

    _owed = 0

    def send(self, message: object) -> None:
        self._owed += 1
        super().send(message)

    def receive(self) -> Any:
        answer = super().receive()
        self._owed -= 1
        return answer

    def end(self) -> None:
        if self._owed or not self.running:
            super().end()

    def close(self) -> None:
        if self._owed or not self.running:
            super().close()
        else:
            _idle.append(self)

    def finish(self) -> None:
        self._owed = 1
        self.close()


def _child(entry: Entry, **settings: Any) -> Child:
    if not (isinstance(entry, str) and entry.endswith(_IMAGING)):
        return Child(entry, **settings)
    while _idle:
        one = _idle.pop()
        if one.running:
            return one
        one.finish()
    return KeptChild(entry, **settings)


def keep_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the runs of a test prepare pictures in processes of the runs before."""
    monkeypatch.setattr(processes, "Child", _child)


@atexit.register
def _end() -> None:
    for one in _idle:
        one.finish()
