"""Scoring a run again from its recorded replies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters import Reply
from harness.dialogue import hold
from harness.errors import UserError
from harness.evaluation.report import Notes, print_result, result_grid
from harness.evaluation.resolve import open_with
from harness.evaluation.scene import RecordedScene
from harness.evaluation.step_records import choices_of_record, step_of_record
from harness.evaluation.summary import scoring_rules, summarise
from harness.protocols.contract import AskingProtocol
from harness.runs import CallRecord, Run, RunError, StepRecord, open_run
from harness.settings import Settings, from_record
from harness.tables import Grid
from parsers import score
from parsers.records import Prediction, Status

if TYPE_CHECKING:
    from rich.console import Console

UNASKED = frozenset({Status.NO_REPLY, Status.NOT_OFFERED})
"""Statuses of predictions that are not read from a reply."""


def settings_of(run: Run) -> Settings:
    """Return the settings that a run was started with. Raises `RunError` if they cannot be read."""
    try:
        return from_record(run.manifest.config)
    except ValueError as error:
        raise RunError(f"the settings of {run.path} cannot be read: {error}") from error


def summary_of(run: Run) -> dict[str, Any]:
    """The numbers of a run by its own rules, as `summary.json` has them. Raises `RunError`."""
    records = run.records()
    return summarise(records, settings_of(run), task_rows_of(run, records), run.manifest)


def result_grid_of(run: Run) -> Grid:
    """The table of results of a run by its own rules. Raises `RunError`."""
    records, settings = run.records(), settings_of(run)
    pictures = run.manifest.pictures
    rest = (task_rows_of(run, records), pictures, settings.top_k, notes_of(settings))
    return result_grid(records, settings, *rest)


def rescored(run: Run, settings: Settings) -> tuple[list[StepRecord], int]:
    """Read and score the predictions of a run again.

    Returns the new records and how many predictions differ from the recorded ones. Raises
    `RunError` if the recorded calls do not belong to the run's protocol.
    """
    protocol = protocol_of(settings)
    rules = scoring_rules(settings)
    calls: dict[tuple[str, int], dict[str, CallRecord]] = {}
    for call in run.calls():
        calls.setdefault((call.step_id, call.repeat), {})[call.place] = call
    records, changed = [], 0
    for record in run.records():
        prediction = record.prediction
        if record.settled and prediction and prediction.status not in UNASKED:
            of_step = calls.get((record.step_id, record.repeat), {})
            shuffled = settings.shuffles > 1
            prediction = replayed(protocol, record, of_step, record.repeat if shuffled else 0)
            changed += prediction != record.prediction
        if prediction is not None:
            scores = score(prediction, record.gold, rules)
            record = replace(record, prediction=prediction, scores=scores)
        records.append(record)
    return records, changed


def protocol_of(settings: Settings) -> AskingProtocol:
    """The protocol that reads the replies of a run; their texts are on record."""
    return open_with(replace(settings, prompts=None))


def notes_of(settings: Settings) -> Notes | None:
    """The notes of a run's protocol, None if the package that has it is not installed here."""
    try:
        return protocol_of(settings).notes
    except UserError:
        return None


def replayed(
    protocol: AskingProtocol,
    record: StepRecord,
    calls: Mapping[str, CallRecord],
    shuffle: int = 0,
) -> Prediction:
    """Hold the dialogue of a step again with the replies on record."""
    choices = choices_of_record(record)
    step = replace(step_of_record(record), shuffle=shuffle, scene=RecordedScene(choices))
    dialogue = protocol.dialogue(step, choices)
    return hold(dialogue, lambda ask: _reply(record, calls, ask.place))


def _reply(record: StepRecord, calls: Mapping[str, CallRecord], place: str) -> Reply:
    if place not in calls:
        raise RunError(f"step {record.step_id} has no call '{place}' on record")
    return calls[place].reply


def rescore_run(
    path: Path, changes: Mapping[str, Any], console: Console, *, as_json: bool = False
) -> int:
    """Print the scores of a run under its own rules, or changed ones. Returns the exit code."""
    run = open_run(path)
    settings = replace(settings_of(run), **changes)
    records, changed = rescored(run, settings)
    pointed = any(record.prediction and record.prediction.point for record in records)
    if "point_rule" in changes and not pointed:
        raise UserError(f"{path} has no answers by coordinates; leave out --point-rule")
    if not records:
        raise UserError(f"{path} has no steps yet")
    task_rows = task_rows_of(run, records)
    if as_json:
        summary = summarise(records, settings, task_rows, run.manifest)
        console.print_json(json.dumps(summary))
        return 0
    rest = (task_rows, run.manifest.pictures, settings.top_k, notes_of(settings))
    print_result(console, records, settings, *rest)
    comparison = f"{changed} of {_read(records)} predictions read differently than in the run"
    console.print(comparison, markup=False, highlight=False, soft_wrap=True)
    return 0


def task_rows_of(run: Run, records: Sequence[StepRecord]) -> dict[str, int]:
    """Return the number of rows of tasks that the run does not cover, as far as it can tell.

    Rows that an unfinished run did not reach have no record; their task is as long as its
    trajectory.
    """
    known = (
        {} if run.complete else {record.info.task_id: record.info.total_steps for record in records}
    )
    cut_short: dict[str, int] = run.manifest.dataset.get("partial_tasks", {})
    return known | cut_short


def _read(records: Sequence[StepRecord]) -> int:
    return sum(record.prediction is not None for record in records)
