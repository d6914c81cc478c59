"""Units with the scores that count, and their means."""

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
    Rule,
    Trial,
    cluster_above,
    parent_of,
    unmeasured,
)
from parsers.declaration import Declaration, Measure
from parsers.estimates import QUARTILES, Bounds, Counts, Estimate, UnitKey
from parsers.measure import Average
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
