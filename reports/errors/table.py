"""Counts of the error classes, with example steps, as a frame and as grids."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from harness import tables
from harness.runs import Run
from harness.tables import Grid, Row, Section, few_notes, interval_record
from parsers import Declaration, mean_interval
from parsers.declaration import SPLIT
from reports.errors import NO_ANSWER, ClassInfo, classes_of, errors_of, short
from reports.errors.labels import read_labels
from reports.frames.units import Column, typed
from reports.grid import cell, frame_data, interval, plain_records
from reports.load import RunLike, open_runs, unfinished_lines
from reports.names import id_column, level_column
from reports.settings import about, attrs_of

FOOTNOTE = (
    "share: per cent of the valid rows that were answered; of errors: per cent "
    "of those that failed. Every row has exactly one class, the first that fits. 95 % intervals "
    "with {clusters} as clusters."
)
_SHARES = ("share", "share_of_errors")
_TEXT = 88
"""Longest text of a listed element in an example, in characters."""


def _share(name: str, meaning: str) -> tuple[Column, ...]:
    ends = (one.column for one in interval(name))
    return (Column(name, "float64", meaning), *ends)


def columns(units: str) -> tuple[Column, ...]:
    """Return the columns of a table that counts these units."""
    return (
        Column("run", "str", "the run, as labelled by `reports.load.open_runs`"),
        Column("by", "str", "what the rows are grouped by"),
        Column("group", "str", "the group; 'all' for all rows of the run"),
        Column("error_class", "str", "one of `reports.errors.classes_of`"),
        Column("status", "str", "the parser's status, for the class no_answer"),
        Column("title", "str", "the class in words"),
        Column(units, "Int64", "rows in the class, repeats included"),
        *_share("share", "share of the valid rows that were answered; missing for other rows"),
        *_share("share_of_errors", "share of the failed rows"),
    )


Example = dict[str, Any]


def errors_table(
    runs: RunLike | Iterable[RunLike],
    by: str | None = None,
    *,
    examples: int = 0,
    pages: bool = True,
) -> pd.DataFrame:
    """Return counts and shares of the classes that occur, by run, group and class.

    Runs are never pooled. The counts of a run's groups sum to those of its group `all`, which comes
    first. Raises `RunError` for runs that cannot be read, and `ValueError` for an unknown `by`.

    by: what to group by in addition, one of `reports.errors.table.keys`.
    examples: number of example units per class and run.
    pages: whether to read pages, see `classify_run`.

    `attrs` of the frame:
    constants, differences, given, key, runs: as in `reports.tables`.
    examples: the example units.
    beside, remarks: by run, further counts of its kind of units, and the same in words.
    labels: labels given by people, counted by class.
    problems: messages about unreadable lines of labels.
    unfinished, corrupt: messages about unfinished and damaged runs.
    words: for one unit, several units, and several of their clusters.
    ids: the columns with ids of units.
    titles: the titles of the classes.
    shown: columns of the examples.
    """
    opened = open_runs(runs)
    for label, run in opened.items():
        if by is not None and by not in (known := keys(run.manifest.declaration)):
            raise ValueError(f"{label} cannot be counted by {by}: expected {' or '.join(known)}")
    frame = errors_frame(opened.values(), pages=pages)
    words = words_of(run.manifest.declaration for run in opened.values())
    counted = [
        {**row, words.units: row["count"]}
        for label, run in opened.items()
        for row in counts(label, run, by, frame[frame["run"].astype("str") == label])
    ]
    table = typed(counted, columns(words.units))
    beside = {
        label: errors_of(run).beside(frame[frame["run"].astype("str") == label])
        for label, run in opened.items()
    }
    table.attrs = {
        **attrs_of(opened),
        "given": {},
        "key": by or ALL,
        "runs": list(opened),
        "examples": [
            one for label, run in opened.items() for one in _examples(frame, label, run, examples)
        ],
        "beside": [{"run": label, **counts} for label, (counts, _) in beside.items()],
        "remarks": [f"{label}: {'; '.join(said)}" for label, (_, said) in beside.items() if said],
        "labels": _labels(frame, words.units),
        "problems": frame.attrs["problems"],
        "unfinished": unfinished_lines(opened),
        "words": words,
        "ids": list({id_column(run.manifest.declaration): None for run in opened.values()}),
        "titles": {str(one.error_class): one.title for one in classes_of(opened.values())},
        "shown": list(dict.fromkeys(n for run in opened.values() for n in errors_of(run).shown)),
    }
    return table


class Words(NamedTuple):
    """The words for one unit, for several units, and for several of their clusters."""

    unit: str
    units: str
    clusters: str


def words_of(declared: Iterable[Declaration]) -> Words:
    """Return the words of some benchmarks, more general ones where they differ."""
    listed = [Words(one.unit, one.units, one.level(one.clusters[0]).many) for one in declared]
    general = Words("unit", "units", "parents")
    together = [
        words[0] if len(set(words)) == 1 else word
        for words, word in zip(zip(*listed, strict=True), general, strict=True)
    ]
    return Words(*together) if together else general


def _examples(frame: pd.DataFrame, label: str, run: Run, limit: int) -> list[Example]:
    """Example units of every error class, in pseudo-random order by a hash of their ids."""
    declared, errors = run.manifest.declaration, errors_of(run)
    unit = id_column(declared)
    rows = frame[frame["run"].astype("str") == label]
    above = [level_column(level) for level in declared.levels[1:]]
    names = [unit, "repeat", *above, "error_class", "error_detail", *errors.shown, "human_label"]
    columns = [rows[name].astype("object").where(rows[name].notna(), None) for name in names]
    records = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    records.sort(key=lambda row: hashlib.sha256(row[unit].encode()).digest())
    shown: list[Example] = []
    for info in errors.classes(declared):
        if info.is_error:
            of_class = [row for row in records if row["error_class"] == info.error_class]
            shown += [{"run": label, **row} for row in of_class[:limit]]
    return shown


def _labels(frame: pd.DataFrame, units: str) -> list[dict[str, Any]]:
    labelled = frame[frame["human_label"].notna()]
    names = ("run", "human_label", "error_class")
    columns = (labelled[name].astype("str").tolist() for name in names)
    counts = Counter(zip(*columns, strict=True))
    return [
        {"run": run, "label": label, "error_class": error_class, units: count}
        for (run, label, error_class), count in sorted(counts.items())
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
    words: Words = table.attrs["words"]
    notes = [FOOTNOTE.format(clusters=words.clusters)]
    if any(record[f"{name}_few"] for record in records for name in _SHARES):
        notes += few_notes(rates=True, clusters=words.clusters)
    counts = Grid(
        title="",
        columns=(
            tables.Heading("class", "left"),
            *map(tables.Heading, (words.units, "share", "of errors")),
        ),
        sections=tuple(_section(*key, rows, words.units) for key, rows in sections.items()),
        above=about(table.attrs),
        footnotes=(*table.attrs["remarks"], *_label_lines(table), *notes, *table.attrs["problems"]),
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


def _section(
    run: str, by: str, group: str, records: Sequence[dict[str, Any]], units: str
) -> Section:
    named = ALL if by == ALL else f"{by} {group}"
    return Section(
        tuple(
            Row(
                (
                    record["title"],
                    f"{record[units]:,}",
                    *(cell(record, name, "percent") for name in _SHARES),
                )
            )
            for record in records
        ),
        title=f"{run}: {named}, {sum(record[units] for record in records):,} rows",
    )


def _example_grid(table: pd.DataFrame) -> Grid:
    sections: dict[tuple[str, str], list[Row]] = {}
    words, shown = table.attrs["words"], table.attrs["shown"]
    for one in table.attrs["examples"]:
        cells = (
            _example_name(one, table.attrs["ids"]),
            *(short(one.get(name, ""), _TEXT) for name in shown),
        )
        sections.setdefault((one["run"], one["error_class"]), []).append(Row(cells))
    return Grid(
        title="Examples",
        columns=tuple(tables.Heading(head, "left") for head in (words.unit, *shown)),
        sections=tuple(
            Section(tuple(rows), title=f"{run}: {table.attrs['titles'][name]}")
            for (run, name), rows in sections.items()
        ),
        section_head="class",
    )


def _example_name(one: Example, ids: Sequence[str]) -> str:
    unit = next(one[name] for name in ids if name in one)
    repeat = f" repeat {one['repeat']}" if one["repeat"] else ""
    label = f" [{one['human_label']}]" if one["human_label"] else ""
    detail = f": {one['error_detail']}" if one["error_detail"] else ""
    return f"{unit}{repeat}{detail}{label}"


def _label_lines(table: pd.DataFrame) -> list[str]:
    """Return a line per run with its labels, the most frequent first."""
    runs: dict[str, Counter[str]] = {}
    for one in table.attrs["labels"]:
        runs.setdefault(one["run"], Counter())[one["label"]] += one[table.attrs["words"].units]
    lines = []
    for run, of_run in runs.items():
        # Labels are sorted already, and equally frequent ones stay in that order.
        listed = ", ".join(f"{label} {steps}" for label, steps in of_run.most_common())
        lines.append(f"labels of {run}: {listed}")
    return lines


ALL = "all"


def counts(label: str, run: Run, by: str | None, rows: pd.DataFrame) -> Iterable[dict[str, Any]]:
    """Yield a record for every class that occurs, by group: of all rows, and of those with equal
    `by`.

    rows: of the run, as in `reports.errors.table`.
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


def frame_columns(run: Run) -> tuple[Column, ...]:
    """Return the columns of a run: the row, its class, and those of its kind."""
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
    """List the groups that errors can be counted by: those of more than one parent."""
    innermost = level_column(declared.innermost)
    return tuple(name for name in _grouped(declared) if name != innermost)


def errors_frame(runs: RunLike | Iterable[RunLike], *, pages: bool = True) -> pd.DataFrame:
    """Return a row per run, unit and repeat with the `frame_columns` of the runs.

    `attrs["problems"]` describes unreadable lines of `labels.jsonl`. Raises `RunError` for runs
    that cannot be read.
    """
    opened = open_runs(runs)
    described: dict[str, Column] = {}
    for column in (column for run in opened.values() for column in frame_columns(run)):
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
