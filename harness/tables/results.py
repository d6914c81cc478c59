"""The table of results: metrics with their intervals, as numbers and as rows for readers.

All results are computed by `result_records` and printed by `rate_cells`: in the table after a run,
`vlm-eval report` and the HTML page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from harness.tables.grid import Cell, Column, Row, interval_record
from harness.tables.numbers import ABSENT, bounds, percent
from parsers import Average as Average
from parsers import Estimate, Metrics, Rate, StepMetrics, TaskSuccess
from parsers.metrics import Cluster

AVERAGES: tuple[Average, ...] = ("macro", "micro")
METRICS = ("element", "operation_f1", "step_success")
HEADS = ("Ele. Acc", "Op. F1", "Step SR", "Task SR")
POOLED = "all splits pooled"
REPEATS_NOTE = (
    "Task success over repeats: mean over tasks of the share of repeats in which all steps succeed."
)
ELEMENT_ONLY_NOTE = (
    f"{ABSENT}: only elements were asked for, so operations and success are unknown."
)

MEANS: dict[Average, str] = {
    "macro": "macro: mean over tasks of each task's mean over steps",
    "micro": "micro: mean over steps",
}
CLUSTER_NOTES: dict[Cluster, str] = {
    "task": "95 % intervals with tasks as clusters: for new tasks on these websites (new ones: "
    "--cluster website).",
    "website": "95 % intervals with websites as clusters: for new websites.",
}
"""What the intervals generalise to."""

Record = Mapping[Any, Any]
"""A line of results by column name; None where a number is missing."""


def result_records(metrics: Metrics) -> Iterator[dict[str, Any]]:
    """Two lines of results: `valid` without invalid rows, `strict` with invalid rows as 0.

    Rates are shares between 0 and 1, each with its `interval_record`. `headline` marks the line
    that the rules of the metrics ask for, `few` lines with a marked interval.
    """
    tasks = metrics.tasks
    strict = metrics.rules.invalid == "fail"
    yield _record("valid", not strict, metrics.valid, tasks.default if tasks else None)
    yield _record("strict", strict, metrics.strict, tasks.strict if tasks else None)


def _record(
    line: str, headline: bool, metrics: StepMetrics, success: TaskSuccess | None
) -> dict[str, Any]:
    rates = (metrics.element, metrics.operation_f1, metrics.success)
    values: dict[str, Any] = {
        "line": line,
        "headline": headline,
        "tasks": metrics.n_tasks,
        "steps": metrics.n_steps,
    }
    for name, rate in zip(METRICS, rates, strict=True):
        values |= _estimate(f"{name}_macro", rate.macro) | _estimate(f"{name}_micro", rate.micro)
    interval = success.interval if success else None
    return values | {
        "task_success": success.value if success else None,
        **interval_record("task_success", interval),
        "tasks_succeeded": success.successes if success else None,
        "tasks_complete": success.complete if success else None,
        "tasks_total": success.total if success else None,
        "few": _few(rates, success),
    }


def _estimate(name: str, estimate: Estimate) -> dict[str, Any]:
    return {name: estimate.value, **interval_record(name, estimate.interval)}


def _few(rates: Iterable[Rate], success: TaskSuccess | None) -> bool:
    intervals = [estimate.interval for rate in rates for estimate in (rate.macro, rate.micro)]
    intervals.append(success.interval if success else None)
    return any(interval is not None and interval.few for interval in intervals)


def rate_cells(record: Record, average: Average) -> tuple[Cell, Cell, Cell]:
    """Element accuracy, operation F1 and step success of a line."""
    element, operation, success = (_cell(record, f"{metric}_{average}") for metric in METRICS)
    return element, operation, success


def _cell(record: Record, name: str) -> Cell:
    return Cell(percent(record[name]), record_bounds(record, name))


def record_bounds(record: Record, name: str) -> str:
    """The interval of a rate in a line of results, as `bounds` writes it."""
    few = bool(record[f"{name}_few"])
    return bounds(record[f"{name}_low"], record[f"{name}_high"], few=few)


def task_cell(record: Record) -> Cell:
    """Task success of a line with its counts; empty where groups do not hold whole tasks."""
    total, value = record["tasks_total"], record["task_success"]
    if total is None:
        return Cell("")
    if value is None:
        return Cell(f"{ABSENT} ({int(record['tasks_complete'])} of {int(total)})")
    cell = _cell(record, "task_success")
    return Cell(f"{cell.text} ({int(record['tasks_succeeded'])}/{int(total)})", cell.interval)


def result_row(record: Record, group: str, average: Average) -> Row:
    """A line for readers: its group (or how it treats invalid rows), counts and rates."""
    headline = bool(record["headline"])
    return Row(
        (
            group if headline else invalid_label(record["line"]),
            f"{int(record['tasks']):,}",
            f"{int(record['steps']):,}",
            *rate_cells(record, average),
            task_cell(record),
        ),
        parent="" if headline else group,
    )


def result_columns(key: str) -> tuple[Column, ...]:
    """The columns of `result_row`s by group."""
    return (Column(key, "left"), *(Column(head) for head in ("tasks", "steps", *HEADS)))


def invalid_label(line: Literal["valid", "strict"]) -> str:
    """The label of a line that treats invalid rows differently from the headline."""
    return "invalid rows as 0" if line == "strict" else "valid rows only"


def rates_note(average: Average, variants: Sequence[str], cluster: Cluster = "task") -> str:
    """The footnote on the rates of a table of results."""
    return (
        f"Per cent; {MEANS[average]}. {CLUSTER_NOTES[cluster]} "
        f"Op. F1 variant: {', '.join(variants)}."
    )
