"""Records of the aggregated metrics of a run: means with intervals, task success, and counts.

Undefined values (no step, no complete task) are None, never NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from parsers.intervals import DRAWS, SEED, Interval
from parsers.records import F1Variant, Status

InvalidPolicy = Literal["valid", "fail"]
Unattempted = Literal["exclude", "fail"]
Cluster = Literal["task", "website"]
EXCLUDED = "excluded_"
"""Begins the reason why a row of an excluded status does not count."""


@dataclass(frozen=True, slots=True)
class AggregationRules:
    """Choices on which published evaluations differ, with our defaults.

    variant: the headline variant of operation F1.
    invalid: rows without a positive or a screenshot are left out of the headline (`valid`) or score
        zero (`fail`, as in MindAct and SeeAct); both are always computed.
    unattempted: valid rows without a result are left out (`exclude`) or count as failed (`fail`).
    exclude: statuses whose rows are treated as invalid, with the reason `excluded_<status>`; for
        example, to see the metrics without refusals.
    level: confidence level of the intervals.
    cluster: what counts as independent in the intervals. Tasks generalise to new tasks on these
        websites; websites, which group the tasks, to new websites.
    draws, seed: resamples of bootstrap-t intervals, and the seed of the resampling.
    """

    variant: F1Variant = "mind2web"
    invalid: InvalidPolicy = "valid"
    unattempted: Unattempted = "exclude"
    exclude: frozenset[Status] = frozenset()
    level: float = 0.95
    cluster: Cluster = "task"
    draws: int = DRAWS
    seed: int = SEED


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean between 0 and 1 over `n` units (tasks for macro, steps for micro)."""

    value: float | None
    interval: Interval | None
    n: int


@dataclass(frozen=True, slots=True)
class Rate:
    """One metric, averaged in two ways.

    macro: mean over tasks of the mean over the task's steps, the headline number of Mind2Web.
    micro: mean over steps.
    """

    macro: Estimate
    micro: Estimate


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """The step metrics of a set of rows. `variants` has operation F1 in every variant."""

    n_tasks: int
    n_steps: int
    element: Rate
    operation_f1: Rate
    operation_exact: Rate
    success: Rate
    variants: Mapping[str, Rate]


@dataclass(frozen=True, slots=True)
class TaskSuccess:
    """The share of tasks in which every step succeeds.

    A task is complete if all its rows have a result.

    value, interval: None while a task is incomplete (or if there is none): the complete tasks are a
        biased sample, because short tasks finish first. Over repeats the mean, with an interval
        over tasks of each task's share of repeats; none if the repeats hold different tasks.
    successes: number of complete tasks that succeed.
    complete, total: number of complete tasks, and of all tasks.
    """

    value: float | None
    interval: Interval | None
    successes: int
    complete: int
    total: int

    @property
    def partial(self) -> bool:
        """Whether any task is incomplete."""
        return self.complete < self.total

    def __str__(self) -> str:
        if self.value is None:
            return f"n/a ({self.complete} of {self.total})"
        return f"{self.value:.3f} ({self.successes}/{self.total})"


@dataclass(frozen=True, slots=True)
class TaskMetrics:
    """Task success under three ways of treating invalid rows.

    default: all valid steps of a task must succeed; tasks without valid steps are left out.
    strict: an invalid row fails its task.
    clean: only tasks without invalid rows.
    """

    default: TaskSuccess
    strict: TaskSuccess
    clean: TaskSuccess


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of rows that the metrics are based on. A settled row is one with a result.

    invalid: invalid rows by reason.
    statuses: settled valid rows by status.
    flags: settled valid rows by what the parser had to repair or ignore.
    parse_failures: settled valid rows whose element could not be read from the reply
        (`parse_error`, `no_element`, `ambiguous`).
    parse_failure_rate: their share of the settled valid rows; above 2 %, a comparison of models is
        largely one of formatting.
    """

    n_tasks: int
    n_rows: int
    n_valid: int
    n_settled: int
    n_unsettled: int
    n_invalid: int
    invalid: Mapping[str, int] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    flags: Mapping[str, int] = field(default_factory=dict)
    parse_failures: int = 0
    parse_failure_rate: float | None = None

    @property
    def excluded(self) -> dict[str, int]:
        """Rows left out because of how they ended, by status; they are among the invalid ones."""
        return {
            reason.removeprefix(EXCLUDED): n
            for reason, n in self.invalid.items()
            if reason.startswith(EXCLUDED)
        }


@dataclass(frozen=True, slots=True)
class Metrics:
    """All metrics of one group of rows.

    valid: step metrics without invalid rows.
    strict: step metrics in which invalid rows score zero.
    tasks: None if the group does not hold whole tasks (groups by operation).
    """

    counts: Counts
    valid: StepMetrics
    strict: StepMetrics
    tasks: TaskMetrics | None
    rules: AggregationRules

    @property
    def steps(self) -> StepMetrics:
        """The headline step metrics: `valid` or `strict`, as the rules say."""
        return self.strict if self.rules.invalid == "fail" else self.valid

    @property
    def task_success(self) -> TaskSuccess | None:
        """The headline task success, under the same policy as `steps`."""
        if self.tasks is None:
            return None
        return self.tasks.strict if self.rules.invalid == "fail" else self.tasks.default
