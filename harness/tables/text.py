"""A grid as aligned text for a terminal.

If the columns do not fit the width, heads and texts are wrapped at spaces, then intervals move
below their values, then the first column gets separate lines, and finally the remaining columns
continue in a second panel below the first. Words are never broken.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.tables.escape import clean
from harness.tables.grid import TEST_DATA_NOTE, Cell, Column, Grid, Row, Section

WIDTH = 100
"""Width of text that is not written to a terminal."""
WIDEST_PROSE = 120
GAP = "  "
COMFORTABLE = 24
"""Columns of text are wrapped down to this width before intervals move to separate lines."""
HANGING = 4
"""Width reserved for a first column whose texts are on separate lines."""


def terminal_width() -> int | None:
    """Width of the terminal; None if standard output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def text(grids: Sequence[Grid], width: int | None = None, *, note: str = TEST_DATA_NOTE) -> str:
    """The grids in turn, over one note, at most `width` characters wide; ends in a newline.

    Without a width (no terminal) it is 100, and the note stays on one line, so that it can be found
    by searching files.
    """
    wide = width or WIDTH
    lines: list[str] = []
    for number, grid in enumerate(grids):
        lines += [*([""] if number else []), *_lines(grid, wide)]
    if note:
        lines += ["", *(_wrapped(note, wide) if width else [clean(note)])]
    return "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"


def _lines(grid: Grid, width: int) -> Iterator[str]:
    for line in (grid.title, *grid.above):
        yield from _wrapped(line, width)
    if grid.title or grid.above:
        yield ""
    for number, panel in enumerate(_panels(grid, width)):
        if number and not _ends_open(grid):
            yield ""
        yield from panel.head()
        for section in grid.sections:
            yield from _section(section, panel, width, notes=not number)
    if grid.footnotes and not _ends_open(grid):
        yield ""
    for line in grid.footnotes:
        yield from _wrapped(line, width)


def _ends_open(grid: Grid) -> bool:
    """Whether the last section ends in a blank line."""
    return bool(grid.sections and grid.sections[-1].title)


def _section(section: Section, panel: _Panel, width: int, *, notes: bool) -> Iterator[str]:
    yield from _wrapped(section.title, width)
    if notes:
        for line in section.above:
            yield from _wrapped(line, width, "  ")
    for row in section.rows:
        yield from panel.row(row, indent=_indent(row, section))
    if notes:
        for line in section.below:
            yield from _wrapped(line, width, "  ")
    if section.title:
        yield ""


def _indent(row: Row, section: Section) -> int:
    return 2 * bool(section.title) + 2 * bool(row.parent)


