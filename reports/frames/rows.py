"""The frame of a run as input of `parsers.aggregate`: every metric of a report passes here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast, get_args

import pandas as pd

from harness.runs import Manifest, Run, RunError
from parsers import (
    F1_VARIANTS,
    AggregationRules,
    F1Variant,
    Operation,
    ScoredStep,
    Scores,
    Status,
    TaskMetrics,
    TaskSuccess,
)
from parsers.metrics import Cluster
from parsers.records import StepInfo
from parsers.repeats import Repeated, Trial, aggregate_repeats
from parsers.scoring import step_success
from reports.frames.steps import steps_frame
from reports.load import RunLike, open_runs

InvalidRule = Literal["exclude", "fail"]
INVALID_RULES: tuple[InvalidRule, ...] = get_args(InvalidRule)


@dataclass(frozen=True, slots=True)
class RunRows:
    """A run's rows, ready to be aggregated in any grouping.

    label: the run's label in the report.
    run: the run.
    frame: its frame of steps.
    trials: the same rows for `parsers.aggregate`, in the same order.
    rules: how rows are aggregated.
    lengths: number of rows of tasks that the data or the selection cut short, by task.
    unreached: selected rows not on record yet; while there are any, task success is withheld.
    """

    label: str
    run: Run
    frame: pd.DataFrame
    trials: tuple[Trial, ...]
    rules: AggregationRules
    lengths: dict[str, int]
    unreached: int

    def metrics(self, places: Iterable[int] | None = None, *, whole_tasks: bool = True) -> Repeated:
        """Aggregate the rows at these positions of the frame, or all rows."""
        chosen = self.trials if places is None else [self.trials[place] for place in places]
        evaluated = aggregate_repeats(
            chosen, self.rules, task_lengths=self.lengths, whole_tasks=whole_tasks
        )
        tasks = evaluated.metrics.tasks
        if tasks is None or not self.unreached:
            return evaluated
        return replace(evaluated, metrics=replace(evaluated.metrics, tasks=_withheld(tasks)))


def run_rows(
    runs: RunLike | Iterable[RunLike],
    *,
    f1: F1Variant | None = None,
    invalid: InvalidRule | None = None,
    cluster: Cluster = "task",
) -> list[RunRows]:
    """Return the rows of every run under its own scoring rules, or under `f1` and `invalid`.

    `cluster` is what intervals take as independent. Raises `RunError` for runs that cannot be read
    or cannot be scored under these rules.
    """
    opened = open_runs(runs).items()
    return [_rows(label, run, f1, invalid, cluster) for label, run in opened]


def common_rows(runs: Sequence[RunRows]) -> list[RunRows]:
    """Return the runs with only the rows for which all of them have an outcome in every repeat.

    A task of which a row is missing counts as incomplete. Raises `RunError` if no row is shared.
    """
    shared = set.intersection(*(_done(rows) for rows in runs))
    if not shared:
        raise RunError(
            "no step has an outcome in all of these runs, so that --common shows nothing"
        )
    lengths: dict[str, int] = {}
    for rows in runs:
        known = rows.frame.groupby("task_id", observed=True)["step_id"].nunique()
        for task, number in (*rows.lengths.items(), *known.items()):
            lengths[str(task)] = max(lengths.get(str(task), 0), int(number))
    return [_only(rows, shared, lengths) for rows in runs]


def _done(rows: RunRows) -> set[tuple[str, str]]:
    """The split and id of the rows that are invalid or settled in every repeat."""
    of_step: dict[tuple[str, str], bool] = {}
    for _, step in rows.trials:
        key = step.info.split, step.step_id
        done = step.invalid is not None or step.scores is not None
        of_step[key] = of_step.get(key, True) and done
    return {key for key, done in of_step.items() if done}


def _only(rows: RunRows, kept: set[tuple[str, str]], lengths: dict[str, int]) -> RunRows:
    places = [
        place
        for place, (_, step) in enumerate(rows.trials)
        if (step.info.split, step.step_id) in kept
    ]
    return replace(
        rows,
        frame=rows.frame.iloc[places].reset_index(drop=True),
        trials=tuple(rows.trials[place] for place in places),
        lengths=lengths,
        unreached=0,
    )


def _rows(
    label: str, run: Run, f1: F1Variant | None, invalid: InvalidRule | None, cluster: Cluster
) -> RunRows:
    rules = replace(_rules(label, run.manifest, f1, invalid), cluster=cluster)
    frame = steps_frame(run)
    frame["run"] = pd.Series([label] * len(frame), dtype="str").astype("category")
    recorded_variant = run.manifest.config.get("f1", rules.variant)
    exact = run.manifest.config.get("step_rule") == "exact"
    if recorded_variant != rules.variant and exact:
        raise RunError(
            f"{label} was scored by exact match, which depends on the F1 variant: "
            f"score it again with vlm-eval score {run.path} --f1 {rules.variant}"
        )
    known = frame["success"].notna()
    if frame.loc[known, f"operation_f1.{rules.variant}"].isna().any():
        raise RunError(f"{label} holds steps without operation F1 in the variant {rules.variant}")
    try:
        trials = _trials(frame, rules.variant if recorded_variant != rules.variant else None)
    except ValueError as error:
        raise RunError(f"{run.path} holds a step that cannot be read: {error}") from error
    unreached = 0 if run.complete else _unreached(run.manifest, len(frame))
    lengths = dict(run.manifest.dataset.get("partial_tasks") or {})
    if unreached:
        # The missing rows are unknown, but no task has more rows than its trajectory has steps.
        for task, total in zip(frame["task_id"], frame["total_steps"], strict=True):
            lengths[task] = max(lengths.get(task, 0), int(total))
    return RunRows(label, run, frame, trials, rules, lengths, unreached)


def _rules(
    label: str, manifest: Manifest, f1: F1Variant | None, invalid: InvalidRule | None
) -> AggregationRules:
    variant = f1 or manifest.config.get("f1") or "mind2web"
    rule = invalid or manifest.config.get("invalid") or "exclude"
    if variant not in F1_VARIANTS:
        raise RunError(f"{label} has an unknown F1 variant: {variant!r}")
    if rule not in INVALID_RULES:
        raise RunError(f"{label} has an unknown rule for invalid rows: {rule!r}")
    excluded = manifest.config.get("exclude_statuses", ())
    if not set(excluded) <= {status.value for status in Status}:
        raise RunError(f"{label} leaves out an unknown status: {', '.join(map(str, excluded))}")
    return AggregationRules(
        variant=cast(F1Variant, variant),
        invalid="fail" if rule == "fail" else "valid",
        unattempted="fail" if manifest.config.get("unattempted") == "fail" else "exclude",
        exclude=frozenset(Status(status) for status in excluded),
    )


def _unreached(manifest: Manifest, recorded: int) -> int:
    rows, config = manifest.dataset.get("rows"), manifest.config
    repeats, shuffles = config.get("repeats", 1), config.get("shuffles", 1)
    if not isinstance(rows, int) or not isinstance(repeats, int) or not isinstance(shuffles, int):
        return 0
    return max(0, rows * max(repeats, shuffles) - recorded)


_INFO = [field.name for field in fields(StepInfo) if field.name != "task"]


def _trials(frame: pd.DataFrame, variant: F1Variant | None) -> tuple[Trial, ...]:
    """The rows as scored; with a `variant`, step success is decided again by that variant."""
    f1 = [f"operation_f1.{name}" for name in F1_VARIANTS]
    names = ["repeat", "step_id", *_INFO]
    names += ["gold_operation", "invalid", "status", "flags", "element_correct"]
    names += ["operation_exact", "success", *f1]
    columns = [_objects(frame[name]) for name in names]
    return tuple(_trial(row, variant) for row in zip(*columns, strict=True))


def _objects(column: pd.Series[Any]) -> list[Any]:
    plain = column.astype("object")
    return plain.where(column.notna(), None).tolist()


def _trial(row: Sequence[Any], variant: F1Variant | None) -> Trial:
    repeat, step_id, *info = row[: len(_INFO) + 2]
    operation, invalid, status, flags, element, exact, success, *variants = row[len(_INFO) + 2 :]
    scores = None
    if success is not None:
        f1: dict[str, float] = {
            name: math.nan if value is None else float(value)
            for name, value in zip(F1_VARIANTS, variants, strict=True)
        }
        if variant is not None:
            success = step_success(bool(element), f1[variant], bool(exact))
        scores = Scores(bool(element), f1, bool(exact), bool(success))
    step = ScoredStep(
        step_id=step_id,
        info=StepInfo(*info),
        operation=cast(Operation, operation),
        invalid=invalid,
        scores=scores,
        status=None if status is None else Status(status),
        flags=tuple(flags.split()) if flags else (),
    )
    return int(repeat), step


def _withheld(tasks: TaskMetrics) -> TaskMetrics:
    def without(success: TaskSuccess) -> TaskSuccess:
        return replace(success, value=None, interval=None)

    return TaskMetrics(without(tasks.default), without(tasks.strict), without(tasks.clean))
