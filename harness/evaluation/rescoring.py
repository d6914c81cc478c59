"""Scores of a run worked out again from its stored replies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from adapters import Reply
from harness.dialogue import hold
from harness.errors import UserError
from harness.evaluation.config import Asking, Choosing, RunConfig, Scoring, Selecting
from harness.evaluation.report import print_result
from harness.evaluation.scene import RecordedScene
from harness.evaluation.step_records import choices_of_record, step_of_record
from harness.evaluation.summary import scoring_rules, summarise
from harness.protocols.contract import AskingProtocol
from harness.runs import LATER, CallRecord, Run, RunError, StepRecord, open_run
from parsers import score
from parsers.records import Prediction, Status

if TYPE_CHECKING:
    from rich.console import Console

P = TypeVar("P")
UNASKED = frozenset({Status.NO_REPLY, Status.NOT_OFFERED})
"""Outcomes that no reply stands behind."""


def config_of(run: Run) -> RunConfig:
    """The settings that a run was started with. Raises `RunError` for ones that are not ours."""
    stored = run.manifest.config
    try:
        return RunConfig(
            model=stored["model"],
            base_url=stored["base_url"],
            adapter_options=tuple(sorted(stored["adapter_options"].items())),
            selecting=_filled(Selecting, stored),
            choosing=_filled(Choosing, stored),
            asking=_filled(Asking, stored),
            scoring=_filled(Scoring, stored),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{run.path} has settings of another form: {error}") from error


def _filled(part: type[P], stored: Mapping[str, Any]) -> P:
    """A part of the settings; what runs of earlier versions lack has its default."""
    stored = {**LATER, **stored}
    stored["protocol_options"] = list(stored["protocol_options"].items())
    if stored["distractors"] is None:
        del stored["distractors"]  # Nothing was drawn.
    names = [f.name for f in fields(part) if f.name in stored]  # type: ignore[arg-type]
    return part(**{n: tuple(v) if isinstance(v := stored[n], list) else v for n in names})


def rescored(run: Run, config: RunConfig) -> tuple[list[StepRecord], int]:
    """The lines of a run with predictions read and scored anew, and how many predictions differ.

    Raises `RunError` when the calls on record do not belong to the protocol of the run.
    """
    from harness.evaluation.asked import open_protocol

    protocol = open_protocol(replace(config, asking=replace(config.asking, prompts=None)))
    rules = scoring_rules(config.scoring)
    calls: dict[tuple[str, int], dict[str, CallRecord]] = {}
    for call in run.calls():
        calls.setdefault((call.step_id, call.repeat), {})[call.place] = call
    records, changed = [], 0
    for record in run.records():
        prediction = record.prediction
        if record.settled and prediction and prediction.status not in UNASKED:
            own = calls.get((record.step_id, record.repeat), {})
            shuffled = config.asking.shuffles > 1
            prediction = played_back(protocol, record, own, record.repeat if shuffled else 0)
            changed += prediction != record.prediction
        if prediction is not None:
            scores = score(prediction, record.gold, rules)
            record = replace(record, prediction=prediction, scores=scores)
        records.append(record)
    return records, changed


def played_back(
    protocol: AskingProtocol,
    record: StepRecord,
    calls: Mapping[str, CallRecord],
    shuffle: int = 0,
) -> Prediction:
    """The dialogue of a step held again with the replies on record."""
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
    """Print the numbers of a run under its own rules or changed ones; the exit code."""
    run = open_run(path)
    config = config_of(run)
    scoring = {k: v for k, v in changes.items() if k in {f.name for f in fields(Scoring)}}
    reading = {k: v for k, v in changes.items() if k not in scoring}
    config = replace(
        config,
        scoring=replace(config.scoring, **scoring),
        asking=replace(config.asking, **reading),
    )
    records, changed = rescored(run, config)
    pointed = any(record.prediction and record.prediction.point for record in records)
    if "point_rule" in changes and not pointed:
        raise UserError(f"{path} has no answers by coordinates; leave out --point-rule")
    if not records:
        raise UserError(f"{path} has no steps yet")
    task_rows = task_rows_of(run, records)
    if as_json:
        summary = summarise(records, config.scoring, task_rows, run.manifest)
        console.print_json(json.dumps(summary))
        return 0
    pictures, top_k = run.manifest.pictures, config.choosing.top_k
    print_result(console, records, config.scoring, task_rows, pictures, top_k)
    told = f"{changed} of {_read(records)} predictions read differently than in the run"
    console.print(told, markup=False, highlight=False, soft_wrap=True)
    return 0


def task_rows_of(run: Run, records: Sequence[StepRecord]) -> dict[str, int]:
    """How many rows tasks have of which the run does not hold all, as far as a run can tell.

    Rows that an unfinished run did not reach have no lines; a task is as long as its trajectory.
    """
    known = {} if run.complete else {record.task_id: record.total_steps for record in records}
    cut_short: dict[str, int] = run.manifest.dataset.get("partial_tasks", {})
    return known | cut_short


def _read(records: Sequence[StepRecord]) -> int:
    return sum(record.prediction is not None for record in records)
