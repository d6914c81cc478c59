"""Success over repeats: how often any and how often all of them succeed, and their spread.

`pass@k` is the chance that at least one of k repeats succeeds, without bias (Chen et al. 2021,
*Evaluating Large Language Models Trained on Code*); `pass^k` that all of k do (Yao et al. 2024,
*tau-bench*). The spread is split into that of repeats of the same unit and that between units, by a
one-way analysis of variance with random effects.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Iterator, Mapping, Sequence

from parsers.counting import (
    ParentOutcomes,
    cluster_above,
    parent_of,
    parent_outcomes,
    share,
    success,
    unmeasured,
)
from parsers.declaration import Measure
from parsers.estimates import SD, SD_BETWEEN, SD_WITHIN, SHARE, Estimate
from parsers.measure import Average
from parsers.parts import Part
from parsers.rates import mean, mean_interval
from parsers.records import ScoredUnit


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
