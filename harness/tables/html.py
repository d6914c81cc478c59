"""A grid as HTML: a standalone page, or a fragment for notebooks."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence

from harness.notes import TEST_DATA_NOTE
from harness.tables.escape import html as escaped
from harness.tables.grid import Cell, Column, Grid, Row, Section

STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
.scroll { overflow-x: auto; }
h1 { font-size: 1.35rem; }
table { border-collapse: collapse; border-bottom: 2px solid; border-top: 2px solid; }
th, td { padding: .25rem .7rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 1px solid; vertical-align: bottom; }
tbody th { font-weight: inherit; }
.n { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
b { font-weight: inherit; }
.run th { font-weight: 600; padding-top: .8rem; }
.run ~ tr th { padding-left: 1.4rem; }
.second th[scope=row] { padding-left: 2.1rem; }
.bounds { font-size: .85em; opacity: .75; }
.first th, .first td { border-top: 1px solid color-mix(in srgb, currentcolor 25%, transparent); }
.note { border-left: 3px solid; padding-left: .7rem; }
p { max-width: 60rem; }
"""


def html(grids: Sequence[Grid], *, note: str = TEST_DATA_NOTE) -> str:
    """Write a page with the grids; its security policy forbids scripts and requests."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "".join(fragment(grid) for grid in grids)
    marked = f'<p class="note">{escaped(note)}</p>\n' if note else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="robots" content="noindex">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(grids[0].title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"{body}{marked}</body>\n</html>\n"
    )


def fragment(grid: Grid) -> str:
    """Write title, table and lines of a grid, without a page around them."""
    title = f"<h1>{escaped(grid.title)}</h1>\n" if grid.title else ""
    return (
        f'{title}{_paragraphs(grid.above)}<div class="scroll">{table(grid)}</div>\n'
        f"{''.join(_notes(grid))}{_paragraphs(grid.footnotes)}"
    )


def table(grid: Grid, caption: str = "") -> str:
    """Write only the `<table>` of a grid; the caption is for screen readers.

    Cells of numbers have the class `n`, intervals `bounds`, rows of a title `run`, rows below a
    parent `second`, and rows whose first cell differs from the one before `first`.
    """
    named = f'<caption class="unseen">{escaped(caption)}</caption>\n' if caption else ""
    heads = "".join(_cell("th", column.head, column, 'scope="col"') for column in grid.columns)
    bodies = "".join(_body(grid, section) for section in grid.sections)
    return f'<table class="rates">\n{named}<thead><tr>{heads}</tr></thead>\n{bodies}</table>'


def _body(grid: Grid, section: Section) -> str:
    rows: list[str] = []
    if section.title:
        scope = f'scope="rowgroup" colspan="{len(grid.columns)}"'
        rows.append(f'<tr class="run"><th {scope}>{escaped(section.title)}</th></tr>')
    before: Row | None = None
    for row in section.rows:
        first = not section.title and before is not None and row.cells[0] != before.cells[0]
        rows.append(_row(row, grid.columns, "second" if row.parent else "first" if first else ""))
        before = row
    return "<tbody>\n" + "".join(f"{row}\n" for row in rows) + "</tbody>\n"


def _row(row: Row, columns: Sequence[Column], name: str) -> str:
    first, *others = zip(row.cells, columns, strict=True)
    cells = [_cell("th", *first, 'scope="row"'), *(_cell("td", *pair) for pair in others)]
    start = f'<tr class="{name}">' if name else "<tr>"
    return f"{start}{''.join(cells)}</tr>"


def _cell(tag: str, cell: str | Cell, column: Column, scope: str = "") -> str:
    name = "" if column.align == "left" else 'class="n"'
    shown = escaped(cell)
    if isinstance(cell, Cell):
        shown = f"<b>{escaped(cell.text)}</b>"
        if cell.interval:
            shown += f' <span class="bounds">{escaped(cell.interval)}</span>'
    return f"<{' '.join(filter(None, (tag, scope, name)))}>{shown}</{tag}>"


def _notes(grid: Grid) -> Iterator[str]:
    for section in grid.sections:
        for number, line in enumerate((*section.above, *section.below)):
            title = f"<b>{escaped(section.title)}</b>: " if section.title and not number else ""
            yield f"<p>{title}{escaped(line)}</p>\n"


def _paragraphs(lines: Sequence[str]) -> str:
    return "".join(f"<p>{escaped(line)}</p>\n" for line in lines)
