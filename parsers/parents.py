"""Measures of parents: whether every unit of a task (or of another parent) succeeds.

Such a measure is withheld while a parent is incomplete, because parents with few units are complete
first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from parsers.declaration import Declaration, Level, Measure
from parsers.metrics import AggregationRules, ParentMetrics, ParentRate
from parsers.rates import clopper_pearson, mean, mean_interval
from parsers.records import ScoredUnit

Parent = Hashable
Outcomes = Mapping[Parent, bool | None]


@dataclass(frozen=True, slots=True)
class ParentOutcomes:
    """Success of parents in one repeat, by the ways of `ParentMetrics`; None while incomplete.

    above: the cluster of each parent; None if parents are the clusters themselves.
    within: what each parent is averaged in first (`Measure.within`); None if all are alike.
    """

    default: Outcomes
    strict: Outcomes
    clean: Outcomes
    above: Mapping[Parent, Hashable] | None
    within: Mapping[Parent, Hashable] | None = None


def parent_of(unit: ScoredUnit, level: Level) -> Parent:
    """Return the parent of a unit: the same id in two splits is two parents, unless they are
    shared."""
    identity = unit.parents.get(level.name, "")
    return identity if level.shared else (unit.split, identity)


def cluster_above(declared: Declaration, rules: AggregationRules, over: str) -> Level:
    """Return the level that intervals take as independent: never one inside what is averaged
    over."""
    return declared.levels[max(declared.rank(rules.cluster), declared.rank(over))]


def measures_of_whole(declared: Declaration, whole: str | None) -> list[Measure]:
    """Return the measures of parents that rows can have which hold parents whole up to a level.

    None means the outermost level, "" rows that split all parents.
    """
    if whole == "":
        return []
    most = len(declared.levels) if whole is None else declared.rank(whole)
    return [measure for measure in declared.of_parents if declared.rank(measure.over) <= most]


def parent_outcomes(
    rows: Iterable[ScoredUnit],
    measure: Measure,
    declared: Declaration,
    rules: AggregationRules,
    lengths: Mapping[str, int] | None = None,
) -> ParentOutcomes:
    """Return True if each parent succeeds, in the ways of `ParentMetrics`; None while it is
    incomplete.

    rows: after exclusion (`parsers.aggregation.after_exclusion`). Those that the measure leaves
        open do not count, and a parent of such rows neither.
    lengths: as in `parsers.aggregation.aggregate`.
    """
    level, name = declared.level(measure.over), declared[measure.all_of].score(rules.variant)
    parents: dict[Parent, list[ScoredUnit]] = {}
    for row in rows:
        if not row.lost and (row.scores is None or row.scores.get(name) is not None):
            parents.setdefault(parent_of(row, level), []).append(row)
    valid = {parent: sum(row.invalid is None for row in of) for parent, of in parents.items()}

    def succeeds(of: Sequence[ScoredUnit], *, strict: bool = False) -> bool | None:
        scores = [row.scores for row in of if row.invalid is None]
        missing = is_cut_short(of, declared, lengths or {})
        if (None in scores or missing) and rules.unattempted != "fail":
            return None
        failed = missing or (strict and len(scores) < len(of))
        return not failed and all(one is not None and one[name] == 1 for one in scores)

    def at(level: Level) -> dict[Parent, Hashable]:
        return {parent: parent_of(of[-1], level) for parent, of in parents.items()}

    cluster = cluster_above(declared, rules, measure.within or measure.over)
    return ParentOutcomes(
        default={parent: succeeds(of) for parent, of in parents.items() if valid[parent]},
        strict={parent: succeeds(of, strict=True) for parent, of in parents.items()},
        clean={parent: succeeds(of) for parent, of in parents.items() if valid[parent] == len(of)},
        above=None if cluster == level else at(cluster),
        within=at(declared.level(measure.within)) if measure.within else None,
    )


def share(
    outcomes: Mapping[Parent, float], within: Mapping[Parent, Hashable] | None
) -> float | None:
    """Return the mean over parents, or over what they are averaged in first (`Measure.within`) of
    the
    mean over the parents in it; None if there are none."""
    groups: dict[Hashable, list[float]] = {}
    for parent, value in outcomes.items():
        groups.setdefault(parent if within is None else within[parent], []).append(value)
    return mean([mean(values) or 0.0 for values in groups.values()])


def is_cut_short(
    rows: Sequence[ScoredUnit], declared: Declaration, lengths: Mapping[str, int]
) -> bool:
    """Return True if an innermost parent of the rows has fewer of them than it should."""
    if not lengths:
        return False
    found = Counter(row.parents.get(declared.innermost.name, "") for row in rows)
    return any(number < lengths.get(parent, 0) for parent, number in found.items())


def prefix(won: Sequence[bool]) -> int:
    """Count the units that succeed before the first that fails.

    >>> prefix((True, True, False, True)), prefix((False, True)), prefix((True,))
    (2, 0, 1)
    """
    return next((place for place, one in enumerate(won) if not one), len(won))


def parent_metrics(repeats: Sequence[ParentOutcomes], rules: AggregationRules) -> ParentMetrics:
    """Return a measure of parents over one or more repeats; counts add up over repeats."""

    def joined(
        parts: Sequence[Mapping[Parent, Hashable] | None],
    ) -> dict[Parent, Hashable] | None:
        found = [part for part in parts if part is not None]
        return {k: v for part in found for k, v in part.items()} if found == [*parts] else None

    above = joined([outcomes.above for outcomes in repeats])
    within = joined([outcomes.within for outcomes in repeats])

    def rate(pick: Callable[[ParentOutcomes], Outcomes]) -> ParentRate:
        return _rate([pick(outcomes) for outcomes in repeats], rules, above, within)

    return ParentMetrics(
        rate(lambda outcomes: outcomes.default),
        rate(lambda outcomes: outcomes.strict),
        rate(lambda outcomes: outcomes.clean),
    )


def _rate(
    repeats: Sequence[Outcomes],
    rules: AggregationRules,
    above: Mapping[Parent, Hashable] | None,
    within: Mapping[Parent, Hashable] | None,
) -> ParentRate:
    known = [{one: won for one, won in of.items() if won is not None} for of in repeats]
    complete, total = sum(map(len, known)), sum(map(len, repeats))
    successes = sum(sum(of.values()) for of in known)
    if complete < total or not all(known):
        return ParentRate(None, None, successes, complete, total)
    value = mean([share(of, within) or 0.0 for of in known])
    interval = None
    if len(repeats) == 1 and above is None:
        interval = clopper_pearson(successes, total, rules.level)
    elif all(outcomes.keys() == repeats[0].keys() for outcomes in repeats):
        each = [(float(bool(won)), one) for outcomes in repeats for one, won in outcomes.items()]
        parents = [parent for _, parent in each]
        averaged = parents if within is None else [within[parent] for parent in parents]
        clusters = None if above is None else [above[parent] for parent in parents]
        interval = mean_interval(
            [won for won, _ in each],
            averaged,
            "macro",
            clusters=None if clusters == averaged else clusters,
            level=rules.level,
        )
    return ParentRate(value, interval, successes, complete, total)
