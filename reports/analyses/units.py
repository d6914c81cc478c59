"""Shared by the analyses: units with scores, their parents, and rates and differences over them."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.runs import Run, RunError, Unit
from harness.tables import interval_record
from parsers import (
    Average,
    Declaration,
    Interval,
    Level,
    Measure,
    cluster_t,
    mean_interval,
    t_interval,
)
from parsers.clusters import clustered_values
from reports.grid import Field, interval
from reports.load import declarations
from reports.settings import compare

Key = tuple[str, int]
Parent = Hashable
Rate = dict[str, Any]
AVERAGES: tuple[Average, ...] = ("macro", "micro")


def one_declaration(runs: Mapping[str, Run]) -> Declaration:
    """Return the declaration of the runs' benchmark. Raises `RunError` if there are several."""
    found = declarations(runs.values())
    if len(found) > 1:
        listed = "; ".join(
            f"{label}: {', '.join(one.head for one in run.manifest.declaration.in_tables)}"
            for label, run in runs.items()
        )
        raise RunError(f"the runs are of benchmarks with different measures: {listed}")
    return found[0]


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


def parent_of(record: Unit[Any], level: Level) -> Parent:
    """Return the parent of a unit: the same id in two splits is two parents, unless they are
    shared."""
    identity = record.parents.get(level.name, "")
    return identity if level.shared else (record.split, identity)


@dataclass(frozen=True, slots=True)
class Parents:
    """The innermost parent and the cluster of each of some units, in their order.

    clusters: None where parents are the clusters.
    """

    each: list[Parent]
    clusters: list[Parent] | None

    @classmethod
    def of(cls, records: Iterable[Unit[Any]], declared: Declaration) -> Parents:
        listed = list(records)
        level = declared.level(declared.clusters[0])
        inner = declared.innermost
        clusters = None if level == inner else [parent_of(record, level) for record in listed]
        return cls([parent_of(record, inner) for record in listed], clusters)

    @property
    def count(self) -> int:
        """Count the parents."""
        return len(set(self.each))

    def known(self, values: Sequence[float | None]) -> tuple[list[float], Parents]:
        """Return the values that are known, with the parents of their units."""
        if None not in values:
            return [value for value in values if value is not None], self
        places = [place for place, value in enumerate(values) if value is not None]
        clusters = None if self.clusters is None else [self.clusters[place] for place in places]
        each = [self.each[place] for place in places]
        return [value for value in values if value is not None], Parents(each, clusters)


def measured(record: Unit[Any], measure: Measure, config: Mapping[str, Any]) -> float | None:
    """Return a measure of a unit that has scores, in the variant of the run; None if not
    measured."""
    assert record.scores is not None
    return record.scores.get(measure.score(str(config.get(measure.setting, ""))))


def changes(before: Sequence[float | None], after: Sequence[float | None]) -> list[float | None]:
    """Return the gain of each unit; None if it was not measured twice."""
    pairs = zip(before, after, strict=True)
    return [None if a is None or b is None else b - a for a, b in pairs]


def both_known(
    first: Sequence[float | None], second: Sequence[float | None]
) -> tuple[list[float | None], list[float | None]]:
    """Return the two, with None for what is not known in both."""
    pairs = [
        (None, None) if a is None or b is None else (a, b)
        for a, b in zip(first, second, strict=True)
    ]
    return [a for a, _ in pairs], [b for _, b in pairs]


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


def rate(name: str, values: Sequence[float], parents: Parents) -> Rate:
    """Macro mean and interval as `name`, micro ones as `name_micro`; empty without values."""
    macro, micro = (
        mean_interval(values, parents.each, average, clusters=parents.clusters)
        for average in AVERAGES
    )
    return _means(name, values, parents, macro, micro)


def difference(name: str, values: Sequence[float], parents: Parents) -> Rate:
    """Return the same for values between -1 and 1, with t intervals throughout."""
    averaged, members = clustered_values(values, parents.each, "macro", parents.clusters)
    macro = (
        t_interval(averaged, kind="difference")
        if parents.clusters is None
        else cluster_t(averaged, members, kind="difference")
    )
    micro = cluster_t(values, parents.clusters or parents.each, kind="difference")
    return _means(name, values, parents, macro, micro)


def _means(
    name: str,
    values: Sequence[float],
    parents: Parents,
    macro: Interval | None,
    micro: Interval | None,
) -> Rate:
    if not values:
        return {}
    of_parents, _ = clustered_values(values, parents.each, "macro")
    return {
        name: math.fsum(of_parents) / len(of_parents),
        **interval_record(name, macro),
        f"{name}_micro": math.fsum(values) / len(values),
        **interval_record(f"{name}_micro", micro),
    }


def rate_fields(name: str, head: str, meaning: str, points: bool = False) -> Iterable[Field]:
    """Return the columns that `rate` fills; only the macro ones are printed."""
    return (
        Field(name, "float64", "points" if points else "percent", head, f"{meaning}, macro"),
        *interval(name, head),
        Field(f"{name}_micro", "float64", "hidden", head, f"{meaning}, micro"),
        *interval(f"{name}_micro", head),
    )


def mean_words(declared: Declaration) -> str:
    """Return the notes on rates and the clusters of their intervals."""
    inner, cluster = declared.innermost, declared.level(declared.clusters[0])
    return (
        f"Per cent; macro: mean over {inner.many} of each {inner.one}'s mean over "
        f"{declared.units}; 95 % intervals with {cluster.many} as clusters."
    )


def chi_square_p(statistic: float, freedom: int) -> float:
    """Upper tail probability of a chi-square statistic."""
    from scipy.special import chdtrc

    return float(chdtrc(freedom, statistic))
