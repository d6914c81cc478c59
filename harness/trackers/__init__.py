"""Trackers: services that receive live metrics of a run (`--track`), each on its own thread.

`tracking` has the observer that `--track` opens. No service's package is imported before the
service is named.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Protocol

from adapters.faults import cleaner
from adapters.secrets import is_secret
from harness import HELD

PROJECT = "vlm-eval"
"""Project of a run if the user names none."""
Values = Callable[[], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a session.

    Attributes:
        settled: number of units that are finished now.
        values: the measures of the result, by the names of points.
        rows: a row per split, measure and average, with `value`, the interval's ends `low` and
            `high`, and `n`; none for a session that failed.
        complete: whether the run is complete.
    """

    settled: int
    values: Mapping[str, float] = field(default_factory=dict)
    rows: Sequence[Mapping[str, str | float | None]] = ()
    complete: bool = False


class Tracker(Protocol):
    """Reports a run to a service. Its methods are called one after the other, on one thread.

    They may take as long as they like and raise anything: a run neither waits for its tracker nor
    ends with it. After an exception a tracker is not called again. Import packages where the
    tracker is made, not on that thread: others may look into a module that is being imported.
    """

    def start(self, name: str, config: Mapping[str, Any]) -> str:
        """Begin to track a run, or go on with the one of that name.

        `config` has settings, model and digests of the data, as JSON without paths, addresses and
        secrets. Returns where to look at the run, as one line for the user; "" for nothing to say.
        """
        ...

    def log(self, settled: int, values: Mapping[str, float]) -> None:
        """A point of its course: numbers by name, after that many finished units.

        What was on record before the session is not logged again, but a process that is killed may
        log its last point twice.
        """
        ...

    def finish(self, ending: Ending) -> None:
        """The end of the session; a run that is not complete may be continued in another."""
        ...


MOST_POINTS = 100
"""Points that wait for a tracker; further ones are left out."""
PATIENCE_S = 3.0
"""Seconds after which a line says that the end of a run waits for a tracker."""
_THREAD = "tracker of a run: "
HELD.append(_THREAD)


class TrackerThread(threading.Thread):
    """Feeds a tracker, on a thread that does not keep the process alive.

    tracked: the tracker's name, for messages.
    notice: prints a line for the user; called from the tracker's thread.
    end_s: how long the end of a session may wait for it, in seconds. Points that it has not taken
        after half of that are left out, so the result still gets through.
    """

    def __init__(
        self, tracked: str, tracker: Tracker, notice: Callable[[str], None], end_s: float
    ) -> None:
        super().__init__(name=f"{_THREAD}{tracked}", daemon=True)
        self._head, self._tracker, self._notice = f"tracker {tracked}:", tracker, notice
        self._end_s, self._deadline = end_s, float("inf")
        self._queue: SimpleQueue[tuple[int, Values] | Ending] = SimpleQueue()
        self._begun: tuple[str, Mapping[str, Any]] = "", {}
        self._quiet = False

    def begin(self, name: str, config: Mapping[str, Any]) -> None:
        """Start the tracker."""
        self._begun = name, config
        self.start()

    def log(self, settled: int, values: Values) -> None:
        """Hand over a point, whose values are computed on the thread of the tracker."""
        if self._queue.qsize() < MOST_POINTS:
            self._queue.put((settled, values))

    def finish(self, ending: Ending) -> None:
        """Hand over the end; the time that `wait` allows begins to run."""
        self._deadline = time.monotonic() + self._end_s
        self._queue.put(ending)

    def wait(self) -> None:
        """Return when the tracker has taken the end, or has had its time."""
        if not self.is_alive() or self._quiet:
            return
        self.join(min(PATIENCE_S, self._deadline - time.monotonic()))
        if self.is_alive() and (left := self._deadline - time.monotonic()) > 0:
            self._notice(f"{self._head} waiting for it, {left:.0f} s at most")
            self.join(left)
        if self.is_alive():
            self.abandon()
            self._notice(
                f"{self._head} not finished {self._end_s:.0f} s after the run; what it has not "
                "sent by now is lost to it"
            )

    def abandon(self) -> None:
        """Let it go without waiting and without a word."""
        self._quiet = True

    def run(self) -> None:
        try:
            self._say(str(self._tracker.start(*self._begun)))
            while not isinstance(item := self._queue.get(), Ending):
                if time.monotonic() < self._deadline - self._end_s / 2:
                    settled, values = item
                    self._tracker.log(settled, dict(values()))
            self._tracker.finish(item)
        except BaseException as error:  # An exit, too, is none of the run's business.
            why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            self._say(f"{why}; the run goes on without it")

    def _say(self, text: str) -> None:
        if text and not self._quiet:
            keys = (value for name, value in os.environ.items() if is_secret(name))
            self._notice(f"{self._head} {cleaner(*keys)(text)}")
