"""Tokens, seconds and dollars that units took and that a success takes, and their table by run."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pandas as pd

from harness.runs import Spent, together
from harness.tables.grid import NumberStyle
from parsers import Declaration
from parsers.rates import Interval, mean, t_quantile
from reports.frames.rows import RunRows, run_rows
from reports.frames.units import plain_values
from reports.grid import Field, Style, described
from reports.grid import interval as interval_fields
from reports.load import RunLike, declarations, open_runs
from reports.names import id_column, level_column, score_column
from reports.settings import about_runs
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


def success_fields(column: str, style: Style, head: str) -> tuple[Field, ...]:
    """Return the columns of what a success takes (`of_success`)."""
    return (Field(column, style, head), *interval_fields(column)[:2])


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
    # A model on your own machine takes tokens and no money: its price is unknown.
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


def fields(declared: Declaration) -> tuple[Field, ...]:
    """Return the columns for runs of a benchmark."""
    unit, units = declared.unit, declared.units
    return (
        Field("run", "text", "run"),
        Field(units, "count", units),
        Field(f"calls_per_{unit}", "seconds", "calls"),
        Field("input_tokens", "number", "tokens in"),
        Field("cached_tokens", "number", "cached"),
        Field("output_tokens", "number", "tokens out"),
        Field("thought_tokens", "number", "thoughts"),
        *success_fields("tokens_per_success", "number", "tokens out/success"),
        *success_fields("latency_per_success", "seconds", "s/success"),
        Field(f"price_per_{unit}", "dollars", f"$/{unit}"),
        *success_fields("price_per_success", "dollars", "$/success"),
        Field("price", "dollars", "$ work"),
        Field("cost", "dollars", "$ billed"),
        Field(f"cost_per_{unit}"),
        Field("cost_per_success"),
        Field("worked", kind="Int64"),
        Field("priced", kind="Int64"),
        Field("timed", "count", "timed"),
        Field("latency_median", "seconds", f"s/{unit}"),
        Field("latency_p90", "seconds", "90th"),
        Field("latency_max", "seconds", "max"),
    )


def cost_table(runs: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return calls, tokens, dollars and seconds per unit of each run.

    Only settled units that were asked count. The price of a unit's work is what all its calls cost
    when each has to be asked for; what was billed in the run is less where replies came from the
    response cache. Either is known if it is known of every call. The latency of a unit is the sum
    over its calls in `calls.jsonl`. It is unknown if a call is not on record, came from the
    response cache, or has no latency because a policy answered it. A unit is a success where the
    main measure, if that is one of 0 and 1 for every unit, is 1. Raises `RunError` for runs that
    cannot be read.
    """
    opened = open_runs(runs)
    records = [_record(rows) for rows in run_rows(opened.values())]
    declared = declarations(opened.values())
    unit = " or ".join(dict.fromkeys(one.unit for one in declared))
    units = " or ".join(dict.fromkeys(one.units for one in declared))
    untimed = [record["run"] for record in records if not record["timed"]]
    partly = [r["run"] for r in records if r["timed"] and r["timed"] < r["asked"]]
    notes = [
        f"Means per {unit} that was answered; latency is summed over a {unit}'s calls, in seconds."
    ]
    if untimed:
        notes.append(
            f"No latency for {', '.join(untimed)}: no {unit} has all its calls on record with a "
            "latency (policies and replies from the cache have none)."
        )
    if partly:
        notes.append(f"Latency covers the timed {units} only in {', '.join(partly)}.")
    if any(record["tokens_per_success"] is not None for record in records):
        notes.append(
            f"/success: of all {units} over the successes among them; 95 % intervals by Fieller, "
            "none where the successes are too few for one."
        )
    if any(record["price"] is not None for record in records):
        notes.append(
            f"{', '.join(f'$/{one.unit}' for one in declared)}, $/success and $ work are the price "
            "of the work, replies from the cache included; $ billed is what this run paid."
        )
    if unpriced := [record["run"] for record in records if record["unpriced"]]:
        notes.append(f"Not priced: {', '.join(unpriced)} (--prices FILE gives tokens a price).")
    if any(
        min(record["priced"], record["worked"]) < record["asked"]
        for record in records
        if not record["unpriced"]
    ):
        notes.append(f"Cost covers the {units} with a known price.")
    for record in records:
        if any(record["tiers"]):
            parts = (f"{tier or 'unknown'}: {spent}" for tier, spent in record["tiers"].items())
            notes.append(f"{record['run']} by the tier that served, as billed: {'; '.join(parts)}.")
    for label, run in opened.items():
        if spent := run.manifest.unrecorded:
            notes.append(
                f"{label} paid or may have paid ${spent:,.4f} more, for calls without a record "
                f"(the one before the first {unit}, and those that failed after they were sent)."
            )
        redone = run.manifest.redone
        if redone is not None and redone.cost:
            notes.append(
                f"{label} took {units} over from {redone.of}, which had paid "
                f"${redone.cost:,.4f} of this for them."
            )
    for record in records:
        if any(record["roles"]):
            parts = (f"{role or 'model under test'}: {s}" for role, s in record["roles"].items())
            notes.append(f"{record['run']} by role, as billed: {'; '.join(parts)}.")
    about = about_runs(opened)
    title = f"Cost, tokens and latency per {unit}"
    columns = (field for one in declared for field in fields(one))
    return described(records, columns, title=title, about=about, notes=notes)


