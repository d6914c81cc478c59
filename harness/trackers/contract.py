"""The interface of a tracker: it receives a run's start, its course and its end."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from adapters.faults import cleaner
from adapters.secrets import is_secret
from harness import HELD

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


class Point:
    """A point of a run's course.

    settled: number of units settled by then.
    work: works out its numbers, on the thread of the tracker that first asks for them.
    """

    def __init__(self, settled: int, work: Callable[[], Mapping[str, float]]) -> None:
        self.settled = settled
        self._work = work

    @cached_property
    def values(self) -> Mapping[str, float]:
        """Its numbers by name."""
        return self._work()


MOST_POINTS = 100
"""Points that wait for a tracker; beyond, the oldest is dropped."""
PATIENCE_S = 3.0
"""Seconds after which a line says that the end of a run waits for a tracker."""
_THREAD = "tracker of a run: "


HELD.append(_THREAD)


class Feed:
    """Feeds a tracker.

    name: the tracker's, for messages.
    notice: prints a line for the user; called from the tracker's thread.
    end_s: how long the end of a session may wait for it, in seconds. Points that it has not taken
        after half of that are left out, so that the result still gets through.
    """

    def __init__(
        self,
        name: str,
        tracker: Tracker,
        notice: Callable[[str], None],
        end_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._tracker = tracker
        self._notice = notice
        self._end_s = end_s
        self._clock = clock
        self._points: deque[Point] = deque(maxlen=MOST_POINTS)
        self._dropped = 0
        self._ending: Ending | None = None
        self._deadline = 0.0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._abandoned = False

    def start(self, run: TrackedRun) -> None:
        """Start the tracker, on a thread that does not keep the process alive."""
        work = threading.Thread(
            target=self._work, args=(run,), name=f"{_THREAD}{self._name}", daemon=True
        )
        self._thread = work
        work.start()

    def log(self, point: Point) -> None:
        """Hand over a point."""
        with self._changed:
            self._dropped += len(self._points) == MOST_POINTS
            self._points.append(point)
            self._changed.notify()

    def finish(self, ending: Ending) -> None:
        """Hand over the end; the time that `wait` allows begins to run."""
        with self._changed:
            self._ending = ending
            self._deadline = self._clock() + self._end_s
            self._changed.notify()

    def wait(self) -> None:
        """Return when the tracker has taken the end, or has had its time."""
        if self._thread is None or self._abandoned:
            return
        self._thread.join(max(0.0, min(PATIENCE_S, self._deadline - self._clock())))
        if self._thread.is_alive() and (left := self._deadline - self._clock()) > 0:
            self._notice(f"tracker {self._name}: waiting for it, {left:.0f} s at most")
            self._thread.join(left)
        if self._thread.is_alive():
            self._abandoned = True
            self._notice(
                f"tracker {self._name}: not finished {self._end_s:.0f} s after the run; what it "
                "has not sent by now is lost to it"
            )

    def abandon(self) -> None:
        """Let it go without waiting and without a word."""
        self._abandoned = True

    def _work(self, run: TrackedRun) -> None:
        try:
            if told := self._tracker.start(run):
                self._say(str(told))
            while (point := self._next()) is not None:
                self._tracker.log(point.settled, dict(point.values))
            with self._changed:
                ending, dropped = self._ending, self._dropped + len(self._points)
            if ending is not None:
                self._tracker.finish(ending)
            if dropped:
                self._say(f"it is slow; {dropped} points of the run's course were left out")
        except BaseException as error:  # An exit, too, is none of the run's business.
            why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            self._say(f"{why}; the run goes on without it")

    def _next(self) -> Point | None:
        """The next point, waited for; None when the end is next."""
        with self._changed:
            while not self._points and self._ending is None:
                self._changed.wait()
            late = self._ending and self._clock() > self._deadline - self._end_s / 2
            return self._points.popleft() if self._points and not late else None

    def _say(self, text: str) -> None:
        if not self._abandoned:
            keys = (value for name, value in os.environ.items() if is_secret(name))
            self._notice(f"tracker {self._name}: {cleaner(*keys)(text)}")
