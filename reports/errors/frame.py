"""Error classes and labels as a frame, or merged into the frame of steps."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from reports.errors.classifying import classify_run
from reports.errors.labels import read_labels
from reports.frames.schema import Column, typed
from reports.load import RunLike, open_runs

COLUMNS = (
    Column("run", "category", "the run, as labelled by `reports.load.open_runs`"),
    Column("repeat", "Int64", "number of the repeat, from 0"),
    Column("step_id", "str", "the step"),
    Column("split", "category", "the split"),
    Column("task_id", "category", "the task"),
    Column("website", "category", "the website"),
    Column("operation", "category", "the recorded operation"),
    Column("error_class", "category", "one of `reports.errors.ErrorClass`"),
    Column("error_detail", "str", "evidence for the class, in words"),
    Column("near_f1", "float64", "F1 of a wrong value"),
    Column("near_edit", "float64", "edit distance of a wrong value, 0 to 1"),
    Column("relation", "category", "relation of a wrong element to the target"),
    Column("described_target", "boolean", "wrong element though round 1 described the target"),
    Column("chosen", "str", "the chosen element as listed"),
    Column("target", "str", "the right one as listed"),
    Column("human_label", "str", "labels given by people, joined by '; '"),
)
ERROR_COLUMNS = tuple(
    c for c in COLUMNS if c.name in ("error_class", "error_detail", "human_label")
)
"""What `merge_into` adds."""
_KEY = ["run", "repeat", "step_id"]


def errors_frame(runs: RunLike | Iterable[RunLike], *, pages: bool = True) -> pd.DataFrame:
    """Return a row per run, step and repeat with the columns of `COLUMNS`.

    `attrs["problems"]` describes unreadable lines of `labels.jsonl`. Raises `RunError` for runs
    that cannot be read.
    """
    data: dict[str, list[object]] = {column.name: [] for column in COLUMNS}
    problems: list[str] = []
    for label, run in open_runs(runs).items():
        labels = read_labels(run)
        problems += labels.problems
        by_step = labels.by_step()
        for one in classify_run(run, pages=pages):
            wrong = one.relation is not None
            row = {
                "run": label,
                "repeat": one.repeat,
                "step_id": one.step_id,
                "split": one.split,
                "task_id": one.task_id,
                "website": one.website,
                "operation": one.operation,
                "error_class": str(one.error_class),
                "error_detail": one.detail,
                "near_f1": one.near_f1,
                "near_edit": one.near_edit,
                "relation": None if one.relation is None else str(one.relation),
                "described_target": "described_target" in one.flags if wrong else None,
                "chosen": one.chosen,
                "target": one.target,
                "human_label": by_step.get((one.step_id, one.repeat)),
            }
            for name, value in row.items():
                data[name].append(value)
    frame = typed(data, COLUMNS)
    frame.attrs = {"problems": tuple(problems)}
    return frame


def merge_into(
    steps: pd.DataFrame, runs: RunLike | Iterable[RunLike], *, pages: bool = True
) -> pd.DataFrame:
    """Add `ERROR_COLUMNS` to a frame of steps, keeping its rows and their order.

    `runs` are the runs that the frame was made from; rows of other runs get no class. Raises
    `RunError` for runs that cannot be read.
    """
    errors = errors_frame(runs, pages=pages)
    names = [column.name for column in ERROR_COLUMNS]
    merged = steps.drop(columns=[name for name in names if name in steps])
    keys = pd.MultiIndex.from_frame(merged[_KEY].astype({"run": "str", "step_id": "str"}))
    by_key = errors.astype({"run": "str"}).set_index(_KEY)[names]
    matched = by_key.reindex(keys)
    matched.index = merged.index
    for column in ERROR_COLUMNS:
        values = matched[column.name].astype("object")
        merged[column.name] = pd.Series(
            values.where(values.notna(), None), index=merged.index, dtype="object"
        ).astype("category" if column.kind == "category" else column.kind)
    merged.attrs = {**steps.attrs, "problems": errors.attrs["problems"]}
    return merged
