"""What a user sees of a run under way: notices, progress, and the scores so far."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from harness.engine import Observer, Progress
from harness.evaluation.running import RunningScores
from harness.printing import terminal
from harness.runs import UnitRecord
from harness.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from harness.evaluation.summary import Part


class Display:
    """Shows a run on a console, as its settings ask for (`progress`).

    running: the results so far.
    """

    def __init__(self, settings: Settings, console: Console | None = None) -> None:
        self._settings = settings
        self._console = console or terminal(err=True)
        self.running = RunningScores(settings)
        self._shown: Part | None = None
        self._scores = ""

    def completed(self, settings: Settings) -> None:
        """Go on with these settings, in which nothing is left open any more."""
        self._settings = self.running.settings = settings

    def say(self, line: str) -> None:
        """Print a line as it is, however long."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def adapter_messages(self) -> Iterator[None]:
        """Print what adapters log: that a model is being loaded, which may take minutes."""
        display = self

        class Lines(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                display.say(record.getMessage())

        logger, handler = logging.getLogger("adapters"), Lines(logging.INFO)
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    @contextlib.contextmanager
    def watching(self, total: int, done: int) -> Iterator[Observer]:
        """The progress of `total` dialogues, of which `done` are settled already."""
        kind = self._settings.progress
        if kind == "off":
            yield _Notices(self)
            return
        console = self._console
        if kind != "auto":
            console = terminal(err=True, bar=kind == "bar")
        from harness.benchmarks import benchmark

        units = benchmark(self._settings.benchmark).declared.units
        with Progress(
            total, done=done, metrics=self.scores, units=units, console=console
        ) as progress:
            yield progress

    def add(self, record: UnitRecord[Any]) -> None:
        """Count a step's line among the scores so far."""
        self.running.add(record)

    def scores(self) -> str:
        """Step success and element accuracy so far, and whether many replies could not be used.

        Worked out again for every 2 % more steps.
        """
        part = self.running.part()
        if part is not None and part is not self._shown:
            from harness.evaluation.model import limits_of
            from harness.evaluation.reply_limit import unusable_replies
            from harness.tables import coverage, estimate_cell

            metrics = part.metrics
            declared = metrics.declared
            named = {one: one.name for one in declared.in_tables if one.binary and not one.main}
            # The success of a step is told as "step".
            main = {"success": declared.unit}
            named |= {one: main.get(one.name, one.name) for one in declared.in_tables if one.main}
            units = metrics.headline
            rates = (
                f"{name} {estimate_cell(units.rates[one.name][one.averages[0]])} {of}".rstrip()
                for one, name in named.items()
                for of in [coverage(units.partial.get(one.name), units.n_units)]
            )
            self._scores = f"so far: {', '.join(rates)}"
            limits = limits_of(self._settings)
            if unusable := unusable_replies(self.running.records, limits, declared.units):
                self._scores += f" | {unusable}"
            self._shown = part
        return self._scores


class _Notices(Observer):
    """No progress, but what the user must know."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def notice(self, text: str) -> None:
        self._display.say(text)
