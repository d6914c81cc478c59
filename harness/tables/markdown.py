"""A grid as Markdown: pipe tables, with the lines above as a quotation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.notes import TEST_DATA_NOTE
from harness.tables.escape import markdown as escaped
from harness.tables.grid import Cell, Column, Grid, Row


def markdown(grids: Sequence[Grid], *, note: str = TEST_DATA_NOTE) -> str:
    """Write the grids one after the other, over one note. Ends in a newline."""
    lines: list[str] = []
    for grid in grids:
        quoted = [line for line in (grid.title, *grid.above) if line]
        if quoted:
            lines += ["\n>\n".join(f"> {escaped(line)}" for line in quoted), ""]
        lines += _table(grid) if grid.section_head else _tables(grid)
        lines += [line for note_below in grid.footnotes for line in (escaped(note_below), "")]
    if note:
        lines.append(f"> {escaped(note)}")
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(grid: Grid) -> Iterator[str]:
    """Yield one table with the section in its first column, and one of the sections' lines."""
    head = Column(grid.section_head, "left")
    yield from _head((head, *grid.columns))
    for section in grid.sections:
        yield from (_row((section.title, *_cells(row))) for row in section.rows)
    yield ""
    notes = [(s.title, "; ".join((*s.above, *s.below))) for s in grid.sections]
    if any(lines for _, lines in notes):
        yield from _head((head, Column("counts", "left")))
        yield from (_row(cells) for cells in notes)
        yield ""


def _tables(grid: Grid) -> Iterator[str]:
    """Yield a table for every section, between its own lines."""
    for section in grid.sections:
        yield from _spaced(f"**{escaped(section.title)}**" if section.title else "")
        yield from _spaced(*map(escaped, section.above))
        yield from _head(grid.columns)
        yield from (_row(_cells(row)) for row in section.rows)
        yield ""
        yield from _spaced(*map(escaped, section.below))


def _spaced(*lines: str) -> Iterator[str]:
    for line in filter(None, lines):
        yield line
        yield ""


def _cells(row: Row) -> Iterator[str | Cell]:
    first, *others = row.cells
    yield f"{row.parent}, {first}" if row.parent else first
    yield from others


def _head(columns: Sequence[Column]) -> Iterator[str]:
    yield _row([column.head for column in columns])
    yield f"| {' | '.join(':--' if column.align == 'left' else '--:' for column in columns)} |"


def _row(cells: Iterable[str | Cell]) -> str:
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"
