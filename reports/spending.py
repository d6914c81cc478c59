"""Tokens, seconds and dollars that the answered units of a run took, and that a success takes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from harness.runs.columns import id_column, level_column, score_column
from harness.tables.grid import NumberStyle
from parsers.rates import Interval, t_quantile
from reports.frames.rows import RunRows
from reports.grid import Field, Style
from reports.grid import interval as interval_fields
from reports.statistics.paired import LEVEL

AMOUNTS = {"tokens": "tokens out", "latency": "s", "price": "$"}
"""Counted amounts, by the first word of their columns, with units for readers. The price is that
of the work: what replies from the response cache would have cost is part of it."""
SUCCESS_NOTE = (
    "/success: tokens of replies (thoughts included), seconds and dollars of everything answered "
    "over the successes; dollars are the price of the work, replies from the cache included; 95 % "
    "intervals by Fieller, none where the successes are too few for one."
)
STYLES: Mapping[str, NumberStyle] = {"tokens": "number", "latency": "seconds", "price": "dollars"}


@dataclass(frozen=True, slots=True)
class Worked:
    """Costs of the answered units of a run, one after another.

    asked: their rows.
    keys: unit and repeat.
    calls: those that were made for each; none unless all that it used are on record.
    won: whether it is a success; None where the main measure is not 0 or 1 for every unit.
    groups: the cluster of each.
    amounts: by the names of `AMOUNTS`; None is unknown.
    bills: what the run itself paid for each, in US dollars.
    unpriced: whether no one bills the model and no price was given.
    """

    asked: pd.DataFrame
    keys: Sequence[tuple[str, int]]
    calls: Sequence[Sequence[CallCounts]]
    won: Sequence[bool | None]
    groups: Sequence[Hashable]
    amounts: Mapping[str, Sequence[float | None]]
    bills: Sequence[float | None]
    unpriced: bool

    def per_success(self, amounts: Sequence[float | None]) -> tuple[float | None, Interval | None]:
        """Return what a success takes of an amount, over the units where it is known."""
        parts = [
            (amount, won, group)
            for amount, won, group in zip(amounts, self.won, self.groups, strict=True)
            if amount is not None and won is not None
        ]
        spent, wins, members = zip(*parts, strict=True) if parts else ((), (), ())
        return per_success(spent, wins, members)


def ratio_difference(
    first: tuple[Sequence[float], Sequence[float]],
    second: tuple[Sequence[float], Sequence[float]],
    clusters: Sequence[Hashable],
) -> tuple[float, Interval | None]:
    """Return by how much a ratio of two sums differs between two runs on the same units, with its
    interval.

    first, second: amounts, and what they are divided by (1 for every unit: a mean), of each run.

    The interval is the second ratio's linearisation minus the first's (the delta method), with
    sums over clusters as independent and t(G-1); None for fewer than two clusters.

    Examples:
        >>> ratio_difference(([2, 4], [1, 1]), ([3, 7], [1, 1]), "ab")[0]
        2.0

    Raises `ValueError` if the sequences differ in length, and `ZeroDivisionError` if a run has
    nothing to divide by.
    """
    ratios = [math.fsum(amounts) / math.fsum(sizes) for amounts, sizes in (first, second)]
    sums: dict[Hashable, list[float]] = {}
    for sign, ratio, (amounts, sizes) in zip((-1, 1), ratios, (first, second), strict=True):
        whole = math.fsum(sizes)
        for amount, size, cluster in zip(amounts, sizes, clusters, strict=True):
            sums.setdefault(cluster, []).append(sign * (amount - ratio * size) / whole)
    groups, difference = len(sums), ratios[1] - ratios[0]
    if groups < 2:
        return difference, None
    square = math.fsum(math.fsum(parts) ** 2 for parts in sums.values())
    reach = t_quantile(LEVEL, groups)
    error = reach * math.sqrt(square * groups / (groups - 1))
    ends = difference - error, difference + error
    return difference, Interval(*ends, "delta", groups, False)


def per_success(
    amounts: Sequence[float], wins: Sequence[bool], clusters: Sequence[Hashable]
) -> tuple[float | None, Interval | None]:
    """Return what a success takes (the sum of all amounts over the number of successes), with its
    interval.

    The interval is Fieller's (1954) for a ratio of two sums over clusters, which are independent:
    all r for which the sum of (amount - r * success) lies within t(G-1) standard errors of zero.
    It has no upper end where no success at all is within reach, and is then None, as for fewer than
    two clusters. The ratio is None without a success.

    Examples:
        >>> ratio, interval = per_success([3, 5, 4, 4], [True, True, True, False], "abcd")
        >>> round(ratio, 3), interval is None
        (5.333, True)

    Raises `ValueError` if the sequences differ in length.
    """
    sums: dict[Hashable, tuple[list[float], list[float]]] = {}
    for amount, won, cluster in zip(amounts, wins, clusters, strict=True):
        spent, right = sums.setdefault(cluster, ([], []))
        spent.append(amount)
        right.append(float(won))
    pairs = sorted((math.fsum(spent), math.fsum(right)) for spent, right in sums.values())
    total, successes = (
        (math.fsum(column) for column in zip(*pairs, strict=True)) if pairs else (0, 0)
    )
    groups = len(pairs)
    if not successes:
        return None, None
    ratio = total / successes
    if groups < 2:
        return ratio, None
    scale = groups / (groups - 1)
    mean, share = total / groups, successes / groups
    own = scale * math.fsum((spent - mean) ** 2 for spent, _ in pairs)
    other = scale * math.fsum((right - share) ** 2 for _, right in pairs)
    both = scale * math.fsum((spent - mean) * (right - share) for spent, right in pairs)
    reach = t_quantile(LEVEL, groups) ** 2
    square = successes**2 - reach * other
    middle = total * successes - reach * both
    inside = middle**2 - square * (total**2 - reach * own)
    if square <= 0 or inside <= 0:
        return ratio, None
    ends = sorted((middle + sign * math.sqrt(inside)) / square for sign in (-1, 1))
    return ratio, Interval(max(0.0, ends[0]), ends[1], "fieller", groups, False)


def of_success(made: Worked, name: str, column: str) -> dict[str, float | None]:
    """Return what a success takes of an amount (`AMOUNTS`), with the ends of its interval."""
    ratio, interval = made.per_success(made.amounts[name])
    return {
        column: ratio,
        f"{column}_low": interval.low if interval else None,
        f"{column}_high": interval.high if interval else None,
    }


def success_fields(column: str, style: Style, head: str, meaning: str) -> tuple[Field, ...]:
    """Return the columns of what a success takes (`of_success`)."""
    return (Field(column, "float64", style, head, meaning), *interval_fields(column, head)[:2])


def worked(rows: RunRows) -> Worked:
    """Read what a run's answered units took. A unit is a success where the main measure is 1."""
    frame, main = rows.frame, rows.declared.main
    asked = frame[frame["asked"].fillna(False) & frame["settled"].fillna(False)]
    won: list[bool | None] = [None] * len(asked)
    if main.name not in rows.seen.graded and not main.all_of:
        won = [bool(success) for success in asked[score_column(main.name)].fillna(False)]
    calls = _calls(rows, asked)
    work = [_sum(call.work for call in made) for made in calls]
    bills, tokens = (
        [None if pd.isna(amount) else float(amount) for amount in asked[name]]
        for name in ("cost", "output_tokens")
    )
    # A model of one's own takes tokens and no money: that says nothing of what it would cost.
    priced = [price for price in work if price is not None]
    free = not any(priced) and not any(bills) and not rows.run.manifest.prices_given
    unpriced = bool(priced) and free and any(tokens)
    if unpriced:
        work, bills = [None] * len(work), [None] * len(bills)
    level = level_column(rows.declared.level(rows.rules.cluster))
    return Worked(
        asked=asked,
        keys=[
            (str(unit), int(repeat))
            for unit, repeat in zip(asked[id_column(rows.declared)], asked["repeat"], strict=True)
        ],
        calls=calls,
        won=won,
        groups=asked[level].astype("str").tolist(),
        amounts={
            "tokens": tokens,
            "latency": [_sum(call.latency_s for call in made) for made in calls],
            "price": work,
        },
        bills=bills,
        unpriced=unpriced,
    )


