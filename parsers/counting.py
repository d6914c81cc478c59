"""Contents of an average: the rows, the parents that they belong to, and their outcomes.

A measure of parents, such as task success, says whether every unit of a parent succeeds. It is
withheld while a parent is incomplete, because parents with few units are complete first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from parsers.declaration import Declaration, Level, Measure
from parsers.rates import mean
from parsers.records import ScoredUnit, Scores, Status

InvalidPolicy = Literal["valid", "fail"]
"""Treatment of invalid rows in headline measures: left out, or counted as failures."""
Unattempted = Literal["exclude", "fail"]
"""Treatment of rows without an outcome: left out, or counted as failures."""
Rule = Literal["valid", "strict", "clean"]
"""Without invalid rows, with them as failures, or over parents that have none of them."""
Parent = Hashable
Outcomes = Mapping[Parent, bool | None]
"""True if each parent succeeds; None while it is incomplete."""
Trial = tuple[int, ScoredUnit]
"""The number of a repeat, and a unit as scored in it."""

PARSE_FAILURES = frozenset({Status.PARSE_ERROR, Status.NO_ELEMENT, Status.AMBIGUOUS})
"""Statuses of replies that name no element which could be read."""
EXCLUDED = "excluded_"
"""Begins the reason why a row of an excluded status does not count."""
_UNASKED = frozenset({Status.NOT_OFFERED, Status.NO_REPLY})


@dataclass(frozen=True, slots=True)
class AggregationRules:
    """Choices on which published evaluations differ, with our defaults.

    Attributes:
        invalid: rows that cannot be answered are left out of the headline (`valid`) or score zero
            (`fail`, as in MindAct and SeeAct); both are always computed.
        unattempted: valid rows without a result are left out (`exclude`) or count as failed
            (`fail`).
        exclude: statuses whose rows are treated as invalid, with the reason `excluded_<status>`;
            for example, to see the scores without refusals.
        level: confidence level of the intervals.
        cluster: the level of parents that intervals take as independent, "" for the usual one.
            Tasks generalise to new tasks on these websites; websites, which group the tasks, to new
            websites.
    """

    invalid: InvalidPolicy = "valid"
    unattempted: Unattempted = "exclude"
    exclude: frozenset[Status] = frozenset()
    level: float = 0.95
    cluster: str = ""

    @property
    def headline(self) -> Rule:
        """Treatment of invalid rows in the headline."""
        return "strict" if self.invalid == "fail" else "valid"

    def resolved(self, declared: Declaration) -> AggregationRules:
        """Return the rules with the cluster of a declaration."""
        return replace(self, cluster=self.cluster or declared.clusters[0])


DEFAULT_RULES = AggregationRules()


def after_exclusion(units: Iterable[ScoredUnit], rules: AggregationRules) -> list[ScoredUnit]:
    """Return the rows, those of excluded statuses as invalid ones."""
    return [
        replace(row, invalid=row.invalid or f"{EXCLUDED}{row.status}")
        if row.status in rules.exclude
        else row
        for row in units
    ]


def unmeasured(rows: Iterable[ScoredUnit], declared: Declaration) -> frozenset[str]:
    """Return the names of measures whose flag (`Measure.unmeasured`) every answer has."""
    answered = [row for row in rows if row.scores is not None and row.status not in _UNASKED]
    if not answered:
        return frozenset()
    shared = frozenset.intersection(*(frozenset(row.flags) for row in answered))
    return frozenset(measure.name for measure in declared.measures if measure.unmeasured in shared)


@dataclass(frozen=True, slots=True)
class Observed:
    """Facts about measures that the scores of a run show.

    Attributes:
        partial: those that some valid units lack next to others: they are about some units only.
            A unit without an outcome is left out of them where it counts as failed in the others,
            as nothing says which of both it is.
        graded: those with a value other than 0 and 1.
    """

    partial: frozenset[str]
    graded: frozenset[str]

    def failed(self, declared: Declaration) -> Scores:
        """Return the scores of a unit that counts as failed."""
        return {name: None if name in self.partial else 0.0 for name in declared.scores}


def observed(units: Iterable[ScoredUnit], declared: Declaration) -> Observed:
    """Return what the scores of all units of a run show; answers whose flag leaves a measure open
    (`Measure.unmeasured`) do not make it partial."""
    partial, graded = set[str](), set[str]()
    measures = [(one.name, one.unmeasured) for one in declared.measures if not one.all_of]
    for unit in units:
        if unit.invalid is not None or unit.lost or unit.scores is None:
            continue
        if not any(value is not None for value in unit.scores.values()):
            continue
        for name, flag in measures:
            value = unit.scores.get(name)
            if value is None and flag not in unit.flags:
                partial.add(name)
            elif value not in (None, 0, 1):
                graded.add(name)
    return Observed(frozenset(partial), frozenset(graded))


def counted(
    units: Iterable[ScoredUnit], rules: AggregationRules, failed: Scores
) -> list[Scores | None]:
    """Return the scores that the headline takes of each row; None where a row does not count.

    failed: those of a unit that counts as failed (`Observed.failed`).
    """
    found: list[Scores | None] = []
    for unit in after_exclusion(units, rules):
        if unit.invalid is not None:
            found.append(failed if rules.invalid == "fail" and not unit.lost else None)
        elif unit.scores is None and rules.unattempted == "fail":
            found.append(failed)
        else:
            found.append(unit.scores)
    return found


def success(unit: ScoredUnit, score: str, rules: AggregationRules) -> bool | None:
    """Return whether a row succeeds; None where that does not count, or is not known yet."""
    if unit.lost:
        return None
    if unit.invalid is not None:
        return False if rules.invalid == "fail" else None
    if unit.scores is None:
        return False if rules.unattempted == "fail" else None
    value = unit.scores.get(score)
    return None if value is None else value == 1


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


@dataclass(frozen=True, slots=True)
class ParentOutcomes:
    """Success of parents in one repeat.

    Attributes:
        by_rule: `valid`: all valid units of a parent must succeed, and parents without valid units
            are left out; `strict`: an invalid row fails its parent; `clean`: only parents without
            invalid rows.
        above: the cluster of each parent; None if parents are the clusters themselves.
        within: what each parent is averaged in first (`Measure.within`); None if all are alike.
    """

    by_rule: Mapping[Rule, Outcomes]
    above: Mapping[Parent, Hashable] | None
    within: Mapping[Parent, Hashable] | None


def parent_outcomes(
    rows: Iterable[ScoredUnit],
    measure: Measure,
    declared: Declaration,
    rules: AggregationRules,
    lengths: Mapping[str, int] | None = None,
) -> ParentOutcomes:
    """Return whether each parent succeeds.

    rows: after exclusion. Those that the measure leaves open do not count, and a parent of such
        rows neither.
    lengths: the number of rows of each innermost parent in the whole split, by its id; one with
        fewer rows here is incomplete.
    """
    level, name = declared.level(measure.over), measure.all_of
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
        {
            "valid": {one: succeeds(of) for one, of in parents.items() if valid[one]},
            "strict": {one: succeeds(of, strict=True) for one, of in parents.items()},
            "clean": {one: succeeds(of) for one, of in parents.items() if valid[one] == len(of)},
        },
        above=None if cluster == level else at(cluster),
        within=at(declared.level(measure.within)) if measure.within else None,
    )


def share(
    outcomes: Mapping[Parent, float], within: Mapping[Parent, Hashable] | None
) -> float | None:
    """Return the mean over parents, or over what they are averaged in first (`Measure.within`) of
    the mean over the parents in it; None if there are none."""
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
