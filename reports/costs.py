"""Calls, tokens, cost and latency of steps, a row per run."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from harness.runs import Run
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
    Field("cost_per_step", "float64", "dollars", "$/step", "mean over steps whose cost is known"),
    Field("cost_per_success", "float64", "dollars", "$/success", "cost per successful step"),
    Field("cost", "float64", "dollars", "$ total", "sum over steps whose cost is known"),
    Field("priced", "Int64", "hidden", "priced", "steps whose cost is known"),
    Field("timed", "Int64", "count", "timed", "steps whose latency is known"),
    Field("latency_median", "float64", "seconds", "s/step", "median seconds of a step's calls"),
    Field("latency_p90", "float64", "seconds", "90th", "90th percentile, in seconds"),
    Field("latency_max", "float64", "seconds", "max", "maximum, in seconds"),
)


def cost_table(runs: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return calls, tokens, dollars and seconds per step of each run.

    Only settled steps that were asked count. The latency of a step is the sum over its calls in
    `calls.jsonl`. It is unknown if a call is not on record, came from the response cache, or has no
    latency because a policy answered it. Raises `RunError` for runs that cannot be read.
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
    if any(record["priced"] < record["steps"] for record in records):
        notes.append("Cost covers the steps with a known price.")
    about = about_runs(opened)
    title = "Cost, tokens and latency per step"
    return described(records, FIELDS, title=title, about=about, notes=notes)


def _record(rows: RunRows) -> dict[str, Any]:
    frame = rows.frame
    asked = frame[frame["asked"].fillna(False) & frame["settled"].fillna(False)]
    known = asked[asked["cost"].notna()]
    cost = math.fsum(known["cost"])
    wins = int(known["success"].fillna(False).sum())
    seconds = _latencies(rows.run, asked)
    return {
        "run": rows.label,
        "steps": len(asked),
        "calls_per_step": _mean(asked["calls"]),
        **{n: _mean(asked[n]) for n in ("input_tokens", "cached_tokens", "output_tokens")},
        "cost_per_step": cost / len(known) if len(known) else None,
        "cost_per_success": cost / wins if wins else None,
        "cost": cost if len(known) else None,
        "priced": len(known),
        "timed": len(seconds),
        "latency_median": statistics.median(seconds) if seconds else None,
        "latency_p90": quantile(seconds, 0.9) if seconds else None,
        "latency_max": max(seconds, default=None),
    }


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


def _latencies(run: Run, asked: pd.DataFrame) -> list[float]:
    """Latencies in seconds of the steps whose calls are all on record and came from the model."""
    seconds: dict[tuple[str, int], list[float]] = defaultdict(list)
    untimed: set[tuple[str, int]] = set()
    for call in run.calls():
        key = call.step_id, call.repeat
        seconds[key].append(call.reply.latency_s)
        if call.from_cache or not call.reply.latency_s:
            untimed.add(key)
    latencies = []
    rows = zip(asked["step_id"], asked["repeat"], asked["calls"], strict=True)
    for step, repeat, calls in rows:
        key = str(step), int(repeat)
        if key not in untimed and calls and len(seconds.get(key, ())) == calls:
            latencies.append(math.fsum(seconds[key]))
    return latencies
