"""A grid as aligned text for a terminal, drawn by rich.

If the columns do not fit the width, heads and texts are wrapped at spaces, then intervals move
below their values, then the first column gets separate lines, and finally the remaining columns
continue in a second panel below the first. Words are never broken.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from rich.console import Console
from rich.table import Table

from harness.notes import TEST_DATA_NOTE
from harness.tables.escape import clean
from harness.tables.grid import Cell, Grid, Row, Section

WIDTH = 100
"""Width of text outside of a terminal."""
WIDEST_PROSE = 120
GAP = 2
COMFORTABLE = 24
"""Columns of text are wrapped down to this width before intervals move to separate lines."""
HANGING = 4
"""Width reserved for a first column whose texts are on separate lines."""
BLANK = "\ue000"
"""Placeholder of a blank that rich would strip; `clean` removes it from texts."""


def text(grids: Sequence[Grid], width: int | None = None, *, note: str = TEST_DATA_NOTE) -> str:
    """Write the grids in turn over one note, at most `width` characters wide; end in a newline.

    Without a width (no terminal) it is 100, and the note stays on one line, where a search finds
    it.
    """
    wide = width or WIDTH
    lines: list[str] = []
    for number, grid in enumerate(grids):
        lines += [*([""] if number else []), *_lines(grid, wide)]
    if note:
        lines += ["", *(_wrapped(note, wide) if width else [clean(note)])]
    return "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"


def _lines(grid: Grid, width: int) -> Iterator[str]:
    ends_blank = bool(grid.sections and grid.sections[-1].title)
    for line in (grid.title, *grid.above):
        yield from _wrapped(line, width)
    if grid.title or grid.above:
        yield ""
    for number, panel in enumerate(_panels(grid, width)):
        if number and not ends_blank:
            yield ""
        yield from panel.head()
        for section in grid.sections:
            yield from _wrapped(section.title, width)
            for line in () if number else section.above:
                yield from _wrapped(line, width, "  ")
            yield from panel.body(section)
            for line in () if number else section.below:
                yield from _wrapped(line, width, "  ")
            if section.title:
                yield ""
    if grid.footnotes and not ends_blank:
        yield ""
    for line in grid.footnotes:
        yield from _wrapped(line, width)


def _wrapped(line: str, width: int, indent: str = "") -> list[str]:
    return _filled(clean(line), min(width, WIDEST_PROSE), indent)


def _filled(line: str, width: int, indent: str = "", further: str = "  ") -> list[str]:
    return textwrap.wrap(
        line,
        max(1, width),
        initial_indent=indent,
        subsequent_indent=indent + further,
        break_long_words=False,
        break_on_hyphens=False,
    )


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of a panel.

    most, least: width of its values on one line, and with its texts wrapped at every space.
    interval: width of the intervals that are next to its values.
    width: its width in the panel.
    """

    place: int
    head: str
    align: Literal["left", "right"]
    most: int
    least: int
    interval: int = 0
    width: int = 0

    @property
    def least_width(self) -> int:
        return max(_longest_word(self.head), self.least)

    def shown(self, cell: str | Cell, indent: int) -> str:
        """Return the lines of a cell."""
        if self.align == "left":
            return "\n".join(_filled(clean(cell), self.width, indent * " "))
        value, interval = (cell.text, cell.interval) if isinstance(cell, Cell) else (cell, "")
        if self.interval:
            return f"{clean(value)} {clean(interval):{BLANK}<{self.interval}}"
        return f"{clean(value)}\n{clean(interval)}".strip("\n")


@dataclass(frozen=True, slots=True)
class _Panel:
    """Columns next to each other. hanging: the first column's texts are on separate lines."""

    columns: Sequence[_Column]
    hanging: bool = False

    @property
    def total(self) -> int:
        return _total([column.width for column in self.columns])

    def head(self) -> Iterator[str]:
        heads = [column.head for column in self.columns]
        if self.hanging:
            yield from _filled(heads[0], self.total)
            heads[0] = ""
        yield from self._drawn([], heads)
        yield "─" * self.total

    def body(self, section: Section) -> Iterator[str]:
        rows = []
        for row in section.rows:
            indent = _indent(row, section)
            cells = [
                column.shown(row.cells[column.place], 0 if number else indent)
                for number, column in enumerate(self.columns)
            ]
            if self.hanging:
                yield from _filled(clean(row.cells[0]), self.total, indent * " ")
                yield from self._drawn([["", *cells[1:]]])
            else:
                rows.append(cells)
        yield from self._drawn(rows)

    def _drawn(
        self, rows: Sequence[Sequence[str]], heads: Sequence[str] | None = None
    ) -> Iterator[str]:
        if not rows and heads is None:
            return
        table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, show_header=bool(heads))
        for column, head in zip(self.columns, heads or [""] * len(self.columns), strict=True):
            table.add_column(head, justify=column.align, width=column.width)
        for row in rows:
            table.add_row(*row)
        console = Console(
            width=self.total, color_system=None, markup=False, emoji=False, highlight=False
        )
        with console.capture() as capture:
            console.print(table)
        yield from capture.get().replace(BLANK, " ").splitlines()


