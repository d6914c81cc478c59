"""Write a grid for programs: CSV and JSON with all columns, shares between 0 and 1."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

from harness.printing import TEST_DATA_NOTE
from harness.tables.grid import Data, Grid, clean

FORMULA_STARTS = "=+-@#＝＋－＠"
"""Spreadsheets evaluate cells with these prefixes; CSV readers may skip lines with `#`."""
_FORMULA = re.compile(rf"(^|[,;\"'])(\s*)(?=[{re.escape(FORMULA_STARTS)}])")


def csv_cell(text: object) -> str:
    """Clean a text, with an apostrophe before anything that a spreadsheet would evaluate.

    This includes formulas after separators and quotes, as not every program splits lines alike.

    >>> csv_cell("=1+1"), csv_cell("a=1"), csv_cell("a;=1")
    ("'=1+1", 'a=1', "a;'=1")
    """
    return _FORMULA.sub(r"\1\2'", clean(text))


def data_of(grid: Grid) -> Data:
    """Return the data of a grid, or else the texts of its cells."""
    if grid.data is not None:
        return grid.data
    rows = tuple(
        tuple(str(cell) for cell in row.cells) for section in grid.sections for row in section.rows
    )
    return Data(
        names=tuple(column.head for column in grid.columns),
        rows=rows,
        facts={"title": grid.title, "notes": list(grid.footnotes)},
        comments=(*filter(None, (grid.title, *grid.above)), *grid.footnotes),
    )


def to_csv(grid: Grid, *, note: str = TEST_DATA_NOTE) -> str:
    """Write CSV with all columns, after the note and comments in lines that begin with `#`."""
    data = data_of(grid)
    out = io.StringIO()
    for line in filter(None, (note, *data.comments)):
        out.write(f"# {csv_cell(line)}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(csv_cell, data.names))
    for row in data.rows:
        cells = [csv_cell(cell) if isinstance(cell, str) else cell for cell in row]
        writer.writerow("" if cell is None else cell for cell in cells)
    return out.getvalue()


def json_content(grid: Grid, *, note: str = TEST_DATA_NOTE) -> dict[str, Any]:
    """Return the note, the facts, and the rows as records; missing values are None."""
    data = data_of(grid)
    rows = [dict(zip(data.names, row, strict=True)) for row in data.rows]
    return {**({"note": note} if note else {}), **data.facts, "rows": rows}


def to_json(content: dict[str, Any]) -> str:
    """Write indented JSON that ends in a newline."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"
