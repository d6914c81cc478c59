"""The display of a run under way: notices, progress, and the scores so far.

Progress is a live display on a terminal, a line now and then elsewhere.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from adapters.contract import FaultKind
from harness.engine import Outcome
from harness.printing import one_line, printable, terminal
from harness.runs import CallRecord, Unit
from harness.session.observers import Observers, SessionObserver
from harness.session.summary import RunningScores
from harness.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from harness.planning.plan import Plan
    from parsers import Results


LINE_EVERY_S = 30.0
SCORES_EVERY_S = 1.0
MAX_ERROR = 80


@dataclass(slots=True)
class Counters:
    """Progress of a session.

    units: dialogues that ended.
    unsettled: those of them without a prediction.
    calls: sent to the model and answered.
    cached: answered from the cache.
    replayed: on record before this session.
    parked: dialogues that wait for a batch of the provider.
    retries: attempts that failed and were followed by another.
    error: what the last of them ran into.
    input, output: tokens of the calls sent in this session.
    cost: in US dollars; None until a price is known.
    """

    units: int = 0
    unsettled: int = 0
    calls: int = 0
    cached: int = 0
    replayed: int = 0
    parked: int = 0
    retries: int = 0
    error: str = ""
    input: int = 0
    output: int = 0
    cost: float | None = None

    def add(self, record: CallRecord, *, replayed: bool) -> None:
        """Count a call."""
        if replayed:
            self.replayed += 1
            return
        if record.from_cache:
            self.cached += 1
            return
        self.calls += 1
        if record.reply.usage:
            self.input += record.reply.usage.input
            self.output += record.reply.usage.output
        if record.cost is not None:
            self.cost = (self.cost or 0.0) + record.cost


class Progress(SessionObserver):
    """Shows the progress of a run. Use it as a context manager.

    total: dialogues of the run.
    done: dialogues settled in earlier sessions.
    metrics: returns the running scores as text.
    units: the word for what dialogues are about.
    every_s: seconds between two lines without a terminal.
    clock: returns the time in seconds.
    """

    def __init__(
        self,
        total: int,
        *,
        done: int = 0,
        metrics: Callable[[], str] = str,
        units: str = "units",
        console: Console | None = None,
        every_s: float = LINE_EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counters = Counters()
        self._total = total
        self._done = done
        self._metrics = metrics
        self._units = units
        self._console = console or terminal(err=True)
        self._every_s = every_s
        self._clock = clock
        self._started = self._shown = clock()
        self._scores = ""
        self._scored: float | None = None
        self._live: Live | None = None

    def __enter__(self) -> Progress:
        self._started = self._shown = self._clock()
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(
                console=self._console, get_renderable=self._display, refresh_per_second=4
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._scores = self._metrics()
            self._live.stop()
            self._live = None
        else:
            self._line()

    def passed_over(self, unit_id: str, repeat: int) -> None:
        # It counts as done, but tells nothing about the rate.
        self._done += 1

    def called(self, record: CallRecord, *, replayed: bool) -> None:
        self.counters.add(record, replayed=replayed)
        self._tick()

    def retrying(
        self, unit_id: str, place: str, kind: FaultKind, wait_s: float, error: str = ""
    ) -> None:
        self.counters.retries += 1
        self.counters.error = one_line(error, MAX_ERROR)
        self._tick()

    def settled(self, outcome: Outcome) -> None:
        self.counters.units += 1
        self.counters.unsettled += not outcome.settled
        self._tick()

    def parked(self, unit_id: str, repeat: int) -> None:
        self.counters.parked += 1
        self._tick()

    def notice(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def text(self) -> str:
        """Return the state of the run in a line, without the scores."""
        elapsed = self._clock() - self._started
        return status_line(self.counters, self._total, self._done, elapsed, self._units)

    def _tick(self) -> None:
        now = self._clock()
        if self._live is None:
            if now - self._shown >= self._every_s:
                self._line()
        elif self._scored is None or now - self._scored >= SCORES_EVERY_S:
            # Not when the display is drawn: that happens in another thread, which must not read the
            # run's records while they change.
            self._scored = now
            self._scores = self._metrics()

    def _line(self) -> None:
        self._shown = self._clock()
        parts = [part for part in (self.text(), self._metrics()) if part]
        line = " | ".join(parts)
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _display(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        lines = Table.grid(expand=True)
        done = self._done + self.counters.units
        lines.add_row(ProgressBar(total=max(1, self._total), completed=done))
        for text in (self.text(), self._scores):
            lines.add_row(Text(printable(text)))
        return lines


def status_line(
    counters: Counters, total: int, done: int, elapsed_s: float, units: str = "units"
) -> str:
    """Return units, failures, tokens, cost, rate and time left in a line, leaving out zeros.

    >>> status_line(Counters(units=5, calls=10, input=2_500, output=100), 20, 5, 60.0, "steps")
    '10/20 steps, 10 calls, 2.5k in, 100 out, 5.0 steps/min, 2:00 left'
    """
    parts = [f"{done + counters.units}/{total} {units}"]
    for count, name in (
        (counters.unsettled, "without an answer"),
        (counters.calls, "calls"),
        (counters.cached, "cached"),
        (counters.replayed, "replayed"),
        (counters.parked, "waiting for batches"),
        (counters.retries, "retries"),
    ):
        if count:
            parts.append(f"{count} {name}")
    if counters.error:
        parts.append(f"last error: {counters.error}")
    for tokens, name in ((counters.input, "in"), (counters.output, "out")):
        if tokens:
            parts.append(f"{_short(tokens)} {name}")
    if counters.cost:
        parts.append(f"${counters.cost:.2f}" if counters.cost >= 1 else f"${counters.cost:.4f}")
    if counters.units and elapsed_s > 0:
        rate = counters.units / elapsed_s
        parts.append(f"{rate * 60:.1f} {units}/min")
        left = total - done - counters.units
        if left > 0:
            parts.append(f"{span(left / rate)} left")
    return ", ".join(parts)


def _short(number: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def span(seconds: float) -> str:
    """Return a time as h:mm:ss, or m:ss below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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
            from harness.session.deployment import unusable_replies
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
