"""Units with the scores that count, and their means.

Over repeats, `pass@k` is the chance that at least one of k repeats succeeds, without bias (Chen et
al. 2021, *Evaluating Large Language Models Trained on Code*); `pass^k` that all of k do (Yao et al.
2024, *tau-bench*). The spread is split into that of repeats of the same unit and that between
units, by a one-way analysis of variance with random effects.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from parsers.counting import (
    PARSE_FAILURES,
    AggregationRules,
    Observed,
    ParentOutcomes,
    Rule,
    Trial,
    cluster_above,
    parent_of,
    parent_outcomes,
    share,
    success,
    unmeasured,
)
from parsers.declaration import Declaration
from parsers.estimates import (
    QUARTILES,
    SD,
    SD_BETWEEN,
    SD_WITHIN,
    SHARE,
    Bounds,
    Counts,
    Estimate,
    UnitKey,
)
from parsers.measure import Average, Measure
from parsers.rates import Interval, cells_interval, mean, mean_interval
from parsers.records import ScoredUnit, Scores


class _Line:
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
    seen: what the scores of all units of the run show.
    left_open: the measures that all answers leave open.
    """

    def __init__(
        self,
        repeats: Mapping[int, Sequence[ScoredUnit]],
        declared: Declaration,
        rules: AggregationRules,
        bounds: Bounds,
        seen: Observed,
    ) -> None:
        self.declared, self.rules, self.repeats = declared, rules, repeats
        self.bounds, self.seen = bounds, seen
        self.trials = [(repeat, unit) for repeat, units in repeats.items() for unit in units]
        twice = Counter((repeat, one.split, one.unit_id) for repeat, one in self.trials)
        for (_, split, unit_id), number in twice.items():
            if number > 1:
                raise ValueError(f"{unit_id} of {split} occurs more than once")
        self.left_open = unmeasured((unit for _, unit in self.trials), declared)
        self.lines = self.lines_of(self.trials)

    def lines_of(self, trials: Iterable[Trial]) -> dict[str, _Line]:
        """Return the units behind each rule. Unsettled ones count as failed if the rules say so;
        those whose environment failed count nowhere."""
        failed = self.seen.failed(self.declared)
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

    def _line(self, pairs: Sequence[tuple[Trial, Scores]]) -> _Line:
        return _Line([trial for trial, _ in pairs], [scores for _, scores in pairs], self)

    def means(self, rule: Rule) -> Iterator[Estimate]:
        """Yield the averages of the measures of units, and quartiles."""
        line = self.lines[rule]
        parents, units = len(set(line.parents(""))), len(line.trials)
        for measure in self.declared.of_units:
            values, places = line.known(measure.name)
            rows = []
            for average in measure.averages:
                if measure.name in self.left_open:
                    n = parents if average == "macro" else units
                    rows.append(Estimate(measure.name, average, rule, None, n=n, units=units))
                    continue
                averaged = line.averaged(values, places, average, measure)
                interval = line.interval(values, places, average, measure)
                number, n = mean(averaged), len(averaged)
                rows.append(Estimate(measure.name, average, rule, number, interval, n, len(values)))
            if rule == self.rules.headline and self._is_bounded(line, measure):
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

    def _is_bounded(self, line: _Line, measure: Measure) -> bool:
        """Return whether chance says something of a measure that is not left open."""
        chance = self.bounds.chance or {}
        keys = ((repeat, unit.split, unit.unit_id) for repeat, unit in line.trials)
        return measure.name not in self.left_open and any(
            measure.name in chance.get(key, ()) for key in keys
        )

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
        if valid and all(one.get(measure.name) is None for one in scores[:valid]):
            return None
        values, places = line.known(measure.name, scores)
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


def pass_at(successes: int, repeats: int, k: int) -> float:
    """Return pass@k of a unit: the chance that one of k repeats drawn from all of them succeeds.

    1 - C(n - c, k) / C(n, k) for c successes in n repeats.

    >>> pass_at(1, 5, 1), pass_at(1, 5, 2), pass_at(4, 5, 2)
    (0.2, 0.4, 1.0)

    Raises `ValueError` unless 0 <= successes <= repeats and 1 <= k <= repeats.
    """
    _check(successes, repeats, k)
    drawn = math.comb(repeats, k)
    return (drawn - math.comb(repeats - successes, k)) / drawn


def pass_all(successes: int, repeats: int, k: int) -> float:
    """Return pass^k of a unit: the chance that all of k repeats drawn from all of them succeed.

    C(c, k) / C(n, k) for c successes in n repeats.

    >>> pass_all(4, 5, 1), pass_all(4, 5, 2), pass_all(1, 5, 2)
    (0.8, 0.6, 0.0)

    Raises `ValueError` as `pass_at`.
    """
    _check(successes, repeats, k)
    return math.comb(successes, k) / math.comb(repeats, k)


