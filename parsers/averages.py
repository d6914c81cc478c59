"""The only averaging: from the scores of units to every number of a run (`parsers.estimates`).

A benchmark declares measures and parents (`parsers.declaration`). Every sum is taken with
`math.fsum`, whose result does not depend on the order of the terms, so the same units give
bit-identical numbers in whatever order they finished.

Units that were asked about several times (repeats) are pooled for measures of units, where a parent
stays one cluster. Measures of parents, such as task success, are the mean over repeats; their
interval is over parents, of each one's share of repeats: more repeats are not more tasks.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from parsers.agreement import agreeing
from parsers.counting import (
    DEFAULT_RULES,
    PARSE_FAILURES,
    AggregationRules,
    Parent,
    ParentOutcomes,
    Rule,
    Trial,
    after_exclusion,
    cluster_above,
    measures_of_whole,
    parent_of,
    parent_outcomes,
    share,
    unmeasured,
)
from parsers.declaration import Declaration, Measure
from parsers.estimates import PARENTS, QUARTILES, Bounds, Counts, Estimate, Results, UnitKey
from parsers.measure import Average
from parsers.rates import Interval, cells_interval, clopper_pearson, mean, mean_interval
from parsers.records import ScoredUnit, Scores
from parsers.repeats import over_repeats


def results(
    trials: Iterable[Trial],
    declared: Declaration,
    rules: AggregationRules = DEFAULT_RULES,
    *,
    lengths: Mapping[str, int] | None = None,
    whole: str | None = None,
    bounds: Bounds | None = None,
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
    part = Part(repeats, declared, rules, bounds or Bounds())
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
        rows += over_repeats(part, outcomes)
    if group:
        rows = [replace(row, group=group, value=value) for row in rows]
    return Results(rows, part.counts(), declared, rules, part.left_open, len(repeats))


def results_by(
    trials: Sequence[Trial],
    key: str,
    declared: Declaration,
    rules: AggregationRules = DEFAULT_RULES,
    *,
    lengths: Mapping[str, int] | None = None,
    bounds: Bounds | None = None,
) -> dict[str, Results]:
    """Return the numbers of every group of a key, in alphabetical order.

    Each unit is in exactly one group, so the micro means weighted by the number of units average to
    the overall micro mean; if groups hold whole parents, the macro means weighted by the number of
    parents average to the overall macro mean. Groups that split parents, such as those by recorded
    operation, have no measures of parents.

    Raises `KeyError` for a key that is not declared.
    """
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial[1].group(key), []).append(trial)
    whole = declared.group(key).whole
    return {
        value: results(
            groups[value],
            declared,
            rules,
            lengths=lengths,
            whole=whole,
            bounds=bounds,
            group=key,
            value=value,
        )
        for value in sorted(groups)
    }


def every_result(
    trials: Sequence[Trial],
    declared: Declaration,
    rules: AggregationRules = DEFAULT_RULES,
    *,
    lengths: Mapping[str, int] | None = None,
    bounds: Bounds | None = None,
) -> dict[tuple[str, str], Results]:
    """Return the numbers of all units, by ("", ""), and of each value of each declared group."""
    found = {("", ""): results(trials, declared, rules, lengths=lengths, bounds=bounds)}
    for one in declared.groups:
        parts = results_by(trials, one.name, declared, rules, lengths=lengths, bounds=bounds)
        found |= {(one.name, value): part for value, part in parts.items()}
    return found


class Line:
    """Units with the scores that count, and what they belong to, looked up once for all
    measures."""

    def __init__(self, trials: Sequence[Trial], scores: Sequence[Scores], part: Part) -> None:
        self.trials, self.scores, self.part = trials, scores, part
        self._keys: dict[Hashable, list[Hashable]] = {}

    def parents(self, level: str) -> list[Hashable]:
        """Return the parent of each unit."""
        if level not in self._keys:
            of = self.part.declared.level(level)
            self._keys[level] = [parent_of(unit, of) for _, unit in self.trials]
        return self._keys[level]

    def cells(self, names: tuple[str, ...]) -> list[Hashable]:
        """Return the cell of each unit."""
        if names not in self._keys:
            self._keys[names] = [tuple(map(unit.group, names)) for _, unit in self.trials]
        return self._keys[names]

    def known(
        self, score: str, scores: Sequence[Scores] | None = None
    ) -> tuple[list[float], list[int]]:
        """Return the values of a score, and the places of the units that have one; of these
        `scores` in place of the units' own."""
        found = [one.get(score) for one in (self.scores if scores is None else scores)]
        places = [place for place, value in enumerate(found) if value is not None]
        return [float(value) for value in found if value is not None], places

    def averaged(
        self, values: Sequence[float], places: Sequence[int], average: Average, measure: Measure
    ) -> Sequence[float]:
        """Return the values to average: the means of parents or of cells, or the scores."""
        if average == "micro":
            return values
        keys = self.cells(measure.cells) if average == "cells" else self.parents(measure.over)
        together: dict[Hashable, list[float]] = {}
        for place, value in zip(places, values, strict=True):
            together.setdefault(keys[place], []).append(value)
        return [math.fsum(group) / len(group) for group in together.values()]

    def interval(
        self, values: Sequence[float], places: Sequence[int], average: Average, measure: Measure
    ) -> Interval | None:
        declared, rules = self.part.declared, self.part.rules
        over = measure.over if average == "macro" else ""
        cluster = cluster_above(declared, rules, over)

        def chosen(keys: Sequence[Hashable]) -> list[Hashable]:
            return [keys[place] for place in places]

        clusters = chosen(self.parents(cluster.name))
        if average == "cells":
            cells = chosen(self.cells(measure.cells))
            grouped = cluster != declared.innermost
            return cells_interval(values, cells, clusters, grouped=grouped, level=rules.level)
        above = None if cluster == declared.level(over) else clusters
        parents = chosen(self.parents(over))
        return mean_interval(values, parents, average, clusters=above, level=rules.level)


