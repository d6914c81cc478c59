"""A row per run, step and repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import NamedTuple

import pandas as pd
import pyarrow as pa

from harness.runs import Run, RunError, StepRecord
from parsers import Declaration, Prediction, declaration_of
from reports.frames.arrow import from_table, from_values, joined
from reports.frames.schema import Column, Kind, schema, union
from reports.load import RunLike, corrupt_lines, declarations, open_runs, without_table
from reports.settings import compare

TABLE = "steps.parquet"
_WHERE = {
    "step_id": "unit_id",
    "index": "position",
    "total_steps": "total",
    "task": "goal",
    **{
        name: f"detail.{name}"
        for name in (
            "action_uid",
            "positives",
            "negatives",
            "none_letter",
            "same_text",
            "related",
            "short",
        )
    },
}
"""Where a record has what a column is named after, if not under that name."""

Getter = Callable[[StepRecord], object]


class _Step(NamedTuple):
    column: Column
    get: Getter


def _of(name: str, kind: Kind, meaning: str, get: Getter | None = None) -> _Step:
    if get is None:
        get = attrgetter(_WHERE.get(name, name))
    return _Step(Column(name, kind, meaning), get)


def _predicted(name: str) -> Getter:
    def get(record: StepRecord) -> object:
        prediction = _prediction(record)
        return None if prediction is None else getattr(prediction, name)

    return get


def _score(name: str, binary: bool) -> Getter:
    def get(record: StepRecord) -> object:
        value = (record.scores or {}).get(name) if record.settled else None
        return bool(value) if binary and value is not None else value

    return get


def _scores(declared: Declaration) -> tuple[_Step, ...]:
    return tuple(
        _of(
            column,
            "boolean" if measure.binary else "float64",
            measure.meaning + (f", variant {name.partition('.')[2]}" if measure.variants else ""),
            _score(name, measure.binary),
        )
        for column, name, measure in declared.columns
    )


def _used(name: str) -> Getter:
    return lambda record: None if record.usage is None else getattr(record.usage, name)


def _prediction(record: StepRecord) -> Prediction | None:
    return record.prediction if record.settled else None


def _status(record: StepRecord) -> str | None:
    prediction = _prediction(record)
    return None if prediction is None else str(prediction.status)


def _flags(record: StepRecord) -> str | None:
    prediction = _prediction(record)
    return None if prediction is None else " ".join(prediction.flags)


def _in(mapping: str, name: str) -> Getter:
    return lambda record: getattr(record, mapping).get(name)


def _size(place: int) -> Getter:
    return lambda record: record.detail.page_size[place] if record.detail.page_size else None


_ROW = (
    _of("repeat", "Int64", "number of the repeat, from 0"),
    _of("step_id", "str", "the step, unique in its run and repeat"),
    _of("task_id", "category", "the task", _in("parents", "task")),
    _of("action_uid", "str", "the action of the data set"),
    _of("index", "Int64", "position of the step in its task, from 0"),
    _of("total_steps", "Int64", "steps of the recorded trajectory"),
    _of("benchmark", "category", "the benchmark"),
    _of("split", "category", "the split"),
    _of("website", "category", "the website", _in("parents", "website")),
    _of("domain", "category", "its domain", _in("labels", "domain")),
    _of("subdomain", "category", "its subdomain", _in("labels", "subdomain")),
    _of("invalid", "category", "why the row is not valid; missing for valid rows"),
    _of("asked", "boolean", "whether the model was asked"),
    _of("settled", "boolean", "whether the step has a final outcome"),
    _of("error", "str", "why it has no final outcome"),
    _of("source", "str", "file that the row was read from"),
    _of("html_digest", "str", "digest of the page", _in("digests", "html")),
    _of(
        "screenshot_digest",
        "str",
        "digest of the screenshot; missing without one",
        _in("digests", "screenshot"),
    ),
    _of("page_width", "Int64", "in pixels", _size(0)),
    _of("page_height", "Int64", "in pixels", _size(1)),
    _of("positives", "Int64", "acceptable elements of the row"),
    _of("negatives", "Int64", "other candidates of the row"),
    _of(
        "gold_operation", "category", "the recorded operation", attrgetter("detail.gold.operation")
    ),
    _of("gold_shown", "str", "the positive among the choices", attrgetter("detail.gold.shown")),
    _of("choices", "Int64", "number of listed choices", lambda record: len(record.detail.choices)),
    _of("none_letter", "category", "letter of 'none of these'"),
    _of("same_text", "Int64", "negatives with the same text as the shown positive"),
    _of("related", "Int64", "negatives that contain it or lie inside it"),
    _of("short", "boolean", "fewer negatives than asked for"),
    _of("prompt_tokens", "Int64", "longest prompt, estimated"),
    _of("calls", "Int64", "number of calls", lambda record: len(record.calls)),
    _of("cost", "float64", "US dollars; missing without a price"),
    *(
        _of(f"{name}_tokens", "Int64", f"{name} tokens as billed", _used(name))
        for name in ("input", "cached", "output")
    ),
)
_OUTCOME = (
    _of("status", "category", "how the step ended", _status),
    _of("letter", "category", "the chosen letter", _predicted("letter")),
    _of("element", "str", "the chosen element", _predicted("element")),
    _of("operation", "category", "the predicted operation", _predicted("operation")),
    _of("value", "str", "its value", _predicted("value")),
    _of("flags", "str", "what the parser repaired, separated by spaces", _flags),
)
_TEXTS = (
    _of("task", "str", "the goal in words"),
    _of(
        "history",
        "str",
        "actions so far, one a line",
        lambda record: "\n".join(record.detail.history),
    ),
    _of("gold_value", "str", "the recorded value", attrgetter("detail.gold.value")),
    _of(
        "listing",
        "str",
        "the choices as letter, tag and text, one a line; * marks the right ones",
        lambda record: "\n".join(
            f"{'*' if choice.positive else ' '}{choice.letter} <{choice.tag}> {choice.text}"
            for choice in record.detail.choices
        ),
    ),
)


def columns(declared: Declaration) -> tuple[Column, ...]:
    """The columns of the frame for runs of a benchmark.

    Those from `status` on are missing while a step has no final outcome.
    """
    return (
        Column("run", "category", "the run, as labelled by `reports.load.open_runs`"),
        *(step.column for step in (*_ROW, *_OUTCOME, *_scores(declared))),
    )


TEXT_COLUMNS = tuple(step.column for step in _TEXTS)
"""Columns added by `texts=True`: long texts taken from pages."""
STEPS_SCHEMA = schema(columns(declaration_of(None)))


def steps_frame(runs: RunLike | Iterable[RunLike], *, texts: bool = False) -> pd.DataFrame:
    """Return a row per run, step and repeat with the `columns` that the benchmarks declare.

    A complete run is read from its `steps.parquet`; an unfinished one, or one whose table is
    damaged, from `steps.jsonl`. `texts` adds `TEXT_COLUMNS`. Raises `RunError` for runs that cannot
    be read at all.

    `attrs` of the frame:
    constants, differences: settings that the runs share, and those in which they differ.
    corrupt: lines about what could not be read and is left out.
    """
    opened = open_runs(runs)
    described = union(columns(declared) for declared in declarations(opened.values()))
    described = (*described, *TEXT_COLUMNS) if texts else described
    frame = joined({label: _read(run, texts) for label, run in opened.items()}, described)
    settings = compare(opened)
    frame.attrs = {
        "constants": settings.constants,
        "differences": settings.differences,
        "corrupt": corrupt_lines(opened),
    }
    return frame


def _read(run: Run, texts: bool) -> pa.Table:
    declared = run.manifest.declaration
    outcomes = (*_OUTCOME, *_scores(declared))
    if run.complete and not texts:
        outcome = frozenset(step.column.name for step in outcomes)
        try:
            table = from_table(run.path / TABLE, columns(declared)[1:], outcome)
        except RunError as error:
            without_table(run, error)
            table = None
        if table is not None:
            return table
    wanted = (*_ROW, *outcomes, *(_TEXTS if texts else ()))
    records = run.records()
    values = {step.column.name: [step.get(record) for record in records] for step in wanted}
    try:
        return from_values(values, [step.column for step in wanted])
    except (TypeError, ValueError, OverflowError) as error:
        raise RunError(f"{run.path} holds a step that cannot be read: {error}") from error
