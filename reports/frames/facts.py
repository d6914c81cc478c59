"""What belongs beside the metrics of a run: how much of it there is, what failed, what it cost."""

from __future__ import annotations

import math
from typing import Any

from reports.frames.rows import RunRows
from reports.frames.schema import Column

FACTS = (
    Column("run", "str", "the run, as labelled by `reports.load.open_runs`"),
    Column("model", "str", "the model or policy"),
    Column("complete", "boolean", "whether every selected valid row is settled"),
    Column("unreached", "Int64", "rows of the selection that are not on record yet"),
    Column("repeats", "Int64", "how often a step was asked"),
    Column("rows", "Int64", "rows on record, repeats included"),
    Column("valid", "Int64", "valid ones among them"),
    Column("invalid", "Int64", "invalid ones"),
    Column("settled", "Int64", "settled ones among the valid"),
    Column("unsettled", "Int64", "valid ones without an outcome yet"),
    Column("parse_failures", "Int64", "settled ones whose element could not be read"),
    Column("parse_failure_rate", "float64", "their share of the settled"),
    Column("statuses", "str", "how the settled ones ended, as 'answered 5, none 1'"),
    Column("input_tokens", "Int64", "input tokens as billed; missing if none was reported"),
    Column("cached_tokens", "Int64", "those among them read from a prompt cache"),
    Column("output_tokens", "Int64", "output tokens as billed"),
    Column("cost", "float64", "US dollars; missing without a price"),
    Column("repeat_sd", "float64", "standard deviation of macro step success between repeats"),
)
"""Columns of the facts, in the order of a table."""


def facts(rows: RunRows) -> dict[str, Any]:
    """The facts of a run by the names of `FACTS`; None where there is nothing to say."""
    found = rows.metrics()
    counts = found.metrics.counts
    statuses = sorted(counts.statuses.items(), key=lambda item: (-item[1], item[0]))
    return {
        "run": rows.label,
        "model": str(rows.run.manifest.model.get("name") or rows.run.manifest.config.get("model")),
        "complete": rows.run.complete,
        "unreached": rows.unreached,
        "repeats": int(rows.frame["repeat"].nunique()),
        "rows": counts.n_rows,
        "valid": counts.n_valid,
        "invalid": counts.n_invalid,
        "settled": counts.n_settled,
        "unsettled": counts.n_unsettled,
        "parse_failures": counts.parse_failures,
        "parse_failure_rate": counts.parse_failure_rate,
        "statuses": ", ".join(f"{name} {n}" for name, n in statuses),
        **{
            name: _tokens(rows, name) for name in ("input_tokens", "cached_tokens", "output_tokens")
        },
        "cost": _cost(rows),
        "repeat_sd": found.spread,
    }


def _tokens(rows: RunRows, name: str) -> int | None:
    known = rows.frame[name].dropna()
    return int(known.sum()) if len(known) else None


def _cost(rows: RunRows) -> float | None:
    known = rows.frame["cost"].dropna()
    return math.fsum(known.tolist()) if len(known) else None
