"""The observer that `--track` opens: it sends points of a run's course, and its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness import __version__
from harness.benchmarks.scoring import Records
from harness.engine import Outcome
from harness.planning.plan import Plan
from harness.printing import printable
from harness.runs import Run, Unit, open_run
from harness.session.observers import Finished, SessionObserver
from harness.session.reply_limit import UNUSABLE, reply_kinds
from harness.session.summary import GROWTH, RunningScores, tokens_and_cost
from harness.settings import Settings
from harness.tables.results import POOLED
from harness.trackers import TrackerSettings
from harness.trackers.config import open_trackers, sendable
from harness.trackers.contract import CellValue, Ending, Feed, Point, Table, TrackedRun
from parsers import Estimate, Results
from parsers.declaration import SPLIT

EVERY_UNITS, EVERY_S = 10, 60.0
"""A point is made for so many more settled units, or 2 % where those are more; or, if there is
anything new, after so many seconds."""
END_S = 30.0
"""Seconds that the end of a session may wait for all trackers together."""
MOST_TEXT, MOST_ROWS = 2000, 10_000
"""Characters of a text, and rows, in the table of texts."""
RESULTS = ("split", "measure", "average", "value", "low", "high", "n")
_WORDS = {"cut off": "truncated"}


class Tracking(SessionObserver):
    """Sends a run to trackers.

    The trackers are started when a unit has been settled: a mistake before the first call leaves
    nothing behind at a service. `close` waits for them, but not after an interrupt.
    """

    def __init__(
        self,
        settings: Settings,
        given: Mapping[str, object],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the trackers that `settings.track` names; nothing is sent yet.

        Args:
            settings: of the run.
            given: trackers of the caller, by the name that stands for them in `settings.track`.
            say: prints a line for the user.
            clock: returns the time in seconds.

        Raises:
            UserError: see `open_trackers`.
        """
        trackers = open_trackers(TrackerSettings.of(settings).track, given)
        self._feeds = [Feed(name, one, say, END_S) for name, one in trackers.items()]
        self._clock = clock
        self._running = RunningScores(settings)
        self._plan: Plan | None = None
        self._before = 0
        self._sent = 0
        self._sent_at = 0.0
        self._is_started = self._is_over = False

    def begun(self, plan: Plan, settled: int, records: Sequence[Unit[Any]]) -> None:
        self._plan, self._before = plan, settled
        self._running = RunningScores(plan.settings)
        for record in records:
            self._running.add(record)
        self._sent, self._sent_at = self._running.settled, self._clock()

    def recorded(self, record: Unit[Any]) -> None:
        self._running.add(record)

    def passed_over(self, unit_id: str, repeat: int) -> None:
        self._tick()

    def settled(self, outcome: Outcome) -> None:
        self._tick()

    def finished(self, done: Finished) -> None:
        """Send the result, unless the session has only looked for batches in vain."""
        if self._plan is None or (done.waiting and not self._is_started):
            return
        self._start(self._plan)
        run = open_run(done.directory)
        total = list(measures(done.found["", ""]))
        values = {**_named(total), **_spent(done.records)}
        settled = sum(record.settled for record in done.records)
        if settled > self._before:
            self._log(Point(settled, lambda: values))
        by_split = {value: part for (key, value), part in done.found.items() if key == SPLIT}
        rows = [(name, *row) for name, part in by_split.items() for row in measures(part)]
        if len(by_split) > 1:
            rows += [(POOLED, *row) for row in total]
        texts = (
            _texts(run, done.records)
            if TrackerSettings.of(self._plan.settings).track_texts
            else None
        )
        self._end(Ending(settled, values, Table(RESULTS, tuple(rows)), texts, done.complete))

    def close(self, error: BaseException | None = None) -> None:
        if self._is_started and not self._is_over:
            if self._running.settled > self._sent:
                self._point()
            self._end(Ending(self._running.settled))
        for feed in self._feeds:
            if error is None or isinstance(error, Exception):
                feed.wait()
            else:
                feed.abandon()

    def _tick(self) -> None:
        if self._plan is not None:
            self._start(self._plan)
        new = self._running.settled - self._sent
        enough = max(EVERY_UNITS, (GROWTH - 1) * self._sent)
        if new >= enough or (new > 0 and self._clock() - self._sent_at >= EVERY_S):
            self._point()

    def _point(self) -> None:
        scored, latest = list(self._running.records), list(self._running.latest.values())

        def values() -> dict[str, float]:
            rates: Iterable[Row] = ()
            if scored:
                rates = measures(self._running.results_of(scored), whole=False)
            return {**_named(rates), **_spent(latest)}

        self._log(Point(self._running.settled, values))

    def _log(self, point: Point) -> None:
        self._sent, self._sent_at = point.settled, self._clock()
        for feed in self._feeds:
            feed.log(point)

    def _start(self, plan: Plan) -> None:
        if self._is_started:
            return
        self._is_started = True
        manifest = open_run(plan.directory).manifest
        run = TrackedRun(
            name=manifest.name,
            config=sendable(
                {
                    **manifest.config,
                    "model_info": manifest.model,
                    "dataset": manifest.dataset,
                    "pictures": manifest.pictures,
                    "prompts_sha256": manifest.prompts,
                    "version": __version__,
                }
            ),
            units=manifest.declaration.units,
            total=plan.dialogues,
            settled=self._before,
        )
        for feed in self._feeds:
            feed.start(run)

    def _end(self, ending: Ending) -> None:
        self._is_over = True
        for feed in self._feeds:
            feed.finish(ending)


