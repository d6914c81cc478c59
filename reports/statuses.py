"""Outcomes of the steps of runs: a row per run and status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from harness.tables import interval_record
from parsers import ELEMENT_ONLY, PARSE_FAILURES, ScoredStep, Status, mean_interval
from reports.about import about_runs
from reports.frames.rows import RunRows, run_rows
from reports.grid import Field, clusters, described, interval
from reports.load import RunLike, open_runs

FIELDS = (
    Field("run", "str", "text", "run", "the run"),
    Field("status", "str", "text", "status", "how the step ended; statuses of `parsers.Status`"),
    Field("kind", "str", "text", "kind", "what kind of outcome that is"),
    Field("steps", "Int64", "count", "steps", "how many"),
    Field("share", "float64", "percent", "% of settled", "share of the settled valid steps"),
    *interval("share", "% of settled"),
    clusters("share", "% of settled"),
    Field("tasks", "Int64", "count", "tasks", "tasks that have such a step"),
    Field("element", "float64", "percent", "Ele. Acc", "right elements among them"),
    Field("operation_f1", "float64", "percent", "Op. F1", "mean operation F1"),
    Field("step_success", "float64", "percent", "Step SR", "step success"),
)
UNSETTLED, INVALID = "unsettled", "invalid"


def kind_of(status: str) -> str:
    """The kind of outcome that a status stands for."""
    if status in PARSE_FAILURES:
        return "unreadable"
    return {
        Status.ANSWERED.value: "answered",
        Status.NONE.value: "answered 'none of these'",
        Status.OUT_OF_RANGE.value: "beyond the list",
        Status.REFUSAL.value: "withheld",
        Status.CONTENT_FILTER.value: "withheld",
        Status.EMPTY.value: "no text",
        Status.TRUNCATED.value: "cut off",
        Status.TOO_LONG.value: "never asked",
        Status.NOT_OFFERED.value: "missed by the ranker",
        Status.NO_REPLY.value: "never answered",
    }.get(status, "other")


def status_table(runs: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return the statuses of the valid steps of each run, most frequent first, with their scores.

    Shares are of settled valid steps, with intervals that take tasks as clusters. Unsettled steps
    and invalid rows are counted but have no share. Operation F1 and success are missing if only
    elements were asked for. Raises `RunError` for runs that cannot be read.
    """
    opened = open_runs(runs)
    evaluated = run_rows(opened.values())
    return described(
        (record for rows in evaluated for record in _records(rows)),
        FIELDS,
        title="How steps ended",
        about=about_runs(opened),
        notes=(
            "Per cent; shares are of settled valid steps (those with a final outcome), with 95 % "
            "intervals that have tasks as clusters. An unreadable element counts as wrong; its "
            "operation still scores if it can be read.",
        ),
    )


def _records(rows: RunRows) -> Iterator[dict[str, Any]]:
    variant = rows.rules.variant
    valid = [(repeat, step) for repeat, step in rows.trials if step.invalid is None]
    settled = [step for _, step in valid if step.scores is not None and step.status is not None]
    tasks = [(step.info.split, step.info.task_id) for step in settled]
    # A run asks for operations on all of its steps or on none; not asked for is not zero.
    operations = not any(ELEMENT_ONLY in step.flags for step in settled)
    counts: dict[str, int] = {}
    for step in settled:
        assert step.status is not None
        counts[step.status.value] = counts.get(step.status.value, 0) + 1
    for status, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        with_status = [step for step in settled if step.status == status]
        scores = [step.scores for step in with_status if step.scores is not None]
        having = [float(step.status == status) for step in settled]
        yield {
            "run": rows.label,
            "status": status,
            "kind": kind_of(status),
            "steps": count,
            "share": count / len(settled),
            **interval_record("share", mean_interval(having, tasks, "micro")),
            "share_clusters": len(set(tasks)),
            "tasks": len({(step.info.split, step.info.task_id) for step in with_status}),
            "element": sum(score.element for score in scores) / count,
            "operation_f1": (
                sum(score.operation_f1[variant] for score in scores) / count if operations else None
            ),
            "step_success": (
                sum(score.success for score in scores) / count if operations else None
            ),
        }
    unsettled = [step for _, step in valid if step.scores is None]
    if unsettled:
        yield _outside(rows.label, UNSETTLED, "to be asked again", unsettled)
    reasons = sorted({step.invalid for _, step in rows.trials if step.invalid is not None})
    for reason in reasons:
        rest = [step for _, step in rows.trials if step.invalid == reason]
        yield _outside(rows.label, f"{INVALID}: {reason}", "cannot be answered", rest)


def _outside(label: str, status: str, kind: str, steps: list[ScoredStep]) -> dict[str, Any]:
    tasks = {(step.info.split, step.info.task_id) for step in steps}
    return {
        "run": label,
        "status": status,
        "kind": kind,
        "steps": len(steps),
        "tasks": len(tasks),
    }
