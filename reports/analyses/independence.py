"""Task success compared with what independent steps would give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pandas as pd

from harness.runs import Run, RunError, StepRecord
from harness.tables import interval_record
from parsers import ELEMENT_ONLY, clopper_pearson, mean_interval
from reports.about import about_runs
from reports.analyses.steps import Task, task_of
from reports.grid import Field, described, interval
from reports.keys import band
from reports.load import RunLike, open_runs

LENGTHS = (1, 3, 5, 7, 10, 15)
ALL = "all tasks"
FIELDS = (
    Field("run", "str", "text", "run", "the run"),
    Field("group", "str", "text", "valid steps", "tasks with so many valid steps"),
    Field("tasks", "Int64", "count", "tasks", "complete tasks with a valid step"),
    Field("steps", "Int64", "hidden", "steps", "their valid steps"),
    Field("step_success", "float64", "percent", "Step SR", "step success, micro"),
    Field("succeeded", "Int64", "count", "succeeded", "tasks all of whose valid steps succeed"),
    Field("observed", "float64", "percent", "Task SR", "their share"),
    *interval("observed", "Task SR"),
    Field("one_rate", "float64", "percent", "one rate", "expected with the run's step success"),
    Field("by_operation", "float64", "percent", "by operation", "with that of the operation"),
    Field("by_website", "float64", "percent", "by website", "with that of the website"),
    Field("correlated", "float64", "percent", "correlated", "with the correlation within tasks"),
    Field("p", "float64", "p", "p", "two-sided, of the successes if one rate held for every step"),
)


class Trial(NamedTuple):
    """A task in one repeat.

    task: split and id.
    steps: its valid steps, all with a final outcome.
    """

    task: Task
    steps: tuple[StepRecord, ...]

    @property
    def wins(self) -> int:
        return sum(_succeeds(record) for record in self.steps)


def task_independence(run: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return task success by number of steps, with the rates expected of independent steps.

    one_rate: mean over tasks of p^n, for n steps and the run's step success p.
    by_operation, by_website: product over steps of the success rate of their operation or website.
    correlated: p varies between tasks as a beta distribution with the intra-task correlation of
        steps (`attrs["correlation"]`, estimated by analysis of variance).

    Only tasks whose rows are all on record and settled count. Repeats of a task count as tasks but
    are not independent: their interval is over tasks, and they get no p value. Raises `RunError`
    for runs that cannot be read, or that did not ask for operations.
    """
    opened = open_runs(run)
    records: list[dict[str, Any]] = []
    notes: list[str] = []
    correlations: dict[str, float | None] = {}
    for label, one in opened.items():
        trials, left_out = complete_trials(one)
        _check_operations(label, trials)
        records += _records(label, trials)
        correlations[label] = correlation([(trial.wins, len(trial.steps)) for trial in trials])
        if left_out:
            notes.append(f"{label}: {left_out} tasks are left out, as rows of them are missing.")
        if _repeated(trials):
            notes.append(
                f"{label}: repeats count as tasks; intervals have tasks as clusters, and there is "
                "no p value."
            )
        rho = correlations[label]
        if rho is not None:
            notes.append(f"{label}: correlation of steps within tasks {rho:.3f}.")
    return described(
        records,
        FIELDS,
        title="Task success against what independent steps would give",
        about=about_runs(opened),
        notes=(
            "Per cent; 95 % intervals (Clopper-Pearson, over tasks). Expected rates are products "
            "of step rates estimated on the same steps; the p value (exact, over tasks) takes them "
            "as known.",
            *notes,
        ),
        correlation=correlations,
    )


def complete_trials(run: Run) -> tuple[list[Trial], int]:
    """The tasks whose valid rows are all settled, and the number of other tasks."""
    by_task: dict[tuple[Any, int], list[StepRecord]] = {}
    for record in run.records():
        by_task.setdefault((task_of(record), record.repeat), []).append(record)
    lengths = run.manifest.dataset.get("partial_tasks") or {}
    trials = []
    left_out = 0
    for (task, _), records in by_task.items():
        length = lengths.get(task[1], 0) if run.complete else records[0].total
        valid = tuple(record for record in records if record.invalid is None)
        if not valid:
            continue
        if len(records) < length or any(not r.settled or r.scores is None for r in valid):
            left_out += 1
        else:
            trials.append(Trial(task, valid))
    return trials, left_out


