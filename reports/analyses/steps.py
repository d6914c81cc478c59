"""Shared by the analyses: scored steps, their tasks, and rates and differences over them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from harness.runs import Run, RunError, StepRecord
from harness.tables import interval_record
from parsers import (
    F1_VARIANTS,
    Average,
    F1Variant,
    Interval,
    cluster_t,
    mean_interval,
    t_interval,
)
from reports.grid import Field, interval
from reports.settings import compare

Key = tuple[str, int]
Task = tuple[str, str]
Rate = dict[str, Any]
AVERAGES: tuple[Average, ...] = ("macro", "micro")
METRICS = ("element", "operation_f1", "step_success")
HEADS = {"element": "Ele. Acc", "operation_f1": "Op. F1", "step_success": "Step SR"}


def scored(run: Run) -> dict[Key, StepRecord]:
    """The valid steps that have scores, by step and repeat, in the order of the run."""
    return {
        (record.unit_id, record.repeat): record
        for record in run.records()
        if record.invalid is None and record.settled and record.scores is not None
    }


def task_of(record: StepRecord) -> Task:
    return record.split, record.parents["task"]


def variant_of(run: Run) -> F1Variant:
    """The F1 variant of the run. Raises `RunError` for an unknown one."""
    named = run.manifest.config.get("f1", "mind2web")
    for variant in F1_VARIANTS:
        if variant == named:
            return variant
    raise RunError(f"{run.path} has an unknown F1 variant: {named!r}")


def measured(record: StepRecord, metric: str, variant: F1Variant) -> float:
    """A metric of a step that has scores."""
    assert record.scores is not None
    names = {"operation_f1": f"operation_f1.{variant}", "step_success": "success"}
    return record.scores[names.get(metric, metric)] or 0.0


def only_differ(runs: dict[str, Run], allowed: Collection[str], what: str) -> None:
    """Raise `RunError` if runs differ in a setting other than the allowed ones and their parts."""
    differences = compare(runs).differences
    unexpected = [name for name in differences if name.partition(".")[0] not in allowed]
    if unexpected:
        listed = "; ".join(
            f"{name}: {', '.join(f'{value} ({run})' for run, value in differences[name].items())}"
            for name in unexpected
        )
        raise RunError(f"the runs differ in more than {what}: {listed}")


def means(values: Sequence[float], tasks: Sequence[Task]) -> list[float]:
    """The mean of each task."""
    by_task: dict[Task, list[float]] = {}
    for value, task in zip(values, tasks, strict=True):
        by_task.setdefault(task, []).append(value)
    return [math.fsum(task_values) / len(task_values) for task_values in by_task.values()]


def rate(name: str, values: Sequence[float], tasks: Sequence[Task]) -> Rate:
    """Macro mean and interval as `name`, micro ones as `name_micro`; empty without values."""
    macro, micro = (mean_interval(values, tasks, average) for average in AVERAGES)
    return _means(name, values, tasks, macro, micro)


def difference(name: str, values: Sequence[float], tasks: Sequence[Task]) -> Rate:
    """The same for values between -1 and 1, with t intervals throughout."""
    macro = t_interval(means(values, tasks), kind="difference")
    micro = cluster_t(values, tasks, kind="difference")
    return _means(name, values, tasks, macro, micro)


def _means(
    name: str,
    values: Sequence[float],
    tasks: Sequence[Task],
    macro: Interval | None,
    micro: Interval | None,
) -> Rate:
    if not values:
        return {}
    task_means = means(values, tasks)
    return {
        name: math.fsum(task_means) / len(task_means),
        **interval_record(name, macro),
        f"{name}_micro": math.fsum(values) / len(values),
        **interval_record(f"{name}_micro", micro),
    }


def rate_fields(name: str, head: str, meaning: str, points: bool = False) -> Iterable[Field]:
    """The columns that `rate` fills; only the macro ones are printed."""
    return (
        Field(name, "float64", "points" if points else "percent", head, f"{meaning}, macro"),
        *interval(name, head),
        Field(f"{name}_micro", "float64", "hidden", head, f"{meaning}, micro"),
        *interval(f"{name}_micro", head),
    )


def chi_square_p(statistic: float, freedom: int) -> float:
    """Upper tail probability of a chi-square statistic."""
    from scipy.special import chdtrc

    return float(chdtrc(freedom, statistic))


def model_of(run: Run) -> str:
    return str(run.manifest.model.get("name") or run.manifest.config.get("model"))
