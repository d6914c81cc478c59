"""Aggregate the scores of units into the metrics of a run and of its subgroups.

The benchmark declares measures and parents (`parsers.declaration`). Every sum
is taken with `math.fsum`, whose result does not depend on the order of the terms, so the same units
give bit-identical metrics in whatever order they finished.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from parsers.agreement import agreeing, implications
from parsers.declaration import Average, Declaration, Measure
from parsers.metrics import (
    AggregationRules,
    Counts,
    Estimate,
    Metrics,
    Quartiles,
    Rate,
    UnitMetrics,
)
from parsers.parents import (
    cluster_above,
    measures_of_whole,
    parent_metrics,
    parent_of,
    parent_outcomes,
    share,
)
from parsers.rates import Interval, cells_interval, mean, mean_interval
from parsers.records import ScoredUnit, Scores, Status

PARSE_FAILURES = frozenset({Status.PARSE_ERROR, Status.NO_ELEMENT, Status.AMBIGUOUS})
"""Statuses of replies that name no element which could be read."""

_UNASKED = frozenset({Status.NOT_OFFERED, Status.NO_REPLY})
DEFAULT_AGGREGATION = AggregationRules()


def aggregate(
    units: Iterable[ScoredUnit],
    declared: Declaration,
    rules: AggregationRules = DEFAULT_AGGREGATION,
    *,
    lengths: Mapping[str, int] | None = None,
    whole: str | None = None,
) -> Metrics:
    """Compute the metrics of some rows.

    Args:
        units: the rows of a selection.
        declared: what their benchmark declares.
        rules: how to aggregate them.
        lengths: the number of rows of each innermost parent in the whole split, by its id; one with
            fewer rows in the selection counts as incomplete.
        whole: the outermost level whose parents the rows hold whole; by default that of all levels.
            "" for groups that split parents: those have no measures of parents.

    Example, by what Mind2Web declares: task A succeeds twice; B succeeds, has an invalid row,
    succeeds; C succeeds and fails. Step success is 5/6 micro and (1 + 1 + 1/2)/3 macro, strictly
    5/7 and (1 + 2/3 + 1/2)/3; task success is 2/3, strict 1/3, clean 1/2.

    Measures that all predictions leave open (`Measure.unmeasured`) are None, not zero. Units
    without a score of a measure are left out of its means, and counted (`UnitMetrics.partial`).

    Raises `ValueError` if a unit occurs twice.
    """
    rules = rules.resolved(declared)
    rows = after_exclusion(units, rules)
    _check_unique(rows)
    unknown = unmeasured(rows, declared)
    valid = _valid(rows, declared, rules)
    of_valid = _unit_metrics(valid, unknown)
    invalid = _failed(rows, declared)
    of_all = _unit_metrics(valid.with_more(invalid), unknown) if invalid else of_valid
    metrics = Metrics(
        counts=_counts(rows, declared),
        valid=of_valid,
        strict=of_all,
        parents={
            measure.name: parent_metrics(
                [parent_outcomes(rows, measure, declared, rules, lengths)], rules
            )
            for measure in measures_of_whole(declared, whole)
            if measure.name not in unknown
        },
        rules=rules,
        declared=declared,
        left_open=unknown,
    )
    return agreeing(metrics)


def unmeasured(rows: Iterable[ScoredUnit], declared: Declaration) -> frozenset[str]:
    """Return the names of measures whose flag (`Measure.unmeasured`) every answer has."""
    answered = [row for row in rows if row.scores is not None and row.status not in _UNASKED]
    if not answered:
        return frozenset()
    shared = frozenset.intersection(*(frozenset(row.flags) for row in answered))
    return frozenset(measure.name for measure in declared.measures if measure.unmeasured in shared)


def _check_unique(rows: Iterable[ScoredUnit]) -> None:
    twice = [unit for unit, n in Counter((row.split, row.unit_id) for row in rows).items() if n > 1]
    if twice:
        raise ValueError(f"{twice[0][1]} of {twice[0][0]} occurs more than once")


def after_exclusion(units: Iterable[ScoredUnit], rules: AggregationRules) -> list[ScoredUnit]:
    """Return the rows, those of excluded statuses as invalid ones."""

    def excluded(row: ScoredUnit) -> ScoredUnit:
        return replace(row, invalid=row.invalid or f"excluded_{row.status}")

    return [excluded(row) if row.status in rules.exclude else row for row in units]


@dataclass(frozen=True, slots=True)
class _Scored:
    """Rows with their scores, and what they belong to, looked up once for all measures."""

    units: Sequence[ScoredUnit]
    scores: Sequence[Scores]
    declared: Declaration
    rules: AggregationRules
    _keys: dict[Hashable, list[Hashable]] = field(default_factory=dict)

    def with_more(self, others: Sequence[tuple[ScoredUnit, Scores]]) -> _Scored:
        units = [*self.units, *(unit for unit, _ in others)]
        return _Scored(
            units, [*self.scores, *(scores for _, scores in others)], self.declared, self.rules
        )

    def parents(self, level: str) -> list[Hashable]:
        """Return the parent of each row."""
        if level not in self._keys:
            of = self.declared.level(level)
            self._keys[level] = [parent_of(unit, of) for unit in self.units]
        return self._keys[level]

    def cells(self, names: tuple[str, ...]) -> list[Hashable]:
        """Return the cell of each row."""
        if names not in self._keys:
            self._keys[names] = [tuple(map(unit.group, names)) for unit in self.units]
        return self._keys[names]


def _valid(rows: Iterable[ScoredUnit], declared: Declaration, rules: AggregationRules) -> _Scored:
    """Return the valid rows with scores; unsettled ones, too, if the rules count them as failed."""
    units, scores, failed = [], [], declared.failed
    for row in rows:
        known = failed if row.scores is None and rules.unattempted == "fail" else row.scores
        if row.invalid is None and known is not None:
            units.append(row)
            scores.append(known)
    return _Scored(units, scores, declared, rules)


def _failed(rows: Iterable[ScoredUnit], declared: Declaration) -> list[tuple[ScoredUnit, Scores]]:
    """Return the invalid rows, as failed ones, but for those whose environment failed."""
    failed = declared.failed
    return [(row, failed) for row in rows if row.invalid is not None and not row.lost]


def _unit_metrics(scored: _Scored, unknown: frozenset[str]) -> UnitMetrics:
    n_units, n_parents = len(scored.units), len(set(scored.parents("")))
    rates: dict[str, Rate] = {}
    partial: dict[str, int] = {}
    for measure in scored.declared.of_units:
        for name in measure.scores:
            if measure.name in unknown:
                rates[name] = {
                    average: Estimate(None, None, n_parents if average == "macro" else n_units)
                    for average in measure.averages
                }
            else:
                rates[name] = _rate(scored, name, measure)
        headline = measure.score(scored.rules.variant)
        rates[measure.name] = rates[headline]
        have = sum(scores.get(headline) is not None for scores in scored.scores)
        if have < n_units and measure.name not in unknown:
            partial[measure.name] = have
    implied = implications(scored.scores, scored.declared, scored.rules.variant, unknown)
    return UnitMetrics(n_parents, n_units, rates, partial, implied, _quartiles(scored))


def _quartiles(scored: _Scored) -> dict[str, Quartiles]:
    found: dict[str, Quartiles] = {}
    for name in (measure.name for measure in scored.declared.spread):
        values = [unit.scores.get(name) for unit in scored.units if unit.scores]
        if known := [float(value) for value in values if value is not None]:
            found[name] = Quartiles.of(known)
    return found


def _rate(scored: _Scored, name: str, measure: Measure) -> Rate:
    found = [scores.get(name) for scores in scored.scores]
    places = [place for place, value in enumerate(found) if value is not None]
    values = [float(value) for value in found if value is not None]
    rate: dict[Average, Estimate] = {}
    for average in measure.averages:
        averaged = _averaged(scored, values, places, average, measure)
        interval = _interval(scored, values, places, average, measure)
        rate[average] = Estimate(mean(averaged), interval, len(averaged))
    return rate


def _averaged(
    scored: _Scored,
    values: Sequence[float],
    places: Sequence[int],
    average: Average,
    measure: Measure,
) -> Sequence[float]:
    """Return the values to average: the means of parents or of cells, or the scores themselves."""
    if average == "micro":
        return values
    keys = scored.cells(measure.cells) if average == "cells" else scored.parents(measure.over)
    together: dict[Hashable, list[float]] = {}
    for place, value in zip(places, values, strict=True):
        together.setdefault(keys[place], []).append(value)
    return [math.fsum(group) / len(group) for group in together.values()]


def _interval(
    scored: _Scored,
    values: Sequence[float],
    places: Sequence[int],
    average: Average,
    measure: Measure,
) -> Interval | None:
    declared, rules = scored.declared, scored.rules
    over = measure.over if average == "macro" else ""
    cluster = cluster_above(declared, rules, over)

    def chosen(keys: Sequence[Hashable]) -> list[Hashable]:
        return [keys[place] for place in places]

    clusters = chosen(scored.parents(cluster.name))
    if average == "cells":
        cells = chosen(scored.cells(measure.cells))
        grouped = cluster != declared.innermost
        return cells_interval(values, cells, clusters, grouped=grouped, level=rules.level)
    return mean_interval(
        values,
        chosen(scored.parents(over)),
        average,
        clusters=None if cluster == declared.level(over) else clusters,
        level=rules.level,
    )


def headline_value(
    units: Iterable[ScoredUnit],
    declared: Declaration,
    rules: AggregationRules = DEFAULT_AGGREGATION,
    measure: Measure | None = None,
) -> float | None:
    """Return the headline of a measure (the main one unless given), without an interval.

    None where it is not measured.
    """
    rules, measure = rules.resolved(declared), measure or declared.main
    rows = after_exclusion(units, rules)
    if measure.name in unmeasured(rows, declared):
        return None
    if measure.all_of:
        outcomes = parent_outcomes(rows, measure, declared, rules)
        won = outcomes.strict if rules.invalid == "fail" else outcomes.default
        return share({p: float(one) for p, one in won.items() if one is not None}, outcomes.within)
    scored = _valid(rows, declared, rules)
    if rules.invalid == "fail":
        scored = scored.with_more(_failed(rows, declared))
    found = [scores.get(measure.score(rules.variant)) for scores in scored.scores]
    places = [place for place, value in enumerate(found) if value is not None]
    values = [float(value) for value in found if value is not None]
    return mean(_averaged(scored, values, places, measure.averages[0], measure))


def _counts(rows: Sequence[ScoredUnit], declared: Declaration) -> Counts:
    valid = [row for row in rows if row.invalid is None]
    settled = [row for row in valid if row.scores is not None]
    reasons = Counter(row.invalid for row in rows if row.invalid is not None)
    statuses = Counter(row.status.value for row in settled if row.status is not None)
    flags = Counter(flag for row in settled for flag in row.flags)
    failures = sum(row.status in PARSE_FAILURES for row in settled)
    return Counts(
        n_parents=len({parent_of(row, declared.innermost) for row in rows}),
        n_rows=len(rows),
        n_valid=len(valid),
        n_settled=len(settled),
        n_unsettled=len(valid) - len(settled),
        n_invalid=len(rows) - len(valid),
        invalid=dict(sorted(reasons.items())),
        statuses=dict(sorted(statuses.items())),
        flags=dict(sorted(flags.items())),
        parse_failures=failures,
        parse_failure_rate=failures / len(settled) if settled else None,
    )


def by(
    units: Iterable[ScoredUnit],
    key: str,
    declared: Declaration,
    rules: AggregationRules = DEFAULT_AGGREGATION,
    *,
    lengths: Mapping[str, int] | None = None,
) -> dict[str, Metrics]:
    """Return the metrics of every subgroup by name, in alphabetical order.

    Each row is in exactly one group, so the micro means weighted by `n_units` average to the
    overall micro mean; if groups hold whole parents, the macro means weighted by `n_parents`
    average to the overall macro mean. Groups that split parents, such as those by recorded
    operation, have no measures of parents.

    Raises `ValueError` for a key that is not declared.
    """
    known = {group.name: group for group in declared.groups}
    if key not in known:
        raise ValueError(f"cannot group by {key!r}: expected one of {', '.join(known)}")
    groups: dict[str, list[ScoredUnit]] = {}
    for unit in units:
        groups.setdefault(unit.group(key), []).append(unit)
    whole = known[key].whole
    return {
        name: aggregate(groups[name], declared, rules, lengths=lengths, whole=whole)
        for name in sorted(groups)
    }


def mean_of_groups(
    groups: Mapping[str, Metrics], pick: Callable[[Metrics], float | None]
) -> float | None:
    """Return the unweighted mean over groups of the value that `pick` returns; None if any value
    is None.

    Over splits this is the mean of split means; for `micro` operation F1 over operations it is
    the operation F1 of SeeClick.
    """
    values = [pick(metrics) for metrics in groups.values()]
    defined = [value for value in values if value is not None]
    return mean(defined) if len(defined) == len(values) else None
