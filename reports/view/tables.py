"""What the summary and the comparison show, computed by `reports.tables` alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.runs import Run, RunError
from parsers import GROUP_KEYS
from reports.keys import KEYS, MEANINGS, Key
from reports.layout import HEADS, Block, Cell, Line, Sheet, arrange
from reports.settings import Setting
from reports.tables import POOLED, by_table


@dataclass(frozen=True, slots=True)
class Card:
    """A run in short: counts, its headline (the splits pooled where there are several), facts."""

    run: str
    complete: bool
    done: int
    rows: int
    headline: Line | None
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """`frames` are the tables themselves, by key; `sheets` the same as (title, sheet) for readers.

    `settings` are those that the runs share, `differences` those they do not, a value per run.
    """

    frames: dict[str, pd.DataFrame]
    sheets: list[tuple[str, Sheet]]
    micro: Sheet
    cards: list[Card]
    settings: list[tuple[str, str]]
    differences: list[tuple[str, list[str]]]


def summarise(runs: Mapping[str, Run]) -> Summary:
    """The tables of the runs. Raises `RunError`."""
    frames: dict[str, pd.DataFrame] = {k: by_table(runs.values(), k) for k in KEYS}
    main = frames["split"]
    constants: Mapping[str, Setting] = main.attrs["constants"]
    differences: Mapping[str, Mapping[str, Setting]] = main.attrs["differences"]
    return Summary(
        frames=frames,
        sheets=[(_title(key), arrange(frames[key], "macro")) for key in KEYS],
        micro=arrange(main, "micro"),
        cards=list(map(_card, main.attrs["runs"], arrange(main, "macro").blocks)),
        settings=[(name, said(value)) for name, value in constants.items() if value is not None],
        differences=[
            (name, [said(values[label]) for label in runs]) for name, values in differences.items()
        ],
    )


def _title(key: Key) -> str:
    named = f"By {key.replace('_', ' ')}"
    return named if key in GROUP_KEYS else f"{named}: {MEANINGS[key]}"


def _card(fact: Mapping[str, Any], block: Block) -> Card:
    lines = [line for line in block.lines if not line.kind]
    pooled = [line for line in lines if line.group == POOLED]
    return Card(
        run=block.label,
        complete=bool(fact["complete"]),
        done=int(fact["settled"]) + int(fact["invalid"]),
        rows=int(fact["rows"]) + int(fact["unreached"]),
        headline=next(iter(pooled or lines), None),
        facts=block.facts,
    )


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


Beside = tuple[str, list[tuple[str, str, list[Cell | None]]]]
"""A key, and for every group and metric the cells of the runs."""


def beside(*sheets: Sheet) -> list[Beside]:
    """The headlines of the runs side by side, a row per group and metric."""
    return [(sheet.key, list(_beside(sheet))) for sheet in sheets]


def _beside(sheet: Sheet) -> Iterator[tuple[str, str, list[Cell | None]]]:
    lines = [{x.group: x for x in block.lines if not x.kind} for block in sheet.blocks]
    groups = sorted({group for own in lines for group in own})
    for group in groups:
        found = [own.get(group) for own in lines]
        for place, head in enumerate(HEADS):
            yield group, head, [line.cells[place] if line else None for line in found]


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
