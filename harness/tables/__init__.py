"""Tables: one kind of grid, and one renderer per format.

    from harness.tables import Column, Grid, render, rows_of
    grid = Grid("Recall", (Column("split", "left"), Column("R@50")), rows_of([["dev", "85.3"]]))
    print(render(grid, "markdown"))

| module | content |
|---|---|
| `grid` | `Grid` with its columns, sections, rows and cells; numbers formatted for readers |
| `text`, `markdown`, `latex`, `html` | the formats for readers |
| `data` | CSV, JSON and parquet |
| `escape` | escaping for each of them |
| `results` | the table of results: metrics as records, and as rows for readers |

A grid shows itself in a notebook and as `str(grid)`; `say` prints any text as commands do. Nothing
here imports pandas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from harness.notes import TEST_DATA_NOTE
from harness.printing import say, terminal_width
from harness.tables.data import json_content, to_csv, to_json, to_parquet
from harness.tables.escape import clean
from harness.tables.grid import (
    ABSENT,
    FEW_MARK,
    Cell,
    Column,
    Data,
    Grid,
    NumberStyle,
    Row,
    Section,
    bounds,
    counted,
    exact,
    few_notes,
    interval_record,
    interval_text,
    percent,
    rows_of,
    shown,
)
from harness.tables.repeats import repeat_notes, repeat_rows, repeats_text
from harness.tables.results import (
    POOLED,
    average_of,
    cell_of,
    cluster_note,
    coverage,
    coverage_notes,
    finer_clusters,
    has_few,
    heads,
    invalid_label,
    main_column,
    main_text,
    mean_note,
    mean_text,
    measured_name,
    open_notes,
    parent_cells,
    parents_text,
    partly_measured,
    quartiles_notes,
    rate_cells,
    rate_heads,
    rates_note,
    rates_shown,
    repeats_note,
    result_columns,
    result_row,
)

Format = Literal["text", "markdown", "csv", "latex", "json", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""Text formats; `to_parquet` returns bytes."""

__all__ = [
    "ABSENT",
    "FEW_MARK",
    "FORMATS",
    "POOLED",
    "TEST_DATA_NOTE",
    "Cell",
    "Column",
    "Data",
    "Format",
    "Grid",
    "NumberStyle",
    "Row",
    "Section",
    "average_of",
    "bounds",
    "cell_of",
    "clean",
    "cluster_note",
    "counted",
    "coverage",
    "coverage_notes",
    "exact",
    "few_notes",
    "finer_clusters",
    "has_few",
    "heads",
    "html_table",
    "interval_record",
    "interval_text",
    "invalid_label",
    "json_content",
    "main_column",
    "main_text",
    "mean_note",
    "mean_text",
    "measured_name",
    "open_notes",
    "parent_cells",
    "parents_text",
    "partly_measured",
    "percent",
    "quartiles_notes",
    "rate_cells",
    "rate_heads",
    "rates_note",
    "rates_shown",
    "render",
    "repeat_notes",
    "repeat_rows",
    "repeats_note",
    "repeats_text",
    "result_columns",
    "result_row",
    "rows_of",
    "say",
    "shown",
    "terminal_width",
    "to_json",
    "to_parquet",
]

Grid.renderers["text"] = lambda grid: render(grid)


def html_table(grid: Grid, caption: str = "") -> str:
    """Return the `<table>` of a grid, with a caption for screen readers."""
    from harness.tables.html import table

    return table(grid, caption)


def _fragment(grid: Grid) -> str:
    from harness.tables.html import fragment

    return fragment(grid)


Grid.renderers["html"] = _fragment


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
        case "markdown":
            from harness.tables.markdown import markdown

            return markdown(listed, note=note)
        case "latex":
            from harness.tables.latex import latex

            return latex(listed, note=note)
        case "html":
            from harness.tables.html import html

            return html(listed, note=note)
        case "csv" | "json":
            if len(listed) != 1:
                raise ValueError(f"{form} holds one table, not {len(listed)}")
            if form == "csv":
                return to_csv(listed[0], note=note)
            return to_json(json_content(listed[0], note=note))
        case _:
            raise ValueError(f"unknown format {form!r}: expected one of {', '.join(FORMATS)}")
