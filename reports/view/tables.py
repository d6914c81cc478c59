"""What the summary and the comparison show, computed by `reports.tables` alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from harness.runs import Run, RunError
from harness.tables import HEADS, POOLED, Cell, Column, Grid, Row, Section, html_table
from parsers import GROUP_KEYS
from reports.formats import fact_texts, results_grid
from reports.keys import KEYS, MEANINGS, Key
from reports.settings import Setting
from reports.tables import by_table


@dataclass(frozen=True, slots=True)
class Card:
    """A run in short: counts, its headline (the splits pooled where there are several), facts."""

    run: str
    complete: bool
    done: int
    rows: int
    headline: tuple[tuple[str, Cell], ...]
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A grid on the page: its title, its table as HTML, and the lines below it."""

    title: str
    table: Markup
    footnotes: tuple[str, ...]


def shown(title: str, grid: Grid) -> Shown:
    """The grid as the templates print it."""
    html = Markup(html_table(grid, title))
    return Shown(title, html, grid.footnotes)


@dataclass(frozen=True, slots=True)
class Summary:
    """The tables of the page.

    frames: the tables themselves, by key.
    grids: the same for readers, by key, averaged over tasks.
    micro: the first of them, averaged over steps.
    settings: those that the runs share.
    differences: those that they do not, with a value per run.
    """

    frames: dict[str, pd.DataFrame]
    grids: dict[str, Grid]
    micro: Grid
    cards: list[Card]
    settings: list[tuple[str, str]]
    differences: list[tuple[str, list[str]]]


def summarise(runs: Mapping[str, Run]) -> Summary:
    """The tables of the runs. Raises `RunError`."""
    frames: dict[str, pd.DataFrame] = {k: by_table(runs.values(), k) for k in KEYS}
    grids = {key: results_grid(frame) for key, frame in frames.items()}
    main = frames["split"]
    constants: Mapping[str, Setting] = main.attrs["constants"]
    differences: Mapping[str, Mapping[str, Setting]] = main.attrs["differences"]
    return Summary(
        frames=frames,
        grids=grids,
        micro=results_grid(main, "micro"),
        cards=list(map(_card, main.attrs["runs"], grids["split"].sections)),
        settings=[(name, said(value)) for name, value in constants.items() if value is not None],
        differences=[
            (name, [said(values[label]) for label in runs]) for name, values in differences.items()
        ],
    )


def title_of(key: Key) -> str:
    """What a table by this key is called."""
    named = f"By {key.replace('_', ' ')}"
    return named if key in GROUP_KEYS else f"{named}: {MEANINGS[key]}"


def _card(fact: Mapping[str, Any], section: Section) -> Card:
    rows = _headlines(section)
    row = rows.get(POOLED) or next(iter(rows.values()), None)
    return Card(
        run=section.title,
        complete=bool(fact["complete"]),
        done=int(fact["settled"]) + int(fact["invalid"]),
        rows=int(fact["rows"]) + int(fact["unreached"]),
        headline=tuple(zip(HEADS, _rates(row), strict=True)) if row else (),
        facts=fact_texts(fact),
    )


def _headlines(section: Section) -> dict[str, Row]:
    """The rows of a run by group, without those that treat invalid rows in the other way."""
    return {str(row.cells[0]): row for row in section.rows if not row.parent}


def _rates(row: Row) -> list[Cell]:
    return [cell for cell in row.cells if isinstance(cell, Cell)]


def said(value: Setting) -> str:
    """A setting in words.

    >>> said(None), said(True), said(3)
    ('not set', 'yes', '3')
    """
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def shown_tables(summary: Summary) -> list[Shown]:
    """The tables of the summary: by split first, in both averages, then by all other keys."""
    first, *others = KEYS
    return [
        shown(f"Results by {first}, macro over tasks", summary.grids[first]),
        shown(f"By {first}, micro over steps", summary.micro),
        *(shown(title_of(key), summary.grids[key]) for key in others),
    ]


def side_by_side_tables(summary: Summary) -> list[Shown]:
    """The runs side by side, by split and by website."""
    grids = [side_by_side(summary.grids[key]) for key in ("split", "website")]
    return [shown(grid.title, grid) for grid in grids]


def side_by_side(grid: Grid) -> Grid:
    """The headlines of the runs side by side, a row per group and metric."""
    runs = [_headlines(section) for section in grid.sections]
    rows = []
    for group in sorted({group for own in runs for group in own}):
        cells = [_rates(own[group]) if group in own else [Cell("")] * len(HEADS) for own in runs]
        rows += [Row((group, head, *column)) for head, *column in zip(HEADS, *cells, strict=True)]
    key, *_ = grid.columns
    labels = (Column(section.title) for section in grid.sections)
    return Grid(
        title=f"Rates by {key.head}",
        columns=(key, Column("metric", "left"), *labels),
        sections=(Section(tuple(rows)),),
        footnotes=grid.footnotes,
    )


def verdicts(runs: Mapping[str, Run]) -> list[str]:
    """What the paired comparison of the first run with the others says, in words.

    Where runs cannot be compared, the reason.
    """
    if len(runs) < 2:
        return []
    from reports.comparison import compare_runs

    first, *others = runs.values()
    try:
        return [found.verdict for found in compare_runs([first, *others]).others]
    except RunError as error:
        # One that cannot be compared does not keep the others from it.
        return [str(error)] if len(others) == 1 else [_verdict(first, one) for one in others]


def _verdict(first: Run, other: Run) -> str:
    return verdicts({"first": first, "other": other})[0]