def _wrapped(line: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        clean(line),
        min(width, WIDEST_PROSE),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


@dataclass(frozen=True, slots=True)
class _Measured:
    """The widths of a column under each layout.

    head: the head in one line; head_word: its longest word.
    value, interval: the longest value and interval; both: value and interval side by side.
    word: for texts the longest word, for numbers the same as value.
    """

    column: Column
    head: int
    head_word: int
    value: int
    interval: int
    word: int

    @property
    def both(self) -> int:
        return self.value + 1 + self.interval if self.interval else self.value


@dataclass(frozen=True, slots=True)
class _Panel:
    """Columns that stand side by side.

    columns: all columns of the grid.
    places: which of them are in the panel.
    widths: how wide each is.
    intervals: how wide its longest interval is.
    stacked: whether intervals stand below their values.
    hanging: whether the first column is on separate lines.
    """

    columns: tuple[Column, ...]
    places: tuple[int, ...]
    widths: tuple[int, ...]
    intervals: tuple[int, ...]
    stacked: bool
    hanging: bool

    def head(self) -> Iterator[str]:
        cells = [self._fill(clean(self.columns[p].head), n) for n, p in enumerate(self.places)]
        if self.hanging:
            yield from _wrapped(self.columns[self.places[0]].head, self.total)
            cells[0] = []
        height = max(map(len, cells), default=0)
        for line in range(height):
            # Heads are aligned at the bottom, on the rule.
            yield self._line([_at(cell, line - height + len(cell)) for cell in cells])
        yield "─" * self.total

    @property
    def total(self) -> int:
        """How wide the panel is."""
        return _total(self.widths)

    def row(self, row: Row, *, indent: int) -> Iterator[str]:
        cells = [self._cell(row.cells[p], n, indent * (not n)) for n, p in enumerate(self.places)]
        if self.hanging:
            yield from _wrapped(str(row.cells[self.places[0]]), self.total, " " * indent)
            cells[0] = []
        for line in range(max(map(len, cells), default=0)):
            yield self._line([_at(cell, line) for cell in cells])

    def _cell(self, cell: str | Cell, place: int, indent: int) -> list[str]:
        """The lines of a cell."""
        beside = self.intervals[place] and not self.stacked
        if isinstance(cell, str) and (self._is_text(place) or not beside):
            first = " " * indent
            return self._fill(clean(cell), place, first, first + "  " * self._is_text(place))
        value = clean(cell if isinstance(cell, str) else cell.text)
        interval = "" if isinstance(cell, str) else clean(cell.interval)
        if not beside:
            return [value, interval] if interval else [value]
        return [f"{value} {interval:{self.intervals[place]}}"]

    def _fill(self, value: str, place: int, first: str = "", rest: str = "") -> list[str]:
        return textwrap.wrap(
            value,
            max(1, self.widths[place]),
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]

    def _is_text(self, place: int) -> bool:
        return self.columns[self.places[place]].align == "left"

    def _line(self, values: Iterable[str]) -> str:
        return GAP.join(
            value.ljust(width) if self._is_text(place) else value.rjust(width)
            for place, (value, width) in enumerate(zip(values, self.widths, strict=True))
        )


def _at(lines: Sequence[str], place: int) -> str:
    return lines[place] if 0 <= place < len(lines) else ""


def _panels(grid: Grid, width: int) -> list[_Panel]:
    """The first layout of the columns that fits the width."""
    columns = _measured(grid)
    for stacked, least in ((False, COMFORTABLE), (True, COMFORTABLE), (True, 0)):
        widths = _fitting(columns, width, stacked=stacked, least=least)
        if widths is not None:
            return [_panel(columns, range(len(columns)), widths, stacked)]
    widths = _fitting(_hanging(columns), width, stacked=True, least=0)
    if widths is not None:
        return [_panel(columns, range(len(columns)), widths, stacked=True, hanging=True)]
    return list(_broken(columns, width))


def _hanging(columns: Sequence[_Measured]) -> list[_Measured]:
    first, *others = columns
    return [_Measured(first.column, HANGING, HANGING, HANGING, 0, HANGING), *others]


def _broken(columns: Sequence[_Measured], width: int) -> Iterator[_Panel]:
    """Several panels, each beginning with the leading text columns."""
    narrow = [max(c.head_word, c.word, c.interval) for c in columns]
    texts = [c.column.align == "left" for c in columns]
    keys = list(range(max(1, texts.index(False)) if False in texts else 1))
    if _total([narrow[place] for place in keys]) > width / 2:
        keys = keys[:1]
    chosen: list[int] = []
    for place in range(len(keys), len(columns)):
        wanted = [*keys, *chosen, place]
        if chosen and _total([narrow[p] for p in wanted]) > width:
            yield _part(columns, [*keys, *chosen], width, narrow)
            chosen = []
        chosen.append(place)
    yield _part(columns, [*keys, *chosen], width, narrow)


def _part(
    columns: Sequence[_Measured], places: Sequence[int], width: int, narrow: Sequence[int]
) -> _Panel:
    chosen = [columns[place] for place in places]
    widths = _fitting(chosen, width, stacked=True, least=0) or [narrow[place] for place in places]
    return _panel(columns, places, widths, stacked=True)


def _panel(
    columns: Sequence[_Measured],
    places: Iterable[int],
    widths: Sequence[int],
    stacked: bool,
    hanging: bool = False,
) -> _Panel:
    chosen = tuple(places)
    return _Panel(
        columns=tuple(measured.column for measured in columns),
        places=chosen,
        widths=tuple(widths),
        intervals=tuple(columns[place].interval for place in chosen),
        stacked=stacked,
        hanging=hanging,
    )


def _fitting(
    columns: Sequence[_Measured], width: int, *, stacked: bool, least: int
) -> list[int] | None:
    """Widths of the columns whose sum fits, or None. Texts get no narrower than `least`."""
    values = [max(c.value, c.interval) if stacked else c.both for c in columns]
    widths = [max(needed, c.head) for needed, c in zip(values, columns, strict=True)]
    if _total(widths) <= width:
        return widths
    widths = [max(needed, c.head_word) for needed, c in zip(values, columns, strict=True)]
    floors = [
        max(c.word, c.head_word, min(least, needed)) if c.column.align == "left" else needed
        for needed, c in zip(widths, columns, strict=True)
    ]
    while (over := _total(widths) - width) > 0:
        slack = [needed - floor for needed, floor in zip(widths, floors, strict=True)]
        if not any(slack):
            return None
        # The widest text gives way first, down to the next widest.
        place = max((p for p, left in enumerate(slack) if left), key=lambda p: widths[p])
        others = [widths[p] for p, left in enumerate(slack) if left and p != place]
        step = max(1, widths[place] - max(others, default=0))
        widths[place] -= min(over, slack[place], step)
    return _with_lower_heads(widths, [c.column.head for c in columns], width - _total(widths))


def _with_lower_heads(widths: list[int], heads: Sequence[str], spare: int) -> list[int]:
    """Widths that use spare characters to make the tallest heads lower, line by line."""
    heights = [_height(head, width) for head, width in zip(heads, widths, strict=True)]
    while max(heights) > 1:
        place = heights.index(max(heights))
        wider = widths[place] + 1
        while _height(heads[place], wider) >= heights[place]:
            wider += 1
        spare -= wider - widths[place]
        if spare < 0:
            break
        widths[place], heights[place] = wider, _height(heads[place], wider)
    return widths


def _height(head: str, width: int) -> int:
    return len(textwrap.wrap(clean(head), width, break_long_words=False, break_on_hyphens=False))


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _measured(grid: Grid) -> list[_Measured]:
    measured = []
    for place, column in enumerate(grid.columns):
        value = interval = word = 0
        for section in grid.sections:
            for row in section.rows:
                cell = row.cells[place]
                content = clean(cell.text if isinstance(cell, Cell) else cell)
                indent = 0 if place else _indent(row, section)
                value = max(value, len(content) + indent)
                longest = _longest_word(content) if column.align == "left" else len(content)
                # Further lines of a wrapped text are indented by two.
                word = max(word, longest + indent + 2 * (longest < len(content)))
                if isinstance(cell, Cell):
                    interval = max(interval, len(clean(cell.interval)))
        head = clean(column.head)
        measured.append(_Measured(column, len(head), _longest_word(head), value, interval, word))
    return measured


def _longest_word(value: str) -> int:
    return max(map(len, value.split()), default=0)
