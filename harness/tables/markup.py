"""Grids as Markdown, LaTeX and HTML.

Texts from pages, models and other people's runs, such as names of websites, may hold anything:
every text is cleaned and escaped.
"""

from __future__ import annotations

import base64
import hashlib
import html as _html
from collections.abc import Iterable, Iterator, Sequence

from harness.printing import TEST_DATA_NOTE
from harness.tables.grid import Cell, Grid, Heading, Row, Section, clean

_MARKDOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
    | {sign: rf"\{sign}" for sign in r"\`*_[]|~$"}
)
_LATEX = str.maketrans(
    {sign: rf"\{sign}" for sign in "{}$&#%_"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"}
    | {"[": "{[}", "]": "{]}"}
)


def markdown_text(text: object) -> str:
    r"""Clean and escape a text for Markdown, including table cells; never HTML.

    >>> print(markdown_text("<b>a_b|c"))
    &lt;b&gt;a\_b\|c
    """
    return clean(text).translate(_MARKDOWN).replace("://", "&#58;//")


def latex_text(text: object) -> str:
    r"""Clean and escape a text for LaTeX.

    >>> print(latex_text("a_b & 5 %"))
    a\_b \& 5 \%
    """
    return clean(text).translate(_LATEX)


def html_text(text: object) -> str:
    """Clean and escape a text for HTML content and quoted attributes.

    >>> html_text('<b>"a" & b')
    '&lt;b&gt;&quot;a&quot; &amp; b'
    """
    return _html.escape(clean(text), quote=True)


def markdown(grids: Sequence[Grid], *, note: str = TEST_DATA_NOTE) -> str:
    """Write the grids as pipe tables, with the lines above as a quotation, over one note."""
    blocks: list[str] = []
    for grid in grids:
        above = [f"> {markdown_text(line)}" for line in (grid.title, *grid.above) if line]
        blocks += ["\n>\n".join(above), *_pipe_tables(grid), *map(markdown_text, grid.footnotes)]
    blocks.append(f"> {markdown_text(note)}" if note else "")
    return "\n\n".join(filter(None, blocks)) + "\n"


def _pipe_tables(grid: Grid) -> Iterator[str]:
    """Yield one table with the sections in its first column, or a table for every section."""
    if grid.section_head:
        head = Heading(grid.section_head, "left")
        rows = [(s.title, *_full(row)) for s in grid.sections for row in s.rows]
        yield _pipe_table((head, *grid.columns), rows)
        counts = [(s.title, "; ".join((*s.above, *s.below))) for s in grid.sections]
        if any(lines for _, lines in counts):
            yield _pipe_table((head, Heading("counts", "left")), counts)
        return
    for section in grid.sections:
        yield f"**{markdown_text(section.title)}**" if section.title else ""
        yield from map(markdown_text, section.above)
        yield _pipe_table(grid.columns, map(_full, section.rows))
        yield from map(markdown_text, section.below)


def _full(row: Row) -> Sequence[str | Cell]:
    first, *others = row.cells
    return [f"{row.parent}, {first}" if row.parent else first, *others]


def _pipe_table(columns: Sequence[Heading], rows: Iterable[Sequence[str | Cell]]) -> str:
    heads = [markdown_text(column.head) for column in columns]
    marks = [":--" if column.align == "left" else "--:" for column in columns]
    lines = [heads, marks, *(map(markdown_text, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex(grids: Sequence[Grid], *, note: str = TEST_DATA_NOTE) -> str:
    """Write a `tabular` for booktabs per grid, with the lines around it as comments."""
    lines: list[str] = []
    for grid in grids:
        counts = [
            f"{section.title}: {'; '.join((*section.above, *section.below))}"
            for section in grid.sections
            if section.above or section.below
        ]
        comments = filter(None, (grid.title, *grid.above, *counts, *grid.footnotes))
        lines += [f"% {clean(line)}" for line in comments]
        lines.append(r"% needs \usepackage{booktabs}")
        places = "".join("l" if column.align == "left" else "r" for column in grid.columns)
        lines += [rf"\begin{{tabular}}{{{places}}}", r"\toprule"]
        lines.append(_latex_row(column.head for column in grid.columns))
        for section in grid.sections:
            lines.append(r"\midrule")
            if section.title:
                title = latex_text(section.title)
                lines.append(rf"\multicolumn{{{len(grid.columns)}}}{{l}}{{{title}}} \\")
            for row, begins in _grouped(section):
                lines += [r"\addlinespace"] * begins
                indent = r"\quad " * (bool(section.title) + bool(row.parent))
                lines.append(indent + _latex_row(row.cells))
        lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [f"% {clean(note)}"] * bool(note)
    return "\n".join(lines) + "\n"


def _latex_row(cells: Iterable[str | Cell]) -> str:
    return " & ".join(map(_latex_cell, cells)) + r" \\"


def _latex_cell(cell: str | Cell) -> str:
    if isinstance(cell, Cell) and cell.interval:
        return rf"{latex_text(cell.text)} {{\scriptsize {latex_text(cell.interval)}}}".lstrip()
    return latex_text(cell)


def _grouped(section: Section) -> Iterator[tuple[Row, bool]]:
    """Yield rows, each with whether its first cell begins another group of a section's rows."""
    before = section.rows[0].cells[0] if section.rows else ""
    for row in section.rows:
        yield row, not section.title and row.cells[0] != before
        before = row.cells[0]


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
PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}</body>
</html>
"""


def html(grids: Sequence[Grid], *, note: str = TEST_DATA_NOTE) -> str:
    """Write a page with the grids; its security policy forbids scripts and requests."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "".join(map(html_fragment, grids))
    body += f'<p class="note">{html_text(note)}</p>\n' if note else ""
    return PAGE.format(policy=policy, title=html_text(grids[0].title), style=STYLE, body=body)


def html_fragment(grid: Grid) -> str:
    """Write title, table and lines of a grid, without a page around them."""
    title = f"<h1>{html_text(grid.title)}</h1>\n" if grid.title else ""
    notes = ""
    for section in grid.sections:
        name = f"<b>{html_text(section.title)}</b>: " if section.title else ""
        for line in (*section.above, *section.below):
            notes += f"<p>{name}{html_text(line)}</p>\n"
            name = ""
    above, below = (
        "".join(f"<p>{html_text(line)}</p>\n" for line in lines)
        for lines in (grid.above, grid.footnotes)
    )
    return f'{title}{above}<div class="scroll">{html_table(grid)}</div>\n{notes}{below}'


def html_table(grid: Grid, caption: str = "") -> str:
    """Write only the `<table>` of a grid; the caption is for screen readers.

    Cells of numbers have the class `n`, intervals `bounds`, rows of a title `run`, rows below a
    parent `second`, and rows whose first cell differs from the one before `first`.
    """
    lines = ['<table class="rates">']
    if caption:
        lines.append(f'<caption class="unseen">{html_text(caption)}</caption>')
    heads = "".join(_html_cell("th", one.head, one, ' scope="col"') for one in grid.columns)
    lines.append(f"<thead><tr>{heads}</tr></thead>")
    for section in grid.sections:
        lines.append("<tbody>")
        if section.title:
            scope = f'scope="rowgroup" colspan="{len(grid.columns)}"'
            lines.append(f'<tr class="run"><th {scope}>{html_text(section.title)}</th></tr>')
        for row, begins in _grouped(section):
            name = "second" if row.parent else "first" if begins else ""
            first, *others = zip(row.cells, grid.columns, strict=True)
            cells = _html_cell("th", *first, ' scope="row"')
            cells += "".join(_html_cell("td", *pair) for pair in others)
            start = f'<tr class="{name}">' if name else "<tr>"
            lines.append(f"{start}{cells}</tr>")
        lines.append("</tbody>")
    return "\n".join([*lines, "</table>"])


def _html_cell(tag: str, cell: str | Cell, column: Heading, more: str = "") -> str:
    shown = html_text(cell)
    if isinstance(cell, Cell):
        shown = f"<b>{html_text(cell.text)}</b>"
        if cell.interval:
            shown += f' <span class="bounds">{html_text(cell.interval)}</span>'
    more += ' class="n"' if column.align == "right" else ""
    return f"<{tag}{more}>{shown}</{tag}>"
