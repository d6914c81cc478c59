"""Shared by the analyses: runs and their units with scores, rates over them, and the frame."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from harness.runs import Run, RunError, Unit
from harness.tables import interval_record
from parsers import Average, Declaration, Level, Measure, mean_interval, t_interval
from parsers.rates import clustered_values
from reports.grid import Field, described, interval
from reports.kind import suited
from reports.load import RunLike, declarations, open_runs
from reports.settings import about_runs, compare

Key = tuple[str, int]
Parent = Hashable
Values = Sequence[float | None]
"""A value per unit; None where it was not measured."""
AVERAGES: tuple[tuple[Average, str], ...] = (("macro", ""), ("micro", "_micro"))
"""The averages of a rate, with the ends of its columns."""
RUN = Field("run", "text", "run")


class Analysed:
    """The runs of an analysis, by label.

    With an `analysis` that suits only some kinds of units, the other runs are left out, and `notes`
    has a line for each. Raises `RunError` if no run is left, or for benchmarks with different
    measures.
    """

    def __init__(self, runs: RunLike | Iterable[RunLike], analysis: str = "") -> None:
        opened = open_runs(runs)
        self.runs, others = suited(opened, analysis) if analysis else (opened, ())
        self.notes = list(others)
        found = declarations(self.runs.values())
        if len(found) > 1:
            listed = "; ".join(
                f"{label}: {', '.join(one.head for one in run.manifest.declaration.in_tables)}"
                for label, run in self.runs.items()
            )
            raise RunError(f"the runs are of benchmarks with different measures: {listed}")
        self.declared = found[0]

    def frame(
        self,
        records: Sequence[Mapping[str, Any]],
        fields: Iterable[Field],
        title: str,
        *notes: str,
        **more: Any,
    ) -> pd.DataFrame:
        """Return the records as a described frame."""
        return described(
            records,
            fields,
            title=title,
            about=about_runs(self.runs),
            notes=notes,
            declared=self.declared,
            **more,
        )


def choice_measure(declared: Declaration) -> Measure:
    """Return the measure of a right choice: the first that success needs."""
    main = declared.main_of_units
    return declared[main.needs[0]] if main.needs else main


def scored(run: Run) -> dict[Key, Unit[Any]]:
    """Return the valid units that have scores, by unit and repeat, in the order of the run."""
    return {
        record.key: record
        for record in run.records()
        if record.invalid is None and record.settled and record.scores is not None
    }


def shared_units(runs: Mapping[str, Run]) -> tuple[dict[str, list[Unit[Any]]], dict[str, int]]:
    """Return the units that have scores in all runs, and the number of others of each run.

    The units of each run are in the order of the first run, so they pair up.
    """
    found = {label: scored(run) for label, run in runs.items()}
    common = set.intersection(*map(set, found.values()))
    keys = [key for key in next(iter(found.values())) if key in common]
    units = {label: [of_run[key] for key in keys] for label, of_run in found.items()}
    return units, {label: len(of_run) - len(keys) for label, of_run in found.items()}


def parent_of(record: Unit[Any], level: Level) -> Parent:
    """Return the parent of a unit: the same id in two splits is two parents, unless they are
    shared."""
    identity = record.parents.get(level.name, "")
    return identity if level.shared else (record.split, identity)


def parents_of(units: Iterable[Unit[Any]], declared: Declaration) -> list[Parent]:
    """Return the innermost parent of each unit."""
    return [parent_of(unit, declared.innermost) for unit in units]


def measured(record: Unit[Any], measure: Measure) -> float | None:
    """Return a measure of a unit that has scores; None if not measured."""
    assert record.scores is not None
    return record.scores.get(measure.name)


def changes(before: Values, after: Values) -> list[float | None]:
    """Return the gain of each unit; None if it was not measured twice."""
    pairs = zip(before, after, strict=True)
    return [None if a is None or b is None else b - a for a, b in pairs]


def only_differ(runs: dict[str, Run], allowed: Collection[str], what: str) -> None:
    """Raise `RunError` if runs differ in a setting other than the allowed ones and their parts."""
    differences = compare(runs).differences
    unexpected = [name for name in differences if name.partition(".")[0] not in allowed]
    if unexpected:
        listed = "; ".join(
            f"{name}: {', '.join(f'{value} ({run})' for run, value in differences[name].items())}"
            for name in unexpected
        )
        raise RunError(f"the runs differ in more than {what}: {listed}")


def rate(
    name: str,
    units: Iterable[Unit[Any]],
    values: Values,
    declared: Declaration,
    differences: bool = False,
) -> dict[str, Any]:
    """Return the macro mean and interval of the known values as `name`, micro as `name_micro`.

    Empty without values. With `differences`, values lie between -1 and 1, and intervals are t
    intervals.
    """
    pairs = zip(units, values, strict=True)
    known = [(unit, value) for unit, value in pairs if value is not None]
    level, kept = declared.level(declared.clusters[0]), [value for _, value in known]
    parents = parents_of((unit for unit, _ in known), declared)
    nested = level != declared.innermost
    clusters = [parent_of(unit, level) for unit, _ in known] if nested else None
    record: dict[str, Any] = {}
    for average, end in AVERAGES if known else ():
        averaged, members = clustered_values(kept, parents, average, clusters)
        if not differences:
            reach = mean_interval(kept, parents, average, clusters=clusters)
        else:
            within = members if average == "micro" or nested else None
            reach = t_interval(averaged, within, kind="difference")
        record[name + end] = math.fsum(averaged) / len(averaged)
        record |= interval_record(name + end, reach)
    return record


def rate_fields(name: str, head: str, points: bool = False) -> Iterable[Field]:
    """Return the columns that `rate` fills; only the macro ones are printed."""
    return (
        Field(name, "points" if points else "percent", head),
        *interval(name),
        Field(f"{name}_micro"),
        *interval(f"{name}_micro"),
    )


def mean_words(declared: Declaration) -> str:
    """Return the notes on rates and the clusters of their intervals."""
    inner, cluster = declared.innermost, declared.level(declared.clusters[0])
    return (
        f"Per cent; macro: mean over {inner.many} of each {inner.one}'s mean over "
        f"{declared.units}; 95 % intervals with {cluster.many} as clusters."
    )
