"""A grid as a LaTeX `tabular` for booktabs; the lines around the table become comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.notes import TEST_DATA_NOTE
from harness.tables.escape import clean
from harness.tables.escape import latex as escaped
from harness.tables.grid import Cell, Grid, Row, Section


def latex(grids: Sequence[Grid], *, note: str = TEST_DATA_NOTE) -> str:
    """Write a tabular per grid, over one note. Ends in a newline."""
    lines: list[str] = []
    for grid in grids:
        lines += [f"% {clean(line)}" for line in _comments(grid)]
        lines += _tabular(grid)
    if note:
        lines.append(f"% {clean(note)}")
    return "\n".join(lines) + "\n"


def _comments(grid: Grid) -> Iterator[str]:
    yield from filter(None, (grid.title, *grid.above))
    for section in grid.sections:
        if lines := [*section.above, *section.below]:
            yield f"{section.title}: {'; '.join(lines)}"
    yield from grid.footnotes


def _tabular(grid: Grid) -> Iterator[str]:
    places = "".join("l" if column.align == "left" else "r" for column in grid.columns)
    yield r"% needs \usepackage{booktabs}"
    yield rf"\begin{{tabular}}{{{places}}}"
    yield r"\toprule"
    yield _row([column.head for column in grid.columns])
    for section in grid.sections:
        yield r"\midrule"
        if section.title:
            title = escaped(section.title)
            yield rf"\multicolumn{{{len(grid.columns)}}}{{l}}{{{title}}} \\"
        yield from _rows(grid, section)
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _rows(grid: Grid, section: Section) -> Iterator[str]:
    named = bool(grid.columns) and grid.columns[0].align == "left" and not section.title
    before: Row | None = None
    for row in section.rows:
        if named and before is not None and row.cells[0] != before.cells[0]:
            yield r"\addlinespace"
        yield (r"\quad " if section.title or row.parent else "") + _row(row.cells)
        before = row


def _row(cells: Iterable[str | Cell]) -> str:
    return " & ".join(map(_cell, cells)) + r" \\"


def _cell(cell: str | Cell) -> str:
    if isinstance(cell, Cell) and cell.interval:
        return rf"{escaped(cell.text)} {{\scriptsize {escaped(cell.interval)}}}".lstrip()
    return escaped(cell)
