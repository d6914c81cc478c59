"""Bootstrap intervals next to the usual ones, for every headline rate of a run.

Where the two disagree, the data are few or skewed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from harness.tables import interval_record
from harness.tables.results import coverage
from parsers import Declaration, Interval, Measure, Results, ScoredUnit
from parsers.bootstrap import bootstrap
from parsers.clusters import clustered_values
from parsers.counting import Parent, cluster_above, counted, parent_of
from parsers.estimates import Estimate
from reports.analyses.units import RUN, Analysed
from reports.frames.rows import RunRows, run_rows
from reports.grid import Field, interval
from reports.load import RunLike


def fields(declared: Declaration) -> tuple[Field, ...]:
    """Return the columns for runs of a benchmark."""
    parents, units = declared.innermost.many, declared.units
    over = f"macro ({parents}), micro ({units}), or {parents}"
    return (
        RUN,
        Field("split", "str", "text", "split", "the split"),
        Field("metric", "str", "text", "metric", "the rate"),
        Field("average", "str", "text", "over", over),
        Field(parents, "Int64", "count", parents, f"{parents} behind the rate"),
        Field("rate", "float64", "percent", "rate", "the headline, a share"),
        Field("method", "str", "text", "method", "of the first interval"),
        Field("first", "float64", "bounds", "interval", "width of the first interval"),
        *interval("first", "interval"),
        Field("second", "float64", "bounds", "bootstrap-t", "width of the bootstrap-t interval"),
        *interval("second", "bootstrap-t")[:2],
    )


def second_intervals(runs: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return two intervals of every headline rate, by split and over all splits.

    The first is that of the table of results: Wilson's by the effective number of units, and
    Clopper-Pearson for measures of parents. The second is bootstrap-t (`bootstrap`), seeded by the
    run; averages over cells have none, nor have measures of parents over repeats. Rates follow the
    run's own rules.
    Raises `RunError` for runs that cannot be read or that are of different benchmarks.
    """
    analysed = Analysed(runs)
    declared = analysed.declared
    records: list[dict[str, Any]] = []
    for rows in run_rows(analysed.runs.values()):
        for split, places in rows.splits():
            records += _rates(rows, split, places)
    level = declared.level(declared.clusters[0])
    whole = [measure.meaning for measure in declared.of_parents]
    have = "have" if len(whole) > 1 else "has"
    over = f"; {' and '.join(whole)} over repeats {have} no second interval" if whole else ""
    return analysed.frame(
        records,
        fields(declared),
        "Two intervals for every headline rate",
        f"Per cent; 95 % intervals with {level.many} as clusters; the second interval resamples "
        f"{level.many}, seeded by the run. none: a single {level.one}, or {level.many} without any "
        f"spread{over}.",
        own_rules=True,
    )


def _rates(rows: RunRows, split: str, places: Sequence[int]) -> Iterator[dict[str, Any]]:
    found, declared, seed = rows.results(places), rows.declared, rows.run.manifest.seed
    parents_behind, units = found.counts.behind[found.rules.headline]
    chosen = [rows.trials[place][1] for place in places]

    def record(row: Estimate, head: str, over: str, n: int, second: Interval | None) -> Any:
        about = {"run": rows.label, "split": split, "metric": head, "average": over}
        both = _both(row.interval, second)
        return {**about, declared.innermost.many: n, "rate": row.number, **both}

    for measure in declared.in_tables:
        values, parents, clusters = headline_values(chosen, found, measure)
        for average in measure.averages:
            row = found.row(measure.name, average)
            assert row is not None  # Measures of units always have one.
            second = None
            if average != "cells":
                averaged = clustered_values(values, parents, average, clusters)
                second = bootstrap(*averaged, "micro", seed=seed)
            head = f"{measure.head} {coverage(row.units, units)}".rstrip()
            yield record(row, head, average, parents_behind, second)
    for measure in declared.of_parents:
        row = found.row(measure.name)
        if row is None or row.number is None or row.won is None:
            continue
        second = None
        if row.interval is not None and row.interval.method == "clopper-pearson":
            outcomes = [float(place < row.won) for place in range(row.n)]
            second = bootstrap(outcomes, range(row.n), seed=seed)
        yield record(row, measure.head, declared.level(measure.over).many, row.n, second)


def headline_values(
    units: Sequence[ScoredUnit], found: Results, measure: Measure
) -> tuple[list[float], list[Parent], list[Parent] | None]:
    """Return the values that the headline averages, by its rules, with their parents and clusters.

    The clusters are None where parents are the clusters.
    """
    rules, declared = found.rules, found.declared
    level = declared.level(measure.over)
    cluster = cluster_above(declared, rules, measure.over)
    values: list[float] = []
    behind: list[ScoredUnit] = []
    scores = counted(units, rules, found.seen.failed(declared))
    for unit, known in zip(units, scores, strict=True):
        value = known.get(measure.name) if known else None
        if value is not None:
            values.append(value)
            behind.append(unit)
    above = None if cluster == level else [parent_of(unit, cluster) for unit in behind]
    return values, [parent_of(unit, level) for unit in behind], above


def _both(first: Interval | None, second: Interval | None) -> dict[str, Any]:
    columns: dict[str, Any] = {"method": first.method if first else "none"}
    for name, one in (("first", first), ("second", second)):
        width = one.high - one.low if one else None
        columns |= {name: width, **interval_record(name, one)}
    return columns
