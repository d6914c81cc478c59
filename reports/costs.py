"""Calls, tokens, cost and latency of units, a row per run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import pandas as pd

from harness.runs import Spent, together
from parsers import Declaration
from parsers.rates import mean
from reports.frames.rows import RunRows, run_rows
from reports.frames.units import plain_values
from reports.grid import Field, described
from reports.load import RunLike, declarations, open_runs
from reports.settings import about_runs
from reports.spending import CallCounts, of_success, success_fields, worked


def fields(declared: Declaration) -> tuple[Field, ...]:
    """Return the columns for runs of a benchmark."""
    unit, units = declared.unit, declared.units
    per, success = f"$/{unit}", f"all of it per successful {unit}"
    return (
        Field("run", "str", "text", "run", "the run"),
        Field(
            units, "Int64", "count", units, f"{units} that the model was asked about and answered"
        ),
        Field(f"calls_per_{unit}", "float64", "seconds", "calls", f"mean number per {unit}"),
        Field("input_tokens", "float64", "number", "tokens in", f"mean per {unit}, as billed"),
        Field("cached_tokens", "float64", "number", "cached", "read from a prompt cache"),
        Field("output_tokens", "float64", "number", "tokens out", f"mean per {unit}, as billed"),
        Field("thought_tokens", "float64", "number", "thoughts", "of these, as the provider says"),
        *success_fields("tokens_per_success", "number", "tokens out/success", success),
        *success_fields("latency_per_success", "seconds", "s/success", success),
        Field(f"price_per_{unit}", "float64", "dollars", per, "price of the work, mean"),
        *success_fields("price_per_success", "dollars", "$/success", success),
        Field("price", "float64", "dollars", "$ work", "price of the work, cached replies too"),
        Field("cost", "float64", "dollars", "$ billed", "billed here; a cached reply is free"),
        Field(f"cost_per_{unit}", "float64", "hidden", f"$ billed/{unit}", "billed, mean"),
        Field("cost_per_success", "float64", "hidden", "$ billed/success", "the same per success"),
        Field("worked", "Int64", "hidden", "worked", f"{units} the price of whose work is known"),
        Field("priced", "Int64", "hidden", "priced", f"{units} whose bill is known"),
        Field("timed", "Int64", "count", "timed", f"{units} whose latency is known"),
        Field("latency_median", "float64", "seconds", f"s/{unit}", "median seconds of its calls"),
        Field("latency_p90", "float64", "seconds", "90th", "90th percentile, in seconds"),
        Field("latency_max", "float64", "seconds", "max", "maximum, in seconds"),
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
        "price": _sum(work),
        f"price_per_{unit}": _mean(work),
        **of_success(made, "price", "price_per_success"),
        "cost": _sum(bills),
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


def _sum(amounts: Iterable[float | None]) -> float | None:
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