Row = tuple[str, str, float | None, float | None, float | None, int]
"""A measure, its average, the value, the interval's ends, and the number of what is averaged."""


def measures(results: Results, *, whole: bool = True) -> Iterator[Row]:
    """The measures of tables in the numbers of some units.

    Measures of parents have the word for these in place of an average. They are left out unless it
    is known which units parents have as a `whole`.
    """
    declared = results.declared
    for measure in declared.in_tables:
        for average in measure.averages:
            if row := results.row(measure.name, average):
                yield _row(measure.result, average, row)
    for measure in declared.of_parents if whole else ():
        if row := results.row(measure.name):
            yield _row(measure.result, declared.level(measure.over).many, row)


def _row(measure: str, average: str, row: Estimate) -> Row:
    ends = row.interval
    low, high = (ends.low, ends.high) if ends else (None, None)
    return measure, average, row.number, low, high, row.n


def _named(rows: Iterable[Row]) -> dict[str, float]:
    """The measures that are known, by the names of points: `macro/element`."""
    return {
        f"{average}/{measure}": value for measure, average, value, *_ in rows if value is not None
    }


def _spent(records: Records) -> dict[str, float]:
    """Shares of replies that cannot be used, tokens and US dollars so far, as far as known."""
    kinds = reply_kinds(records)
    asked = kinds.total()
    shares = {
        f"replies/{_WORDS.get(kind, kind)}": kinds[kind] / asked for kind in UNUSABLE if asked
    }
    usage, cost = tokens_and_cost(records)
    tokens = {"input": usage.input, "cached": usage.cached, "output": usage.output}
    return {
        **shares,
        **{f"tokens/{name}": n for name, n in tokens.items() if usage.input},
        **({} if cost is None else {"cost": cost}),
    }


def _texts(run: Run, records: Records) -> Table:
    """What was asked and answered, unit by unit; without pictures and pages."""
    declared = run.manifest.declaration
    replies = {call.id: call.reply.text for call in run.calls() if call.is_ask}
    main = declared.main_of_units
    rows: list[tuple[CellValue, ...]] = []
    for record in records:
        if record.settled and record.prediction is not None and len(rows) < MOST_ROWS:
            answered = [replies[id] for id in record.calls if id in replies]
            score = (record.scores or {}).get(main.score())
            rows.append(
                (
                    record.unit_id,
                    record.repeat,
                    record.split,
                    _text(record.goal),
                    _text(str(record.prediction.action or record.prediction.status)),
                    _text(answered[-1] if answered else ""),
                    score,
                )
            )
    head = (declared.id_column, "repeat", SPLIT, "task", "prediction", "reply", main.result)
    return Table(head, tuple(rows))


def _text(text: str) -> str:
    text = printable(text)
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."
