"""The interface of a tracker: it receives a run's start, its course and its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

PROJECT = "vlm-eval"
"""Project of a run if the user names none."""

CellValue = str | float | int | bool | None


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run as a service gets to know it.

    Attributes:
        name: identifies the run at the service: a run that is continued has the name that it had.
        config: settings, model and digests of the data, as JSON; no path, address or secret.
        units: the word for what is counted ("steps").
        total: number of them in the run, repeats included.
        settled: how many were settled before this session.
    """

    name: str
    config: Mapping[str, Any]
    units: str
    total: int
    settled: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has a value, or None, for every column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[CellValue, ...], ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a session.

    Attributes:
        settled: number of units that are settled now.
        values: the measures of the result, under the names that points have. They were logged as
            the last point, unless nothing was settled in this session.
        results: split, measure, average, value, low, high (the interval) and n; None for a session
            that failed.
        texts: a row per unit with its task, prediction and reply; None unless the user has asked
            for texts to be sent.
        complete: whether the run is complete.
    """

    settled: int
    values: Mapping[str, float] = field(default_factory=dict)
    results: Table | None = None
    texts: Table | None = None
    complete: bool = False


class Tracker(Protocol):
    """Tells a service how a run goes. Its methods are called one after the other, on one thread.

    What a tracker needs is best imported where it is made, not on that thread: others may look into
    a module that is being imported, and stumble.

    They may take as long as they like and raise anything: a run neither waits for its tracker nor
    ends with it. After an exception a tracker is not called again.
    """

    def start(self, run: TrackedRun) -> str:
        """Begin to track a run, or go on with the one of that name.

        Returns where to look at it, as one line for the user; "" for nothing to say.
        """
        ...

    def log(self, settled: int, values: Mapping[str, float]) -> None:
        """A point of its course: numbers by name, after that many settled units.

        What was on record before the session is not told again, but a process that is killed may
        leave the last point behind it twice.
        """
        ...

    def finish(self, ending: Ending) -> None:
        """The end of the session; a run that is not complete may be continued in another."""
        ...
