"""The tables of the summary and the comparison, all computed by `reports.tables`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from harness.runs import Run, RunError
from harness.tables import Cell, Grid, Heading, Row, Section
from harness.tables.results import POOLED, rate_heads
from parsers import Declaration
from reports.formats import fact_texts, results_grid
from reports.keys import Key, keys
from reports.load import widest
from reports.settings import Setting
from reports.tables import by_tables
from reports.view.parts import average_words


@dataclass(frozen=True, slots=True)
class Card:
    """A run in short.

    title: its model, protocol and splits.
    run: its label.
    complete: whether every selected valid row has a final outcome.
    done, rows: rows that are done, and all rows.
    headline: its rates by name, over all splits.
    facts: facts about it by name, in words.
    """

    title: str
    run: str
    complete: bool
    done: int
    rows: int
    headline: tuple[tuple[str, Cell], ...]
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The tables of the page.

    frames: tables of results by key.
    grids: the same arranged for readers, averaged as the main measure is in the first place.
    tables: those that the page shows, with titles.
    cards: a card per run.
    settings: settings that the runs share.
    differences: the other settings, with a value per run.
    """

    frames: dict[str, pd.DataFrame]
    grids: dict[str, Grid]
    tables: list[Grid]
    declared: Declaration
    cards: list[Card]
    settings: list[tuple[str, str]]
    differences: list[tuple[str, list[str]]]


def summarise(runs: Mapping[str, Run]) -> Summary:
    """Compute the tables of the runs. Raises `RunError`."""
    declared = widest(run.manifest.declaration for run in runs.values())
    first, known = declared.main_of_units.averages[0], keys(declared)
    frames = by_tables(runs.values(), known, details=True)
    grids = {key: results_grid(frame, first) for key, frame in frames.items()}
    key = next(iter(known))
    main = frames[key]
    constants: Mapping[str, Setting] = main.attrs["constants"]
    differences: Mapping[str, Mapping[str, Setting]] = main.attrs["differences"]
    return Summary(
        frames=frames,
        grids=grids,
        tables=_tables(frames, grids, known, declared),
        declared=declared,
        cards=[
            _card(run, fact, section, rate_heads(first, declared))
            for run, fact, section in zip(
                runs.values(), main.attrs["runs"], grids[key].sections, strict=True
            )
        ],
        settings=[
            (name, setting_text(value)) for name, value in constants.items() if value is not None
        ],
        differences=[
            (name, [setting_text(values[label]) for label in runs])
            for name, values in differences.items()
        ],
    )


def _card(run: Run, fact: Mapping[str, Any], section: Section, named: Sequence[str]) -> Card:
    rows = _headlines(section)
    splits = ", ".join(map(str, run.manifest.config.get("split") or ()))
    splits = splits or ", ".join(name for name in rows if name != POOLED)
    words = (fact["model"], run.manifest.config.get("protocol"), splits)
    row = rows.get(POOLED) or next(iter(rows.values()), None)
    rates = zip(named, _rates(row), strict=True) if row else ()
    return Card(
        title=" · ".join(str(word) for word in words if word),
        run=section.title,
        complete=bool(fact["complete"]),
        done=int(fact["rows"]) - int(fact["unsettled"]),
        rows=int(fact["rows"]) + int(fact["unreached"]),
        headline=tuple((name, cell) for name, cell in rates if cell.text),
        facts=fact_texts(fact, run.manifest.declaration),
    )


def _headlines(section: Section) -> dict[str, Row]:
    """Return the headline rows of a run by group."""
    return {str(row.cells[0]): row for row in section.rows if not row.parent}


def _rates(row: Row) -> list[Cell]:
    return [cell for cell in row.cells if isinstance(cell, Cell)]


def setting_text(value: Setting) -> str:
    """Return a setting in words.

    >>> setting_text(None), setting_text(True), setting_text(3)
    ('not set', 'yes', '3')
    """
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _tables(
    frames: Mapping[str, pd.DataFrame],
    grids: Mapping[str, Grid],
    known: Mapping[str, Key],
    declared: Declaration,
) -> list[Grid]:
    """Return the tables of the summary: by the first key in both averages, then by all other
    keys."""
    main = declared.main_of_units
    first, *others = grids
    words = [average_words(one, declared) for one in main.averages[:2]]
    tables = [replace(grids[first], title=f"Results by {first}, {words[0]}")]
    if len(words) > 1 and not main.cells:  # Of cells, one table has all averages.
        second = results_grid(frames[first], main.averages[1])
        tables.append(replace(second, title=f"By {first}, {words[1]}"))
    groups = {group.name for group in declared.groups}
    for key in others:
        named = f"By {key.replace('_', ' ')}"
        title = named if key in groups else f"{named}: {known[key].meaning}"
        tables.append(replace(grids[key], title=title))
    return tables


def outer_keys(summary: Summary) -> list[str]:
    """Return the first key, and the outermost level of parents if it groups results."""
    outer = summary.declared.levels[-1].name
    return [
        key for key in dict.fromkeys((next(iter(summary.frames)), outer)) if key in summary.frames
    ]


def side_by_side(grid: Grid) -> Grid:
    """Return the headlines of the runs side by side, a row per group and metric."""
    runs = [_headlines(section) for section in grid.sections]
    key, _, _, *measures = grid.columns
    named = [column.head for column in measures]
    rows = []
    for group in sorted({group for headlines in runs for group in headlines}):
        cells = [
            _rates(headlines[group]) if group in headlines else [Cell("")] * len(named)
            for headlines in runs
        ]
        rows += [Row((group, head, *column)) for head, *column in zip(named, *cells, strict=True)]
    labels = (Heading(section.title) for section in grid.sections)
    return Grid(
        title=f"Rates by {key.head}",
        columns=(key, Heading("metric", "left"), *labels),
        sections=(Section(tuple(rows)),),
        footnotes=grid.footnotes,
    )


def verdicts(runs: Mapping[str, Run]) -> list[str]:
    """Return the verdicts of comparing the first run with each other run, or why it cannot be
    compared."""
    if len(runs) < 2:
        return []
    from reports.comparison.compare import compare_runs

    first, *others = runs.values()
    try:
        return [comparison.verdict for comparison in compare_runs([first, *others]).others]
    except RunError as error:
        # One run that cannot be compared must not hide the verdicts on the others.
        return [str(error)] if len(others) == 1 else [_verdict(first, one) for one in others]


def _verdict(first: Run, other: Run) -> str:
    return verdicts({"first": first, "other": other})[0]
