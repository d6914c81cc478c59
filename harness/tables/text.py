"""A grid as aligned text for a terminal, drawn by rich.

Words are never broken. If the columns do not fit the width, texts are wrapped, then intervals move
below their values, and at last columns continue in another table below the first.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from harness.printing import TEST_DATA_NOTE
from harness.tables.grid import Cell, Grid, clean

WIDTH = 100
"""Width of text outside of a terminal."""
WIDEST_PROSE = 120
DEEPEST = 6
"""The most that a further line in the first column is indented; by 2 in the others."""
BLANK = "\ue000"
"""A blank at which rich neither wraps nor strips; `clean` removes it from texts."""
LAYOUTS = ((False, 24, 2), (True, 24, 2), (True, 12, 1))
"""Layout: intervals below their values, width of wrapped texts, blanks between columns."""


def text(grids: Sequence[Grid], width: int | None = None, *, note: str = TEST_DATA_NOTE) -> str:
    """Write the grids in turn over one note, for a terminal of this width; end in a newline.

    A line is wider only if a word is, or the names of rows together with one column. Without a
    terminal (None) it is 100, but rows that do not fit and the note are one line each, where a
    search finds them.
    """
    lines = [line for grid in grids for line in ("", *_lines(grid, width))]
    lines += ["", *(_prose([note], width) if width else [clean(note)])]
    return re.sub("\n\n+", "\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n") + "\n"


def _lines(grid: Grid, terminal: int | None) -> Iterator[str]:
    width = terminal or WIDTH
    yield from _prose([grid.title, *grid.above], width)
    for number, (heads, *bodies) in enumerate(_tables(grid, terminal)):
        yield from ("", *heads, "─" * max(map(cell_len, heads)))
        for section, body in zip(grid.sections, bodies, strict=True):
            yield from _prose([section.title], width)
            yield from _prose([] if number else section.above, width, "  ")
            yield from body
            yield from _prose([] if number else section.below, width, "  ")
            yield from [""] * bool(section.title)
    yield ""
    yield from _prose(grid.footnotes, width)


def _prose(lines: Sequence[str], width: int, indent: str = "") -> Iterator[str]:
    for line in lines:
        yield from textwrap.wrap(
            clean(line),
            max(1, min(width, WIDEST_PROSE)),
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _tables(grid: Grid, terminal: int | None) -> Iterator[list[list[str]]]:
    """Yield the lines of the heads and of each section's rows; again for columns below."""
    width = terminal or WIDTH
    left = [column.align == "left" for column in grid.columns]
    for stacked, least, gap in LAYOUTS:
        columns = [_texts(grid, place, stacked) for place in range(len(left))]
        wishes = [max([1, *(cell_len(e) for one in c for e in one.split("\n"))]) for c in columns]
        further = [(2 if place else DEEPEST) * is_text for place, is_text in enumerate(left)]
        floors = [
            max([1, min(least * is_text, wish), *(_longest_word(one, indent) for one in c)])
            for c, wish, is_text, indent in zip(columns, wishes, left, further, strict=True)
        ]
        if _total(floors, gap) <= width:
            break
    else:
        if terminal is None:
            yield from _tables(grid, sys.maxsize)
            return
    keys = [0, 1] if left[:2] == [True, True] else [0]
    tables = [keys]
    for place in range(len(keys), len(left)):
        if tables[-1] != keys and _total([floors[p] for p in [*tables[-1], place]], gap) > width:
            tables.append(keys)
        tables[-1] = [*tables[-1], place]
    for places in tables:
        widths = [wishes[p] for p in places]
        most = max(widths)
        while _total(widths, gap) > width and most:
            most -= 1  # The widest give way first.
            widths = [max(floors[p], min(wishes[p], most)) for p in places]
        draw = partial(_drawn, [left[p] for p in places], widths, gap)
        heads, *rows = zip(*(columns[p] for p in places), strict=True)
        ends = accumulate((len(section.rows) for section in grid.sections), initial=0)
        yield [draw([heads], "bottom"), *(draw(rows[a:b], "top") for a, b in pairwise(ends))]


def _texts(grid: Grid, place: int, stacked: bool) -> list[str]:
    """Return the head and the cells of a column, to be wrapped at spaces only."""
    rows = [(row, section) for section in grid.sections for row in section.rows]
    cells = [row.cells[place] for row, _ in rows]
    texts = [clean(cell) for cell in cells]
    if grid.columns[place].align == "right":
        values = [clean(cell.text if isinstance(cell, Cell) else cell) for cell in cells]
        intervals = [clean(cell.interval) if isinstance(cell, Cell) else "" for cell in cells]
        pad = 0 if stacked else max(map(len, intervals), default=0)
        apart = "\n" if stacked else " " * bool(pad)
        texts = [
            f"{value}{apart}{interval:{pad}}".strip("\n").replace(" ", BLANK)
            for value, interval in zip(values, intervals, strict=True)
        ]
    if not place:
        indents = [2 * bool(section.title) + 2 * bool(row.parent) for row, section in rows]
        texts = [BLANK * indent + one for indent, one in zip(indents, texts, strict=True)]
    return [clean(grid.columns[place].head), *texts]


def _longest_word(one: str, further: int) -> int:
    first, *others = one.split() or [""]
    return max([cell_len(first), *(further + cell_len(word) for word in others)])


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _drawn(
    left: Sequence[bool],
    widths: Sequence[int],
    gap: int,
    rows: Sequence[Sequence[str]],
    vertical: Literal["top", "bottom"],
) -> list[str]:
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, show_header=False)
    for is_text, width in zip(left, widths, strict=True):
        justify: Literal["left", "right"] = "left" if is_text else "right"
        table.add_column(justify=justify, vertical=vertical, width=width, overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row, left, widths))
    console = Console(
        width=_total(widths, gap), color_system=None, markup=False, emoji=False, highlight=False
    )
    with console.capture() as capture:
        console.print(table)
    return capture.get().replace(BLANK, " ").splitlines() if rows else []


def _cell(one: str, is_text: bool, width: int) -> str:
    words = one.lstrip(BLANK)
    indent = " " * (len(one) - len(words))
    return "\n".join(_prose([words], width, indent)) if is_text else one
