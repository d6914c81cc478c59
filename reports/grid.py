"""Frames with a description of how to print them, for all tables but those of results.

`described` makes such a frame from records and `Field`s; `described_grid` arranges it for readers,
with rounded numbers. CSV and JSON hold the frame itself, with shares between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, cast

import pandas as pd

from harness import tables
from harness.tables import Cell, Data, Grid, Row, Section, bounds, few_notes
from harness.tables.grid import NumberStyle, shown
from reports.frames.units import Column, Kind, plain_values, typed

Style = Literal[NumberStyle, "hidden"]
INTERNAL = ("fields", "declared", "marks", "section", "note")
"""Attributes of a described frame that no format holds."""


class Field(NamedTuple):
    """A column of a frame and how it is printed.

    name: column name.
    style: how values are printed. If the frame has `<name>_low` and `<name>_high`, the interval is
        printed after the value. Hidden columns are for programs.
    head: column head.
    kind: pandas type; None for that of texts, of counts, or of other numbers, by style.
    """

    name: str
    style: Style = "hidden"
    head: str = ""
    kind: Kind | None = None

    @property
    def column(self) -> Column:
        """The column of a frame."""
        usual: Kind = "str" if self.style == "text" else "float64"
        return Column(self.name, self.kind or ("Int64" if self.style == "count" else usual), "")


def described(
    records: Iterable[Mapping[str, Any]],
    fields: Iterable[Field],
    *,
    title: str,
    about: Iterable[str] = (),
    notes: Iterable[str] = (),
    **more: Any,
) -> pd.DataFrame:
    """Make a frame with these columns, each once.

    `attrs` has title, lines above and below it, and `more`.
    `section` among `more` names a column whose values head sections of rows for readers.
    """
    rows = list(records)
    known = {field.name: field for field in fields}.values()
    frame = typed(rows, [field.column for field in known])
    facts: dict[Hashable, Any] = {
        "title": title,
        "about": list(about),
        "notes": list(notes),
        "fields": [(field.name, field.head, field.style) for field in known],
    }
    for name, value in more.items():
        facts[name] = value
    frame.attrs = facts
    return frame


def interval(name: str) -> tuple[Field, ...]:
    """Return the columns of the interval of `name`, see `interval_record`."""
    return (
        Field(f"{name}_low"),
        Field(f"{name}_high"),
        Field(f"{name}_method", kind="str"),
        Field(f"{name}_few", kind="boolean"),
    )


def clusters(name: str) -> Field:
    """Return the column with the number of tasks behind the interval of `name`."""
    return Field(f"{name}_clusters", kind="Int64")


def described_grid(frame: pd.DataFrame) -> Grid:
    """Arrange the frame for readers, with the frame as its data."""
    attrs, section = frame.attrs, frame.attrs.get("section", "")
    fields = [
        (name, head, style)
        for name, head, style in attrs["fields"]
        if style != "hidden" and name != section
    ]
    records = plain_records(frame)
    sections: dict[str, list[list[str | Cell]]] = {} if section else {"": []}
    for record in records:
        cells = [cell(record, name, style) for name, _, style in fields]
        sections.setdefault(str(record[section]) if section else "", []).append(cells)
    marked = {style for name, _, style in fields for record in records if record.get(f"{name}_few")}
    differences = "points" in marked
    declared = attrs.get("declared")
    usual = declared.level(declared.clusters[0]).many if declared else "tasks"
    notes = [
        *attrs["notes"],
        *few_notes(
            rates=bool(marked - {"points"}),
            differences=differences,
            **({"clusters": usual} | (attrs.get("marks", {}) if marked else {})),
        ),
    ]
    facts = {str(name): value for name, value in attrs.items() if name not in INTERNAL}
    return Grid(
        title=attrs["title"],
        columns=tuple(
            tables.Heading(head, "left" if style == "text" else "right")
            for _, head, style in fields
        ),
        sections=tuple(
            Section(tuple(Row(tuple(cells)) for cells in rows), title)
            for title, rows in sections.items()
        ),
        above=tuple(attrs["about"]),
        footnotes=tuple(notes),
        section_head=section,
        data=frame_data(
            frame, {**facts, "notes": notes}, (attrs["title"], *attrs["about"], *notes)
        ),
    )


def frame_data(frame: pd.DataFrame, facts: Mapping[str, Any], comments: Iterable[str]) -> Data:
    """Return what CSV and JSON hold of a frame."""
    return Data(tuple(map(str, frame.columns)), tuple(plain_rows(frame)), facts, tuple(comments))


def plain_rows(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Return the rows as plain Python values; missing values are None."""
    bare = frame.copy(deep=False)
    bare.attrs = {}  # pandas copies them for every column that is looked at
    return zip(*(plain_values(bare[name]) for name in bare.columns), strict=True)


def plain_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as plain Python values by column name; missing values are None."""
    names = list(map(str, frame.columns))
    return [dict(zip(names, row, strict=True)) for row in plain_rows(frame)]


def cell(row: Mapping[str, Any], name: str, style: Style) -> str | Cell:
    """Print a value, with its interval if the row has the ends of one; empty without a value."""
    value = row.get(name)
    if value is None:
        return ""
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    few = bool(row.get(f"{name}_few"))
    number = cast(NumberStyle, style)
    if low is None or high is None:
        return shown(value, number)
    return Cell(shown(value, number), bounds(low, high, few=few, style=number))


BENCHMARK = "benchmark"


def benchmarks_of(table: pd.DataFrame) -> dict[str, str]:
    """Return the benchmark of each run of a table by split; empty unless there are several."""
    named = table.attrs.get("differences", {}).get(BENCHMARK, {})
    return {label: str(name) for label, name in named.items()}
