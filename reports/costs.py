"""Calls, tokens, cost and latency of steps, a row per run."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pandas as pd

from harness.runs import Run, Spent, together
from reports.about import about_runs
from reports.frames.rows import RunRows, run_rows
from reports.grid import Field, described
from reports.load import RunLike, open_runs

FIELDS = (
    Field("run", "str", "text", "run", "the run"),
    Field("steps", "Int64", "count", "steps", "settled steps that the model was asked about"),
    Field("calls_per_step", "float64", "seconds", "calls", "mean number of calls per step"),
    Field("input_tokens", "float64", "number", "tokens in", "mean per step, as billed"),
    Field("cached_tokens", "float64", "number", "cached", "read from a prompt cache"),
    Field("output_tokens", "float64", "number", "tokens out", "mean per step, as billed"),
    Field("price_per_step", "float64", "dollars", "$/step", "price of the work, mean per step"),
    Field("price_per_success", "float64", "dollars", "$/success", "the same per successful step"),
    Field("price", "float64", "dollars", "$ work", "price of the work, replies from a cache too"),
    Field("cost", "float64", "dollars", "$ billed", "billed in this run; a cached reply is free"),
    Field("cost_per_step", "float64", "hidden", "$ billed/step", "billed, mean per step"),
    Field("cost_per_success", "float64", "hidden", "$ billed/success", "the same per success"),
    Field("worked", "Int64", "hidden", "worked", "steps the price of whose work is known"),
    Field("priced", "Int64", "hidden", "priced", "steps whose bill is known"),
    Field("timed", "Int64", "count", "timed", "steps whose latency is known"),
    Field("latency_median", "float64", "seconds", "s/step", "median seconds of a step's calls"),
    Field("latency_p90", "float64", "seconds", "90th", "90th percentile, in seconds"),
    Field("latency_max", "float64", "seconds", "max", "maximum, in seconds"),
)


def cost_table(runs: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return calls, tokens, dollars and seconds per step of each run.

    Only settled steps that were asked count. The price of a step's work is what all its calls cost
    when each has to be asked for; what was billed in the run is less where replies came from the
    response cache. Either is known if it is known of every call. The latency of a step is the sum
    over its calls in `calls.jsonl`. It is unknown if a call is not on record, came from the
    response cache, or has no latency because a policy answered it. Raises `RunError` for runs that
    cannot be read.
    """
    opened = open_runs(runs)
    records = [_record(rows) for rows in run_rows(opened.values())]
    untimed = [record["run"] for record in records if not record["timed"]]
    partly = [r["run"] for r in records if r["timed"] and r["timed"] < r["steps"]]
    notes = [
        "Means per settled step that was asked; latency is summed over a step's calls, in seconds."
    ]
    if untimed:
        notes.append(
            f"No latency for {', '.join(untimed)}: no step has all its calls on record with a "
            "latency (policies and replies from the cache have none)."
        )
    if partly:
        notes.append(f"Latency covers the timed steps only in {', '.join(partly)}.")
    notes.append(
        "$/step, $/success and $ work are the price of the work, replies from the cache included; "
        "$ billed is what this run paid."
    )
    if any(min(record["priced"], record["worked"]) < record["steps"] for record in records):
        notes.append("Cost covers the steps with a known price.")
    for label, run in opened.items():
        if spent := run.manifest.unrecorded:
            notes.append(
                f"{label} paid or may have paid ${spent:,.4f} more, for calls without a record "
                "(the one before the first step, and those that failed after they were sent)."
            )
        redone = run.manifest.redone
        if redone is not None and redone.cost:
            notes.append(
                f"{label} took steps over from {redone.of}, which had paid ${redone.cost:,.4f} of "
                "this for them."
            )
    for record in records:
        if any(record["roles"]):
            told = (f"{role or 'model under test'}: {s}" for role, s in record["roles"].items())
            notes.append(f"{record['run']} by role, as billed: {'; '.join(told)}.")
    about = about_runs(opened)
    title = "Cost, tokens and latency per step"
    return described(records, FIELDS, title=title, about=about, notes=notes)


