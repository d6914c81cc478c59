"""Scoring a run again from its recorded replies.

Newer reading rules may lead a dialogue to a question that was never asked. Such a step keeps the
prediction that it has, flagged with the edition of the rules that read it; a new run asks the
question.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.benchmarks import Benchmark, benchmark, benchmark_of
from harness.benchmarks.opening import open_with
from harness.benchmarks.scoring import on_record, scored, scorer_of
from harness.benchmarks.shows import Shows
from harness.dialogue import Act, Ask, Call, Result, hold_turns
from harness.errors import UserError
from harness.printing import say
from harness.protocols import AskingProtocol
from harness.protocols.contract import flagged
from harness.runs import CallRecord, Manifest, Run, RunError, StepKey, Unit, open_run
from harness.runs.records import call_id, shared_unit
from harness.runs.run import settings_of
from harness.session.brief import print_result
from harness.session.report import Notes, result_grid, result_json
from harness.session.summary import results_of, summarise
from harness.settings import Settings, written
from harness.tables import Grid, counted
from parsers import READING
from parsers.records import Prediction, Status

if TYPE_CHECKING:
    from rich.console import Console

UNASKED = frozenset({Status.NO_REPLY, Status.NOT_OFFERED})
"""Statuses of predictions that are not read from a reply."""
_NUMBERED = re.compile(r"[<(]([^\s<>()/]+) id=(\d+)[\s>]*([^\W_]*)")
"""An element that a question numbers: its tag, its number, the first word of its text."""


Calls = Mapping[str, CallRecord]
"""The calls of a dialogue by name."""


class NotOnRecord(RunError):
    """A dialogue asks something that the run has no reply to."""


class Rescored(NamedTuple):
    """The lines of a run, read and scored again."""

    records: list[Unit[Any]]
    changed: int
    """Number of predictions that differ from the recorded ones."""
    kept: int
    """Number of predictions kept as an older edition of the reading rules read them."""


class RecordedCalls:
    """Calls of the last trial of every dialogue, and those that the units of a parent share."""

    def __init__(self, calls: Iterable[CallRecord]) -> None:
        self._own: dict[StepKey, dict[str, CallRecord]] = {}
        self._trials: dict[StepKey, int] = {}
        self._shared: dict[str, CallRecord] = {}
        for call in calls:
            if call.asked_by:
                self._shared[call.id] = call
                continue
            if call.trial > self._trials.get(call.key, 0):
                self._trials[call.key] = call.trial
                self._own.pop(call.key, None)
            if call.trial == self._trials.get(call.key, 0):
                self._own.setdefault(call.key, {})[call.name] = call

    def of(self, key: StepKey) -> Mapping[str, CallRecord]:
        """Return the calls that a dialogue may ask for, by `name_of`."""
        own = self._own.get(key, {})
        return ChainMap(own, self._shared) if self._shared else own


def name_of(call: Call, repeat: int) -> str:
    """Return the name under which a call is found among those of its dialogue: its own, or its
    id if it is shared."""
    if isinstance(call, Act) or not call.shared:
        return call.name
    return call_id(shared_unit(call.shared), repeat, call.name)


def summary_of(
    run: Run, records: Sequence[Unit[Any]] | None = None, settings: Settings | None = None
) -> dict[str, Any]:
    """The numbers of a run as `summary.json` has them, by its own lines and rules unless others are
    given. Raises `RunError`."""
    settings = settings or settings_of(run)
    records = run.records() if records is None else records
    source = on_record(settings, run.manifest.declaration)
    found = results_of(records, settings, source, task_rows_of(run, records))
    return summarise(records, settings, source, run.manifest, found)


def grid_of(
    run: Run, records: Sequence[Unit[Any]] | None = None, settings: Settings | None = None
) -> Grid:
    """The table of results of a run, by its own lines and rules unless others are given. Raises
    `RunError`."""
    settings = settings or settings_of(run)
    records = run.records() if records is None else records
    source, rows = on_record(settings, run.manifest.declaration), task_rows_of(run, records)
    return result_grid(
        records,
        settings,
        source,
        results_of(records, settings, source, rows),
        rows,
        manifest=run.manifest,
        notes=notes_of(settings),
        directory=run.path,
    )


def rescored(run: Run, settings: Settings) -> Rescored:
    """Read and score the predictions of a run again.

    Raises `RunError` if the recorded calls do not belong to the run's protocol.
    """
    source = benchmark_of(settings)
    shows = Shows(settings, source.options, protocol_of(settings))
    score = scorer_of(source, run.manifest.declaration)
    edition = run.manifest.reading
    calls = RecordedCalls(run.calls())
    records, changed, kept = [], 0, 0
    for record in run.records():
        prediction = record.prediction
        if is_read(record):
            of_step = calls.of(record.key)
            shuffle = record.repeat if settings.shuffles > 1 else 0
            try:
                prediction = reread(source, shows, run, record, of_step, shuffle)
                if edition < READING:
                    check_questions(source, shows, run, record, of_step, shuffle, prediction)
                changed += prediction != record.prediction
            except NotOnRecord:
                if record.prediction is None or edition >= READING:
                    raise
                prediction = flagged(record.prediction, [f"read_by_{edition}"])
                kept += 1
        if prediction is not None:
            record = scored(replace(record, prediction=prediction), score)
        records.append(record)
    return Rescored(records, changed, kept)


def is_read(record: Unit[Any]) -> bool:
    """Return whether a step is settled with a prediction read from replies."""
    prediction = record.prediction
    return record.settled and prediction is not None and prediction.status not in UNASKED


def protocol_of(settings: Settings) -> AskingProtocol:
    """The protocol that reads the replies of a run; their texts are on record."""
    return open_with(settings, benchmark(settings.benchmark), texts=False)


def notes_of(settings: Settings) -> Notes | None:
    """The notes of a run's protocol, None if the package that has it is not installed here."""
    try:
        return protocol_of(settings).notes
    except UserError:
        return None


