"""A grid as text, Markdown, LaTeX or HTML."""

from __future__ import annotations

import base64
import hashlib
import textwrap
from collections.abc import Iterable, Sequence
from html import escape as html_escape

from reports import escape
from reports.grid import Grid

WIDTH = 100
STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
.scroll { overflow-x: auto; }
h1 { font-size: 1.35rem; }
table { border-collapse: collapse; border-bottom: 2px solid; border-top: 2px solid; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap; }
th { border-bottom: 1px solid; }
.text { text-align: left; }
tr.first td { border-top: 1px solid color-mix(in srgb, currentcolor 25%, transparent); }
.note { border-left: 3px solid; padding-left: .7rem; }
p { max-width: 60rem; }
"""


def text(grid: Grid, note: str) -> str:
    """Aligned columns for a terminal; lines above and below it are at most 100 wide."""
    widths = [
        max(len(escape.clean(row[place])) for row in (grid.heads, *grid.rows))
        for place in range(len(grid.heads))
    ]
    lines = [note, *_wrapped(grid.title), *(x for line in grid.about for x in _wrapped(line)), ""]
    lines.append(_aligned(grid.heads, widths, grid.texts))
    lines.append("─" * len(lines[-1]))
    lines += [_aligned(row, widths, grid.texts) for row in grid.rows]
    lines += ["", *(x for line in grid.footnotes for x in _wrapped(line))]
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def _aligned(cells: Sequence[str], widths: Sequence[int], texts: Iterable[int]) -> str:
    shown = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        cleaned = escape.clean(cell)
        shown.append(cleaned.ljust(width) if place in texts else cleaned.rjust(width))
    return "  ".join(shown)


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(escape.clean(line), WIDTH, subsequent_indent="  ")


def markdown(grid: Grid, note: str) -> str:
    """The lines above it as a quotation, the table, the lines below it as paragraphs."""
    quoted = [note, grid.title, *grid.about]
    lines = ["\n>\n".join(f"> {escape.markdown(line)}" for line in quoted), ""]
    rule = [":--" if place in grid.texts else "--:" for place in range(len(grid.heads))]
    lines += [_piped(grid.heads), f"| {' | '.join(rule)} |", *map(_piped, grid.rows), ""]
    lines.append("\n\n".join(escape.markdown(line) for line in grid.footnotes))
    return "\n".join(lines).rstrip("\n") + "\n"


def _piped(cells: Iterable[str]) -> str:
    return f"| {' | '.join(escape.markdown(cell) for cell in cells)} |"


def latex(grid: Grid, note: str) -> str:
    """A `tabular` for booktabs; the other lines as comments."""
    comments = [note, grid.title, *grid.about, *grid.footnotes]
    lines = [f"% {escape.clean(line)}" for line in comments]
    places = "".join("l" if place in grid.texts else "r" for place in range(len(grid.heads)))
    lines += [r"% needs \usepackage{booktabs}", rf"\begin{{tabular}}{{{places}}}", r"\toprule"]
    lines += [_ampersands(grid.heads), r"\midrule"]
    for row, before in zip(grid.rows, (None, *grid.rows), strict=False):
        if before is not None and 0 in grid.texts and row[0] != before[0]:
            lines.append(r"\addlinespace")
        lines.append(_ampersands(row))
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _ampersands(cells: Iterable[str]) -> str:
    return " & ".join(escape.latex(cell) for cell in cells) + r" \\"


def html(grids: Sequence[Grid], note: str) -> str:
    """A page that stands alone: no script, no request, a policy that forbids both."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "".join(_section(grid) for grid in grids)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="robots" content="noindex">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_safe(grids[0].title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<p class="note">{_safe(note)}</p>\n{body}</body>\n</html>\n'
    )


def _section(grid: Grid) -> str:
    heads = "".join(_html_cell("th", head, p in grid.texts) for p, head in enumerate(grid.heads))
    rows = []
    for row, before in zip(grid.rows, (None, *grid.rows), strict=False):
        first = before is not None and row[0] != before[0]
        cells = "".join(_html_cell("td", cell, p in grid.texts) for p, cell in enumerate(row))
        rows.append(f'<tr class="first">{cells}</tr>\n' if first else f"<tr>{cells}</tr>\n")
    about = "".join(f"<p>{_safe(line)}</p>\n" for line in grid.about)
    notes = "".join(f"<p>{_safe(line)}</p>\n" for line in grid.footnotes)
    return (
        f'<h1>{_safe(grid.title)}</h1>\n{about}<div class="scroll"><table>\n<thead><tr>{heads}'
        f"</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>\n</table></div>\n{notes}"
    )


def _html_cell(tag: str, cell: str, is_text: bool) -> str:
    return (
        f'<{tag} class="text">{_safe(cell)}</{tag}>' if is_text else f"<{tag}>{_safe(cell)}</{tag}>"
    )


def _safe(cell: object) -> str:
    return html_escape(escape.clean(cell), quote=True)
