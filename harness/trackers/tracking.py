"""The observer that `--track` opens: it sends points of a run's course, and its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from adapters.registry import Registry, UnknownName
from harness import __version__
from harness.benchmarks.scoring import Records
from harness.engine import Outcome
from harness.errors import UserError
from harness.planning.plan import Plan
from harness.runs import Unit, open_run
from harness.runs.places import public
from harness.session.deployment import UNUSABLE, reply_kinds
from harness.session.observers import Finished, SessionObserver
from harness.session.summary import GROWTH, RunningScores, tokens_and_cost
from harness.settings import Settings
from harness.tables.results import POOLED
from harness.trackers import Ending, Tracker, TrackerThread, Values
from parsers import Results
from parsers.declaration import SPLIT

EVERY_UNITS, EVERY_S = 10, 60.0
"""A point is made for so many more finished units, or 2 % where those are more; or, if there is
anything new, after so many seconds."""
END_S = 30.0
"""Seconds that the end of a session may wait for all trackers together."""
TRACKERS: Registry[Tracker] = Registry(
    "tracker", "vlm_eval.trackers", has=("start", "log", "finish")
)
TRACKERS.add("wandb", "harness.trackers.wandb:WandbTracker", "Weights & Biases (extra wandb)")
RESULTS = ("split", "measure", "average", "value", "low", "high", "n")
Row = dict[str, Any]


class Tracking(SessionObserver):
    """Sends a run to trackers.

    The trackers are started when a unit is finished: a mistake before the first call leaves nothing
    behind at a service. `close` waits for them, but not after an interrupt.
    """

    def __init__(
        self, settings: Settings, given: Mapping[str, object], say: Callable[[str], None]
    ) -> None:
        """Open the trackers that `settings.track` names; nothing is sent yet.

        `given` has trackers of the caller, by the name that represents them in `settings.track`;
        `say` prints a line for the user. Raises `UserError` as `open_trackers`.
        """
        trackers = open_trackers(settings.track, given)
        self._feeds = [TrackerThread(name, one, say, END_S) for name, one in trackers.items()]
        self._running = RunningScores(settings)
        self._plan: Plan | None = None
        self._before = self._sent = 0
        self._sent_at = 0.0
        self._is_started = self._is_over = False

    def begun(self, plan: Plan, settled: int, records: Sequence[Unit[Any]]) -> None:
        self._plan, self._before = plan, settled
        self._running = RunningScores(plan.settings)
        for record in records:
            self._running.add(record)
        self._sent, self._sent_at = self._running.settled, time.monotonic()

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
        total = list(_rows(done.found["", ""], POOLED))
        values = {**_named(total), **_spent(done.records)}
        settled = sum(record.settled for record in done.records)
        if settled > self._before:
            self._log(settled, lambda: values)
        by_split = {value: part for (key, value), part in done.found.items() if key == SPLIT}
        rows = [row for name, part in by_split.items() for row in _rows(part, name)]
        rows += total if len(by_split) > 1 else []
        self._end(Ending(settled, values, rows, done.complete))

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
        if new >= enough or (new > 0 and time.monotonic() - self._sent_at >= EVERY_S):
            self._point()

    def _point(self) -> None:
        scored, latest = list(self._running.records), list(self._running.latest.values())

        @cache
        def values() -> dict[str, float]:
            found = _rows(self._running.results_of(scored), whole=False) if scored else ()
            return {**_named(found), **_spent(latest)}

        self._log(self._running.settled, values)

    def _log(self, settled: int, values: Values) -> None:
        self._sent, self._sent_at = settled, time.monotonic()
        for feed in self._feeds:
            feed.log(settled, values)

    def _start(self, plan: Plan) -> None:
        if self._is_started:
            return
        self._is_started = True
        manifest = open_run(plan.directory).manifest
        config = {
            **manifest.config,
            "model_info": manifest.model,
            "dataset": manifest.dataset,
            "pictures": manifest.pictures,
            "prompts_sha256": manifest.prompts,
            "version": __version__,
        }
        for feed in self._feeds:
            feed.begin(manifest.name, public(config))

    def _end(self, ending: Ending) -> None:
        self._is_over = True
        for feed in self._feeds:
            feed.finish(ending)


def _rows(results: Results, split: str = "", *, whole: bool = True) -> Iterator[Row]:
    """Yield the measures of tables in the numbers of some units.

    Measures of parents have the word for these in place of an average. They are left out unless it
    is known which units parents have as a `whole`.
    """
    declared = results.declared
    means = [(one, average) for one in declared.in_tables for average in one.averages]
    parents = [(one, "") for one in declared.of_parents] if whole else []
    for measure, average in (*means, *parents):
        if row := results.row(measure.name, average):
            word = average or declared.level(measure.over).many
            ends = (row.interval.low, row.interval.high) if row.interval else (None, None)
            values = (split, measure.name, word, row.number, *ends, row.n)
            yield dict(zip(RESULTS, values, strict=True))


def _named(rows: Iterable[Row]) -> dict[str, float]:
    known = ((f"{row['average']}/{row['measure']}", row["value"]) for row in rows)
    return {name: value for name, value in known if value is not None}


def _spent(records: Records) -> dict[str, float]:
    """Return shares of replies that cannot be used, tokens and US dollars, as far as known."""
    kinds = reply_kinds(records)
    asked, words = kinds.total(), {"cut off": "truncated"}
    usage, cost = tokens_and_cost(records)
    tokens = {"input": usage.input, "cached": usage.cached, "output": usage.output}
    return {
        **{f"replies/{words.get(kind, kind)}": kinds[kind] / asked for kind in UNUSABLE if asked},
        **{f"tokens/{name}": n for name, n in tokens.items() if usage.input},
        **({} if cost is None else {"cost": cost}),
    }


def open_trackers(names: Iterable[str], given: Mapping[str, object]) -> dict[str, Tracker]:
    """Open trackers by name or as `module:Class`, each perhaps with `:PROJECT`; nothing is sent
    yet. `given` has trackers of the caller by name.

    Raises `UserError` for an unknown name, a repeated one, and a tracker that cannot be made: its
    package or its key is missing.
    """
    opened: dict[str, Tracker] = {}
    for written in names:
        if written in opened:
            raise UserError(f"--track {written} is given twice")
        try:
            if written in given:
                opened[written] = TRACKERS.made(written, given[written])
            else:
                opened[written] = TRACKERS.make(*TRACKERS.split(written))
        except (UnknownName, UserError) as error:
            raise UserError(f"--track {written}: {error}") from error
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise UserError(f"--track {written}: it cannot be opened ({why})") from error
    return opened
