"""The printed intervals of rates, whose units lie in clusters: in tasks, or in groups of tasks.

Steps of one task share a site, a goal and often a mistake, so a mean over n steps is worth fewer
independent ones. Their number is estimated from the spread between clusters, and Wilson's
interval is that of so many trials (Wilson 1927; Korn and Graubard 1998 for the effective number;
Dean and Pagano 2015 compare such intervals). `benchmarks/interval_coverage.py` shows how often it
covers the truth. Shares of whole tasks have Clopper and Pearson's; intervals of differences are in
`parsers.clusters`.

Intervals of one table that do not contradict each other.

Step success needs the right element, so its rate is never above that of the element, but its
interval could end above the other one. So the interval of a measure that implies another ends no
later than that one's, and the implied one's begins no earlier. Two intervals that held the true
rates still do.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from parsers.declaration import Average, Declaration
from parsers.metrics import FEW, Estimate, Interval, Metrics, ParentRate, Rate, UnitMetrics
from parsers.records import Scores

Kind = Literal["rate", "difference"]
"""Rates lie between 0 and 1, differences of two rates between -1 and 1."""

_UNMOVED: Mapping[Kind, tuple[float, ...]] = {"rate": (0.0, 1.0), "difference": (0.0,)}

WITHIN_TASKS, WITHIN_GROUPS = 0.25, 0.1
"""Correlations of the units of one task, and of a cluster of tasks, that are assumed where few
clusters have a success or a failure: above those of most results. Set by simulation."""
ASSUMED = 10
"""The number of clusters, with a success and a failure, that outweighs the assumption."""


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, independent of the order of the values; None if there are none."""
    return math.fsum(values) / len(values) if values else None