def correlation(tasks: Sequence[tuple[int, int]]) -> float | None:
    """Intra-task correlation, estimated from (successes, steps) by one-way analysis of variance.

    Zero or less means that steps of a task agree no more than steps of different tasks. None if it
    cannot be estimated.

    >>> correlation([(2, 2), (0, 2)])
    1.0
    """
    groups, n = len(tasks), sum(size for _, size in tasks)
    wins = sum(won for won, _ in tasks)
    if groups < 2 or n <= groups or wins in (0, n):
        return None
    rate = wins / n
    between = math.fsum(size * (won / size - rate) ** 2 for won, size in tasks) / (groups - 1)
    within = math.fsum(won * (1 - won / size) for won, size in tasks) / (n - groups)
    typical = (n - math.fsum(size**2 for _, size in tasks) / n) / (groups - 1)
    return (between - within) / (between + (typical - 1) * within)


def all_succeed(rate: float, rho: float, steps: int) -> float:
    """Probability that all steps succeed, with beta-distributed success rates of tasks.

    >>> all_succeed(0.5, 0.0, 2), round(all_succeed(0.5, 1 / 3, 2), 6)
    (0.25, 0.333333)
    """
    if rho <= 0 or rate in (0.0, 1.0):
        return float(rate**steps)
    if rho >= 1:
        return rate
    total = 1 / rho - 1
    return math.prod((rate * total + j) / (total + j) for j in range(steps))


def two_sided(chances: Sequence[float], observed: int) -> float:
    """Two-sided p value of a sum of independent trials: twice the smaller tail, at most 1.

    >>> two_sided([0.5, 0.5], 2)
    0.5
    """
    weights = [1.0]
    for chance in chances:
        weights = [
            (weights[k] * (1 - chance) if k < len(weights) else 0.0)
            + (weights[k - 1] * chance if k else 0.0)
            for k in range(len(weights) + 1)
        ]
    below, above = math.fsum(weights[: observed + 1]), math.fsum(weights[observed:])
    return min(1.0, 2 * min(below, above))


def _repeated(trials: Sequence[Trial]) -> bool:
    return len({trial.task for trial in trials}) < len(trials)


def _succeeds(record: StepRecord) -> bool:
    return record.scores is not None and record.scores["success"] == 1


def _check_operations(label: str, trials: Sequence[Trial]) -> None:
    predictions = (step.prediction for trial in trials for step in trial.steps)
    if any(one is not None and ELEMENT_ONLY in one.flags for one in predictions):
        raise RunError(
            f"{label} was asked for elements and not for operations, so no step could succeed, "
            "nor any task; vlm-eval report shows what it scored"
        )


def _records(label: str, trials: Sequence[Trial]) -> Iterable[dict[str, Any]]:
    if not trials:
        return
    bands: dict[tuple[float, str], list[Trial]] = {}
    for trial in trials:
        bands.setdefault(band(len(trial.steps), LENGTHS), []).append(trial)
    steps = [record for trial in trials for record in trial.steps]
    overall = math.fsum(map(_succeeds, steps)) / len(steps)
    rho = correlation([(trial.wins, len(trial.steps)) for trial in trials]) or 0.0
    by_operation = _rates(steps, lambda record: record.detail.gold.operation)
    by_website = _rates(steps, lambda record: record.parents["website"])
    for name, in_band in ((ALL, list(trials)), *((key[1], bands[key]) for key in sorted(bands))):
        sizes = [len(trial.steps) for trial in in_band]
        wins = sum(trial.wins == len(trial.steps) for trial in in_band)
        repeated = _repeated(in_band)
        reach = clopper_pearson(wins, len(in_band))
        if repeated:
            won = [float(trial.wins == len(trial.steps)) for trial in in_band]
            reach = mean_interval(won, [trial.task for trial in in_band], "micro")
        chances = [overall**size for size in sizes]
        yield {
            "run": label,
            "group": name,
            "tasks": len(in_band),
            "steps": sum(sizes),
            "step_success": math.fsum(trial.wins for trial in in_band) / sum(sizes),
            "succeeded": wins,
            "observed": wins / len(in_band),
            **interval_record("observed", reach),
            "one_rate": math.fsum(chances) / len(in_band),
            "by_operation": _product(in_band, by_operation),
            "by_website": _product(in_band, by_website),
            "correlated": math.fsum(all_succeed(overall, rho, n) for n in sizes) / len(in_band),
            "p": None if repeated else two_sided(chances, wins),
        }


def _rates(
    steps: Iterable[StepRecord], group: Callable[[StepRecord], str]
) -> Callable[[StepRecord], float]:
    outcomes: dict[str, list[bool]] = {}
    for record in steps:
        outcomes.setdefault(group(record), []).append(_succeeds(record))
    rates = {name: sum(successes) / len(successes) for name, successes in outcomes.items()}
    return lambda record: rates[group(record)]


def _product(trials: Sequence[Trial], rate: Callable[[StepRecord], float]) -> float:
    return math.fsum(math.prod(map(rate, trial.steps)) for trial in trials) / len(trials)
