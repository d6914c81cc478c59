"""Scoring predictions from a file, without a model.

The file has one JSON object per line and step: `step` (its id, `<annotation_id>_<action_uid>`),
`element` (a node id) or `point` ([x, y] in page pixels), `operation` and `value`. An element of
null means that none of the candidates is right.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from harness.candidates import everything, page_of
from harness.errors import UserError
from harness.evaluation.report import print_result
from harness.evaluation.step_records import unasked_record
from harness.evaluation.summary import (
    aggregation_rules,
    part,
    parts,
    plain,
    scoring_rules,
)
from harness.protocols.coordinates import smallest_under
from harness.records import Choice, Row
from harness.runs import StepRecord
from harness.settings import Settings
from harness.tables import TEST_DATA_NOTE, counted
from parsers import clean_value, score
from parsers.records import OPERATIONS, Operation, Prediction, Scores, Status

if TYPE_CHECKING:
    from rich.console import Console

MAPPED = ("HOVER", "ENTER", "PRESS ENTER")


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    step: str
    element: str | int | None = None
    point: tuple[float, float] | None = None
    operation: str | None = None
    value: str | None = None


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Read predictions by step id. Raises `UserError` naming the line that is wrong."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UserError(f"--predictions {path}: {error.strerror or error}") from error
    predictions: dict[str, Prediction] = {}
    decoder = msgspec.json.Decoder(_Line)
    for number, data in enumerate(lines, 1):
        if not data.strip():
            continue
        where = f"{path} line {number}"
        try:
            line = decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UserError(f"{where}: {error}") from error
        if line.step in predictions:
            raise UserError(f"{where}: a second prediction for step {line.step}")
        predictions[line.step] = _prediction(line, where)
    if not predictions:
        raise UserError(f"{path} holds no predictions")
    return predictions


def _prediction(line: _Line, where: str) -> Prediction:
    if line.element is not None and line.point is not None:
        raise UserError(f"{where}: give element or point, not both")
    operation, flags = _operation(line.operation, where)
    answered = line.element is not None or line.point is not None
    return Prediction(
        Status.ANSWERED if answered else Status.NONE,
        element=None if line.element is None else str(line.element),
        point=line.point,
        operation=operation,
        value="" if operation == "CLICK" else clean_value(line.value or ""),
        flags=flags,
    )


def _operation(text: str | None, where: str) -> tuple[Operation | None, tuple[str, ...]]:
    if text is None or not text.strip():
        return None, ()
    name = " ".join(text.upper().replace("_", " ").split())
    if name in MAPPED:
        return "CLICK", ("mapped_operation",)
    for operation in OPERATIONS:
        if name == operation:
            return operation, ()
    raise UserError(f"{where}: operation '{text}' is not one of {', '.join(OPERATIONS)}")


def score_predictions(path: Path, settings: Settings, console: Console, *, as_json: bool) -> int:
    """Print the scores of a prediction file. Returns the exit code."""
    from harness.evaluation.plan import open_data

    predictions = read_predictions(path)
    selected = open_data(replace(settings, distractors=0))
    known = {entry.step_id for entry in selected.part.entries}
    for step in predictions:
        if step not in known:
            near = difflib.get_close_matches(step, known, n=1, cutoff=0.9)
            hint = f"did you mean {near[0]}?" if near else "is it in another split?"
            raise UserError(f"{path}: no step {step} among those selected; {hint}")
    rules = scoring_rules(settings)
    records = []
    for row in selected.part.rows():
        prediction = predictions.get(row.step_id)
        if prediction is not None and prediction.point is not None:
            prediction = replace(prediction, under=_under(row, prediction.point))
        scores = score(prediction, row.gold, rules) if prediction else None
        records.append(_record(row, prediction, scores))
    if as_json:
        console.print_json(json.dumps(_summary(records, settings, selected.task_rows)))
        return 0
    print_result(console, records, settings, selected.task_rows)
    count = f"{len(predictions)} predictions for {counted(len(records), 'step')}"
    if any(record.prediction is None and record.invalid is None for record in records):
        count += "; steps without one are left out (--unattempted fail counts them as failed)"
    console.print(count, markup=False, highlight=False, soft_wrap=True)
    return 0


def _under(row: Row, point: tuple[float, float]) -> str | None:
    """Return the smallest candidate of a row's page under a point."""
    known = {c.id: c for c in (*row.positives, *row.negatives)}
    ids = everything(row, page_of(row)).ids
    return smallest_under(
        point,
        [Choice("", i, known[i].tag, "", known[i].box, place=n) for n, i in enumerate(ids)],
    )


def _summary(
    records: list[StepRecord], settings: Settings, task_rows: Mapping[str, int]
) -> dict[str, Any]:
    rules = aggregation_rules(settings)
    return {
        "note": TEST_DATA_NOTE,
        "total": plain(part(records, rules, task_rows)),
        "by_split": plain(parts(records, "split", rules, task_rows)),
    }


def _record(row: Row, prediction: Prediction | None, scores: Scores | None) -> StepRecord:
    line = unasked_record(row, row.gold)
    if row.invalid is not None:
        return replace(line, settled=True)
    answered = prediction is not None
    return replace(line, asked=answered, settled=answered, prediction=prediction, scores=scores)
