"""Figures of tables of results: for files (`report --plot`) and for the page.

Marks and line styles vary with the colours, so a print in grey can be read.
matplotlib is imported when something is drawn, and without a display.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import pandas as pd

from harness.tables import clean
from harness.tables.grid import exact
from harness.tables.results import average_of
from parsers import Average, Declaration
from reports.formats import blocks
from reports.grid import plain_records
from reports.names import name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#6f6f6f"
COLOURS = ("#12436d", "#f46a25", "#28a197", "#801650", "#3d3d3d")
MARKS = ("o", "s", "^", "D", "v")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
MOST_GROUPS = 40
LONGEST_LABEL = 32
PANELS = 4
"""Panels next to each other."""


class Theme(NamedTuple):
    """The colours of runs, of texts, and of the grid."""

    colours: Sequence[str] = COLOURS
    ink: str = "black"
    grid: str = "#dddddd"


PAPER = Theme()


def save(draw: Callable[[pd.DataFrame], Figure], frame: pd.DataFrame, path: Path) -> None:
    """Draw a frame into a file of the format that its suffix names (`reports.output.PLOT`).

    Raises `click.UsageError` for a file that cannot be written.
    """
    try:
        write(draw(frame), path)
    except OSError as error:
        raise click.UsageError(f"cannot write {path}: {error.strerror or error}") from error


def write(figure: Figure, path: Path) -> None:
    """Write a figure, with text as paths, the same bytes every time. Raises OSError."""
    from matplotlib import rc_context

    with (
        warnings.catch_warnings(),
        rc_context({"svg.hashsalt": "vlm-eval", "svg.fonttype": "path"}),
    ):
        warnings.simplefilter("ignore")  # glyphs missing from the font are drawn as boxes
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
        figure.savefig(path, dpi=150, metadata=metadata)


def new_figure(
    width: float, height: float, columns: int = 1, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """Return an empty figure, in inches, with its panels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(rows, columns, place + 1) for place in range(rows * columns)]
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes


def percent_axis(axes: Axes, axis: str = "y", grid: str = PAPER.grid) -> None:
    """Label shares in per cent, with a grid."""
    value_axis = axes.yaxis if axis == "y" else axes.xaxis
    value_axis.set_major_formatter(lambda value, _: exact(100 * value))
    axes.grid(axis="y" if axis == "y" else "x", color=grid, linewidth=0.7)
    axes.set_axisbelow(True)


def results(
    table: pd.DataFrame, average: Average = "macro", *, only: str = "", theme: Theme = PAPER
) -> Figure:
    """Draw a table of `reports.tables`: a panel per measure, with 95 % intervals.

    A line is a group, with a mark for each run; where every run has one group, a line is a run. Of
    many groups, the `MOST_GROUPS` with most units are drawn. Runs of benchmarks that declare
    different measures have their own panels.

    only: the column of the one measure to draw.
    """
    from matplotlib.gridspec import GridSpec

    runs = list(dict.fromkeys(table["run"]))
    rows: list[tuple[_Lines, list[tuple[str, str]]]] = []
    for block in blocks(table):
        panels = [
            (name, head)
            for name, head in _panels(block.attrs["declared"], average)
            if only in ("", name)
        ]
        lines = _lines(block, runs)
        rows += [(lines, panels[at : at + PANELS]) for at in range(0, len(panels), PANELS)]
    columns = max(len(panels) for _, panels in rows)
    heights = [
        0.8 + (max(0.35, 0.16 * len(runs)) if lines.by_group else 0.35) * len(lines.names)
        for lines, _ in rows
    ]
    width = 5.6 if only else 1.6 + 2.2 * columns
    figure, _ = new_figure(width, 0.5 + sum(heights), rows=0)
    grid = GridSpec(len(rows), columns, figure, height_ratios=heights)
    for row, (lines, panels) in enumerate(rows):
        for column, (name, head) in enumerate(panels):
            axes = figure.add_subplot(grid[row, column])
            _panel(axes, lines, name, head, theme)
            axes.tick_params(axis="y", length=0, labelleft=column == 0)
    if any(lines.by_group for lines, _ in rows) and (len(runs) > 1 or not only):
        unfinished = set(table.loc[~table["complete"].astype(bool), "run"])
        labels = [_run_label(run, run not in unfinished) for run in runs]
        legend(
            figure,
            labels,
            [dict(linestyle="none", **look(at, theme)) for at in range(len(runs))],
            theme,
        )
    notes = dict.fromkeys(lines.note for lines, _ in rows)
    note = "; ".join(["95 % intervals", *filter(None, notes)])
    figure.supxlabel(note, fontsize=8, color=theme.ink)
    return figure


