"""A row per run, innermost parent (task) and repeat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from harness.runs.columns import level_column, total_column
from harness.tables.results import average_of
from parsers import AggregationRules, Declaration, Measure, Results, ScoredUnit, results
from parsers.counting import (
    Parent,
    Rule,
    after_exclusion,
    is_cut_short,
    parent_of,
    prefix,
    unmeasured,
)
from reports.frames.rows import RunRows, run_rows
from reports.frames.units import Column, typed, union
from reports.load import RunLike, declarations, open_runs
from reports.names import name_of
from reports.settings import attrs_of


def columns(declared: Declaration) -> tuple[Column, ...]:
    """Return the columns for runs of a benchmark. Shares are means over settled valid units."""
    level = declared.innermost
    over = f"mean over answered valid {declared.units}"
    measure = _success(declared)
    success = (
        (
            Column(
                measure.name,
                "boolean",
                f"{measure.meaning}; missing if incomplete or without a valid row",
            ),
            Column("strict", "boolean", f"{measure.meaning} where an invalid row is a failure"),
            Column("clean", "boolean", f"{measure.meaning} of {level.many} without invalid rows"),
        )
        if measure
        else ()
    )
    return (
        Column("run", "category", "the run, as labelled by `reports.load.open_runs`"),
        Column("repeat", "Int64", "number of the repeat, from 0"),
        Column("split", "category", "the split"),
        Column(level_column(level), "category", f"the {level.one}"),
        *(Column(column, "category", meaning) for column, _, meaning in _wholes(declared)),
        Column("rows", "Int64", f"rows of the {level.one} on record"),
        Column("valid", "Int64", "valid rows"),
        Column("settled", "Int64", "valid rows with a final outcome"),
        Column("complete", "boolean", "whether all its rows are selected and have a final outcome"),
        *(
            Column(name_of(m, declared), "float64", f"{m.meaning}, {over}")
            for m in declared.in_tables
        ),
        *success,
        Column(
            "prefix",
            "Int64",
            f"valid {declared.units} right before the first that is not; missing if incomplete, "
            "without an order, or where they can be right in part",
        ),
        Column("input_tokens", "Int64", "input tokens as billed"),
        Column("output_tokens", "Int64", "output tokens as billed"),
        Column("cost", "float64", "US dollars; missing without a price"),
    )


def _wholes(declared: Declaration) -> list[tuple[str, str, str]]:
    """Return the parents and labels that all units of an innermost parent share: columns, names of
    groups and meanings."""
    named = [
        (group.name, group.name, group.meaning) for group in declared.groups[1:] if group.whole
    ]
    known = {name for _, name, _ in named}
    above = [(level_column(one), one.name, f"its {one.one}") for one in declared.levels[1:]]
    return [*named, *(one for one in above if one[1] not in known)]


def _success(declared: Declaration) -> Measure | None:
    """Return the measure of innermost parents, if there is one."""
    of_innermost = [one for one in declared.of_parents if not declared.rank(one.over)]
    # Those that differ in how they are averaged are the same for one parent.
    return min(of_innermost, key=lambda one: bool(one.within), default=None)


def tasks_frame(runs: RunLike | Iterable[RunLike], *, f1: str | None = None) -> pd.DataFrame:
    """Return a row per run, task and repeat with the `columns` that the benchmarks declare.

    `f1` replaces each run's own variant of operation F1. Raises `RunError` for runs that cannot be
    read.
    """
    opened = open_runs(runs)
    parts = [row for rows in run_rows(opened.values(), f1=f1) for row in _tasks(rows)]
    described = union(columns(declared) for declared in declarations(opened.values()))
    frame = typed(parts, described)
    frame.attrs = attrs_of(opened)
    return frame


def _tasks(rows: RunRows) -> Iterable[dict[str, Any]]:
    level = rows.declared.innermost
    places: dict[Any, list[int]] = {}
    for place, (repeat, unit) in enumerate(rows.trials):
        places.setdefault((parent_of(unit, level), unit.split, repeat), []).append(place)
    spent = {
        name: rows.frame[name].astype("float64").tolist()
        for name in ("input_tokens", "output_tokens", "cost")
    }
    for (_, split, repeat), positions in places.items():
        totals = {
            name: _sum([values_of[place] for place in positions])
            for name, values_of in spent.items()
        }
        yield {
            "run": rows.label,
            "repeat": repeat,
            "split": split,
            **_task(rows, positions),
            **totals,
        }


def _task(rows: RunRows, places: Sequence[int]) -> dict[str, Any]:
    declared = rows.declared
    units = [rows.trials[place][1] for place in places]
    parent = units[0].parents[declared.innermost.name]
    trials = ((0, unit) for unit in units)
    found = results(trials, declared, rows.rules, lengths=rows.lengths, seen=rows.seen)
    counts = found.counts
    cut = len(units) < rows.lengths.get(parent, 0)
    return {
        level_column(declared.innermost): parent,
        **{column: units[0].group(name) for column, name, _ in _wholes(declared)},
        "rows": counts.n_rows,
        "valid": counts.n_valid,
        "settled": counts.n_settled,
        "complete": counts.n_unsettled == 0 and not cut,
        **{
            name_of(one, declared): row.number
            for one in declared.in_tables
            if (row := found.row(one.name, average_of(one, "micro"), "valid"))
        },
        **_outcomes(_success(declared), found),
        "prefix": _prefix(rows, places),
    }


def _prefix(rows: RunRows, places: Sequence[int]) -> int | None:
    won = next(iter(in_order(rows, places, replace(rows.rules, invalid="valid")).values()), None)
    return None if won is None else prefix(won)


def in_order(
    rows: RunRows, places: Sequence[int], rules: AggregationRules
) -> dict[tuple[int, Parent], tuple[bool, ...] | None]:
    """Return whether each unit of these rows succeeds by the main measure, by repeat and parent.

    Units are in their order in the innermost parent. Invalid ones, and those that the measure
    leaves open, are passed over; where the rules count invalid rows as failed, they are failures.

    None for a parent that is incomplete: a valid unit has no outcome yet, or one is missing. Empty
    where units have no order, and where the main measure is left open or no yes or no.
    """
    declared = rows.declared
    main = declared.main_of_units
    units = after_exclusion((rows.trials[place][1] for place in places), rules)
    if main.name in rows.seen.graded | unmeasured(units, declared):
        return {}
    repeats: dict[int, dict[Parent, list[tuple[int, ScoredUnit]]]] = {}
    columns = rows.frame[["index", total_column(declared)]].iloc[list(places)]
    of_rows = columns.itertuples(index=False, name=None)
    for place, (index, total), unit in zip(places, of_rows, units, strict=True):
        if total and not unit.lost:
            parents = repeats.setdefault(rows.trials[place][0], {})
            parents.setdefault(parent_of(unit, declared.innermost), []).append((int(index), unit))

    def won(unit: ScoredUnit) -> bool | None:
        if unit.invalid is not None:
            return False if rules.invalid == "fail" else None
        value = 0.0 if unit.scores is None else unit.scores.get(main.name)
        return None if value is None else value == 1

    def sequence(of: Sequence[tuple[int, ScoredUnit]]) -> tuple[bool, ...] | None:
        units = [unit for _, unit in sorted(of, key=lambda one: one[0])]
        open_ = any(unit.scores is None and unit.invalid is None for unit in units)
        if (open_ and rules.unattempted != "fail") or is_cut_short(units, declared, rows.lengths):
            return None
        return tuple(one for one in map(won, units) if one is not None)

    found = {
        (repeat, parent): sequence(of)
        for repeat, parents in repeats.items()
        for parent, of in parents.items()
    }
    return {key: of for key, of in found.items() if of != ()}


def _outcomes(measure: Measure | None, found: Results) -> dict[str, bool | None]:
    if measure is None or found.row(measure.name) is None:
        return {}
    outcomes: dict[str, bool | None] = {}
    rules: tuple[tuple[str, Rule], ...] = (
        (measure.name, "valid"),
        ("strict", "strict"),
        ("clean", "clean"),
    )
    for column, rule in rules:
        row = found.row(measure.name, "", rule)
        outcomes[column] = None if row is None or row.number is None else row.won == 1
    return outcomes


def _sum(values: Sequence[float]) -> float | None:
    known = [value for value in values if value == value]
    return sum(known) if known else None
