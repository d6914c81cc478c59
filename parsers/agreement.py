"""Intervals of one table that do not contradict each other.

Step success needs the right element, so its rate is never above that of the element, but its
interval could end above the other one. So the interval of a measure that implies another ends no
later than that one's, and the implied one's begins no earlier. Two intervals that held the true
rates still do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from parsers.declaration import Declaration
from parsers.metrics import Estimate, Metrics, ParentRate, Rate, UnitMetrics
from parsers.records import Scores

Key = tuple[str, str, str]
"""The line (`valid` or `strict`), the score or the measure of parents, and the average."""
PARENTS = "parents"


def implications(
    scores: Sequence[Scores], declared: Declaration, variant: str, unknown: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return what measures imply, as declared and in these scores: a rule may decide otherwise.

    variant: the chosen one.
    unknown: the measures that were not measured.
    """
    found: dict[str, tuple[str, ...]] = {}
    for measure in declared.of_units:
        needed = [declared[name] for name in measure.needs if name not in unknown]
        own = measure.score(variant)
        known = {score: score for one in needed for score in one.scores}
        known |= {one.name: one.score(variant) for one in needed}
        implied = tuple(
            name
            for name, score in known.items()
            if all(_at_most(of.get(own), of.get(score)) for of in scores)
        )
        if implied and measure.name not in unknown:
            found |= dict.fromkeys((own, measure.name), implied)
    return found


def _at_most(score: float | None, other: float | None) -> bool:
    """Return True if a score is not above another, or both are unknown."""
    if score is None or other is None:
        return score is other
    return score <= other


def agreeing(metrics: Metrics) -> Metrics:
    """Return metrics whose intervals agree with what their measures imply.

    A measure implies what it needs (`UnitMetrics.implied`); a measure of parents, the mean over
    parents of the measure that it is all of; and with invalid rows as failures, a measure is never
    above the same one without them.
    """
    ends, values = {}, {}
    for key, estimate in _estimates(metrics):
        if estimate.interval is not None and estimate.value is not None:
            ends[key], values[key] = estimate.interval, estimate.value
    order = [
        (lower, upper)
        for lower, upper in _order(metrics)
        if lower in ends and upper in ends and values[lower] <= values[upper]
    ]
    agreed = False
    while not agreed:
        agreed = True
        for lower, upper in order:
            one, other = ends[lower], ends[upper]
            if one.high > other.high or other.low < one.low:
                ends[lower] = replace(one, high=min(one.high, other.high))
                ends[upper] = replace(other, low=max(one.low, other.low))
                agreed = False

    def units(line: str, of: UnitMetrics) -> UnitMetrics:
        rates = {name: rate(line, name, own) for name, own in of.rates.items()}
        return replace(of, rates=rates)

    def rate(line: str, name: str, own: Rate) -> Rate:
        return {
            average: replace(one, interval=ends.get((line, name, average), one.interval))
            for average, one in own.items()
        }

    def parents(line: str, name: str, own: ParentRate) -> ParentRate:
        return replace(own, interval=ends.get((line, name, PARENTS), own.interval))

    return replace(
        metrics,
        valid=units("valid", metrics.valid),
        strict=units("strict", metrics.strict),
        parents={
            name: replace(
                own,
                default=parents("valid", name, own.default),
                strict=parents("strict", name, own.strict),
            )
            for name, own in metrics.parents.items()
        },
    )


def _estimates(metrics: Metrics) -> Iterator[tuple[Key, Estimate | ParentRate]]:
    for line, units in _lines(metrics):
        for name, rate in units.rates.items():
            for average, estimate in rate.items():
                yield (line, name, average), estimate
    for name, own in metrics.parents.items():
        yield ("valid", name, PARENTS), own.default
        yield ("strict", name, PARENTS), own.strict


def _lines(metrics: Metrics) -> tuple[tuple[str, UnitMetrics], ...]:
    return ("valid", metrics.valid), ("strict", metrics.strict)


def _order(metrics: Metrics) -> Iterator[tuple[Key, Key]]:
    """Yield pairs of rates of which the first cannot be the higher one."""
    declared = metrics.declared
    for line, units in _lines(metrics):
        for name, others in units.implied.items():
            for average in units.rates[name]:
                yield from (((line, name, average), (line, other, average)) for other in others)
        for measure in declared.of_parents:
            of = declared[measure.all_of]
            if not measure.within and measure.over == of.over:
                yield (line, measure.name, PARENTS), (line, of.name, "macro")
    for name, rate in metrics.valid.rates.items():
        yield from ((("strict", name, average), ("valid", name, average)) for average in rate)
