"""Intervals of one table that do not contradict each other.

Step success needs the right element, so its rate is never above that of the element, but its
interval could end above the other one. So the interval of a measure that implies another ends no
later than that one's, and the implied one's begins no earlier. Two intervals that held the true
rates still do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from parsers.declaration import Measure
from parsers.estimates import PARENTS, QUARTILES, Estimate
from parsers.parts import Part

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
