"""Counts of the error classes, with example steps, as a frame and as grids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import pandas as pd

from harness import tables
from harness.tables import (
    Cell,
    Grid,
    Row,
    Section,
    clean,
    few_notes,
    interval_record,
    percent,
    record_bounds,
)
from parsers import mean_interval
from reports.about import about
from reports.errors.classes import CLASSES, INFO, NOT_COUNTED, ErrorClass
from reports.errors.classifying import NEAR_EDIT, NEAR_F1
from reports.errors.frame import errors_frame
from reports.frames.schema import Column, typed
from reports.grid import frame_data, plain_records
from reports.load import RunLike, corrupt_lines, open_runs, unfinished_lines
from reports.settings import compare

By = Literal["split", "website", "operation"]
KEYS: tuple[By, ...] = get_args(By)
ALL = "all"
FOOTNOTE = (
    "share: per cent of settled valid rows (valid rows with a final outcome); of errors: per cent "
    "of those that failed. Every row has exactly one class, the first that fits. 95 % intervals "
    "with tasks as clusters."
)
_SHARES = ("share", "share_of_errors")
_TEXT = 88
"""Longest text of a listed element in an example, in characters."""


def _share(name: str, meaning: str) -> tuple[Column, ...]:
    return (
        Column(name, "float64", meaning),
        Column(f"{name}_low", "float64", "lower end of its 95 % interval"),
        Column(f"{name}_high", "float64", "upper end"),
        Column(f"{name}_method", "str", "its method"),
        Column(f"{name}_few", "boolean", "whether it is marked"),
    )


COLUMNS = (
    Column("run", "str", "the run, as labelled by `reports.load.open_runs`"),
    Column("by", "str", "what the rows are grouped by"),
    Column("group", "str", "the group; 'all' for all rows of the run"),
    Column("error_class", "str", "one of `reports.errors.ErrorClass`"),
    Column("status", "str", "the parser's status, for the class no_answer"),
    Column("title", "str", "the class in words"),
    Column("steps", "Int64", "rows in the class, repeats included"),
    *_share("share", "share of the settled valid rows; missing for other rows"),
    *_share("share_of_errors", "share of the failed rows"),
)
Example = dict[str, Any]


def errors_table(
    runs: RunLike | Iterable[RunLike],
    by: By | None = None,
    *,
    examples: int = 0,
    pages: bool = True,
) -> pd.DataFrame:
    """Return counts and shares of the classes that occur, by run, group and class.

    Runs are never pooled. The counts of a run's groups sum to those of its group `all`, which comes
    first. Raises `RunError` for runs that cannot be read, and `ValueError` for an unknown `by`.

    by: what to group by in addition.
    examples: number of example steps per class and run.
    pages: whether to read pages, see `classify_run`.

    `attrs` of the frame:
    constants, differences, given, key, runs: as in `reports.tables`.
    examples: the example steps.
    beside: by run, near misses among wrong values, and wrong elements where round 1 described the
        target.
    labels: labels given by people, counted by class.
    problems: messages about unreadable lines of labels.
    unfinished, corrupt: messages about unfinished and damaged runs.
    """
    if by is not None and by not in KEYS:
        raise ValueError(f"unknown key {by!r}: expected one of {', '.join(KEYS)}")
    opened = open_runs(runs)
    frame = errors_frame(opened.values(), pages=pages)
    data: dict[str, list[Any]] = {column.name: [] for column in COLUMNS}
    for run in opened:
        run_rows = frame[frame["run"].astype("str") == run]
        _count(data, run, ALL, ALL, run_rows)
        if by is not None:
            for group, rows in run_rows.groupby(run_rows[by].astype("str"), sort=True):
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
        "beside": [_near_misses(frame, run) for run in opened],
        "labels": _labels(frame),
        "problems": frame.attrs["problems"],
        "unfinished": unfinished_lines(opened),
        "corrupt": corrupt_lines(opened),
    }
    return table


def _count(data: dict[str, list[Any]], run: str, by: str, group: str, rows: pd.DataFrame) -> None:
    classes: Sequence[str] = rows["error_class"].astype("str").tolist()
    statuses = rows["error_detail"].astype("object").tolist()
    tasks = list(zip(rows["split"].astype("str"), rows["task_id"].astype("str"), strict=True))
    keys = [
        (name, str(status) if name == ErrorClass.NO_ANSWER else None)
        for name, status in zip(classes, statuses, strict=True)
    ]
    settled = [place for place, name in enumerate(classes) if name not in NOT_COUNTED]
    failed = [place for place in settled if classes[place] != ErrorClass.SUCCESS]
    counts: dict[tuple[str, str | None], int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1

    def share(column: str, key: tuple[str, str | None], among: Sequence[int]) -> dict[str, Any]:
        values = [float(keys[place] == key) for place in among]
        interval = mean_interval(values, [tasks[place] for place in among], "micro")
        return {column: counts[key] / len(among), **interval_record(column, interval)}

    for info in CLASSES:
        in_class = sorted(((k, n) for k, n in counts.items() if k[0] == info.error_class), key=str)
        for (name, status), steps in in_class:
            counted = name not in NOT_COUNTED
            error = counted and name != ErrorClass.SUCCESS
            row: dict[str, Any] = {
                "run": run,
                "by": by,
                "group": group,
                "error_class": str(name),
                "status": status,
                "title": info.title if status is None else f"{info.title}: {status}",
                "steps": steps,
                **(share("share", (name, status), settled) if counted else {}),
                **(share("share_of_errors", (name, status), failed) if error else {}),
            }
            for column in COLUMNS:
                data[column.name].append(row.get(column.name))


def _examples(frame: pd.DataFrame, run: str, limit: int) -> list[Example]:
    """Example steps of every error class, in pseudo-random order by a hash of their ids."""
    run_rows = frame[frame["run"].astype("str") == run]
    names = ["step_id", "repeat", "website", "error_class", "error_detail", "chosen", "target"]
    names.append("human_label")
    columns = [
        run_rows[name].astype("object").where(run_rows[name].notna(), None) for name in names
    ]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    rows.sort(key=lambda row: hashlib.sha256(row["step_id"].encode()).digest())
    shown: list[Example] = []
    for info in CLASSES:
        if info.error_class in NOT_COUNTED or info.error_class is ErrorClass.SUCCESS:
            continue
        in_class = [row for row in rows if row["error_class"] == info.error_class]
        shown += [{"run": run, **row} for row in in_class[:limit]]
    return shown


def _near_misses(frame: pd.DataFrame, run: str) -> dict[str, Any]:
    run_rows = frame[frame["run"].astype("str") == run]
    values = run_rows[run_rows["error_class"] == ErrorClass.WRONG_VALUE]
    return {
        "run": run,
        "wrong_values": len(values),
        "near_by_f1": int((values["near_f1"] >= NEAR_F1).sum()),
        "near_by_edit": int((values["near_edit"] <= NEAR_EDIT).sum()),
        "wrong_elements": int(run_rows["relation"].notna().sum()),
        "described_target": int(run_rows["described_target"].fillna(False).sum()),
    }


def _labels(frame: pd.DataFrame) -> list[dict[str, Any]]:
    labelled = frame[frame["human_label"].notna()]
    counts: dict[tuple[str, str, str], int] = {}
    names = ("run", "human_label", "error_class")
    columns = (labelled[name].astype("str").tolist() for name in names)
    for run, label, error_class in zip(*columns, strict=True):
        key = run, label, error_class
        counts[key] = counts.get(key, 0) + 1
    return [
        {"run": run, "label": label, "error_class": error_class, "steps": steps}
        for (run, label, error_class), steps in sorted(counts.items())
    ]


def render(table: pd.DataFrame, form: str = "text", *, width: int | None = None) -> str:
    """Write a table made by `errors_table` in one of `FORMATS`, ending in a newline.

    CSV and JSON hold every column, with shares between 0 and 1. Raises `ValueError` for an unknown
    format.
    """
    arranged = grids(table)
    return tables.render(arranged[0] if form in ("csv", "json") else arranged, form, width=width)


def grids(table: pd.DataFrame) -> list[Grid]:
    """Arrange the counts for readers, followed by the examples if there are any."""
    records = plain_records(table)
    sections: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for record in records:
        sections.setdefault((record["run"], record["by"], record["group"]), []).append(record)
    notes = [FOOTNOTE]
    if any(record[f"{name}_few"] for record in records for name in _SHARES):
        notes += few_notes(rates=True)
    counts = Grid(
        title="",
        columns=(
            tables.Column("class", "left"),
            *map(tables.Column, ("steps", "share", "of errors")),
        ),
        sections=tuple(_section(*key, rows) for key, rows in sections.items()),
        above=about(table.attrs),
        footnotes=(
            *_near_miss_lines(table),
            *_label_lines(table),
            *notes,
            *table.attrs["problems"],
        ),
        section_head="rows",
        data=frame_data(
            table,
            {**_facts(table), "notes": notes},
            (*about(table.attrs), *table.attrs["problems"], *notes),
        ),
    )
    return [counts, *([_example_grid(table)] if table.attrs["examples"] else [])]


def _facts(table: pd.DataFrame) -> dict[str, Any]:
    attrs = table.attrs
    return {
        "settings": {name: attrs[name] for name in ("constants", "differences")},
        **{name: attrs[name] for name in ("key", "runs", "examples", "beside", "labels")},
        **{name: list(attrs[name]) for name in ("problems", "unfinished", "corrupt")},
    }


def _section(run: str, by: str, group: str, records: Sequence[dict[str, Any]]) -> Section:
    named = ALL if by == ALL else f"{by} {group}"
    return Section(
        tuple(
            Row(
                (
                    record["title"],
                    f"{record['steps']:,}",
                    *(
                        ""
                        if record[name] is None
                        else Cell(percent(record[name]), record_bounds(record, name))
                        for name in _SHARES
                    ),
                )
            )
            for record in records
        ),
        title=f"{run}: {named}, {sum(record['steps'] for record in records):,} rows",
    )


def _example_grid(table: pd.DataFrame) -> Grid:
    sections: dict[tuple[str, str], list[Row]] = {}
    for one in table.attrs["examples"]:
        cells = (_example_name(one), *(_cut(one[name]) for name in ("chosen", "target")))
        sections.setdefault((one["run"], one["error_class"]), []).append(Row(cells))
    return Grid(
        title="Examples",
        columns=tuple(tables.Column(head, "left") for head in ("step", "chosen", "target")),
        sections=tuple(
            Section(tuple(rows), title=f"{run}: {INFO[ErrorClass(name)].title}")
            for (run, name), rows in sections.items()
        ),
        section_head="class",
    )


def _example_name(one: Example) -> str:
    repeat = f" repeat {one['repeat']}" if one["repeat"] else ""
    label = f" [{one['human_label']}]" if one["human_label"] else ""
    detail = f": {one['error_detail']}" if one["error_detail"] else ""
    return f"{one['step_id']}{repeat}{detail}{label}"


def _cut(text: object) -> str:
    line = clean(text)
    return line if len(line) <= _TEXT else line[: _TEXT - 1] + "…"


def _near_miss_lines(table: pd.DataFrame) -> list[str]:
    """A line per run with such steps on near misses and on targets described in round 1."""
    lines = []
    for one in table.attrs["beside"]:
        parts = []
        if one["wrong_values"]:
            parts.append(
                f"of {one['wrong_values']:,} wrong values {one['near_by_f1']:,} are close by F1 "
                f"(at least {NEAR_F1}) and {one['near_by_edit']:,} by edit distance "
                f"(at most {NEAR_EDIT})"
            )
        if one["wrong_elements"]:
            parts.append(
                f"round 1 described the target in {one['described_target']:,} of "
                f"{one['wrong_elements']:,} wrong elements"
            )
        if parts:
            lines.append(f"{one['run']}: {'; '.join(parts)}")
    return lines


def _label_lines(table: pd.DataFrame) -> list[str]:
    """A line per run with its labels, the most frequent first."""
    runs: dict[str, dict[str, int]] = {}
    for one in table.attrs["labels"]:
        counts = runs.setdefault(one["run"], {})
        counts[one["label"]] = counts.get(one["label"], 0) + one["steps"]
    return [
        f"labels of {run}: "
        + ", ".join(
            f"{label} {steps}"
            for label, steps in sorted(counts.items(), key=lambda i: (-i[1], i[0]))
        )
        for run, counts in runs.items()
    ]
