"""Error classes and labels as counts, and as a frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from harness.runs import Run
from harness.tables import interval_record
from parsers import Declaration, mean_interval
from parsers.declaration import SPLIT
from reports.errors import NO_ANSWER, ClassInfo, errors_of
from reports.errors.labels import read_labels
from reports.frames.units import Column, typed
from reports.load import RunLike, open_runs
from reports.names import id_column, level_column

ALL = "all"


def counts(label: str, run: Run, by: str | None, rows: pd.DataFrame) -> Iterable[dict[str, Any]]:
    """Yield a record for every class that occurs, by group: of all rows, and of those with equal
    `by`.

    rows: of the run, as in `reports.errors.frame`.
    """
    declared = run.manifest.declaration
    classes = errors_of(run).classes(declared)
    groups = [(ALL, ALL, rows)]
    if by is not None:
        groups += [
            (by, str(name), part) for name, part in rows.groupby(rows[by].astype("str"), sort=True)
        ]
    for key, name, part in groups:
        for row in _count(part, classes, _clusters(part, declared)):
            yield {"run": label, "by": key, "group": name, **row}


def _clusters(rows: pd.DataFrame, declared: Declaration) -> list[Hashable]:
    """Return the clusters of the rows' intervals: their parents of the usual level."""
    level = declared.level(declared.clusters[0])
    names = [level_column(level)] if level.shared else ["split", level_column(level)]
    return list(zip(*(rows[name].astype("str") for name in names), strict=True))


def _count(
    rows: pd.DataFrame, infos: Sequence[ClassInfo], clusters: Sequence[Hashable]
) -> Iterator[dict[str, Any]]:
    names: Sequence[str] = rows["error_class"].astype("str").tolist()
    details = rows["error_detail"].astype("object").tolist()
    found = [
        (name, str(detail) if name == NO_ANSWER else None)
        for name, detail in zip(names, details, strict=True)
    ]
    counted = {str(info.error_class) for info in infos if info.counted}
    errors = {str(info.error_class) for info in infos if info.is_error}
    settled = [place for place, name in enumerate(names) if name in counted]
    failed = [place for place, name in enumerate(names) if name in errors]
    counts = Counter(found)

    def share(column: str, key: tuple[str, str | None], among: Sequence[int]) -> dict[str, Any]:
        values = [float(found[place] == key) for place in among]
        interval = mean_interval(values, [clusters[place] for place in among], "micro")
        return {column: counts[key] / len(among), **interval_record(column, interval)}

    for info in infos:
        of_class = sorted((one for one in counts.items() if one[0][0] == info.error_class), key=str)
        for key, count in of_class:
            name, status = key
            yield {
                "error_class": name,
                "status": status,
                "title": info.title if status is None else f"{info.title}: {status}",
                "count": count,
                **(share("share", key, settled) if info.counted else {}),
                **(share("share_of_errors", key, failed) if info.is_error else {}),
            }


def columns(run: Run) -> tuple[Column, ...]:
    """Return the columns of a run: what the row is, its class, and what its kind has to say of
    it."""
    declared = run.manifest.declaration
    return (
        Column("run", "category", "the run, as labelled by `reports.load.open_runs`"),
        Column("repeat", "Int64", "number of the repeat, from 0"),
        Column(id_column(declared), "str", f"the {declared.unit}"),
        *(Column(name, "category", meaning) for name, meaning in _grouped(declared).items()),
        Column("error_class", "category", "one of `reports.errors.classes_of`"),
        Column("error_detail", "str", "evidence for the class, in words"),
        *(column for column, _ in errors_of(run).columns),
        Column("human_label", "str", "labels given by people, joined by '; '"),
    )


def _grouped(declared: Declaration) -> dict[str, str]:
    """Return the columns of groups: the split, parents, and labels that tell their units apart."""
    parents = {level_column(level): f"the {level.one}" for level in declared.levels}
    within = {one.name: one.meaning for one in declared.groups if not one.whole}
    return {SPLIT: "the split", **parents, **within}


def keys(declared: Declaration) -> tuple[str, ...]:
    """List the groups by which errors can be counted: those of more than one parent."""
    innermost = level_column(declared.innermost)
    return tuple(name for name in _grouped(declared) if name != innermost)


def errors_frame(runs: RunLike | Iterable[RunLike], *, pages: bool = True) -> pd.DataFrame:
    """Return a row per run, unit and repeat with the `columns` of the runs.

    `attrs["problems"]` describes unreadable lines of `labels.jsonl`. Raises `RunError` for runs
    that cannot be read.
    """
    opened = open_runs(runs)
    described: dict[str, Column] = {}
    for column in (column for run in opened.values() for column in columns(run)):
        described.setdefault(column.name, column)
    rows: list[Mapping[str, Any]] = []
    problems: list[str] = []
    for label, run in opened.items():
        labels = read_labels(run)
        problems += labels.problems
        rows += _rows(label, run, labels.by_step(), pages)
    frame = typed(rows, list(described.values()))
    frame.attrs = {"problems": tuple(problems)}
    return frame


def _rows(
    label: str, run: Run, labels: Mapping[tuple[str, int], str], pages: bool
) -> Iterable[dict[str, Any]]:
    declared, errors, records = run.manifest.declaration, errors_of(run), run.records()
    found = errors.classify(run, records, pages=pages)
    for record, error in zip(records, found, strict=True):
        yield {
            **record.labels,
            "run": label,
            "repeat": record.repeat,
            id_column(declared): record.unit_id,
            SPLIT: record.split,
            **{level_column(one): record.parents.get(one.name) for one in declared.levels},
            **{column.name: value(error) for column, value in errors.columns},
            "error_class": str(error.error_class),
            "error_detail": error.detail,
            "human_label": labels.get(record.key),
        }