def _sum(amounts: Iterable[float | None]) -> float | None:
    """Return the sum of the calls of a unit; None if it has none, or one of them is unknown."""
    known = list(amounts)
    return None if not known or None in known else math.fsum(one or 0.0 for one in known)


class CallCounts(NamedTuple):
    """The counts of a call; None where unknown."""

    cost: float | None
    work: float | None
    latency_s: float | None
    role: str = ""
    tier: str = ""
    cached: bool = False
    thoughts: int = 0


def _calls(rows: RunRows, asked: pd.DataFrame) -> list[list[CallCounts]]:
    """Return the calls that were made for each of these steps; none unless all it used are on
    record."""
    made: dict[tuple[str, int], list[CallCounts]] = defaultdict(list)
    last: dict[tuple[str, int], list[int]] = defaultdict(list)
    shared: set[str] = set()
    for call in rows.run.calls():
        latency = None if call.from_cache else call.reply.latency_s or None
        tier, cached = call.reply.tier, call.from_cache
        thoughts = call.reply.usage.reasoning if call.reply.usage else 0
        made[call.payer].append(
            CallCounts(call.cost, call.work, latency, call.role, tier, cached, thoughts)
        )
        if call.asked_by:
            shared.add(call.id)
        else:
            last[call.key].append(call.trial)
    used = {key: trials.count(max(trials)) for key, trials in last.items()}
    for record in rows.run.records() if shared else ():
        used[record.key] = used.get(record.key, 0) + sum(id in shared for id in record.calls)
    keys = zip(asked[id_column(rows.declared)], asked["repeat"], asked["calls"], strict=True)
    return [
        made[str(step), int(repeat)] if used.get((str(step), int(repeat))) == number else []
        for step, repeat, number in keys
    ]
