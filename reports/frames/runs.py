"""A row per run, and the facts below its metrics: progress, failures, tokens and cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pandas as pd

from harness.runs import reused_replies
from harness.tables.results import repeats_text
from parsers import Declaration, Measure
from reports.frames.rows import InvalidRule, RunRows, run_rows
from reports.frames.units import Column, Kind, series, typed, union
from reports.kind import reports_on
from reports.load import RunLike, declarations, open_runs
from reports.names import measured_name, name_of, partly_measured
from reports.settings import Setting, attrs_of

FACTS = (
    Column("run", "str", "the run, as labelled by `reports.load.open_runs`"),
    Column("model", "str", "the model or policy"),
    Column("complete", "boolean", "whether every selected valid row has a final outcome"),
    Column("unreached", "Int64", "rows of the selection that are not on record yet"),
    Column("repeats", "Int64", "how many times each step was asked"),
    Column("rows", "Int64", "rows on record, repeats included"),
    Column("valid", "Int64", "valid rows"),
    Column("invalid", "Int64", "invalid rows"),
    Column("excluded", "str", "rows left out by their status, such as 'refusal 2'"),
    Column("settled", "Int64", "valid rows with a final outcome"),
    Column("unsettled", "Int64", "valid rows without a final outcome yet"),
    Column("parse_failures", "Int64", "answered rows whose element could not be read"),
    Column("parse_failure_rate", "float64", "their share of the answered rows"),
    Column("statuses", "str", "outcomes of the answered rows, such as 'answered 5, none 1'"),
    Column("input_tokens", "Int64", "input tokens as billed; missing if none was reported"),
    Column("cached_tokens", "Int64", "input tokens read from a prompt cache"),
    Column("output_tokens", "Int64", "output tokens as billed"),
    Column("cost", "float64", "US dollars; missing without a price"),
    Column("replies", "str", "how many of its replies came from the cache, and from which run"),
    Column("dates", "str", "when the data and the model came out, if known"),
    Column("repeat_sd", "float64", "standard deviation of the main measure between repeats"),
    Column("over_repeats", "str", "how often any, and how often all of the repeats succeed"),
    Column("agreement", "float64", "mean share of samples that gave the answer that counts"),
)
"""Facts about a run, in the order of a table."""


def columns(declared: Declaration, partial: Collection[Measure] = ()) -> tuple[Column, ...]:
    """Return the columns of the frame, before those of settings that differ between runs.

    `partial` are the measures that some units have no score of.
    """
    level = declared.innermost
    return (
        *FACTS,
        Column("created", "str", "when the run was started"),
        Column("sessions", "Int64", "how many times it was started or resumed"),
        Column(level.many, "Int64", f"{level.many} behind the headline"),
        Column(declared.units, "Int64", f"{declared.units} behind the headline"),
        *(
            Column(name_of(one, declared), "float64", f"{one.meaning}, {one.averages[0]}, headline")
            for one in declared.in_tables
        ),
        *measured_columns(partial, declared),
        *(
            Column(
                name_of(one, declared),
                "float64",
                f"{one.meaning}, headline; missing while a {declared.level(one.over).one} is "
                "incomplete",
            )
            for one in declared.of_parents
        ),
    )


def measured_columns(partial: Collection[Measure], declared: Declaration) -> Iterator[Column]:
    """Yield the columns that say how many units have a score of the measures that some lack."""
    for one in partial:
        yield Column(
            measured_name(one, declared), "Int64", f"{declared.units} with a score of {one.head}"
        )


def runs_frame(
    runs: RunLike | Iterable[RunLike], *, f1: str | None = None, invalid: InvalidRule | None = None
) -> pd.DataFrame:
    """Return a row per run with the `columns` that the benchmarks declare.

    Settings that differ follow as columns `setting.<name>`; those they share are in
    `attrs["constants"]`. `f1` and `invalid` replace each run's own rules for the headline. Raises
    `RunError` for runs that cannot be read.
    """
    opened = open_runs(runs)
    rows = [_row(one) for one in run_rows(opened.values(), f1=f1, invalid=invalid)]
    described = union(
        columns(declared, partly_measured(rows, declared))
        for declared in declarations(opened.values())
    )
    frame, attrs = typed(rows, described), attrs_of(opened)
    for name, values in attrs["differences"].items():
        frame[f"setting.{name}"] = _setting([values[label] for label in opened])
    frame.attrs = attrs
    return frame


def _row(rows: RunRows) -> dict[str, Any]:
    found, declared, manifest = rows.total, rows.declared, rows.run.manifest
    parents, units = found.counts.behind[found.rules.headline]
    shown = {one: found.row(one.name) for one in (*declared.in_tables, *declared.of_parents)}
    return {
        **facts(rows),
        "created": manifest.created,
        "sessions": len(manifest.sessions),
        declared.innermost.many: parents,
        declared.units: units,
        **{name_of(one, declared): row.number if row else None for one, row in shown.items()},
        **{
            measured_name(one, declared): row.units
            for one, row in shown.items()
            if row is not None and not one.all_of
        },
    }


def _setting(values: list[Setting]) -> pd.Series[Any]:
    known = [value for value in values if value is not None]
    kind: Kind = "str"
    if all(isinstance(value, bool) for value in known):
        kind = "boolean"
    elif all(type(value) is int for value in known):
        kind = "Int64"
    elif all(type(value) in (int, float) for value in known):
        kind = "float64"
    if kind != "str":
        return series(values, kind)
    return series([None if value is None else str(value) for value in values], kind)


def facts(rows: RunRows) -> dict[str, Any]:
    """Return the facts of a run by the names of `FACTS`, None where unknown.

    With `beside`, those of the kind of its units, and `waiting`, the batches at a provider.
    """
    of_kind = reports_on(rows.declared.kind).facts
    counts, agreed = rows.total.counts, rows.frame["agreement"].dropna()
    statuses = sorted(counts.statuses.items(), key=lambda item: (-item[1], item[0]))
    return {
        "run": rows.label,
        "model": rows.run.manifest.model_name,
        "complete": rows.run.complete,
        "unreached": rows.unreached,
        "repeats": int(rows.frame["repeat"].nunique()),
        "rows": counts.n_rows,
        "valid": counts.n_valid,
        "invalid": counts.n_invalid - sum(counts.excluded.values()),
        "excluded": ", ".join(f"{name} {n}" for name, n in counts.excluded.items()),
        "settled": counts.n_settled,
        "unsettled": counts.n_unsettled,
        "parse_failures": counts.parse_failures,
        "parse_failure_rate": counts.parse_failure_rate,
        "statuses": ", ".join(f"{name} {n}" for name, n in statuses),
        **{
            name: None if (tokens := _sum(rows.frame[name])) is None else int(tokens)
            for name in ("input_tokens", "cached_tokens", "output_tokens")
        },
        "cost": _sum(rows.frame["cost"]),
        "dates": rows.run.manifest.dates,
        "replies": ", ".join(reused_replies(rows.run.path)).replace(" replies", ""),
        "repeat_sd": rows.total.spread,
        "over_repeats": repeats_text(rows.total),
        "agreement": float(agreed.mean()) if len(agreed) else None,
        **({"waiting": str(waiting)} if (waiting := rows.run.waiting) else {}),
        **({"beside": dict(of_kind(rows))} if of_kind else {}),
    }


def _sum(column: pd.Series[Any]) -> float | None:
    known = column.dropna().tolist()
    return math.fsum(known) if known else None
