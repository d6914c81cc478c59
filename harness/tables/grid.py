"""`Grid`, the common form of all tables before they are written in a format, and its numbers.

Nothing in a `Grid` is escaped; the renderers escape.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from parsers import FEW, Interval

FEW_MARK = "*"
"""Mark of intervals with few successes or failures; `few_notes` explains it."""


def few_notes(
    *, rates: bool, differences: bool = False, clusters: str = "tasks"
) -> tuple[str, ...]:
    """Return the footnotes on marked intervals of rates and of differences."""
    both = rates and differences
    too_few = f"fewer than {FEW} {clusters}"
    notes = []
    if rates:
        what = f"{'of a rate: ' * both}{too_few} with a success, or a failure"
        how = "the Wilson interval leans on an assumed correlation within them."
        notes.append(f"{FEW_MARK} {what}: {how}")
    if differences:
        what = f"{'of a difference: ' * both}{too_few} differ"
        notes.append(f"{FEW_MARK} {what}: the interval may cover less than 95 %.")
    return tuple(notes)


def interval_record(name: str, interval: Interval | None) -> dict[str, Any]:
    """Return the columns of an interval in tables for programs; `<name>_few` is the mark."""
    return {
        f"{name}_low": interval.low if interval else None,
        f"{name}_high": interval.high if interval else None,
        f"{name}_method": interval.method if interval else None,
        f"{name}_few": interval.few if interval else None,
    }


def clean(text: object) -> str:
    """Write a text on one line, without control, formatting, surrogate and unassigned characters.

    >>> clean("a\\x1b[31m\\nb\\u202ec")
    'a[31m bc'
    """
    kept = (" " if c.isspace() else c for c in str(text))
    return "".join(c for c in kept if not unicodedata.category(c).startswith("C"))


@dataclass(frozen=True, slots=True)
class Heading:
    """A column for readers. Texts are left-aligned and may wrap; numbers are right-aligned."""

    head: str
    align: Literal["left", "right"] = "right"


@dataclass(frozen=True, slots=True)
class Cell:
    """A formatted value with its interval; in narrow text they take two lines."""

    text: str
    interval: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.interval}".strip()


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a grid.

    cells: a text or a `Cell` for every column.
    parent: name of the row that this one details; such a row is indented below its parent.
    """

    cells: tuple[str | Cell, ...]
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that belong together, such as those of one run.

    title: heading over the rows; empty for none.
    above: lines between the title and the rows.
    below: lines after the rows.
    """

    rows: tuple[Row, ...]
    title: str = ""
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Data:
    """A table for programs (CSV, JSON): every column, nothing rounded.

    names: column names.
    rows: plain Python values, None where one is missing; shares lie between 0 and 1.
    facts: further values, next to the rows in JSON.
    comments: lines of CSV above the header.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: columns, rows in sections, and the lines around them.

    title: heading; may be empty.
    columns: the columns, from the left.
    sections: the rows.
    above: lines between the title and the table, such as the settings of the runs.
    footnotes: lines below the table.
    section_head: the name of sections ("run"). If it is set, formats without headings inside
        a table (Markdown) name the section in a first column; otherwise every section becomes a
        separate table there.
    data: the table for programs; by default the texts of the cells.
    """

    title: str
    columns: tuple[Heading, ...]
    sections: tuple[Section, ...]
    above: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()
    section_head: str = ""
    data: Data | None = None

    renderers: ClassVar[dict[str, Callable[[Grid], str]]] = {}
    """Renderers of `str` ("text") and notebooks ("html"), set by the package."""

    def __str__(self) -> str:
        return self.renderers["text"](self)

    def _repr_html_(self) -> str:
        return self.renderers["html"](self)


def rows_of(rows: Sequence[Sequence[str | Cell]]) -> tuple[Section, ...]:
    """Return one section of these rows, without a title."""
    return (Section(tuple(Row(tuple(cells)) for cells in rows)),)


ABSENT = "n/a"
NumberStyle = Literal["text", "count", "percent", "number", "points", "dollars", "seconds", "p"]


def shown(value: Any, style: NumberStyle) -> str:
    """Format a value.

    >>> shown(0.1234, "percent"), shown(-0.05, "points"), shown(1234, "count"), shown(1e-9, "p")
    ('12.3', '-5.0', '1,234', '<0.001')
    """
    match style:
        case "count":
            return f"{int(value):,}"
        case "percent":
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


def percent(value: float | None) -> str:
    """Format a share in per cent with one decimal; `n/a` for None and NaN.

    >>> percent(0.4567), percent(None)
    ('45.7', 'n/a')
    """
    return ABSENT if value is None or value != value else shown(value, "percent")


def exact(value: float) -> str:
    """Format a number, such as that of a tick, with the decimals that it has, six at most.

    >>> exact(2.5), exact(10.0), exact(12500), exact(100 * 0.07)
    ('2.5', '10', '12,500', '7')
    """
    return f"{round(value, 6) + 0.0:,.6f}".rstrip("0").rstrip(".")


def bounds(
    low: float | None, high: float | None, *, few: bool = False, style: NumberStyle = "percent"
) -> str:
    """Format an interval, with a mark if it has few tasks; empty without one.

    >>> bounds(0.41, 0.519), bounds(-0.1, 0.25, few=True, style="points"), bounds(None, None)
    ('[41.0, 51.9]', '[-10.0, +25.0]*', '')
    """
    if low is None or high is None or low != low or high != high:
        return ""
    return f"[{shown(low, style)}, {shown(high, style)}]{FEW_MARK if few else ''}"


def interval_text(interval: Interval | None) -> str:
    """Format the interval of an estimate by `bounds`."""
    return "" if interval is None else bounds(interval.low, interval.high, few=interval.few)


def counted(number: int, thing: str, many: str = "") -> str:
    """Return a count with its noun; `many` is its plural, `thing` + s unless given.

    >>> counted(1, "task"), counted(12040, "step"), counted(4, "trajectory", "trajectories")
    ('1 task', '12,040 steps', '4 trajectories')
    """
    return f"{number:,} {thing if number == 1 else many or f'{thing}s'}"
