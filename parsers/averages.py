"""The only averaging: from the scores of units to every number of a run (`parsers.estimates`).

A benchmark declares measures and parents (`parsers.declaration`). Every sum is taken with
`math.fsum`, whose result does not depend on the order of the terms, so the same units give
bit-identical numbers in whatever order they finished.

Units that were asked about several times (repeats) are pooled for measures of units, where a parent
stays one cluster. Measures of parents, such as task success, are the mean over repeats; their
interval is over parents, of each one's share of repeats: more repeats are not more tasks.

Intervals of one table do not contradict each other: step success needs the right element, so its
rate is never above that of the element, but its interval could end above the other one. So the
interval of a measure that implies another ends no later than that one's, and the implied one's
begins no earlier. Two intervals that held the true rates still do.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from parsers.counting import (
    DEFAULT_RULES,
    AggregationRules,
    Observed,
    Parent,
    ParentOutcomes,
    Trial,
    after_exclusion,
    measures_of_whole,
    observed,
    parent_outcomes,
    share,
)
from parsers.declaration import Declaration, Measure
from parsers.estimates import PARENTS, QUARTILES, Bounds, Estimate, Results
from parsers.parts import Part
from parsers.rates import clopper_pearson, mean, mean_interval
from parsers.records import ScoredUnit

Key = tuple[str, str, str]
"""Rule, measure and average of a row."""


def agreeing(rows: Sequence[Estimate], part: Part) -> list[Estimate]:
    """Return rows of one part whose intervals agree with what their measures imply."""
    known: dict[Key, Estimate] = {(row.rule, row.measure, row.average): row for row in rows}
    ends = {key: row.interval for key, row in known.items() if row.interval is not None}
    order = []
    for lower, upper in _order(rows, part):
        if lower in ends and upper in ends:
            one, other = known[lower].number, known[upper].number
            if one is not None and other is not None and one <= other:
                order.append((lower, upper))
    agreed = False
    while not agreed:
        agreed = True
        for lower, upper in order:
            first, second = ends[lower], ends[upper]
            if first.high > second.high or second.low < first.low:
                ends[lower] = replace(first, high=min(first.high, second.high))
                ends[upper] = replace(second, low=max(first.low, second.low))
                agreed = False
    return [replace(row, interval=ends.get(key, row.interval)) for key, row in known.items()]


def _order(rows: Iterable[Estimate], part: Part) -> Iterator[tuple[Key, Key]]:
    """Yield pairs of rows of which the first cannot be the higher one: a measure and what it needs,
    a measure of parents and the mean over parents of what it is all of, and with invalid rows as
    failures, a measure and the same one without them."""
    declared = part.declared
    for rule, line in part.lines.items():
        for measure in declared.of_units:
            for name in _needed(measure, part):
                # A rule may decide otherwise than by what is declared to be needed.
                if all(_at_most(of.get(measure.name), of.get(name)) for of in line.scores):
                    for average in measure.averages:
                        yield (rule, measure.name, average), (rule, name, average)
        for measure in declared.of_parents:
            of = declared[measure.all_of]
            if not measure.within and measure.over == of.over:
                yield (rule, measure.name, PARENTS), (rule, of.name, "macro")
    for row in rows:
        if row.rule == "valid" and row.average not in (PARENTS, QUARTILES):
            yield ("strict", row.measure, row.average), ("valid", row.measure, row.average)


def _needed(measure: Measure, part: Part) -> Iterator[str]:
    """Yield the measures that one needs, each with the other ways to compute it."""
    if measure.name not in part.left_open:
        for name in measure.needs:
            if name not in part.left_open:
                yield name
                yield from (f"{name}.{variant}" for variant in part.declared.variants(name))


def _at_most(score: float | None, other: float | None) -> bool:
    """Return True if a score is not above another, or both are unknown."""
    if score is None or other is None:
        return score is other
    return score <= other


def results(
    trials: Iterable[Trial],
    declared: Declaration,
    rules: AggregationRules = DEFAULT_RULES,
    *,
    lengths: Mapping[str, int] | None = None,
    whole: str | None = None,
    bounds: Bounds | None = None,
    seen: Observed | None = None,
    group: str = "",
    value: str = "",
) -> Results:
    """Return the numbers of some units.

    Args:
        trials: the units, each with the number of its repeat.
        declared: what their benchmark declares.
        rules: how to average them.
        lengths: the number of rows of each innermost parent in the whole split, by its id; one with
            fewer rows here counts as incomplete.
        whole: the outermost level whose parents the units hold whole; by default that of all
            levels. "" for groups that split parents: those have no measures of parents.
        bounds: of the units.
        seen: what the scores of all units of the run show of its measures; these units by default.
        group: the key that all of them share a value of, for the rows.
        value: that value.

    Example, by what Mind2Web declares: task A succeeds twice; B succeeds, has an invalid row,
    succeeds; C succeeds and fails. Step success is 5/6 micro and (1 + 1 + 1/2)/3 macro, strictly
    5/7 and (1 + 2/3 + 1/2)/3; task success is 2/3, strict 1/3, clean 1/2. A task whose only step
    succeeds in one of two repeats has step success 1/2 and task success 1/2.

    Measures that all predictions leave open are None, not zero. Units without a score of a measure
    are left out of its means, and counted (`Estimate.units`).

    Raises `ValueError` if a unit occurs twice in a repeat.
    """
    rules = rules.resolved(declared)
    repeats: dict[int, list[ScoredUnit]] = {}
    for repeat, unit in trials:
        repeats.setdefault(repeat, []).append(unit)
    repeats = {repeat: after_exclusion(repeats[repeat], rules) for repeat in sorted(repeats)}
    repeats = repeats or {0: []}
    if seen is None:
        seen = observed((unit for units in repeats.values() for unit in units), declared)
    part = Part(repeats, declared, rules, bounds or Bounds(), seen)
    rows = [*part.means("valid"), *part.means("strict")]
    outcomes = {
        measure.name: [
            parent_outcomes(units, measure, declared, rules, lengths) for units in repeats.values()
        ]
        for measure in measures_of_whole(declared, whole)
        if measure.name not in part.left_open
    }
    rows += [row for name, of in outcomes.items() for row in _of_parents(name, of, rules)]
    rows = agreeing(rows, part)
    if len(repeats) > 1:
        from parsers.parts import over_repeats  # few runs have repeats

        rows += over_repeats(part, outcomes)
    if group:
        rows = [replace(row, group=group, value=value) for row in rows]
    return Results(rows, part.counts(), declared, rules, part.left_open, seen, len(repeats))


def every_result(
    trials: Sequence[Trial],
    declared: Declaration,
    rules: AggregationRules = DEFAULT_RULES,
    *,
    lengths: Mapping[str, int] | None = None,
    bounds: Bounds | None = None,
) -> dict[tuple[str, str], Results]:
    """Return the numbers of all units, by ("", ""), and of each value of each declared group, the
    values in alphabetical order.

    Each unit is in exactly one value of a group, so the micro means weighted by the number of units
    average to the overall micro mean; if groups hold whole parents, the macro means weighted by the
    number of parents average to the overall macro mean. Groups that split parents, such as those by
    recorded operation, have no measures of parents.
    """
    wholes: dict[str, str | None] = {"": None} | {one.name: one.whole for one in declared.groups}
    parts: dict[tuple[str, str], list[Trial]] = {("", ""): [*trials]}
    for group in (one.name for one in declared.groups):
        for value in sorted({unit.group(group) for _, unit in trials}):
            parts[group, value] = []
        for trial in trials:
            parts[group, trial[1].group(group)].append(trial)
    seen = observed((unit for _, unit in trials), declared)
    return {
        (group, value): results(
            part,
            declared,
            rules,
            lengths=lengths,
            whole=wholes[group],
            bounds=bounds,
            seen=seen,
            group=group,
            value=value,
        )
        for (group, value), part in parts.items()
    }


def _of_parents(
    measure: str, repeats: Sequence[ParentOutcomes], rules: AggregationRules
) -> Iterator[Estimate]:
    """Yield a measure of parents by each rule, over one or more repeats; counts add up over
    repeats.

    Over repeats the interval is None if the repeats hold different parents.
    """

    def joined(parts: Sequence[Mapping[Parent, Hashable] | None]) -> dict[Parent, Hashable] | None:
        found = [part for part in parts if part is not None]
        return {k: v for part in found for k, v in part.items()} if found == [*parts] else None

    above, within = joined([of.above for of in repeats]), joined([of.within for of in repeats])
    for rule in repeats[0].by_rule:
        outcomes = [of.by_rule[rule] for of in repeats]
        known = [{one: won for one, won in of.items() if won is not None} for of in outcomes]
        complete, total = sum(map(len, known)), sum(map(len, outcomes))
        won = sum(sum(of.values()) for of in known)
        number, interval = None, None
        if complete == total and all(known):
            number = mean([share(of, within) or 0.0 for of in known])
            if len(repeats) == 1 and above is None:
                interval = clopper_pearson(won, total, rules.level)
            elif all(of.keys() == outcomes[0].keys() for of in outcomes):
                each = [(float(bool(of[one])), one) for of in outcomes for one in of]
                parents = [parent for _, parent in each]
                averaged = parents if within is None else [within[one] for one in parents]
                clusters = None if above is None else [above[one] for one in parents]
                interval = mean_interval(
                    [one for one, _ in each],
                    averaged,
                    "macro",
                    clusters=None if clusters == averaged else clusters,
                    level=rules.level,
                )
        yield Estimate(measure, PARENTS, rule, number, interval, total, 0, won, complete)
