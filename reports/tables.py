"""The result table: metrics with intervals, by run, group and treatment of invalid rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import pandas as pd

from harness.runs import RunError
from harness.runs.columns import id_column
from harness.tables import interval_record
from harness.tables.results import LINES
from parsers import Average, Declaration, Measure, Results
from parsers.counting import Rule
from parsers.declaration import SPLIT
from parsers.estimates import PARENTS
from reports.frames.rows import InvalidRule, RunRows, common_rows, run_rows
from reports.frames.runs import facts, measured_columns
from reports.frames.units import Column, typed, union
from reports.grid import benchmarks_of
from reports.keys import Group, key_named, keys
from reports.load import RunLike, declarations, open_runs, unfinished_lines, widest
from reports.names import main_column, measured_name, name_of, partly_measured
from reports.settings import attrs_of, unranked

QUARTILES = ("median", "lower", "upper")
"""Columns of a measure without an average."""


def columns(
    key: str, declared: Declaration, partial: Collection[Measure] = ()
) -> tuple[Column, ...]:
    """Return the columns of a table grouped by `key`. Rates are shares between 0 and 1.

    `partial` are the measures that some units have no score of.
    """
    level = declared.innermost
    return (
        Column("run", "str", "the run, as labelled by `reports.load.open_runs`"),
        Column("complete", "boolean", "whether every selected valid row has a final outcome"),
        Column(key, "str", "the group of rows"),
        Column("line", "str", "'valid': invalid rows left out; 'strict': they count as zero"),
        Column("headline", "boolean", "whether this line is the headline"),
        Column(level.many, "Int64", f"{level.many} behind the measures of {declared.units}"),
        Column(declared.units, "Int64", f"{declared.units} behind them, repeats included"),
        *measured_columns(partial, declared),
        *(
            column
            for one in declared.in_tables
            for average in one.averages
            for column in _rate(f"{name_of(one, declared)}_{average}", f"{one.meaning}, {average}")
        ),
        *(column for measure in declared.of_parents for column in _of_parents(measure, declared)),
        *(
            Column(f"{name_of(measure, declared)}_{name}", "float64", f"{measure.meaning}, {name}")
            for measure in declared.spread
            for name in QUARTILES
        ),
        Column("few", "boolean", "whether an interval of the line is marked"),
        Column("repeat_sd", "float64", "standard deviation of the main measure between repeats"),
        Column("valid", "Int64", "valid rows"),
        Column("invalid", "Int64", "invalid rows"),
        Column("excluded", "Int64", "rows left out by their status"),
        Column("unsettled", "Int64", "valid rows without an outcome yet"),
        Column("parse_failure_rate", "float64", "answered rows whose element could not be read"),
        Column("input_tokens", "Int64", "input tokens as billed"),
        Column("output_tokens", "Int64", "output tokens as billed"),
        Column("cost", "float64", "US dollars; missing without a price"),
    )


def _of_parents(measure: Measure, declared: Declaration) -> Iterator[Column]:
    level, name = declared.level(measure.over), name_of(measure, declared)
    yield from _rate(name, f"{measure.meaning}, missing while a {level.one} is incomplete")
    yield Column(f"{name}_succeeded", "Int64", f"successes among the complete {level.many}")
    yield Column(f"{name}_complete", "Int64", f"complete {level.many}")
    yield Column(f"{name}_total", "Int64", f"all {level.many} that count")


def _rate(name: str, meaning: str) -> Iterator[Column]:
    """Yield the columns of a rate and of its interval (`interval_record`)."""
    yield Column(name, "float64", meaning)
    yield Column(f"{name}_low", "float64", f"{meaning}, lower end")
    yield Column(f"{name}_high", "float64", f"{meaning}, upper end")
    yield Column(f"{name}_method", "str", f"{meaning}, method of the interval")
    yield Column(f"{name}_few", "boolean", f"{meaning}, whether the interval is marked")


class TableOptions(TypedDict, total=False):
    """How a table counts.

    f1, invalid, cluster: rules in place of the runs' own (`reports.frames.rows.run_rows`).
    common: whether only rows count where all runs have an outcome.
    spending: whether `attrs["spending"]` has what a success takes in each run, for which its calls
        are read.
    details: whether tables for readers show all settings and both lines of a group.
    """

    f1: str | None
    invalid: InvalidRule | None
    cluster: str
    common: bool
    spending: bool
    details: bool


def main_table(
    runs: RunLike | Iterable[RunLike], key: str = SPLIT, **options: Unpack[TableOptions]
) -> pd.DataFrame:
    """Return the metrics of each run by split, and over all its splits if there are several.

    `key` is another of the `reports.keys.keys` of the runs' benchmarks, or several of them,
    separated by commas, for their combinations. Measures of parents, such as task success, are
    given only for keys whose groups hold parents whole.

    Each group has two lines, `valid` and `strict`; `invalid`, or else the run's own setting,
    decides which is the headline. Runs are never pooled. Raises `RunError` for runs that cannot be
    read, for a key that a run does not have, and if no row is common.

    `attrs` of the frame:
    constants, differences: settings that the runs share, and those that differ.
    given: scoring rules passed here, which replace those of the runs.
    runs: facts about each run, see `reports.frames.runs.FACTS`.
    variants: by run, the variant of the measure that has several; "" for none.
    key: what the rows are grouped by.
    cluster: the level of parents that the intervals take as independent.
    declared: what the benchmark of the first run declares.
    clusters, declarations: the same by run.
    results: by run and group, the numbers (`parsers.Results`).
    """
    return by_tables(runs, (key,), **options)[key]


def by_tables(
    runs: RunLike | Iterable[RunLike],
    named: Iterable[str],
    *,
    f1: str | None = None,
    invalid: InvalidRule | None = None,
    cluster: str = "",
    common: bool = False,
    spending: bool = False,
    details: bool = False,
) -> dict[str, pd.DataFrame]:
    """Return a `main_table` for each of the keys; the runs are read once."""
    opened, named = open_runs(runs), tuple(named)
    for label, run in opened.items():
        for key in named:
            of_run = run.manifest.declaration
            try:
                key_named(of_run, key)
            except KeyError as error:
                known = ", ".join(keys(of_run))
                message = f"{label} cannot be grouped by {error.args[0]!r}, only by {known}"
                raise RunError(message) from error
    evaluated = run_rows(opened.values(), f1=f1, invalid=invalid, cluster=cluster)
    counted = {rows.label: rows.frame[id_column(rows.declared)].nunique() for rows in evaluated}
    common_lines = []
    if common:
        evaluated = common_rows(evaluated)
        shared_rows = evaluated[0].frame[id_column(evaluated[0].declared)].nunique()
        of_runs = ", ".join(f"{number:,} in {label}" for label, number in counted.items())
        common_lines = [
            f"on the {shared_rows:,} rows that all runs have an outcome for (of {of_runs})"
        ]
    settings = attrs_of(opened)
    shared: dict[Hashable, Any] = {
        "cluster": evaluated[0].rules.cluster,
        "clusters": {rows.label: rows.rules.cluster for rows in evaluated},
        "declarations": {rows.label: rows.declared for rows in evaluated},
        **settings,
        "given": {name: v for name, v in (("f1", f1), ("invalid", invalid)) if v is not None},
        "runs": [facts(rows) for rows in evaluated],
        "variants": {rows.label: rows.variant for rows in evaluated},
        "unranked": unranked(settings["differences"], common=common),
        "unfinished": unfinished_lines(opened),
        "common": common_lines,
        "details": details,
        "spending": {rows.label: _spending(rows) for rows in evaluated} if spending else {},
    }
    declared = declarations(opened.values())
    return {key: _grouped(evaluated, key, declared, shared) for key in named}


def _grouped(
    evaluated: Sequence[RunRows],
    key: str,
    declared: Sequence[Declaration],
    shared: Mapping[Hashable, Any],
) -> pd.DataFrame:
    records: list[dict[str, Any]] = []
    found: dict[str, dict[str, Results]] = {}
    for rows in evaluated:
        groups = found.setdefault(rows.label, {})
        for group, places, results in grouped(rows, key):
            groups[group] = results
            records += _records(rows, key, group, places, results)
    described = union(columns(key, one, partly_measured(records, one)) for one in declared)
    table = typed(records, described)
    table.attrs = {**shared, "key": key, "declared": widest(declared), "results": found}
    return table


def _spending(rows: RunRows) -> dict[str, float | None]:
    """Return what a success takes; nothing for policies, which take no tokens."""
    from reports.spending import AMOUNTS, of_success, worked

    if not rows.frame["output_tokens"].notna().any():
        return {}
    made = worked(rows)
    taken: dict[str, float | None] = {}
    for name in AMOUNTS:
        found = of_success(made, name, name)
        if found[name] or (name == "price" and found[name] is not None):
            taken |= found
    return taken


def leaderboard(table: pd.DataFrame, average: Average = "macro") -> pd.DataFrame:
    """Return one row per run of a table by split: its headline over all its splits.

    Over several benchmarks there is a row per model and a column per benchmark (`reports.board`).

    The highest main measure comes first, unless the runs were not measured alike or some are not
    finished: then the order of the table stays, and `attrs["unranked"]` says why. Raises
    `RunError` if the benchmarks of the runs declare different measures.
    """
    if benchmarks_of(table):
        from reports.board import board

        return board(table, average)
    declared = table.attrs["declared"]
    for label, other in table.attrs["declarations"].items():
        if not other.is_like(declared):
            first = next(iter(table.attrs["declarations"]))
            raise RunError(
                f"{first} and {label} have different measures; there is no leaderboard of both"
            )
    whole = table[table["headline"].astype(bool)].drop_duplicates("run", keep="last")
    unfinished = whole.loc[~whole["complete"].astype(bool), "run"].tolist()
    reasons = list(table.attrs["unranked"])
    if unfinished and not table.attrs["common"] and len(whole) > 1:
        names = ", ".join(unfinished)
        reasons.append(
            f"not ranked: {names} {'is' if len(unfinished) == 1 else 'are'} not finished; --common "
            f"compares the {declared.units} that all have"
        )
    if not reasons:
        column = main_column(declared, average)
        whole = whole.sort_values(column, ascending=False, kind="stable")
    whole = whole.reset_index(drop=True)
    whole.attrs = {**table.attrs, "unranked": reasons, "leaderboard": True}
    return whole


def grouped(rows: RunRows, name: str) -> Iterator[tuple[str, list[int], Results]]:
    """Yield the groups of a run's rows by a key: name, places in the frame, and numbers.

    By split, all of several splits pooled come last.
    """
    key = key_named(rows.declared, name)
    if name == SPLIT:
        groups = list(rows.splits())
    else:
        places: dict[Group, list[int]] = {}
        for place, group in enumerate(key.groups(rows)):
            places.setdefault(group, []).append(place)
        groups = [(group[1], places[group]) for group in sorted(places)]
    for named, held in groups:
        yield named, held, rows.results(held, whole=key.whole)


def _records(
    rows: RunRows, key: str, group: str, places: Sequence[int], found: Results
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a group: `valid` without invalid rows, `strict` with them as 0."""
    part, counts = rows.frame.iloc[list(places)], found.counts
    excluded = sum(counts.excluded.values())
    spent = ("input_tokens", "output_tokens", "cost")
    for rule in LINES:
        headline = rule == found.rules.headline
        yield {
            "run": rows.label,
            "complete": rows.run.complete,
            key: group,
            "valid": counts.n_valid,
            "invalid": counts.n_invalid - excluded,
            "excluded": excluded,
            "unsettled": counts.n_unsettled,
            "parse_failure_rate": counts.parse_failure_rate,
            **{column: part[column].sum(min_count=1) for column in spent},
            "line": rule,
            "headline": headline,
            **_numbers(found, rule),
            "repeat_sd": found.spread if headline else None,
        }


