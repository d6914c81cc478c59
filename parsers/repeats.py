"""Metrics of runs with repeats, which ask about every unit several times.

Measures of units pool the repeats, with parents as the clusters. Measures of parents, such as task
success, are the mean over repeats; their interval is over parents, of each one's share of repeats:
more repeats are not more tasks.

`pass@k` is the chance that at least one of k repeats succeeds, without bias (Chen et al. 2021,
*Evaluating Large Language Models Trained on Code*); `pass^k` that all of k do (Yao et al. 2024,
*tau-bench*). The spread is split into that of repeats of the same unit and that between units, by a
one-way analysis of variance with random effects.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from parsers.aggregation import (
    DEFAULT_AGGREGATION,
    after_exclusion,
    aggregate,
    headline_value,
    unmeasured,
)
from parsers.agreement import agreeing
from parsers.declaration import Average, Declaration, Measure
from parsers.metrics import AggregationRules, Estimate, Metrics
from parsers.parents import (
    ParentOutcomes,
    cluster_above,
    measures_of_whole,
    parent_metrics,
    parent_of,
    parent_outcomes,
)
from parsers.rates import mean, mean_interval
from parsers.records import ScoredUnit

Trial = tuple[int, ScoredUnit]
"""The number of a repeat, and a unit as scored in it."""


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


@dataclass(frozen=True, slots=True)
class OverRepeats:
    """A measure of success over the repeats, of the units (or parents) that have all of them.

    Attributes:
        repeats: number of repeats.
        mean: share of repeats that succeed, averaged as the measure's headline.
        pass_at, pass_all: pass@k and pass^k by k, averaged alike.
        within: standard deviation over repeats of the same unit.
        between: standard deviation of the units' own rates of success; None for a single unit.
    """

    repeats: int
    mean: Estimate
    pass_at: Mapping[int, Estimate]
    pass_all: Mapping[int, Estimate]
    within: float
    between: float | None


@dataclass(frozen=True, slots=True)
class Repeated:
    """The metrics of all repeats together.

    spread: standard deviation of the main measure's headline between repeats; None for a single
        repeat, and where it is not measured.
    over: success over the repeats, by name of the measure: of the main measure of units and of
        those of parents, if there are several repeats.
    """

    metrics: Metrics
    spread: float | None
    over: Mapping[str, OverRepeats] = field(default_factory=dict)


def aggregate_repeats(
    trials: Iterable[Trial],
    declared: Declaration,
    rules: AggregationRules = DEFAULT_AGGREGATION,
    *,
    lengths: Mapping[str, int] | None = None,
    whole: str | None = None,
) -> Repeated:
    """Compute the metrics of units with one or more repeats; see `aggregate` for the arguments.

    A task whose only step succeeds in one of two repeats has step success 1/2 and task success
    1/2. Raises `ValueError` if a unit occurs twice in a repeat.
    """
    repeats: dict[int, list[ScoredUnit]] = {}
    for repeat, unit in trials:
        repeats.setdefault(repeat, []).append(unit)
    if len(repeats) < 2:
        rows = [unit for units in repeats.values() for unit in units]
        return Repeated(aggregate(rows, declared, rules, lengths=lengths, whole=whole), None)
    rules = rules.resolved(declared)
    ordered = [repeats[repeat] for repeat in sorted(repeats)]
    pooled = aggregate(
        [
            replace(unit, unit_id=f"{unit.unit_id}#{repeat}")
            for repeat in sorted(repeats)
            for unit in repeats[repeat]
        ],
        declared,
        rules,
        whole="",
    )
    values = [headline_value(units, declared, rules) for units in ordered]
    known = [value for value in values if value is not None]
    settled = [after_exclusion(units, rules) for units in ordered]
    unknown = unmeasured([row for rows in settled for row in rows], declared)
    outcomes = {
        measure.name: [parent_outcomes(rows, measure, declared, rules, lengths) for rows in settled]
        for measure in measures_of_whole(declared, whole)
        if measure.name not in unknown
    }
    parents = {name: parent_metrics(of, rules) for name, of in outcomes.items()}
    main = declared.main_of_units
    known_over = {name: _of_parents(of, rules) for name, of in outcomes.items()}
    if main.binary and main.name not in unknown:
        known_over = {main.name: _of_units(settled, main, declared, rules), **known_over}
    over = {name: found for name, found in known_over.items() if found is not None}
    spread = None
    if declared.main.name not in unknown and len(known) > 1:
        spread = statistics.stdev(known)
    return Repeated(agreeing(replace(pooled, parents=parents)), spread, over)


def _of_units(
    repeats: Sequence[Sequence[ScoredUnit]],
    measure: Measure,
    declared: Declaration,
    rules: AggregationRules,
) -> OverRepeats | None:
    """Return the measure of units over the repeats; None where no unit has all of them."""
    score, level = measure.score(rules.variant), declared.level(measure.over)
    won: dict[Hashable, list[bool]] = {}
    units: dict[Hashable, ScoredUnit] = {}
    for unit in (unit for rows in repeats for unit in rows):
        if (outcome := success(unit, score, rules)) is not None:
            key = unit.split, unit.unit_id
            won.setdefault(key, []).append(outcome)
            units[key] = unit
    whole = {key: of for key, of in won.items() if len(of) == len(repeats)}
    cluster = cluster_above(declared, rules, level.name)
    return _over(
        [sum(of) for of in whole.values()],
        len(repeats),
        [parent_of(units[key], level) for key in whole],
        None if cluster == level else [parent_of(units[key], cluster) for key in whole],
        "micro" if measure.averages[0] == "micro" else "macro",
        rules.level,
    )


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


def _of_parents(repeats: Sequence[ParentOutcomes], rules: AggregationRules) -> OverRepeats | None:
    """Return a measure of parents over the repeats; None while one is incomplete."""
    picked = [of.strict if rules.invalid == "fail" else of.default for of in repeats]
    parents = list(picked[0])
    if any(of.keys() != picked[0].keys() or None in of.values() for of in picked):
        return None
    above, within = repeats[0].above, repeats[0].within
    averaged = parents if within is None else [within[parent] for parent in parents]
    return _over(
        [sum(bool(of[parent]) for of in picked) for parent in parents],
        len(repeats),
        averaged,
        None if above is None else [above[parent] for parent in parents],
        "macro",
        rules.level,
    )


def _over(
    successes: Sequence[int],
    repeats: int,
    parents: Sequence[Hashable],
    clusters: Sequence[Hashable] | None,
    average: Average,
    level: float,
) -> OverRepeats | None:
    if not successes:
        return None

    def averaged(values: Sequence[float]) -> Estimate:
        by_parent: dict[Hashable, list[float]] = {}
        for value, parent in zip(values, parents, strict=True):
            by_parent.setdefault(parent, []).append(value)
        means = [mean(of) or 0.0 for of in by_parent.values()]
        interval = mean_interval(values, parents, average, clusters=clusters, level=level)
        center = mean(values) if average == "micro" else mean(means)
        return Estimate(center, interval, len(values))

    shares = [won / repeats for won in successes]
    noise = math.fsum(share * (1 - share) for share in shares) / len(shares)
    noise *= repeats / (repeats - 1)
    between = None
    if len(shares) > 1:
        between = math.sqrt(max(0.0, statistics.variance(shares) - noise / repeats))
    counts = shown_counts(repeats)
    return OverRepeats(
        repeats=repeats,
        mean=averaged(shares),
        pass_at={k: averaged([pass_at(won, repeats, k) for won in successes]) for k in counts},
        pass_all={k: averaged([pass_all(won, repeats, k) for won in successes]) for k in counts},
        within=math.sqrt(noise),
        between=between,
    )
