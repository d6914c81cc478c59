"""The table of classes as text, Markdown, CSV or JSON; each carries the note on test data."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

import pandas as pd

from reports import escape
from reports.errors.classes import INFO, ErrorClass
from reports.errors.classifying import NEAR_EDIT, NEAR_F1
from reports.errors.table import ALL
from reports.formats import TEST_DATA_NOTE, WIDTH
from reports.layout import about, percent

Format = Literal["text", "markdown", "csv", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)

_LABEL, _NUMBER = 56, 12
_TEXT = 88
HEADS = ("steps", "share", "of errors")
FOOTNOTE = (
    "share: per cent of the settled valid rows; of errors: of those among them that failed. "
    "Every row is in exactly one class, the first that fits."
)
Row = dict[str, Any]


def render(table: pd.DataFrame, form: Format = "text") -> str:
    """A table made by `errors_table`, ending in a newline."""
    writers: dict[str, Callable[[pd.DataFrame], str]] = {
        "text": as_text,
        "markdown": as_markdown,
        "csv": as_csv,
        "json": as_json,
    }
    if form not in writers:
        raise ValueError(f"unknown format {form!r}: expected one of {', '.join(FORMATS)}")
    return writers[form](table)


def as_text(table: pd.DataFrame) -> str:
    """Aligned columns for a terminal, 100 wide but for the note and long names."""
    lines = [line for text in (TEST_DATA_NOTE, *about(table.attrs)) for line in _wrapped(text)]
    head = f"{'class':{_LABEL}}" + "".join(f"{name:>{_NUMBER}}" for name in HEADS)
    lines += ["", head, "─" * len(head)]
    for run, group, rows in _blocks(table):
        lines.append(escape.clean(f"{run}: {group}, {_total(rows):,} rows"))
        for row in rows:
            title = f"  {_cut(row['title'], _LABEL - 4)}"
            numbers = "".join(f"{number:>{_NUMBER}}" for number in _numbers(row))
            lines.append(f"{title:{_LABEL}}{numbers}")
        lines.append("")
    for run, heading, own in _examples(table):
        lines += _wrapped(f"{run}: {heading}")
        for row in own:
            lines += _wrapped(_head(row), "  ")
            lines += [f"    chosen  {_cut(row['chosen'], _TEXT)}"] if row["chosen"] else []
            lines += [f"    target  {_cut(row['target'], _TEXT)}"] if row["target"] else []
        lines.append("")
    lines += [line for text in _notes(table) for line in _wrapped(text)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def as_markdown(table: pd.DataFrame) -> str:
    """A table of classes and, where asked for, one of examples; note and settings above."""
    quoted = [TEST_DATA_NOTE, *about(table.attrs)]
    lines = ["\n>\n".join(f"> {escape.markdown(text)}" for text in quoted), ""]
    lines += [_cells(["run", "group", "class", *HEADS]), "| :-- | :-- | :-- | --: | --: | --: |"]
    for run, group, rows in _blocks(table):
        lines += [_cells([run, group, row["title"], *_numbers(row)]) for row in rows]
    lines.append("")
    if table.attrs["examples"]:
        lines += [_cells(["run", "class", "step", "chosen", "target"]), "|" + " :-- |" * 5]
        for run, heading, own in _examples(table):
            lines += [
                _cells([run, heading, _head(row), row["chosen"], row["target"]]) for row in own
            ]
        lines.append("")
    lines.append("\n\n".join(escape.markdown(text) for text in _notes(table)))
    return "\n".join(lines) + "\n"


def as_csv(table: pd.DataFrame) -> str:
    """All columns of the table; note and settings in lines that begin with `#`."""
    out = io.StringIO()
    for line in (TEST_DATA_NOTE, *about(table.attrs), *table.attrs["problems"]):
        out.write(f"# {escape.csv_cell(line)}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    for row in _rows(table):
        cells = [escape.csv_cell(v) if isinstance(v, str) else v for v in row.values()]
        writer.writerow("" if cell is None else cell for cell in cells)
    return out.getvalue()


def as_json(table: pd.DataFrame) -> str:
    """Note, settings, rows, examples and labels; missing values are null."""
    attrs = table.attrs
    content = {
        "note": TEST_DATA_NOTE,
        "settings": {name: attrs[name] for name in ("constants", "differences")},
        "key": attrs["key"],
        "runs": attrs["runs"],
        "rows": list(_rows(table)),
        "examples": attrs["examples"],
        "beside": attrs["beside"],
        "labels": attrs["labels"],
        "problems": list(attrs["problems"]),
        "unfinished": list(attrs["unfinished"]),
        "corrupt": list(attrs["corrupt"]),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _rows(table: pd.DataFrame) -> Iterator[Row]:
    columns = [table[name].astype("object") for name in table.columns]
    lists = [column.where(column.notna(), None).tolist() for column in columns]
    for row in zip(*lists, strict=True):
        yield dict(zip(table.columns, row, strict=True))


def _blocks(table: pd.DataFrame) -> Iterator[tuple[str, str, list[Row]]]:
    """The rows by run and group, as (run, group in words, rows)."""
    blocks: dict[tuple[str, str, str], list[Row]] = {}
    for row in _rows(table):
        blocks.setdefault((row["run"], row["by"], row["group"]), []).append(row)
    for (run, by, group), rows in blocks.items():
        yield run, ALL if by == ALL else f"{by} {group}", rows


def _total(rows: list[Row]) -> int:
    return sum(row["steps"] for row in rows)


def _numbers(row: Row) -> tuple[str, str, str]:
    def share(value: float | None) -> str:
        return "" if value is None else percent(value)

    return f"{row['steps']:,}", share(row["share"]), share(row["share_of_errors"])


def _examples(table: pd.DataFrame) -> Iterator[tuple[str, str, list[Row]]]:
    blocks: dict[tuple[str, str], list[Row]] = {}
    for row in table.attrs["examples"]:
        blocks.setdefault((row["run"], row["error_class"]), []).append(row)
    for (run, name), rows in blocks.items():
        yield run, INFO[ErrorClass(name)].title, rows


def _head(row: Row) -> str:
    repeat = f" repeat {row['repeat']}" if row["repeat"] else ""
    label = f" [{row['human_label']}]" if row["human_label"] else ""
    detail = f": {row['error_detail']}" if row["error_detail"] else ""
    return f"{row['step_id']}{repeat}{detail}{label}"


def _notes(table: pd.DataFrame) -> list[str]:
    return [*_beside(table), *_labels(table), FOOTNOTE, *table.attrs["problems"]]


def _beside(table: pd.DataFrame) -> list[str]:
    """Near misses and lost descriptions by run, where there are such steps."""
    told = []
    for one in table.attrs["beside"]:
        parts = []
        if one["wrong_values"]:
            parts.append(
                f"of {one['wrong_values']:,} wrong values {one['near_by_f1']:,} are near by F1 "
                f"(at least {NEAR_F1}) and {one['near_by_edit']:,} by edit distance "
                f"(at most {NEAR_EDIT})"
            )
        if one["wrong_elements"]:
            parts.append(
                f"round 1 described the target in {one['described_target']:,} of "
                f"{one['wrong_elements']:,} wrong elements"
            )
        if parts:
            told.append(f"{one['run']}: {'; '.join(parts)}")
    return told


def _labels(table: pd.DataFrame) -> list[str]:
    """The labels of people by run, a line each, the most frequent first."""
    runs: dict[str, dict[str, int]] = {}
    for one in table.attrs["labels"]:
        own = runs.setdefault(one["run"], {})
        own[one["label"]] = own.get(one["label"], 0) + one["steps"]
    return [
        f"labels of {run}: "
        + ", ".join(
            f"{label} {steps}" for label, steps in sorted(own.items(), key=lambda i: (-i[1], i[0]))
        )
        for run, own in runs.items()
    ]


def _cells(cells: list[Any]) -> str:
    return f"| {' | '.join(escape.markdown(cell) for cell in cells)} |"


def _cut(text: object, width: int) -> str:
    line = escape.clean(text)
    return line if len(line) <= width else line[: width - 1] + "…"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        escape.clean(text), WIDTH, initial_indent=indent, subsequent_indent=indent + "  "
    )
