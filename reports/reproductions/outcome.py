"""Compare the result of a run with the published row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pandas as pd

from harness.runs import Run
from harness.tables import Cell, Column, Grid, average_of, bounds, few_notes, percent, rows_of
from parsers import Average, Declaration
from parsers.declaration import SPLIT
from reports.load import RunLike, open_runs
from reports.published import what_sets_apart
from reports.reproductions.declared import Reproduction
from reports.tables import main_table


@dataclass(frozen=True, slots=True)
class Figure:
    """A share with its 95 % interval; `few` marks a rough one."""

    value: float
    low: float | None
    high: float | None
    few: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a reproduction.

    ours: measured figures by measure of the published row; missing measures have no figure yet.
    apart: keys that differ from the published row, with both values in words.
    changed: settings that differ from the declared ones, with their values.
    model: the model, if it is not the declared one.
    """

    reproduction: Reproduction
    ours: dict[str, Figure]
    apart: Mapping[str, str]
    changed: tuple[str, ...] = ()
    model: str = ""

    @property
    def verdict(self) -> str:
        """Return the verdict on the published figure, in a sentence or two."""
        reproduction = self.reproduction
        ours = self.ours.get(reproduction.measure)
        if ours is None:
            return f"nothing to compare yet: no result on {reproduction.measured_on}"
        reasons = []
        if self.model or reproduction.stands_in:
            reasons.append(f"the model is {self.model or reproduction.stands_in}")
        if self.apart:
            reasons.append(f"the run differs from the published row in {', '.join(self.apart)}")
        if ours.low is None or ours.high is None:
            reasons.append("our figure has no interval")
        if reasons or ours.low is None or ours.high is None:
            return f"not comparable: {'; '.join(reasons)}"
        published, width = reproduction.published, (ours.high - ours.low) / 2
        if ours.low <= published <= ours.high:
            return (
                "inside: the published figure lies in our 95 % interval. No difference is shown; "
                f"one below about {percent(width)} points would not show."
            )
        side = "above" if published > ours.high else "below"
        return (
            f"outside: the published figure lies {side} our 95 % interval. It also has an error, "
            "which its source does not print; the listed differences may explain the rest."
        )


def outcome_of(
    reproduction: Reproduction, run: RunLike, changed: Sequence[str] = (), model: str = ""
) -> Outcome:
    """Compare a run with the published row. Raises `RunError` if it cannot be read."""
    (opened,) = open_runs([run]).values()
    row, average = reproduction.row, _average(reproduction)
    apart = what_sets_apart(opened, row, average, on=reproduction.measured_on)
    figures = _figures(reproduction, opened, average)
    return Outcome(reproduction, figures, apart, tuple(changed), model)


def _average(reproduction: Reproduction) -> Average:
    """Return the average that the source states, default macro."""
    stated = reproduction.row.keys.get("average", "")
    return cast(Average, stated) if stated in ("macro", "micro", "cells") else "macro"


def _figures(reproduction: Reproduction, run: Run, average: Average) -> dict[str, Figure]:
    table = main_table(run)
    declared: Declaration = table.attrs["declared"]
    lines = table[(table[SPLIT] == reproduction.measured_on) & table["headline"].astype(bool)]
    found: dict[str, Figure] = {}
    for line in lines.to_dict("records"):
        for name in reproduction.row.values:
            column = _column(declared, name, average)
            value = _number(line.get(column))
            if value is not None:
                low, high = (_number(line.get(f"{column}_{end}")) for end in ("low", "high"))
                few = line.get(f"{column}_few") is True
                found[name] = Figure(value, low, high, few)
    return found


def _number(value: Any) -> float | None:
    """Return the value of a cell, None if it is missing."""
    return None if value is None or pd.isna(value) else float(value)


def _column(declared: Declaration, name: str, average: Average) -> str:
    """Return the column of a measure in tables of results, "" if the run lacks it."""
    for measure in declared.in_tables:
        if measure.result == name:
            return f"{name}_{average_of(measure, average)}"
    return name if any(one.result == name for one in declared.of_parents) else ""


def outcome_grid(outcome: Outcome) -> Grid:
    """Return the figures side by side, the decisive one first, with the verdict below."""
    reproduction = outcome.reproduction
    rows = []
    for name, head in reproduction.heads.items():
        ours = outcome.ours.get(name)
        own = Cell(percent(ours.value), bounds(ours.low, ours.high, few=ours.few)) if ours else "–"
        rows.append([head, percent(reproduction.row.values[name]), own])
    marked = any(one.few for one in outcome.ours.values())
    return Grid(
        f"{reproduction.title}: {reproduction.measured_on}",
        (Column("measure", "left"), Column("published"), Column("here")),
        rows_of(rows),
        footnotes=(
            f"Per cent, with 95 % intervals; {reproduction.row.paper}, {reproduction.row.table}.",
            *few_notes(rates=marked, clusters="clusters"),
            *(f"changed here: {line}" for line in outcome.changed),
            *(f"{name}: {values}" for name, values in outcome.apart.items() if values),
            outcome.verdict,
        ),
    )
