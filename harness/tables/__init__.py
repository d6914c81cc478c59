"""Tables: one kind of grid, and one renderer per format.

    from harness.tables import Column, Grid, render, rows_of
    grid = Grid("Recall", (Heading("split", "left"), Heading("R@50")), rows_of([["dev", "85.3"]]))
    print(render(grid, "markdown"))

| module | content |
|---|---|
| `grid` | `Grid` with its columns, sections, rows and cells; numbers formatted for readers |
| `text`, `markup` | the formats for readers: text; Markdown, LaTeX and HTML |
| `data` | CSV and JSON |
| `results` | the rows of a table of results |

A grid shows itself in a notebook and as `str(grid)`; `say` prints any text as commands do. Nothing
here imports pandas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from harness.printing import TEST_DATA_NOTE as TEST_DATA_NOTE
from harness.printing import say as say
from harness.printing import terminal_width as terminal_width
from harness.tables.grid import Cell as Cell
from harness.tables.grid import Data as Data
from harness.tables.grid import Grid as Grid
from harness.tables.grid import Heading as Heading
from harness.tables.grid import Row as Row
from harness.tables.grid import Section as Section
from harness.tables.grid import bounds as bounds
from harness.tables.grid import clean as clean
from harness.tables.grid import counted as counted
from harness.tables.grid import few_notes as few_notes
from harness.tables.grid import interval_record as interval_record
from harness.tables.grid import percent as percent
from harness.tables.grid import rows_of as rows_of

Format = Literal["text", "markdown", "csv", "latex", "json", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""Formats of tables, for readers and for programs."""


def _with_footnotes_once(grids: Sequence[Grid]) -> list[Grid]:
    kept: list[Grid] = []
    below: set[str] = set()
    for grid in reversed(grids):
        notes = tuple(note for note in grid.footnotes if note not in below)
        below.update(notes)
        kept.append(replace(grid, footnotes=notes))
    return kept[::-1]


def render(
    grids: Grid | Sequence[Grid],
    form: str = "text",
    *,
    width: int | None = None,
    note: str = TEST_DATA_NOTE,
) -> str:
    """Write one grid, or several in turn, in one of `FORMATS`, ending in a newline.

    `width` is the width of `text` in characters; `note` comes last, in CSV and JSON first ("" for
    none).
    A footnote of several grids stands under the last of them. Raises `ValueError` for an unknown
    format, and for several grids in CSV or JSON, which hold one table.
    """
    listed = [grids] if isinstance(grids, Grid) else _with_footnotes_once(grids)
    match form:
        case "text":
            from harness.tables.text import text  # rich takes 50 ms to import

            return text(listed, width, note=note)
        case "markdown" | "latex" | "html":
            from harness.tables.markup import html, latex, markdown

            write = {"markdown": markdown, "latex": latex, "html": html}[form]
            return write(listed, note=note)
        case "csv" | "json":
            from harness.tables.data import json_content, to_csv, to_json

            if len(listed) != 1:
                raise ValueError(f"{form} holds one table, not {len(listed)}")
            if form == "csv":
                return to_csv(listed[0], note=note)
            return to_json(json_content(listed[0], note=note))
        case _:
            raise ValueError(f"unknown format {form!r}: expected one of {', '.join(FORMATS)}")


def _fragment(grid: Grid) -> str:
    from harness.tables.markup import html_fragment

    return html_fragment(grid)


Grid.renderers.update(text=render, html=_fragment)
