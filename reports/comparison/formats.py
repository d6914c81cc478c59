"""A comparison as text, Markdown, CSV, LaTeX or JSON; each carries the note on test data."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, Literal, get_args

from reports import escape
from reports.comparison.layout import HEADS, arrange
from reports.comparison.results import Comparisons
from reports.comparison.table import comparison_table
from reports.formats import TEST_DATA_NOTE, WIDTH

Format = Literal["text", "markdown", "csv", "latex", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)

_LABEL = 15
_WIDTHS = (10, 8, 8, 19, 9, 9, 13, 9)


def render(found: Comparisons, form: Format = "text") -> str:
    """The comparison in one of the formats, ending in a newline.

    Text, Markdown and LaTeX are for readers (per cent); CSV and JSON hold every column of
    `comparison_table`, with shares between 0 and 1.
    """
    writers: dict[str, Callable[[Comparisons], str]] = {
        "text": as_text,
        "markdown": as_markdown,
        "csv": as_csv,
        "latex": as_latex,
        "json": as_json,
    }
    if form not in writers:
        raise ValueError(f"unknown format {form!r}: expected one of {', '.join(FORMATS)}")
    return writers[form](found)


def as_text(found: Comparisons) -> str:
    """Aligned columns for a terminal."""
    sheet = arrange(found)
    lines = [TEST_DATA_NOTE, *(wrapped for line in sheet.about for wrapped in _wrapped(line)), ""]
    for block in sheet.blocks:
        lines.append(escape.clean(block.title))
        lines += [wrapped for fact in block.facts for wrapped in _wrapped(fact, "  ")]
        head = _aligned(("", *HEADS))
        lines += [head, "─" * len(head)]
        lines += [_aligned(row) for row in block.rows]
        lines += [*_wrapped(block.verdict, "  "), ""]
    lines += [wrapped for note in sheet.footnotes for wrapped in _wrapped(note)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _aligned(cells: tuple[str, ...]) -> str:
    values = "".join(f"{c:>{width}}" for c, width in zip(cells[1:], _WIDTHS, strict=True))
    return f"{cells[0]:{_LABEL}}{values}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        escape.clean(text), WIDTH, initial_indent=indent, subsequent_indent=indent + "  "
    )


def as_markdown(found: Comparisons) -> str:
    """A table per run, the note and the settings as a quotation above."""
    sheet = arrange(found)
    quoted = [TEST_DATA_NOTE, *sheet.about]
    lines = ["\n>\n".join(f"> {escape.markdown(line)}" for line in quoted), ""]
    for block in sheet.blocks:
        lines += [f"**{escape.markdown(block.title)}**", ""]
        lines += ["\n\n".join(escape.markdown(fact) for fact in block.facts), ""]
        lines += [_markdown_row(("metric", *HEADS)), f"| :-- |{' --: |' * len(HEADS)}"]
        lines += [_markdown_row(row) for row in block.rows]
        lines += ["", escape.markdown(block.verdict), ""]
    lines.append("\n\n".join(escape.markdown(note) for note in sheet.footnotes))
    return "\n".join(lines) + "\n"


def _markdown_row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(escape.markdown(cell) for cell in cells)} |"


def as_latex(found: Comparisons) -> str:
    """A `tabular` for booktabs; everything around the numbers as comments."""
    sheet = arrange(found)
    above = [TEST_DATA_NOTE, *sheet.about]
    for block in sheet.blocks:
        above += [f"{block.title}: {text}" for text in (*block.facts, block.verdict)]
    lines = [f"% {escape.clean(line)}" for line in (*above, *sheet.footnotes)]
    lines += [r"% needs \usepackage{booktabs}", r"\begin{tabular}{lrrrrrrrr}", r"\toprule"]
    lines.append(_latex_row(("metric", *HEADS)))
    for block in sheet.blocks:
        title = escape.latex(block.title)
        lines += [r"\midrule", rf"\multicolumn{{{len(HEADS) + 1}}}{{l}}{{{title}}} \\"]
        lines += [rf"\quad {_latex_row(row)}" for row in block.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _latex_row(cells: tuple[str, ...]) -> str:
    return " & ".join(escape.latex(cell) for cell in cells) + r" \\"


def as_csv(found: Comparisons) -> str:
    """All columns of the table; note, settings and verdicts in lines that begin with `#`."""
    sheet = arrange(found)
    out = io.StringIO()
    for line in (TEST_DATA_NOTE, *sheet.about, *(block.verdict for block in sheet.blocks)):
        out.write(f"# {escape.csv_cell(line)}\n")
    writer = csv.writer(out, lineterminator="\n")
    names, rows = _plain(found)
    writer.writerow(names)
    for row in rows:
        cells = [escape.csv_cell(cell) if isinstance(cell, str) else cell for cell in row]
        writer.writerow("" if cell is None else cell for cell in cells)
    return out.getvalue()


def as_json(found: Comparisons) -> str:
    """Note, settings, facts and verdict of every pair, and the rows as records."""
    names, rows = _plain(found)
    content = {
        "note": TEST_DATA_NOTE,
        "baseline": found.baseline,
        "correction": found.correction,
        "planned_difference": found.planned,
        "operation_f1": found.variant,
        "settings": {**asdict(found.settings), "given": found.given},
        "corrupt": list(found.corrupt),
        "runs": [{**asdict(own), "share": own.share} for own in found.progress],
        "comparisons": [
            {
                "run": one.run,
                "subject": one.subject,
                "steps": one.steps,
                "tasks": one.tasks,
                "splits": one.splits,
                "left_out": asdict(one.left),
                "incomplete_tasks": one.incomplete_tasks,
                "verdict": one.verdict,
            }
            for one in found.others
        ],
        "rows": [dict(zip(names, row, strict=True)) for row in rows],
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _plain(found: Comparisons) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Names and rows as plain Python values, None where one is missing."""
    table = comparison_table(found)
    columns = [table[name].astype("object") for name in table.columns]
    lists = [column.where(column.notna(), None).tolist() for column in columns]
    return [str(name) for name in table.columns], zip(*lists, strict=True)
