"""Tokens, seconds and dollars that the answered units of a run took, and that a success takes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from harness.tables import NumberStyle
from parsers.intervals import Interval, per_success
from reports.frames.rows import RunRows
from reports.grid import Field, Style

AMOUNTS = {"tokens": "tokens out", "latency": "s", "price": "$"}
"""What is counted, by the first word of its columns, with its unit for readers. The price is that
of the work: what replies from the response cache would have cost is part of it."""
SUCCESS_NOTE = (
    "/success: tokens of replies (thoughts included), seconds and dollars of everything answered "
    "over the successes; dollars are the price of the work, replies from the cache included; 95 % "
    "intervals by Fieller, none where the successes are too few for one."
)
STYLES: Mapping[str, NumberStyle] = {"tokens": "number", "latency": "seconds", "price": "dollars"}


@dataclass(frozen=True, slots=True)
class Worked:
    """What the answered units of a run took, one after another.

    asked: their rows.
    keys: unit and repeat.
    calls: those that were made for each; none unless all that it used are on record.
    won: whether it is a success; None where the main measure is not 0 or 1 for every unit.
    groups: the cluster of each.
    amounts: by the names of `AMOUNTS`; None is unknown.
    bills: what the run itself paid for each, in US dollars.
    unpriced: whether nobody bills the model and no price was given.
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
    return (
        Field(column, "float64", style, head, meaning),
        Field(f"{column}_low", "float64", "hidden", head, "lower end of its 95 % interval"),
        Field(f"{column}_high", "float64", "hidden", head, "upper end"),
    )


def worked(rows: RunRows) -> Worked:
    """Read what a run's answered units took. A unit is a success where the main measure is 1."""
    frame, main = rows.frame, rows.declared.main
    asked = frame[frame["asked"].fillna(False) & frame["settled"].fillna(False)]
    won: list[bool | None] = [None] * len(asked)
    if main.binary and not main.all_of:
        won = [bool(success) for success in asked[main.column].fillna(False)]
    calls = _calls(rows, asked)
    work = [_sum(call.work for call in made) for made in calls]
    bills = [None if cost != cost else float(cost) for cost in asked["cost"]]
    tokens = [None if number != number else float(number) for number in asked["output_tokens"]]
    # A model of one's own takes tokens and no money: that says nothing of what it would cost.
    priced = [price for price in work if price is not None]
    free = not any(priced) and not any(bills) and not rows.run.manifest.prices_given
    unpriced = bool(priced) and free and any(tokens)
    if unpriced:
        work, bills = [None] * len(work), [None] * len(bills)
    level = rows.declared.level(rows.rules.cluster).column
    return Worked(
        asked=asked,
        keys=[
            (str(unit), int(repeat))
            for unit, repeat in zip(asked[rows.declared.id_column], asked["repeat"], strict=True)
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
    keys = zip(asked[rows.declared.id_column], asked["repeat"], asked["calls"], strict=True)
    return [
        made[str(step), int(repeat)] if used.get((str(step), int(repeat))) == number else []
        for step, repeat, number in keys
    ]