def reread(
    source: Benchmark, shows: Shows, run: Run, record: Unit[Any], calls: Calls, shuffle: int
) -> Prediction:
    """Return the outcome of a step's dialogue with the replies on record. Raises `NotOnRecord`."""
    view = source.recall(record).view.shuffled(shuffle)

    def result(call: Call) -> Result:
        recorded = calls.get(name_of(call, record.repeat))
        if recorded is None:
            raise NotOnRecord(f"{record.kind} {record.unit_id} has no call '{call.name}' on record")
        return run.result_of(recorded)

    return hold_turns(source.dialogue(view, shows), lambda asked: list(map(result, asked)))


def check_questions(
    source: Benchmark,
    shows: Shows,
    run: Run,
    record: Unit[Any],
    calls: Calls,
    shuffle: int,
    prediction: Prediction,
) -> None:
    """Raise `NotOnRecord` if `prediction` was read from a reply to another question.

    Other winners of a round may have led to other elements under the same name. Without the page
    only what both texts number can be compared (`<a id=2> Help`). A question that numbers nothing
    without the page is the same as long as the prediction is.
    """
    view = source.recall(record, scene=False).view.shuffled(shuffle)

    def result(ask: Call) -> Result:
        call = calls[name_of(ask, record.repeat)]
        if not isinstance(ask, Ask):
            return run.result_of(call)
        on_record = (part for part in call.messages[-1].shown if isinstance(part, str))
        texts = ask.conversation.messages[-1].text, "".join(on_record)
        listed, recorded = (set(_NUMBERED.findall(text)) for text in texts)
        same = listed <= recorded and {n for _, n, _ in listed} == {n for _, n, _ in recorded}
        if not same and (listed or prediction != record.prediction):
            raise NotOnRecord(f"{record.kind} {record.unit_id} asks something else as '{ask.name}'")
        return call.reply

    hold_turns(source.dialogue(view, shows), lambda asks: list(map(result, asks)))


def rescore_run(
    path: Path, changes: Mapping[str, Any], console: Console, *, as_json: str | None = None
) -> int:
    """Print the scores of a run under its own rules, or changed ones. Returns the exit code.

    `as_json` prints JSON as after a run: "scores", or the whole summary ("full").
    """
    run = open_run(path)
    settings = _changed(settings_of(run), changes)
    records, changed, kept = rescored(run, settings)
    pointed = any(record.prediction and record.prediction.point for record in records)
    if "point_rule" in dict(changes.get("benchmark_option", ())) and not pointed:
        option = written("point_rule", "benchmark")
        raise UserError(f"{path} has no answers by coordinates; leave out {option}")
    if not records:
        raise UserError(f"{path} has no {run.manifest.declaration.units} yet")
    if as_json:
        summary = summary_of(run, records, settings)
        say(result_json(run, full=as_json == "full", summary=summary))
        return 0
    print_result(console, grid_of(run, records, settings))
    read = sum(record.prediction is not None for record in records)
    comparison = f"{changed} of {read} predictions read differently than in the run"
    console.print(comparison, markup=False, highlight=False, soft_wrap=True)
    if run.manifest.reading < READING:
        note = edition_note(run.manifest, kept)
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    return 0


def _changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return the settings of a run with other rules. Raises `UserError` for other names."""
    changed = dict(changes)
    rules = {
        "benchmark": benchmark_of(settings).options.scoring,
        "protocol": ("first_of_many", "value_style", "acts"),
    }
    for owner, known in rules.items():
        name = f"{owner}_option"
        for key, _ in changed.get(name, ()):
            if key in known:
                continue
            if others := [one for one, keys in rules.items() if key in keys]:
                raise UserError(f"{written(key, owner)}: give {written(key, others[0])}")
            raise UserError(
                f"{written(key, owner)} is no rule of scoring; a run has its own (known: "
                f"{', '.join(known)})"
            )
        if name in changed:
            pairs = {**dict(getattr(settings, name)), **dict(changed[name])}
            changed[name] = tuple(pairs.items())
    return replace(settings, **changed)


def edition_note(manifest: Manifest, kept: int) -> str:
    """Explain the scores of a run that an older edition of the reading rules has read."""
    edition, declared = manifest.reading, manifest.declaration
    note = f"read by edition {edition} of the reading rules, and here by edition {READING}"
    if not kept:
        return note
    units = counted(kept, declared.unit, declared.units)
    held = f"{units} for which that asks something that is not on record"
    return (
        f"{note}; {held} {'keeps' if kept == 1 else 'keep'} the prediction by edition {edition} "
        f"(flag read_by_{edition}): run the model again with the same settings to ask"
    )


def task_rows_of(run: Run, records: Sequence[Unit[Any]]) -> dict[str, int]:
    """Return the number of rows of tasks that the run does not cover, as far as it can tell.

    Rows that an unfinished run did not reach have no record; their task, or whatever else they
    belong to, is as long as they say (`Unit.total`).
    """
    level = run.manifest.declaration.innermost.name
    unfinished = () if run.complete else records
    known = {r.parents[level]: r.total for r in unfinished if r.total and level in r.parents}
    cut_short: dict[str, int] = run.manifest.dataset.get("partial_tasks", {})
    return known | cut_short
