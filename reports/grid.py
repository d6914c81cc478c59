"""Tables that are not tables of results: frames that know how they are to be shown.

`described` makes such a frame from records and `Field`s; `grid` arranges it for readers. The frame
holds plain numbers (shares between 0 and 1), what is shown is rounded; csv, json and parquet hold
the frame.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pandas as pd

from parsers import FEW
from reports.frames.schema import Column, Kind, typed

FEW_MARK = "*"
FEW_NOTE = f"{FEW_MARK} fewer than {FEW} tasks: read the interval as too narrow."
Style = Literal[
    "text", "count", "percent", "number", "points", "dollars", "seconds", "p", "bounds", "hidden"
]


class Field(NamedTuple):
    """A column of a frame and how it is shown.

    `<name>_low` and `<name>_high`, where the frame has them, are shown as an interval beside it; in
    the style `bounds` (per cent) instead of it, with "none" where there is no interval.
    """

    name: str
    kind: Kind
    style: Style
    head: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Grid:
    """Everything that is printed of a table; nothing is escaped.

    `texts` are the places of the columns that hold texts, the others hold numbers.
    """

    title: str
    about: tuple[str, ...]
    heads: tuple[str, ...]
    texts: frozenset[int]
    rows: tuple[tuple[str, ...], ...]
    footnotes: tuple[str, ...]


def described(
    records: Iterable[Mapping[str, Any]],
    fields: Sequence[Field],
    *,
    title: str,
    about: Iterable[str] = (),
    notes: Iterable[str] = (),
    **more: Any,
) -> pd.DataFrame:
    """A frame of these columns; `attrs` has title, lines above and below it, and `more`."""
    rows = list(records)
    columns = [Column(field.name, field.kind, field.meaning) for field in fields]
    frame = typed({c.name: [row.get(c.name) for row in rows] for c in columns}, columns)
    facts: dict[Hashable, Any] = {
        "title": title,
        "about": list(about),
        "notes": list(notes),
        "fields": [(field.name, field.head, field.style) for field in fields],
    }
    for name, value in more.items():
        facts[name] = value
    frame.attrs = facts
    return frame


def interval(name: str, head: str) -> tuple[Field, Field]:
    """The two columns of the interval of `name`.

    It is marked where it rests on fewer than 30 tasks: those of the column `<name>_clusters`, or
    else of `tasks`.
    """
    return (
        Field(f"{name}_low", "float64", "hidden", head, "lower end of its 95 % interval"),
        Field(f"{name}_high", "float64", "hidden", head, "upper end"),
    )


def clusters(name: str, head: str) -> Field:
    """The column with the tasks behind the interval of `name`."""
    return Field(f"{name}_clusters", "Int64", "hidden", head, "tasks behind the interval")


def grid(frame: pd.DataFrame) -> Grid:
    """The frame arranged for readers."""
    shown = [
        (name, head, style) for name, head, style in frame.attrs["fields"] if style != "hidden"
    ]
    records = frame.to_dict("records")
    rows = tuple(tuple(_cell(row, name, style) for name, _, style in shown) for row in records)
    marked = any(cell.endswith(f"]{FEW_MARK}") for row in rows for cell in row)
    return Grid(
        title=frame.attrs["title"],
        about=tuple(frame.attrs["about"]),
        heads=tuple(head for _, head, _ in shown),
        texts=frozenset(place for place, (_, _, style) in enumerate(shown) if style == "text"),
        rows=rows,
        footnotes=(*frame.attrs["notes"], *((FEW_NOTE,) if marked else ())),
    )


def _cell(row: Mapping[Any, Any], name: str, style: Style) -> str:
    value = row[name]
    if pd.isna(value):
        return "none" if style == "bounds" else ""
    text = "" if style == "bounds" else shown(value, style)
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is None or high is None or pd.isna(low) or pd.isna(high):
        return text
    tasks = row.get(f"{name}_clusters", row.get("tasks"))
    mark = FEW_MARK if tasks is not None and not pd.isna(tasks) and tasks < FEW else ""
    return f"{text} [{shown(low, style)}, {shown(high, style)}]{mark}".lstrip()


def shown(value: Any, style: Style) -> str:
    """A value as it is printed.

    >>> shown(0.1234, "percent"), shown(-0.05, "points"), shown(1234, "count"), shown(1e-9, "p")
    ('12.3', '-5.0', '1,234', '<0.001')
    """
    match style:
        case "count":
            return f"{int(value):,}"
        case "percent" | "bounds":
            return f"{100 * value:.1f}"
        case "points":
            return f"{100 * value:+.1f}"
        case "number":
            return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
        case "dollars":
            return f"${value:,.4f}"
        case "seconds":
            return f"{value:.2f}"
        case "p":
            return "<0.001" if value < 0.001 else f"{value:.3f}"
        case _:
            return str(value)