class _Lines(NamedTuple):
    """The lines of panels.

    names: what stands at each, from the top.
    marks: line, run and records of a table of results.
    by_group: whether lines are groups, not runs.
    note: how many groups are left out, if any.
    """

    names: list[str]
    marks: list[tuple[float, int, dict[str, Any]]]
    by_group: bool
    note: str


def _lines(block: pd.DataFrame, runs: Sequence[str]) -> _Lines:
    """Place the headlines of a block of a table."""
    key, units = block.attrs["key"], block.attrs["declared"].units
    records = [one for one in plain_records(block) if one["headline"]]
    of_runs = list(dict.fromkeys(one["run"] for one in records))
    if len(of_runs) == len(records):
        names = [_run_label(one["run"], one["complete"]) for one in records]
        marks = [(float(at), runs.index(one["run"]), one) for at, one in enumerate(records)]
        return _Lines(names, marks, by_group=False, note="")
    sizes: dict[str, int] = {}
    for one in records:
        sizes[str(one[key])] = max(sizes.get(str(one[key]), 0), int(one[units]))
    kept = set(sorted(sizes, key=lambda name: -sizes[name])[:MOST_GROUPS])
    groups = [name for name in sizes if name in kept]
    marks = []
    for one in records:
        if str(one[key]) in kept:
            shift = (of_runs.index(one["run"]) - (len(of_runs) - 1) / 2) * 0.7 / len(of_runs)
            marks.append((groups.index(str(one[key])) + shift, runs.index(one["run"]), one))
    left_out = len(sizes) - len(groups)
    note = f"{len(groups)} groups with most {units}, {left_out} left out" if left_out else ""
    return _Lines([short(group) for group in groups], marks, by_group=True, note=note)


def _panels(declared: Declaration, average: Average) -> list[tuple[str, str]]:
    """Return column and title of every measure."""
    averages = [(one, average_of(one, average)) for one in declared.in_tables]
    return [
        *(
            (f"{name_of(one, declared)}_{mean}", f"{one.head}, {mean} (%)")
            for one, mean in averages
        ),
        *((name_of(one, declared), f"{one.head} (%)") for one in declared.of_parents),
    ]


def _panel(axes: Axes, lines: _Lines, name: str, head: str, theme: Theme) -> None:
    for place, run, record in lines.marks:
        value = record.get(name)
        if value is None:
            continue
        colour, mark = look(run, theme).values()
        low, high = record.get(f"{name}_low"), record.get(f"{name}_high")
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color=colour, linewidth=2, alpha=0.6)
        axes.plot([value], [place], mark, color=colour, markersize=5, clip_on=False)
    axes.set_title(head, fontsize=9, loc="left", parse_math=False, color=theme.ink)
    axes.set_yticks(range(len(lines.names)), lines.names, fontsize=8, parse_math=False)
    axes.set_ylim(max(1, len(lines.names)) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(colors=theme.ink)
    percent_axis(axes, "x", theme.grid)


def look(number: int, theme: Theme) -> dict[str, Any]:
    """Return colour and mark of a run; the mark is shifted whenever the colours repeat."""
    colours = theme.colours
    mark = MARKS[(number + number // len(colours)) % len(MARKS)]
    return {"color": colours[number % len(colours)], "marker": mark}


def legend(figure: Figure, labels: Sequence[str], looks: Sequence[Any], theme: Theme) -> None:
    """Name the looks of lines above a figure."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], **one) for one in looks]
    # matplotlib leaves labels out that begin with a low line.
    shown = [f" {label}" if label.startswith("_") else label for label in labels]
    made = figure.legend(
        *(lines, shown),
        loc="outside upper left",
        ncols=3,
        frameon=False,
        fontsize=8,
        labelcolor=theme.ink,
    )
    for text in made.get_texts():
        text.set_parse_math(False)


def _run_label(run: str, complete: bool) -> str:
    return short(run) + ("" if complete else " (INCOMPLETE)")


def short(text: object) -> str:
    """Return a text as a label of a figure."""
    label = clean(text)
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
