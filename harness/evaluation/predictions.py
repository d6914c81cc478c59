"""Scoring predictions from a file, without a model.

docs/predictions.md describes the file. Operations and values are read as in replies of models, so
that a file with a model's own words and a run of that model get the same scores.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from harness.benchmarks import recorded_steps, step_benchmark
from harness.candidates import everything, page_of
from harness.errors import UserError
from harness.evaluation.report import print_result
from harness.evaluation.scoring import Scorer, scorer_of
from harness.evaluation.step_records import unasked_record
from harness.evaluation.summary import (
    aggregation_rules,
    part,
    parts,
    plain_part,
    plain_parts,
)
from harness.evaluation.units import unit_kind
from harness.page import Page, PageError
from harness.protocols.coordinates import smallest_under
from harness.records import Choice, Row
from harness.runs import StepRecord
from harness.settings import Settings
from harness.tables import TEST_DATA_NOTE, counted
from parsers import Declaration, ValueStyle, clean_value
from parsers.declaration import SPLIT
from parsers.operations import read_operation
from parsers.records import OPERATIONS, Prediction, Status
from parsers.values import taken_value

if TYPE_CHECKING:
    from rich.console import Console

UNKNOWN_ELEMENTS = 0.01
"""Largest share of elements on no page that is not worth a line: a model may invent some."""


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    step: str
    element: str | int | None = None
    point: tuple[float, float] | None = None
    operation: str | None = None
    value: str | int | None = None


def read_predictions(path: Path, style: ValueStyle = "plain") -> dict[str, Prediction]:
    """Read predictions by step id; `style` is as in `clean_value`.

    Raises `UserError` naming the line that is wrong.
    """
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
        predictions[line.step] = _prediction(line, where, style)
    if not predictions:
        raise UserError(f"{path} holds no predictions")
    return predictions


def _prediction(line: _Line, where: str, style: ValueStyle) -> Prediction:
    if line.element is not None and line.point is not None:
        raise UserError(f"{where}: give element or point, not both")
    written = line.operation or ""
    operation = read_operation(written)
    value = "" if line.value is None else clean_value(str(line.value), style)
    value, missing = taken_value(operation.operation, value)
    answered = line.element is not None or line.point is not None
    return Prediction.of(
        Status.ANSWERED if answered else Status.NONE,
        element=None if line.element is None else str(line.element),
        point=line.point,
        operation=operation.operation,
        value=value,
        flags=tuple(sorted(missing | operation.flags(named=bool(written.strip())))),
    )


def score_predictions(path: Path, settings: Settings, console: Console, *, as_json: bool) -> int:
    """Print the scores of a prediction file. Returns the exit code."""
    from harness.evaluation.plan import open_data

    predictions = read_predictions(path, settings.value_style or "plain")
    selected = open_data(replace(settings, distractors=0))
    known = {entry.step_id for entry in selected.part.entries}
    for step in predictions:
        if step not in known:
            near = difflib.get_close_matches(step, known, n=1, cutoff=0.9)
            hint = f"did you mean {near[0]}?" if near else "is it in another split?"
            raise UserError(f"{path}: no step {step} among those selected; {hint}")
    declared = step_benchmark(settings.benchmark).declared
    score = scorer_of(settings, declared)
    records = []
    unknown: list[str] = []
    for row in recorded_steps(selected.part).rows():
        prediction = predictions.get(row.step_id)
        if prediction is not None and not _is_on_page(row, prediction.element):
            unknown.append(row.step_id)
        if prediction is not None and prediction.point is not None:
            prediction = replace(prediction, under=_under(row, prediction.point))
        records.append(_record(row, prediction, score))
    if as_json:
        summary = _summary(records, settings, declared, selected.task_rows)
        console.print_json(json.dumps({**summary, "elements_on_no_page": len(unknown)}))
        return 0
    print_result(console, records, settings, declared, selected.task_rows)
    count = f"{len(predictions)} predictions for {counted(len(records), 'step')}"
    if any(record.prediction is None and record.invalid is None for record in records):
        count += "; steps without one are left out (--unattempted fail counts them as failed)"
    for line in (*_notes(predictions, unknown), count):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def _notes(predictions: Mapping[str, Prediction], unknown: Sequence[str]) -> Iterator[str]:
    """Lines about predictions that look like mistakes in the file."""
    elements = sum(prediction.element is not None for prediction in predictions.values())
    if elements and len(unknown) / elements > UNKNOWN_ELEMENTS:
        yield (
            f"{len(unknown)} of {counted(elements, 'element')} ({len(unknown) / elements:.1%}) are "
            f"not on the page of their step (the first: {predictions[unknown[0]].element} in "
            f"{unknown[0]}); an element is the id of a node in the page's HTML"
        )
    unreadable = {"unknown_action", "several_actions"}
    odd = sum(not unreadable.isdisjoint(each.flags) for each in predictions.values())
    if odd:
        yield f"{counted(odd, 'operation')} could not be read; expected {', '.join(OPERATIONS)}"


def _is_on_page(row: Row, element: str | None) -> bool:
    """Whether an element is a node of the row's page; true without an element."""
    if element is None or row.invalid is not None:
        return True
    if any(element == candidate.id for candidate in (*row.positives, *row.negatives)):
        return True
    try:
        return element in Page.parse(row.html)
    except PageError:
        return False


def _under(row: Row, point: tuple[float, float]) -> str | None:
    """Return the smallest candidate of a row's page under a point."""
    known = {c.id: c for c in (*row.positives, *row.negatives)}
    ids = everything(row, page_of(row)).ids
    return smallest_under(
        point,
        [Choice("", i, known[i].tag, "", known[i].box, place=n) for n, i in enumerate(ids)],
    )


def _summary(
    records: list[StepRecord],
    settings: Settings,
    declared: Declaration,
    task_rows: Mapping[str, int],
) -> dict[str, Any]:
    rules = aggregation_rules(settings, declared)
    bounds = unit_kind(declared.kind).beside.bounds(records, settings)
    shared = (declared, rules, task_rows)
    return {
        "note": TEST_DATA_NOTE,
        "total": plain_part(part(records, *shared, bounds=bounds)),
        "by_split": plain_parts(parts(records, SPLIT, *shared, bounds=bounds)),
    }


def _record(row: Row, prediction: Prediction | None, score: Scorer) -> StepRecord:
    line = unasked_record(row, row.gold)
    if row.invalid is not None:
        return replace(line, settled=True)
    answered = prediction is not None
    scores = score(prediction, line.detail) if prediction else None
    return replace(line, asked=answered, settled=answered, prediction=prediction, scores=scores)
