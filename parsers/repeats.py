"""Metrics of runs with repeats, which ask about every unit several times.

Measures of units pool the repeats, with parents as the clusters. Measures of parents, such as task
success, are the mean over repeats; their interval is over parents, of each one's share of repeats:
more repeats are not more tasks.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from parsers.aggregation import (
    DEFAULT_AGGREGATION,
    after_exclusion,
    aggregate,
    headline_value,
    unmeasured,
)
from parsers.declaration import Declaration
from parsers.metrics import AggregationRules, Metrics
from parsers.parents import measures_of_whole, parent_metrics, parent_outcomes
from parsers.rates import agreeing
from parsers.records import ScoredUnit

Trial = tuple[int, ScoredUnit]
"""The number of a repeat, and a unit as scored in it."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """The metrics of all repeats together.

    spread: standard deviation of the main measure's headline between repeats; None for a single
        repeat, and where it is not measured.
    """

    metrics: Metrics
    spread: float | None


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
    parents = {
        measure.name: parent_metrics(
            [parent_outcomes(rows, measure, declared, rules, lengths) for rows in settled], rules
        )
        for measure in measures_of_whole(declared, whole)
        if measure.name not in unknown
    }
    spread = None
    if declared.main.name not in unknown and len(known) > 1:
        spread = statistics.stdev(known)
    return Repeated(agreeing(replace(pooled, parents=parents)), spread)