def _panels(grid: Grid, width: int) -> list[_Panel]:
    """Return the first layout of the columns that fits the width."""
    columns = _columns(grid, stacked=False)
    if fitted := _fitted(columns, width, COMFORTABLE):
        return [_Panel(fitted)]
    columns = _columns(grid, stacked=True)
    if fitted := _fitted(columns, width, COMFORTABLE) or _fitted(columns, width):
        return [_Panel(fitted)]
    label = replace(columns[0], head="", most=HANGING, least=HANGING)
    if fitted := _fitted([label, *columns[1:]], width):
        return [_Panel([replace(fitted[0], head=columns[0].head), *fitted[1:]], hanging=True)]
    return list(_continued(columns, width))


def _continued(columns: Sequence[_Column], width: int) -> Iterator[_Panel]:
    """Yield panels, each beginning with the leading texts."""
    texts = [column.align == "left" for column in columns]
    keys = list(columns[: max(1, texts.index(False))] if False in texts else columns[:1])
    if _total([key.least_width for key in keys]) > width / 2:
        keys = keys[:1]
    chosen: list[_Column] = []
    for column in columns[len(keys) :]:
        if chosen and _total([c.least_width for c in (*keys, *chosen, column)]) > width:
            yield _Panel(_narrowed([*keys, *chosen], width))
            chosen = []
        chosen.append(column)
    yield _Panel(_narrowed([*keys, *chosen], width))


def _narrowed(columns: Sequence[_Column], width: int) -> Sequence[_Column]:
    narrow = [replace(column, width=column.least_width) for column in columns]
    return _fitted(columns, width) or narrow


def _columns(grid: Grid, *, stacked: bool) -> list[_Column]:
    """Return the columns of a grid with intervals below their values (stacked) or next to them."""
    columns = []
    for place, column in enumerate(grid.columns):
        most = least = interval = 0
        for section in grid.sections:
            for row in section.rows:
                cell = row.cells[place]
                value = clean(cell.text if isinstance(cell, Cell) else cell)
                bounds = clean(cell.interval) if isinstance(cell, Cell) else ""
                indent = 0 if place else _indent(row, section)
                interval = max(interval, len(bounds))
                most = max(most, len(value) + indent)
                word = _longest_word(value) if column.align == "left" else len(value)
                # Further lines of a wrapped text are indented by two.
                least = max(least, word + indent + 2 * (word < len(value)))
        if stacked:
            most, least, interval = max(most, interval), max(least, interval), 0
        elif interval:
            most = least = most + 1 + interval
        columns.append(_Column(place, clean(column.head), column.align, most, least, interval))
    return columns


def _fitted(columns: Sequence[_Column], width: int, comfortable: int = 0) -> list[_Column] | None:
    """Return columns with fitting widths, texts at least `comfortable` wide; None without a fit."""
    widths = [max(column.most, len(column.head)) for column in columns]
    if _total(widths) > width:
        widths = [max(column.most, _longest_word(column.head)) for column in columns]
        floors = [
            max(column.least_width, min(comfortable, widest))
            for column, widest in zip(columns, widths, strict=True)
        ]
        # The widest texts give way first.
        for most in range(max(widths), -1, -1):
            if _total(widths) <= width:
                break
            widths = [max(floor, min(w, most)) for floor, w in zip(floors, widths, strict=True)]
        spare = width - _total(widths)
        if spare < 0:
            return None
        widths = _with_lower_heads(widths, [column.head for column in columns], spare)
    return [replace(column, width=w) for column, w in zip(columns, widths, strict=True)]


def _with_lower_heads(widths: list[int], heads: Sequence[str], spare: int) -> list[int]:
    """Return widths that use spare characters to lower the tallest heads, line by line."""

    def height(place: int, width: int) -> int:
        return len(_filled(heads[place], width, further=""))

    heights = [height(place, width) for place, width in enumerate(widths)]
    while (tallest := max(heights)) > 1:
        place = heights.index(tallest)
        wider = next(w for w in count(widths[place] + 1) if height(place, w) < tallest)
        spare -= wider - widths[place]
        if spare < 0:
            break
        widths[place], heights[place] = wider, height(place, wider)
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _indent(row: Row, section: Section) -> int:
    return 2 * bool(section.title) + 2 * bool(row.parent)


def _longest_word(value: str) -> int:
    return max(map(len, value.split()), default=0)
