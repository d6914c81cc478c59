"""The number of steps before the first failure of each task, and success by place in the task.

A run that goes on with the recorded page whatever was answered asks about all units of a task; one
that ends at the first failure would ask about the first of them, in the same words. So any complete
run says how far the strict one would get.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import pandas as pd

from harness.runs import RunError
from harness.runs.columns import total_column
from harness.tables import interval_record
from harness.tables.results import cluster_note
from parsers import Average, Declaration, ScoredUnit, mean_interval
from parsers.clusters import clustered_values
from parsers.counting import (
    Parent,
    after_exclusion,
    cluster_above,
    is_cut_short,
    parent_of,
    prefix,
    success,
    unmeasured,
)
from parsers.rates import mean
from reports.frames.rows import InvalidRule, RunRows, run_rows
from reports.grid import Field, described, interval
from reports.keys import INDEXES, Group, band
from reports.load import RunLike, declarations, open_runs
from reports.names import name_of
from reports.settings import about_runs

ALL = "all"
"""The row of all places."""


class _Trial(NamedTuple):
    """A parent in one repeat: whether its units succeed, in their order."""

    parent: Parent
    cluster: Parent
    won: tuple[bool, ...]

    @property
    def reached(self) -> int:
        """Return the number of units up to the first failure."""
        return min(prefix(self.won) + 1, len(self.won))


def fields(declared: Declaration) -> tuple[Field, ...]:
    """Return the columns for runs of a benchmark."""
    unit, units, level = declared.unit, declared.units, declared.innermost
    main = declared.main_of_units
    meaning = main.meaning or main.head
    return (
        Field("run", "str", "text", "run", "the run"),
        Field("split", "str", "text", "split", "the split"),
        Field("place", "str", "text", unit, f"which {unit} of the {level.one}, from 1; or {ALL}"),
        Field(level.many, "Int64", "count", level.many, f"{level.many} that have such a {unit}"),
        Field(units, "Int64", "hidden", units, f"{units} at that place, repeats included"),
        Field(
            name_of(main, declared), "float64", "percent", main.head, f"{meaning} of them, micro"
        ),
        *interval(name_of(main, declared), main.head),
        Field("reached", "Int64", "count", "reached", f"{units} before which all are right"),
        Field("of_reached", "float64", "percent", f"{main.head} of these", f"{meaning}, micro"),
        *interval("of_reached", main.head),
        Field("prefix", "float64", "seconds", "prefix", f"{units} before the first failure, mean"),
        *interval("prefix", "prefix"),
        Field("prefix_share", "float64", "percent", f"% of {level.one}", "their share, mean"),
        *interval("prefix_share", "their share"),
    )


def prefix_table(
    runs: RunLike | Iterable[RunLike],
    *,
    f1: str | None = None,
    invalid: InvalidRule | None = None,
    cluster: str = "",
) -> pd.DataFrame:
    """Return how far runs get before the first failure, by split and over all splits.

    The first row of a split has the mean prefix: how many units of a task are right before the
    first that is not, and which share of the task's units that is, means over tasks of the mean
    over repeats. A row per place follows: how many units have it, how many of them succeed, how
    many a strict run would reach, and how many of these succeed. Right is what has 1 in the main
    measure. Invalid rows are passed over, and the rows behind them count from there; where they
    are failures (`invalid`, or the run's own setting) they end a prefix.

    All is withheld for a split with an incomplete task: short prefixes are known first. Raises
    `RunError` for runs that cannot be read, whose units have no order, or whose main measure is
    left open or no yes or no.
    """
    opened = open_runs(runs)
    evaluated = run_rows(opened.values(), f1=f1, invalid=invalid, cluster=cluster)
    records: list[dict[str, Any]] = []
    notes: list[str] = []
    for rows in evaluated:
        for split, places in rows.splits():
            trials, total = _trials(rows, places)
            records += _records(rows, split, trials, withheld=(gone := len(trials) < total))
            if gone:
                notes.append(_withheld(rows, split, len(trials), total))
    declared = declarations(opened.values())
    used = (rows.declared.level(rows.rules.cluster).many for rows in evaluated)
    clusters = " or ".join(dict.fromkeys(used))
    return described(
        records,
        (field for one in declared for field in fields(one)),
        title="Steps before the first failure",
        about=about_runs(opened, own_rules=True),
        notes=(*_notes(evaluated), *notes),
        marks={"clusters": clusters},
        section="run",
    )


def _trials(rows: RunRows, places: Sequence[int]) -> tuple[list[_Trial], int]:
    """Return the complete parents of these rows in each repeat, and how many there are in all.

    Units are in their order in the innermost parent. Invalid ones, and those that the measure
    leaves open, are passed over; where the rules count invalid rows as failed, they are failures.
    A parent is incomplete if a valid unit has no outcome yet, or one is missing.
    """
    declared, rules = rows.declared, rows.rules
    main, above = declared.main_of_units, cluster_above(declared, rules, "")
    units = after_exclusion((rows.trials[place][1] for place in places), rules)
    columns = rows.frame[["index", total_column(declared)]].iloc[list(places)]
    found: dict[tuple[int, Parent], list[tuple[int, ScoredUnit]]] = {}
    for place, unit, (index, total) in zip(
        places, units, columns.itertuples(index=False, name=None), strict=True
    ):
        if total and not unit.lost:
            key = rows.trials[place][0], parent_of(unit, declared.innermost)
            found.setdefault(key, []).append((int(index), unit))
    complete, incomplete = [], 0
    for (_, parent), of in found.items():
        ordered = [unit for _, unit in sorted(of, key=itemgetter(0))]
        outcomes = [success(unit, main.name, rules) for unit in ordered]
        won = tuple(one for one in outcomes if one is not None)
        waits = any(unit.scores is None and unit.invalid is None for unit in ordered)
        if (waits and rules.unattempted != "fail") or is_cut_short(ordered, declared, rows.lengths):
            incomplete += 1
        elif won:
            complete.append(_Trial(parent, parent_of(ordered[0], above), won))
    measured = main.name not in rows.seen.graded | unmeasured(units, declared)
    if not measured or not (complete or incomplete):
        raise RunError(_without(rows, units))
    return complete, len(complete) + incomplete + bool(rows.unreached)


def _without(rows: RunRows, units: Sequence[ScoredUnit]) -> str:
    """Return the reason for a missing prefix."""
    declared, main = rows.declared, rows.declared.main_of_units
    if main.name in unmeasured(units, declared):
        reason = dict(declared.flags).get(main.unmeasured, f"{main.head} was not measured")
        return f"{rows.label}: {reason}: no {declared.unit} is right or wrong"
    if main.name in rows.seen.graded:
        return f"{rows.label}: {main.head} is not yes or no: there is no first failure"
    return f"{rows.label}: {declared.units} have no order in their {declared.innermost.one}"


def _withheld(rows: RunRows, split: str, complete: int, total: int) -> str:
    level, by = rows.declared.innermost, f"--by {rows.declared.unit}_index"
    of = f"{complete:,} complete" if rows.unreached else f"{complete:,} of {total:,} complete"
    return (
        f"{rows.label}, {split}: withheld while a {level.one} is incomplete ({of}); {by} has what "
        "is there."
    )


def _records(
    rows: RunRows, split: str, trials: Sequence[_Trial], *, withheld: bool
) -> Iterator[dict[str, Any]]:
    level, shared = rows.declared.innermost, {"run": rows.label, "split": split}
    if withheld:
        yield {**shared, "place": ALL, level.many: len({trial.parent for trial in trials})}
        return
    yield {**shared, "place": ALL, **_counted(rows, trials, None), **_lengths(rows, trials)}
    longest = max((len(trial.won) for trial in trials), default=0)
    for group in dict.fromkeys(band(place, INDEXES) for place in range(1, longest + 1)):
        yield {**shared, "place": group[1], **_counted(rows, trials, group)}


def _counted(rows: RunRows, trials: Sequence[_Trial], group: Group | None) -> dict[str, Any]:
    """Return the units in a band of places, or all of them."""
    main = rows.declared.main_of_units
    there = [
        (trial, place)
        for trial in trials
        for place in range(len(trial.won))
        if group is None or band(place + 1, INDEXES) == group
    ]
    reached = [(trial, place) for trial, place in there if place < trial.reached]
    return {
        rows.declared.innermost.many: len({trial.parent for trial, _ in there}),
        rows.declared.units: len(there),
        **_share(rows, name_of(main, rows.declared), there),
        "reached": len(reached),
        **_share(rows, "of_reached", reached),
    }


def _share(rows: RunRows, name: str, units: Sequence[tuple[_Trial, int]]) -> dict[str, Any]:
    won = [float(trial.won[place]) for trial, place in units]
    return _rate(rows, name, won, [trial for trial, _ in units], "micro")


def _lengths(rows: RunRows, trials: Sequence[_Trial]) -> dict[str, Any]:
    """Return the mean prefix, and its mean share of the parent.

    The interval is that of a rate, with lengths as shares of the longest possible one.
    """
    longest = max((len(trial.won) for trial in trials), default=1)
    lengths = [prefix(trial.won) / longest for trial in trials]
    shares = [prefix(trial.won) / len(trial.won) for trial in trials]
    found = _rate(rows, "prefix", lengths, trials, "macro", lengths=True)
    scaled = {name: found[name] for name in ("prefix", "prefix_low", "prefix_high")}
    return {
        **found,
        **{name: None if value is None else value * longest for name, value in scaled.items()},
        **_rate(rows, "prefix_share", shares, trials, "macro"),
    }


def _rate(
    rows: RunRows,
    name: str,
    values: Sequence[float],
    trials: Sequence[_Trial],
    average: Average,
    *,
    lengths: bool = False,
) -> dict[str, Any]:
    parents, rules, declared = [trial.parent for trial in trials], rows.rules, rows.declared
    above = cluster_above(declared, rules, "")
    reach = mean_interval(
        values,
        parents,
        average,
        clusters=None if above == declared.innermost else [trial.cluster for trial in trials],
        level=rules.level,
        lengths=lengths,
    )
    averaged, _ = clustered_values(values, parents, average)
    return {name: mean(averaged), **interval_record(name, reach)}


def _notes(evaluated: Sequence[RunRows]) -> Iterator[str]:
    one = evaluated[0].declared
    yield (
        f"prefix: {one.units} before the first failure, mean over {one.innermost.many}; reached: "
        f"{one.units} that a run which ends at the first failure would ask about."
    )
    yield f"Per cent; {cluster_note(one, evaluated[0].rules.cluster)}"
