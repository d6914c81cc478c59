"""Outcomes of the units of runs: a row per run and status."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from harness.tables import interval_record
from parsers import PARSE_FAILURES, Declaration, Measure, ScoredUnit, Status, mean_interval
from parsers.counting import parent_of, unmeasured
from parsers.records import ENVIRONMENT_ERROR, SCORING_ERROR
from reports.frames.rows import RunRows, run_rows
from reports.grid import Field, clusters, described, interval
from reports.kind import reports_on
from reports.load import RunLike, declarations, open_runs
from reports.names import measured_name, name_of, partly_measured
from reports.settings import about_runs


def _fields(declared: Declaration, partial: Collection[Measure]) -> tuple[Field, ...]:
    units, level = declared.units, declared.innermost
    means = (
        field
        for one in declared.in_tables
        for field in (
            Field(name_of(one, declared), "percent", one.head),
            Field(measured_name(one, declared), "count", "of"),
        )[: 1 + (one in partial)]
    )
    return (
        Field("run", "text", "run"),
        Field("status", "text", "status"),
        Field("kind", "text", "kind"),
        Field(units, "count", units),
        Field("share", "percent", "% of answered"),
        *interval("share"),
        clusters("share"),
        Field(level.many, "count", level.many),
        *means,
    )


UNSETTLED, INVALID = "unanswered", "invalid"
_LOST = {ENVIRONMENT_ERROR: "environment failed", SCORING_ERROR: "the scorer failed"}


def kind_of(status: str) -> str:
    """Return the kind of outcome that a status represents."""
    if status in PARSE_FAILURES:
        return "unreadable"
    return {
        Status.ANSWERED.value: "answered",
        Status.NONE.value: "answered 'none of these'",
        Status.OUT_OF_RANGE.value: "beyond the list",
        Status.REFUSAL.value: "refused",
        Status.CONTENT_FILTER.value: "refused",
        Status.PROVIDER_REFUSED.value: "refused",
        Status.OUT_OF_TURNS.value: "looked only",
        Status.EMPTY.value: "no text",
        Status.TRUNCATED.value: "cut off",
        Status.TOO_LONG.value: "never asked",
        Status.NOT_OFFERED.value: "missed by the ranker",
        Status.NO_REPLY.value: "never answered",
    }.get(status, "other")


def status_table(runs: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return the statuses of the valid units of each run, most frequent first, with their scores.

    Shares are of settled valid units, with intervals that take the innermost parents as clusters.
    Unsettled units and invalid rows are counted but have no share. Measures that all predictions
    leave open are missing. Raises `RunError` for runs that cannot be read.
    """
    opened = open_runs(runs)
    evaluated = run_rows(opened.values())
    declared = declarations(opened.values())
    records = [record for rows in evaluated for record in _records(rows)]
    return described(
        records,
        (field for one in declared for field in _fields(one, partly_measured(records, one))),
        title=f"How {' or '.join(dict.fromkeys(one.units for one in declared))} ended",
        about=about_runs(opened),
        notes=_notes(declared),
    )


def _notes(declared: Sequence[Declaration]) -> tuple[str, ...]:
    units, parents = (
        " or ".join(dict.fromkeys(words))
        for words in ([one.units for one in declared], [one.innermost.many for one in declared])
    )
    of_kinds = dict.fromkeys(reports_on(one.kind).status_note for one in declared)
    return (
        " ".join(
            (
                f"Per cent; shares are of answered valid {units}, with "
                f"95 % intervals that have {parents} as clusters.",
                *filter(None, of_kinds),
            )
        ),
    )


def _records(rows: RunRows) -> Iterator[dict[str, Any]]:
    declared = rows.declared
    valid = [unit for _, unit in rows.trials if unit.invalid is None]
    settled = [unit for unit in valid if unit.scores is not None and unit.status is not None]
    parents = [parent_of(unit, declared.innermost) for unit in settled]
    left_open = unmeasured(settled, declared)
    counts: dict[str, int] = {}
    for unit in settled:
        assert unit.status is not None
        counts[unit.status.value] = counts.get(unit.status.value, 0) + 1
    for status, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        with_status = [unit for unit in settled if unit.status == status]
        having = [float(unit.status == status) for unit in settled]
        yield {
            **_row(rows, status, kind_of(status), with_status),
            "share": count / len(settled),
            **interval_record("share", mean_interval(having, parents, "micro")),
            "share_clusters": len(set(parents)),
            **{
                name: value
                for measure in declared.in_tables
                if measure.name not in left_open
                for scores in [_scores(with_status, measure.name)]
                for name, value in (
                    (name_of(measure, declared), sum(scores) / len(scores) if scores else None),
                    (measured_name(measure, declared), len(scores)),
                )
            },
        }
    unsettled = [unit for unit in valid if unit.scores is None]
    if unsettled:
        yield _row(rows, UNSETTLED, "to be asked again", unsettled)
    reasons = sorted({unit.invalid for _, unit in rows.trials if unit.invalid is not None})
    for reason in reasons:
        rest = [unit for _, unit in rows.trials if unit.invalid == reason]
        yield _row(rows, f"{INVALID}: {reason}", _LOST.get(reason, "cannot be answered"), rest)


def _scores(units: list[ScoredUnit], name: str) -> list[float]:
    found = [unit.scores.get(name) for unit in units if unit.scores is not None]
    return [value for value in found if value is not None]


def _row(rows: RunRows, status: str, kind: str, units: list[ScoredUnit]) -> dict[str, Any]:
    level = rows.declared.innermost
    return {
        "run": rows.label,
        "status": status,
        "kind": kind,
        rows.declared.units: len(units),
        level.many: len({parent_of(unit, level) for unit in units}),
    }