def _check(successes: int, repeats: int, k: int) -> None:
    if not (0 <= successes <= repeats and 1 <= k <= repeats):
        raise ValueError(f"{successes} successes in {repeats} repeats, {k} of them drawn")


def shown_counts(repeats: int) -> tuple[int, ...]:
    """Return the values of k that are reported: powers of two, and all repeats.

    >>> shown_counts(5), shown_counts(8), shown_counts(1)
    ((2, 4, 5), (2, 4, 8), ())
    """
    powers = [2**power for power in range(1, repeats.bit_length())]
    return tuple(sorted({*powers, repeats} - {1}))


def over_repeats(
    part: Part, outcomes: Mapping[str, Sequence[ParentOutcomes]]
) -> Iterator[Estimate]:
    """Yield success over the repeats, of the units and of the parents that have all of them, and
    the spread of the headline between repeats.

    outcomes: of parents, by name of the measure, in every repeat.
    """
    declared, rule = part.declared, part.rules.headline
    main = declared.main_of_units
    if main.name not in part.seen.graded | part.left_open:
        yield from _of_units(part, main)
    for name, of in outcomes.items():
        picked = [one.by_rule[rule] for one in of]
        parents = list(picked[0])
        if any(one.keys() != picked[0].keys() or None in one.values() for one in picked):
            continue
        above, within = of[0].above, of[0].within
        yield from _over(
            part,
            name,
            [sum(bool(one[parent]) for one in picked) for parent in parents],
            parents if within is None else [within[parent] for parent in parents],
            None if above is None else [above[parent] for parent in parents],
            "macro",
        )
    if declared.main.name not in part.left_open:
        values = [_headline(part, units) for units in part.repeats.values()]
        known = [number for number in values if number is not None]
        if len(known) > 1:
            yield Estimate(declared.main.name, SD, rule, statistics.stdev(known), n=len(known))


def _headline(part: Part, units: Sequence[ScoredUnit]) -> float | None:
    """Return the headline of the main measure over the units of one repeat."""
    main, rule = part.declared.main, part.rules.headline
    if main.name in unmeasured(units, part.declared):
        return None
    if main.all_of:
        of = parent_outcomes(units, main, part.declared, part.rules)
        won = {one: float(won) for one, won in of.by_rule[rule].items() if won is not None}
        return share(won, of.within)
    line = part.lines_of((0, unit) for unit in units)[rule]
    values, places = line.known(main.name)
    return mean(line.averaged(values, places, main.averages[0], main))


def _of_units(part: Part, measure: Measure) -> Iterator[Estimate]:
    level = part.declared.level(measure.over)
    won: dict[Hashable, list[bool]] = {}
    units: dict[Hashable, ScoredUnit] = {}
    for _, unit in part.trials:
        if (outcome := success(unit, measure.name, part.rules)) is not None:
            key = unit.split, unit.unit_id
            won.setdefault(key, []).append(outcome)
            units[key] = unit
    whole = {key: of for key, of in won.items() if len(of) == len(part.repeats)}
    cluster = cluster_above(part.declared, part.rules, level.name)
    yield from _over(
        part,
        measure.name,
        [sum(of) for of in whole.values()],
        [parent_of(units[key], level) for key in whole],
        None if cluster == level else [parent_of(units[key], cluster) for key in whole],
        "micro" if measure.averages[0] == "micro" else "macro",
    )


def _over(
    part: Part,
    measure: str,
    successes: Sequence[int],
    parents: Sequence[Hashable],
    clusters: Sequence[Hashable] | None,
    average: Average,
) -> Iterator[Estimate]:
    """Yield the share of repeats that succeed, pass@k and pass^k, averaged as the measure's
    headline, and the spread."""
    if not successes:
        return
    rule, repeats = part.rules.headline, len(part.repeats)

    def averaged(name: str, values: Sequence[float]) -> Estimate:
        by_parent: dict[Hashable, list[float]] = {}
        for value, parent in zip(values, parents, strict=True):
            by_parent.setdefault(parent, []).append(value)
        means = values if average == "micro" else [mean(of) or 0.0 for of in by_parent.values()]
        interval = mean_interval(
            values, parents, average, clusters=clusters, level=part.rules.level
        )
        return Estimate(measure, name, rule, mean(means), interval, len(values), len(values))

    shares = [won / repeats for won in successes]
    yield averaged(SHARE, shares)
    for sign, drawn in (("pass@", pass_at), ("pass^", pass_all)):
        for k in shown_counts(repeats):
            yield averaged(f"{sign}{k}", [drawn(won, repeats, k) for won in successes])
    noise = math.fsum(share * (1 - share) for share in shares) / len(shares)
    noise *= repeats / (repeats - 1)
    yield Estimate(measure, SD_WITHIN, rule, math.sqrt(noise), n=len(shares))
    if len(shares) > 1:
        between = math.sqrt(max(0.0, statistics.variance(shares) - noise / repeats))
        yield Estimate(measure, SD_BETWEEN, rule, between, n=len(shares))
