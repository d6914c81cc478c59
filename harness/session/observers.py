"""Observers of a session: the display, and the one that `--track` opens.

with open_observers(settings, display) as observer:
    done = await carry_out(plan, observer)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from harness.engine import Observer
from harness.errors import from_leaf
from harness.pictures import PictureStats
from harness.runs import Unit
from harness.settings import SETTINGS, Settings
from parsers import Results

if TYPE_CHECKING:
    from harness.planning.plan import Plan


SCORE_FAILURES = SETTINGS["score_failures"].written("yes")
INTERRUPTED = "interrupted"
"""Why a session ended that Ctrl-C or SIGTERM stopped."""


@dataclass(frozen=True)
class Finished:
    """The end of a session."""

    directory: Path
    # asyncio writes the result of its main task in words, to no purpose, when it looks at signals.
    records: Sequence[Unit[Any]] = field(repr=False)
    summary: dict[str, Any] = field(repr=False)
    found: Mapping[tuple[str, str], Results] = field(repr=False)
    """The numbers of the run (`harness.session.summary.results_of`)."""
    complete: bool
    stopped: str | None
    """Why it ended before the last step; None if it did not."""
    pictures: PictureStats
    """Counts of the pictures prepared in this session."""
    reached_cost_limit: bool = False
    """True if the cost limit ended it."""
    without_answers: bool = False
    """True if it ended since the deployment is at fault, which is bad input."""
    waiting: str = ""
    """State of the run's batches at a provider; "" if there are none."""

    @property
    def exit_code(self) -> int:
        """The exit code of `vlm-eval run`; 0 for a complete run."""
        if self.without_answers:
            return 2
        if self.waiting and self.stopped is None:
            return 3
        return 130 if self.stopped == INTERRUPTED else int(not self.complete)

    def how_to_go_on(self, again: str) -> str:
        """Say why a run is not complete, and what to do; `again` repeats what the user did."""
        if self.without_answers:
            return (
                f"{self.stopped}. None of these is scored; what was paid is kept in "
                f"{self.directory}. {again} once that is mended, or with {SCORE_FAILURES} to count "
                "them as wrong."
            )
        if self.stopped is not None:
            dear = "with a higher --max-cost " if self.reached_cost_limit else ""
            return (
                f"{self.stopped}; what was answered is kept in {self.directory}. "
                f"{again} {dear}to go on from there."
            )
        if self.waiting:
            return f"waiting: {self.waiting}. {again} to fetch what has been answered."
        return (
            f"not everything is answered; what was is kept in {self.directory}. "
            f"{again} to ask for the rest, or with {SCORE_FAILURES}."
        )


class SessionObserver(Observer):
    """Base class of observers of a session: every method does nothing. Overrides return quickly.

    As a context manager it is closed at the end.
    """

    def begun(self, plan: Plan, settled: int, records: Sequence[Unit[Any]]) -> None:
        """Called before the first dialogue.

        Args:
            plan: the run.
            settled: number of dialogues that earlier sessions settled.
            records: the lines of earlier sessions.
        """

    def recorded(self, record: Unit[Any]) -> None:
        """Called when a unit's line has been written."""

    def ended(self) -> None:
        """Called after the last dialogue, also if the session fails."""

    def finished(self, done: Finished) -> None:
        """Called with the result of a session that did not fail."""

    def close(self, error: BaseException | None = None) -> None:
        """Wait for what is still to be done, unless an interrupt ended the session. May block."""

    def __enter__(self) -> SessionObserver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(error)


def _to_each(name: str) -> Any:
    """Make the method of `Observers` that calls the method `name` of each observer."""

    def report(self: Observers, *values: Any, **more: Any) -> None:
        for one in self.observers:
            getattr(one, name)(*values, **more)

    return report


class Observers(SessionObserver):
    """Reports to several observers, in order."""

    def __init__(self, *observers: SessionObserver) -> None:
        self.observers = list(observers)

    begun = _to_each("begun")
    recorded = _to_each("recorded")
    ended = _to_each("ended")
    finished = _to_each("finished")
    close = _to_each("close")
    opened = _to_each("opened")
    passed_over = _to_each("passed_over")
    called = _to_each("called")
    retrying = _to_each("retrying")
    settled = _to_each("settled")
    parked = _to_each("parked")
    notice = _to_each("notice")


def open_observers(
    settings: Settings, display: SessionObserver, given: Mapping[str, object] | None = None
) -> SessionObserver:
    """Report to a display, and to the trackers that settings ask for.

    `given` has trackers that are objects, by their names in `settings.track`. Raises `UserError`.
    """
    if not settings.track:
        return display
    tracking = from_leaf("harness.trackers.tracking:Tracking")
    return Observers(display, tracking(settings, given or {}, display.notice))