def _record(rows: RunRows) -> dict[str, Any]:
    unit, made = rows.declared.unit, worked(rows)
    asked, calls, bills = made.asked, made.calls, made.bills
    took = sorted(one for one in made.amounts["latency"] if one is not None)
    work = made.amounts["price"]
    thoughts = [math.fsum(call.thoughts for call in one) for one in calls if one]
    return {
        "run": rows.label,
        "asked": len(asked),
        "unpriced": made.unpriced,
        rows.declared.units: len(asked),
        f"calls_per_{unit}": _mean(plain_values(asked["calls"])),
        **{
            name: _mean(plain_values(asked[name]))
            for name in ("input_tokens", "cached_tokens", "output_tokens")
        },
        "thought_tokens": _mean(thoughts) if any(thoughts) else None,
        **of_success(made, "tokens", "tokens_per_success"),
        **of_success(made, "latency", "latency_per_success"),
        "price": _known_sum(work),
        f"price_per_{unit}": _mean(work),
        **of_success(made, "price", "price_per_success"),
        "cost": _known_sum(bills),
        f"cost_per_{unit}": _mean(bills),
        "cost_per_success": made.per_success(bills)[0],
        "priced": sum(bill is not None for bill in bills),
        "roles": _spent_by("role", calls),
        "tiers": _spent_by("tier", [[call for call in one if not call.cached] for one in calls]),
        "worked": sum(price is not None for price in work),
        "timed": len(took),
        "latency_median": statistics.median(took) if took else None,
        "latency_p90": quantile(took, 0.9) if took else None,
        "latency_max": max(took, default=None),
    }


def _spent_by(
    name: Literal["role", "tier"], calls: Iterable[Sequence[CallCounts]]
) -> dict[str, Spent]:
    """Return the cost of the calls of steps, by role or tier."""
    parts: dict[str, list[Spent]] = {}
    for made in calls:
        for call in made:
            parts.setdefault(getattr(call, name), []).append(Spent(1, None, call.cost))
    return {key: together(parts[key]) for key in sorted(parts)}


def _known_sum(amounts: Iterable[float | None]) -> float | None:
    """Return the sum of the known ones; None without any."""
    known = [one for one in amounts if one is not None]
    return math.fsum(known) if known else None


def _mean(amounts: Iterable[float | None]) -> float | None:
    return mean([one for one in amounts if one is not None])


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed.

    Examples:
        >>> quantile([3, 1, 2, 4], 0.5), quantile([3, 1, 2, 4], 0.9)
        (2, 4)
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