class Part:
    """Some units under the rules of a run.

    repeats: the units by repeat, after exclusion.
    left_open: the measures that all answers leave open.
    """

    def __init__(
        self,
        repeats: Mapping[int, Sequence[ScoredUnit]],
        declared: Declaration,
        rules: AggregationRules,
        bounds: Bounds,
    ) -> None:
        self.declared, self.rules, self.repeats = declared, rules, repeats
        self.bounds = bounds
        self.trials = [(repeat, unit) for repeat, units in repeats.items() for unit in units]
        twice = Counter((repeat, one.split, one.unit_id) for repeat, one in self.trials)
        for (_, split, unit_id), number in twice.items():
            if number > 1:
                raise ValueError(f"{unit_id} of {split} occurs more than once")
        self.left_open = unmeasured((unit for _, unit in self.trials), declared)
        self.lines = self.lines_of(self.trials)

    def lines_of(self, trials: Iterable[Trial]) -> dict[str, Line]:
        """Return the units behind each rule. Unsettled ones count as failed if the rules say so;
        those whose environment failed count nowhere."""
        failed = self.declared.failed
        valid: list[tuple[Trial, Scores]] = []
        invalid: list[tuple[Trial, Scores]] = []
        for trial in trials:
            _, unit = trial
            scores = unit.scores
            if scores is None and self.rules.unattempted == "fail":
                scores = failed
            if unit.invalid is not None and not unit.lost:
                invalid.append((trial, failed))
            elif unit.invalid is None and scores is not None:
                valid.append((trial, scores))
        lines = {"valid": self._line(valid)}
        return lines | {"strict": self._line([*valid, *invalid]) if invalid else lines["valid"]}

    def _line(self, pairs: Sequence[tuple[Trial, Scores]]) -> Line:
        return Line([trial for trial, _ in pairs], [scores for _, scores in pairs], self)

    def means(self, rule: Rule) -> Iterator[Estimate]:
        """Yield the measures of units, also in each variant, and the quartiles of those without an
        average."""
        line = self.lines[rule]
        parents, units = len(set(line.parents(""))), len(line.trials)
        for measure in self.declared.of_units:
            headline = measure.score(self.rules.variant)
            for score in measure.scores:
                values, places = line.known(score)
                rows = []
                for average in measure.averages:
                    if measure.name in self.left_open:
                        n = parents if average == "macro" else units
                        rows.append(Estimate(score, average, rule, None, n=n, units=units))
                        continue
                    averaged = line.averaged(values, places, average, measure)
                    interval = line.interval(values, places, average, measure)
                    number, n = mean(averaged), len(averaged)
                    rows.append(Estimate(score, average, rule, number, interval, n, len(values)))
                if measure.variants:
                    yield from rows
                if score != headline:
                    continue
                rows = [replace(row, measure=measure.name) for row in rows]
                if rule == self.rules.headline and measure.name not in self.left_open:
                    chance = self._bound(self.bounds.chance, measure)
                    ceiling = self._bound(self.bounds.ceiling, measure)
                    rows[0] = replace(rows[0], chance=chance, ceiling=ceiling)
                yield from rows
        for measure in self.declared.spread:
            own = [unit.scores or {} for _, unit in line.trials]
            values, _ = line.known(measure.name, own)
            if values:
                low, median, high = _quartiles(values)
                interval = Interval(low, high, "quartiles", 0, False, 0.5)
                n = len(values)
                yield Estimate(measure.name, QUARTILES, rule, median, interval, n, n)

    def _bound(self, bound: Mapping[UnitKey, Scores] | None, measure: Measure) -> float | None:
        """Return the headline of another agent: valid units have its scores, others are failed."""
        if bound is None:
            return None
        line, valid = self.lines[self.rules.headline], len(self.lines["valid"].trials)
        scores = [
            bound.get((repeat, unit.split, unit.unit_id), {}) if place < valid else failed
            for place, ((repeat, unit), failed) in enumerate(
                zip(line.trials, line.scores, strict=True)
            )
        ]
        score = measure.score(self.rules.variant)
        if valid and all(one.get(score) is None for one in scores[:valid]):
            return None
        values, places = line.known(score, scores)
        return mean(line.averaged(values, places, measure.averages[0], measure))

    def counts(self) -> Counts:
        """Count the rows, repeats included."""
        rows = [unit for _, unit in self.trials]
        valid = [row for row in rows if row.invalid is None]
        settled = [row for row in valid if row.scores is not None]
        reasons = Counter(row.invalid for row in rows if row.invalid is not None)
        statuses = Counter(row.status.value for row in settled if row.status is not None)
        flags = Counter(flag for row in settled for flag in row.flags)
        failures = sum(row.status in PARSE_FAILURES for row in settled)
        return Counts(
            n_parents=len({parent_of(row, self.declared.innermost) for row in rows}),
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
            behind={
                rule: (len(set(line.parents(""))), len(line.trials))
                for rule, line in self.lines.items()
            },
        )


def _quartiles(values: Sequence[float]) -> Sequence[float]:
    """Return lower quartile, median and upper quartile of one or more values, interpolated between
    neighbours.

    >>> _quartiles([4, 1, 2, 3])
    [1.75, 2.5, 3.25]
    """
    return statistics.quantiles(values, method="inclusive") if len(values) > 1 else [*values] * 3


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
    for rule in repeats[0].by_rule if repeats else ():
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
