"""How many steps of a run fall into which class, and some of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import pandas as pd

from reports.errors.classes import CLASSES, NOT_COUNTED, ErrorClass
from reports.errors.classifying import NEAR_EDIT, NEAR_F1
from reports.errors.frame import errors_frame
from reports.frames.schema import Column, typed
from reports.load import RunLike, corrupt_lines, open_runs, unfinished_lines
from reports.settings import compare

By = Literal["split", "website", "operation"]
KEYS: tuple[By, ...] = get_args(By)
ALL = "all"

COLUMNS = (
    Column("run", "str", "the run, as labelled by `reports.load.open_runs`"),
    Column("by", "str", "what the rows are grouped by"),
    Column("group", "str", "the group; 'all' for all rows of the run"),
    Column("error_class", "str", "one of `reports.errors.ErrorClass`"),
    Column("status", "str", "the parser's status, for the class no_answer"),
    Column("title", "str", "the class in words"),
    Column("steps", "Int64", "rows in the class, repeats included"),
    Column("share", "float64", "of the settled valid rows; missing for rows that are neither"),
    Column("share_of_errors", "float64", "of those that failed"),
)
Example = dict[str, Any]


def errors_table(
    runs: RunLike | Iterable[RunLike],
    by: By | None = None,
    *,
    examples: int = 0,
    pages: bool = True,
) -> pd.DataFrame:
    """Counts and shares of the classes that occur, by run, group and class.

    Runs are never pooled. A run's groups follow its rows over all, and their counts sum to it.
    `attrs` holds the settings as in `reports.tables`, up to `examples` steps of every class and
    run, how many wrong values were near misses and how many wrong elements round 1 had not meant
    (`beside`), the labels of people counted by class (`labels`), and lines of labels that could not
    be read (`problems`). Raises `RunError`.
    """
    if by is not None and by not in KEYS:
        raise ValueError(f"unknown key {by!r}: expected one of {', '.join(KEYS)}")
    opened = open_runs(runs)
    frame = errors_frame(opened.values(), pages=pages)
    data: dict[str, list[Any]] = {column.name: [] for column in COLUMNS}
    for run in opened:
        own = frame[frame["run"].astype("str") == run]
        _count(data, run, ALL, ALL, own)
        if by is not None:
            for group, rows in own.groupby(own[by].astype("str"), sort=True):
                _count(data, run, by, str(group), rows)
    table = typed(data, COLUMNS)
    settings = compare(opened)
    table.attrs = {
        "constants": settings.constants,
        "differences": settings.differences,
        "given": {},
        "key": by or ALL,
        "runs": list(opened),
        "examples": [one for run in opened for one in _examples(frame, run, examples)],
        "beside": [_beside(frame, run) for run in opened],
        "labels": _labels(frame),
        "problems": frame.attrs["problems"],
        "unfinished": unfinished_lines(opened),
        "corrupt": corrupt_lines(opened),
    }
    return table


def _count(data: dict[str, list[Any]], run: str, by: str, group: str, rows: pd.DataFrame) -> None:
    classes: Sequence[str] = rows["error_class"].astype("str").tolist()
    statuses = rows["error_detail"].astype("object").tolist()
    failed_or_not = sum(name not in NOT_COUNTED for name in classes)
    failed = failed_or_not - classes.count(ErrorClass.SUCCESS)
    found: dict[tuple[str, str | None], int] = {}
    for name, status in zip(classes, statuses, strict=True):
        key = name, str(status) if name == ErrorClass.NO_ANSWER else None
        found[key] = found.get(key, 0) + 1
    for info in CLASSES:
        own = sorted(((k, n) for k, n in found.items() if k[0] == info.error_class), key=str)
        for (name, status), steps in own:
            counted = name not in NOT_COUNTED
            error = counted and name != ErrorClass.SUCCESS
            row = {
                "run": run,
                "by": by,
                "group": group,
                "error_class": str(name),
                "status": status,
                "title": info.title if status is None else f"{info.title}: {status}",
                "steps": steps,
                "share": steps / failed_or_not if counted else None,
                "share_of_errors": steps / failed if error else None,
            }
            for column, value in row.items():
                data[column].append(value)


def _examples(frame: pd.DataFrame, run: str, wanted: int) -> list[Example]:
    """Steps of every class that is an error, in an order that depends on their ids alone."""
    own = frame[frame["run"].astype("str") == run]
    names = ["step_id", "repeat", "website", "error_class", "error_detail", "chosen", "target"]
    names.append("human_label")
    columns = [own[name].astype("object").where(own[name].notna(), None) for name in names]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    rows.sort(key=lambda row: hashlib.sha256(row["step_id"].encode()).digest())
    shown: list[Example] = []
    for info in CLASSES:
        if info.error_class in NOT_COUNTED or info.error_class is ErrorClass.SUCCESS:
            continue
        fitting = [row for row in rows if row["error_class"] == info.error_class]
        shown += [{"run": run, **row} for row in fitting[:wanted]]
    return shown


def _beside(frame: pd.DataFrame, run: str) -> dict[str, Any]:
    own = frame[frame["run"].astype("str") == run]
    values = own[own["error_class"] == ErrorClass.WRONG_VALUE]
    return {
        "run": run,
        "wrong_values": len(values),
        "near_by_f1": int((values["near_f1"] >= NEAR_F1).sum()),
        "near_by_edit": int((values["near_edit"] <= NEAR_EDIT).sum()),
        "wrong_elements": int(own["relation"].notna().sum()),
        "described_target": int(own["described_target"].fillna(False).sum()),
    }


def _labels(frame: pd.DataFrame) -> list[dict[str, Any]]:
    labelled = frame[frame["human_label"].notna()]
    found: dict[tuple[str, str, str], int] = {}
    names = ("run", "human_label", "error_class")
    columns = (labelled[name].astype("str").tolist() for name in names)
    for run, label, error_class in zip(*columns, strict=True):
        key = run, label, error_class
        found[key] = found.get(key, 0) + 1
    return [
        {"run": run, "label": label, "error_class": error_class, "steps": steps}
        for (run, label, error_class), steps in sorted(found.items())
    ]
