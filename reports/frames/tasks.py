"""A row per run, task and repeat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from parsers import F1Variant, TaskSuccess, aggregate
from reports.frames.rows import RunRows, run_rows
from reports.frames.schema import Column, schema, typed
from reports.load import RunLike, corrupt_lines, open_runs
from reports.settings import compare

COLUMNS = (
    Column("run", "category", "the run, as labelled by `reports.load.open_runs`"),
    Column("repeat", "Int64", "number of the repeat, from 0"),
    Column("split", "category", "the split"),
    Column("task_id", "category", "the task"),
    Column("website", "category", "the website"),
    Column("domain", "category", "its domain"),
    Column("subdomain", "category", "its subdomain"),
    Column("rows", "Int64", "rows of the task on record"),
    Column("valid", "Int64", "valid rows"),
    Column("settled", "Int64", "valid rows with a final outcome"),
    Column("complete", "boolean", "whether all its rows are selected and have a final outcome"),
    Column("element", "float64", "element accuracy, mean over settled valid steps"),
    Column("operation_f1", "float64", "operation F1 in the run's variant, likewise"),
    Column("step_success", "float64", "step success, likewise"),
    Column("success", "boolean", "task success; missing if incomplete or without a valid row"),
    Column("strict", "boolean", "task success where an invalid row is a failure"),
    Column("clean", "boolean", "task success of tasks without invalid rows"),
    Column("input_tokens", "Int64", "input tokens as billed"),
    Column("output_tokens", "Int64", "output tokens as billed"),
    Column("cost", "float64", "US dollars; missing without a price"),
)
TASKS_SCHEMA = schema(COLUMNS)


def tasks_frame(runs: RunLike | Iterable[RunLike], *, f1: F1Variant | None = None) -> pd.DataFrame:
    """Return a row per run, task and repeat with the columns of `COLUMNS`.

    `f1` replaces each run's own variant of operation F1. Raises `RunError` for runs that cannot be
    read.
    """
    opened = open_runs(runs)
    parts = [_tasks(rows) for rows in run_rows(opened.values(), f1=f1)]
    data = {c.name: [value for part in parts for value in part[c.name]] for c in COLUMNS}
    frame = typed(data, COLUMNS)
    settings = compare(opened)
    frame.attrs = {
        "constants": settings.constants,
        "differences": settings.differences,
        "corrupt": corrupt_lines(opened),
    }
    return frame


def _tasks(rows: RunRows) -> dict[str, list[Any]]:
    places: dict[tuple[str, str, int], list[int]] = {}
    for place, (repeat, step) in enumerate(rows.trials):
        places.setdefault((step.info.split, step.info.task_id, repeat), []).append(place)
    columns: dict[str, list[Any]] = {column.name: [] for column in COLUMNS}
    spent = {
        name: rows.frame[name].astype("float64").tolist()
        for name in ("input_tokens", "output_tokens", "cost")
    }
    for (split, task, repeat), positions in places.items():
        values = _task(rows, positions)
        values |= {"run": rows.label, "repeat": repeat, "split": split, "task_id": task}
        values |= {
            name: _sum([values_of[place] for place in positions])
            for name, values_of in spent.items()
        }
        for name, value in values.items():
            columns[name].append(value)
    return columns


def _task(rows: RunRows, places: Sequence[int]) -> dict[str, Any]:
    steps = [rows.trials[place][1] for place in places]
    metrics = aggregate(steps, rows.rules, task_lengths=rows.lengths)
    counts, valid, tasks = metrics.counts, metrics.valid, metrics.tasks
    assert tasks is not None
    cut = len(steps) < rows.lengths.get(steps[0].info.task_id, 0)
    return {
        "website": steps[0].info.website,
        "domain": steps[0].info.domain,
        "subdomain": steps[0].info.subdomain,
        "rows": counts.n_rows,
        "valid": counts.n_valid,
        "settled": counts.n_settled,
        "complete": counts.n_unsettled == 0 and not cut,
        "element": valid.element.micro.value,
        "operation_f1": valid.operation_f1.micro.value,
        "step_success": valid.success.micro.value,
        "success": _succeeded(tasks.default),
        "strict": _succeeded(tasks.strict),
        "clean": _succeeded(tasks.clean),
    }


def _succeeded(success: TaskSuccess) -> bool | None:
    return None if success.value is None else success.successes == 1


def _sum(values: Sequence[float]) -> float | None:
    known = [value for value in values if value == value]
    return sum(known) if known else None
