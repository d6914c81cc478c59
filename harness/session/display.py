"""The display of a run under way: notices, progress, and the scores so far."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from harness.printing import terminal
from harness.runs import Unit
from harness.session.observers import Observers
from harness.session.summary import RunningScores
from harness.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from harness.planning.plan import Plan
    from harness.session.progress import Progress
    from parsers import Results

FIRST_UNITS = 20
"""Units before the answers are looked at for a mistake in the settings."""


class Display(Observers):
    """Shows a run on a console, as its settings ask for (`progress`).

    running: the results so far.
    """

    def __init__(self, settings: Settings, console: Console | None = None) -> None:
        super().__init__()
        self._settings = settings
        self._console = console or terminal(err=True)
        self.running = RunningScores(settings)
        self._shown = contextlib.ExitStack()
        self._progress: Progress | None = None
        self._results: Results | None = None
        self._scores = ""
        self._checked = FIRST_UNITS
        self._ending = False
        self._of_policy = False

    def say(self, line: str) -> None:
        """Print a line unchanged, however long."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def adapter_messages(self) -> Iterator[None]:
        """Print what adapters log: that a model is being loaded, which may take minutes."""
        display = self

        class _Lines(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                display.say(record.getMessage())

        logger, handler = logging.getLogger("adapters"), _Lines(logging.INFO)
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    def begun(self, plan: Plan, settled: int, records: Sequence[Unit[Any]]) -> None:
        self._settings = self.running.settings = plan.settings
        self._of_policy = plan.model.policy is not None
        for record in records:
            self.running.add(record)
        kind = self._settings.progress
        if kind == "off":
            return
        from harness.benchmarks import benchmark
        from harness.session.progress import Progress

        progress = Progress(
            plan.dialogues,
            done=settled,
            metrics=self.scores,
            units=benchmark(self._settings.benchmark).declared.units,
            console=self._console if kind == "auto" else terminal(err=True, bar=kind == "bar"),
        )
        self._progress = self._shown.enter_context(progress)
        self.observers.append(progress)

    def recorded(self, record: Unit[Any]) -> None:
        self.running.add(record)
        if len(self.running.latest) >= self._checked:
            self._check()

    def _check(self) -> None:
        """Say what mistake the answers suggest; until then, look again at twice as many units."""
        from harness.benchmarks import benchmark_of

        records = list(self.running.latest.values())
        source = benchmark_of(self._settings)
        mistake = "" if self._of_policy else source.mistake(records, self._settings)
        self._checked = sys.maxsize if mistake else 2 * len(records)
        if mistake:
            self.notice(f"warning: {mistake}")

    def ended(self) -> None:
        self._ending = True
        self._shown.close()
        self._progress = None
        self.observers.clear()

    def notice(self, text: str) -> None:
        if self._progress is None:
            self.say(text)
        else:
            self._progress.notice(text)

    def scores(self) -> str:
        """Step success and element accuracy so far, and whether many replies could not be used.

        Worked out again for every 2 % more steps, not more often than every 2 seconds, and at the
        end.
        """
        results = self.running.results(whole=self._ending)
        if results is not None and results is not self._results:
            from harness.planning.model import limits_of
            from harness.session.reply_limit import unusable_replies
            from harness.tables.results import cell_of

            declared = results.declared
            first = next((one for one in declared.in_tables if not one.main), None)
            named = {first: first.name} if first else {}
            # The success of a step is shown as "step".
            main = {"success": declared.unit}
            named |= {one: main.get(one.name, one.name) for one in declared.in_tables if one.main}
            rates = (
                f"{name} {cell_of(results.row(one.name), results)}" for one, name in named.items()
            )
            self._scores = f"so far: {', '.join(rates)}"
            limits = limits_of(self._settings)
            unusable = unusable_replies(self.running.records, limits, declared.units)
            if unusable and not self._of_policy:
                self._scores += f" | {unusable}"
            self._results = results
        return self._scores