def _numbers(found: Results, rule: Rule) -> dict[str, Any]:
    """Return the numbers of a line by column; rates are shares between 0 and 1."""
    declared = found.declared
    parents, units = found.counts.behind[rule]
    values: dict[str, Any] = {declared.innermost.many: parents, declared.units: units}
    few = False
    for measure in (*declared.in_tables, *declared.of_parents):
        for average in (PARENTS,) if measure.all_of else measure.averages:
            row = found.row(measure.name, average, rule)
            own = name_of(measure, declared)
            name = own if measure.all_of else f"{own}_{average}"
            interval = row.interval if row else None
            few = few or bool(interval and interval.few)
            values |= {name: row.number if row else None, **interval_record(name, interval)}
            if measure.all_of:
                counts = (row.won, row.complete, row.n) if row else (None, None, None)
                for what, count in zip(("succeeded", "complete", "total"), counts, strict=True):
                    values[f"{own}_{what}"] = count
            elif row:
                values[measured_name(measure, declared)] = row.units
    for measure in declared.spread:
        if (row := found.row(measure.name, "", rule)) and row.interval:
            ends = (row.number, row.interval.low, row.interval.high)
            values |= {
                f"{name_of(measure, declared)}_{q}": v for q, v in zip(QUARTILES, ends, strict=True)
            }
    return values | {"few": few}
