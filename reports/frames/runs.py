"""A row per run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from parsers import F1Variant
from reports.frames.facts import FACTS, facts
from reports.frames.rows import InvalidRule, RunRows, run_rows
from reports.frames.schema import Column, Kind, schema, series, typed
from reports.load import RunLike, corrupt_lines, open_runs
from reports.settings import Setting, compare

COLUMNS = (
    *FACTS,
    Column("created", "str", "when the run was started"),
    Column("sessions", "Int64", "how often it was started or continued"),
    Column("tasks", "Int64", "tasks behind the headline"),
    Column("steps", "Int64", "steps behind the headline"),
    Column("element", "float64", "element accuracy, macro, headline"),
    Column("operation_f1", "float64", "operation F1, macro, headline"),
    Column("step_success", "float64", "step success, macro, headline"),
    Column("task_success", "float64", "task success, headline; missing while a task is incomplete"),
)
"""What the frame holds, before a column for every setting in which the runs differ."""
RUNS_SCHEMA = schema(COLUMNS)


def runs_frame(
    runs: RunLike | Iterable[RunLike],
    *,
    f1: F1Variant | None = None,
    invalid: InvalidRule | None = None,
) -> pd.DataFrame:
    """The runs; `COLUMNS` says what the columns hold.

    Settings in which the runs differ follow as columns `setting.<name>`, those they share are in
    `attrs["constants"]`. `f1` and `invalid` replace each run's own rules for the headline. Raises
    `RunError` for what cannot be read.
    """
    opened = open_runs(runs)
    rows = [_row(one) for one in run_rows(opened.values(), f1=f1, invalid=invalid)]
    frame = typed({c.name: [row[c.name] for row in rows] for c in COLUMNS}, COLUMNS)
    settings = compare(opened)
    for name, values in settings.differences.items():
        frame[f"setting.{name}"] = _setting([values[label] for label in opened])
    frame.attrs = {
        "constants": settings.constants,
        "differences": settings.differences,
        "corrupt": corrupt_lines(opened),
    }
    return frame


def _row(rows: RunRows) -> dict[str, Any]:
    metrics = rows.metrics().metrics
    steps, tasks = metrics.steps, metrics.task_success
    manifest = rows.run.manifest
    return {
        **facts(rows),
        "created": manifest.created,
        "sessions": len(manifest.sessions),
        "tasks": steps.n_tasks,
        "steps": steps.n_steps,
        "element": steps.element.macro.value,
        "operation_f1": steps.operation_f1.macro.value,
        "step_success": steps.success.macro.value,
        "task_success": tasks.value if tasks else None,
    }


def _setting(values: list[Setting]) -> pd.Series[Any]:
    known = [value for value in values if value is not None]
    kind: Kind = "str"
    if all(isinstance(value, bool) for value in known):
        kind = "boolean"
    elif all(type(value) is int for value in known):
        kind = "Int64"
    elif all(type(value) in (int, float) for value in known):
        kind = "float64"
    if kind != "str":
        return series(values, kind)
    return series([None if value is None else str(value) for value in values], kind)