def _record(rows: RunRows) -> dict[str, Any]:
    frame = rows.frame
    asked = frame[frame["asked"].fillna(False) & frame["settled"].fillna(False)]
    won = [bool(success) for success in asked["success"].fillna(False)]
    calls = _calls(rows.run, asked)
    bills = [
        (float(cost), success)
        for cost, success, made in zip(asked["cost"], won, calls, strict=True)
        # In older runs the cost of a step is that of the calls whose cost is known.
        if cost == cost and all(call.cost is not None for call in made)
    ]
    prices = [
        (math.fsum(call.work or 0.0 for call in made), success)
        for success, made in zip(won, calls, strict=True)
        if made and all(call.work is not None for call in made)
    ]
    seconds = [
        math.fsum(call.latency_s or 0.0 for call in made)
        for made in calls
        if made and all(call.latency_s is not None for call in made)
    ]
    return {
        "run": rows.label,
        "steps": len(asked),
        "calls_per_step": _mean(asked["calls"]),
        **{n: _mean(asked[n]) for n in ("input_tokens", "cached_tokens", "output_tokens")},
        **_dollars("price", prices),
        **_dollars("cost", bills),
        "priced": len(bills),
        "roles": _by_role(calls),
        "worked": len(prices),
        "timed": len(seconds),
        "latency_median": statistics.median(seconds) if seconds else None,
        "latency_p90": quantile(seconds, 0.9) if seconds else None,
        "latency_max": max(seconds, default=None),
    }


def _dollars(name: str, steps: Sequence[tuple[float, bool]]) -> dict[str, float | None]:
    """The sum, and the means per step and per success, of (dollars, success) of steps."""
    total, wins = math.fsum(dollars for dollars, _ in steps), sum(won for _, won in steps)
    return {
        name: total if steps else None,
        f"{name}_per_step": total / len(steps) if steps else None,
        f"{name}_per_success": total / wins if wins else None,
    }


def _by_role(calls: Iterable[Sequence[_Call]]) -> dict[str, Spent]:
    """What the calls of steps took, by role."""
    parts: dict[str, list[Spent]] = {}
    for made in calls:
        for call in made:
            parts.setdefault(call.role, []).append(Spent(1, None, call.cost))
    return {role: together(parts[role]) for role in sorted(parts)}


def _mean(column: pd.Series[Any]) -> float | None:
    known = column.dropna()
    return math.fsum(known) / len(known) if len(known) else None


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed.

    >>> quantile([3, 1, 2, 4], 0.5), quantile([3, 1, 2, 4], 0.9)
    (2, 4)
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


class _Call(NamedTuple):
    """What is counted of a call; None where unknown."""

    cost: float | None
    work: float | None
    latency_s: float | None
    role: str = ""


def _calls(run: Run, asked: pd.DataFrame) -> list[list[_Call]]:
    """The calls that were made for each of these steps; none unless all it used are on record."""
    made: dict[tuple[str, int], list[_Call]] = defaultdict(list)
    last: dict[tuple[str, int], list[int]] = defaultdict(list)
    shared: set[str] = set()
    for call in run.calls():
        latency = None if call.from_cache else call.reply.latency_s or None
        made[call.payer].append(_Call(call.cost, call.work, latency, call.role))
        if call.asked_by:
            shared.add(call.id)
        else:
            last[call.key].append(call.trial)
    used = {key: trials.count(max(trials)) for key, trials in last.items()}
    for record in run.records() if shared else ():
        used[record.key] = used.get(record.key, 0) + sum(id in shared for id in record.calls)
    keys = zip(asked["step_id"], asked["repeat"], asked["calls"], strict=True)
    return [
        made[str(step), int(repeat)] if used.get((str(step), int(repeat))) == number else []
        for step, repeat, number in keys
    ]