def moved(values: Sequence[float], clusters: Sequence[Hashable], kind: Kind) -> list[int]:
    """Count the clusters with a success, and with a failure; or those that differ."""
    pairs = list(zip(values, clusters, strict=True))
    return [
        len({cluster for value, cluster in pairs if value != unmoved}) for unmoved in _UNMOVED[kind]
    ]


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval | None:
    """Return the exact binomial interval (Clopper and Pearson 1934) for `successes` of `n` tasks.

    Its ends are quantiles of beta distributions: Beta(k, n-k+1) at (1-level)/2 and Beta(k+1, n-k)
    at 1-(1-level)/2. None without tasks.

    Examples:
        >>> interval = clopper_pearson(0, 10)
        >>> round(interval.low, 4), round(interval.high, 4)
        (0.0, 0.3085)

    Raises `ValueError` unless 0 <= successes <= n and 0 < level < 1.
    """
    check_level(level)
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} tasks")
    if n == 0:
        return None
    tail = (1 - level) / 2
    # With n = 1 the quantile is known in closed form, which spares one-task runs scipy.
    quantile = special().betaincinv if n > 1 else lambda a, b, share: share
    low = float(quantile(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(quantile(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return Interval(low, high, "clopper-pearson", n, False, level)


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"confidence level must lie between 0 and 1, got {level}")


def special() -> Any:
    """scipy.special, imported on first use because it is slow to load."""
    return importlib.import_module("scipy.special")


def mean_interval(
    values: Sequence[float],
    tasks: Sequence[Hashable],
    average: Average = "macro",
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Interval | None:
    """Return the printed interval of a rate: a mean over steps clustered in tasks.

    Args:
        values: one per step.
        tasks: the task of each step.
        clusters: the cluster of each step, where tasks are grouped further; by default its task.

    Example: one success in six steps of three tasks:

    >>> interval = mean_interval([1, 0, 0, 0, 0, 0], ["a", "a", "b", "b", "c", "c"], "micro")
    >>> interval is not None and (round(interval.low, 3), round(interval.high, 3), interval.method)
    (0.007, 0.856, 'wilson')

    A single cluster at 0 or 100 % has Clopper-Pearson's interval of one trial. None without values,
    for another single cluster, for values between 0 and 1 that are all alike, and for values beyond
    0 and 1. Raises `ValueError` if the sequences differ in length.
    """
    above = tasks if clusters is None else clusters
    if not len(values) == len(tasks) == len(above):
        raise ValueError(f"{len(values)} values in {len(tasks)} tasks and {len(above)} clusters")
    if not values:
        return None
    if average == "micro":
        weights = [1 / len(values)] * len(values)
    else:
        steps = Counter(tasks)
        weights = [1 / (len(steps) * steps[task]) for task in tasks]
    center = math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
    residuals = [value - center for value in values]
    assumed = WITHIN_TASKS if clusters is None else WITHIN_GROUPS
    return _wilson(values, residuals, weights, above, assumed, level)


def cells_interval(
    values: Sequence[float],
    cells: Sequence[Hashable],
    clusters: Sequence[Hashable],
    *,
    grouped: bool = False,
    level: float = 0.95,
) -> Interval | None:
    """Return the interval of a mean over cells of each cell's mean over units.

    Args:
        values: one per unit, with the cell and the cluster of each.
        grouped: whether the clusters group tasks.

    A unit counts by its distance from the mean of its cell, with the weight 1 / (cells * units of
    the cell) (linearisation of a stratified mean, Cochran 1977, chapter 5).

    Two cells with means 3/4 and 1/4; every unit is a cluster:

    >>> interval = cells_interval([1, 1, 1, 0, 0, 0, 0, 1], "aaaabbbb", range(8))
    >>> interval is not None and (round(interval.low, 3), round(interval.high, 3))
    (0.194, 0.806)

    None and `ValueError` as in `mean_interval`.
    """
    if not len(values) == len(cells) == len(clusters):
        raise ValueError(f"{len(values)} values in {len(cells)} cells and {len(clusters)} clusters")
    sizes = Counter(cells)
    by_cell: dict[Hashable, list[float]] = {}
    for value, cell in zip(values, cells, strict=True):
        by_cell.setdefault(cell, []).append(value)
    means = {cell: math.fsum(group) / len(group) for cell, group in by_cell.items()}
    residuals = [value - means[cell] for value, cell in zip(values, cells, strict=True)]
    weights = [1 / (len(sizes) * sizes[cell]) for cell in cells]
    assumed = WITHIN_GROUPS if grouped else WITHIN_TASKS
    return _wilson(values, residuals, weights, clusters, assumed, level)


def _wilson(
    values: Sequence[float],
    residuals: Sequence[float],
    weights: Sequence[float],
    clusters: Sequence[Hashable],
    assumed: float,
    level: float,
) -> Interval | None:
    """Return the interval of a weighted mean; the weights add up to 1.

    The variance between clusters is the jackknife's, which is not too small where their sizes
    differ. By the method of moments (Kleinman 1973) it gives the correlation of units of a cluster,
    which is drawn towards `assumed` as far as few clusters have a success or a failure. Degrees of
    freedom are those of as many clusters of equal weight as have the same variance.
    """
    check_level(level)
    members: dict[Hashable, list[tuple[float, float]]] = {}
    for residual, weight, cluster in zip(residuals, weights, clusters, strict=True):
        members.setdefault(cluster, []).append((weight * residual, weight))
    rate = math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
    rate = min(max(rate, 0.0), 1.0)
    spread = math.fsum(w * r**2 for w, r in zip(weights, residuals, strict=True))
    # Values that are all alike come out as about 1e-32 through rounding.
    certain = spread <= 1e-20
    if certain is (1e-12 < rate < 1 - 1e-12):  # Without a spread, or not of shares.
        return None
    groups = len(members)
    if groups < 2:
        return clopper_pearson(round(rate), groups, level) if certain else None
    shares = [math.fsum(weight for _, weight in group) for group in members.values()]
    sums = [math.fsum(part for part, _ in group) for group in members.values()]
    apart = math.fsum(weight**2 for weight in weights)
    together = math.fsum(share**2 for share in shares)
    jackknife = [(s / (1 - share)) ** 2 for s, share in zip(sums, shares, strict=True)]
    found = 0.0 if certain else (groups - 1) / groups * math.fsum(jackknife) / spread

    number = min(moved(values, clusters, "rate"))
    estimate = (found - apart) / (together - apart) if together - apart > 1e-12 else 0.0
    estimate = min(max(estimate, 0.0), 1.0)
    drawn = (number * estimate + ASSUMED * assumed) / (number + ASSUMED)
    correlation = max(estimate, drawn)
    variance = max(found, apart + correlation * (together - apart))

    trials = (1.0 if certain else rate * (1 - rate) / spread) / variance
    t = float(special().stdtrit(max(1.0, 1 / together - 1), (1 + level) / 2))
    center = (rate + t**2 / (2 * trials)) / (1 + t**2 / trials)
    reach = (
        t / (1 + t**2 / trials) * math.sqrt(rate * (1 - rate) / trials + (t / (2 * trials)) ** 2)
    )
    low, high = max(0.0, min(rate, center - reach)), min(1.0, max(rate, center + reach))
    if certain:
        low, high = (0.0, high) if rate < 0.5 else (low, 1.0)
    return Interval(low, high, "wilson", groups, number < FEW, level)


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
