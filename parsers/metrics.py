"""The aggregates of a run as records: means with intervals, task success, and counts.

Nothing here is ever NaN: what is undefined (no step, no complete task) is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from parsers.intervals import Interval
from parsers.records import F1Variant, Status

InvalidPolicy = Literal["valid", "fail"]
Unattempted = Literal["exclude", "fail"]


@dataclass(frozen=True, slots=True)
class AggregationRules:
    """Where published evaluations differ; the defaults are ours.

    `variant`: the operation F1 in the headline. `invalid`: rows without a positive or a screenshot
    are left out of the headline (`valid`) or count zero (`fail`, as MindAct and SeeAct do); both
    lines are computed. `unattempted`: valid rows not settled yet are left out, or count as failed.
    `exclude`: statuses whose rows are treated as invalid, with the reason `excluded_<status>`, for
    a line without refusals, say. `level`: of the confidence intervals.
    """

    variant: F1Variant = "mind2web"
    invalid: InvalidPolicy = "valid"
    unattempted: Unattempted = "exclude"
    exclude: frozenset[Status] = frozenset()
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean between 0 and 1 over `n` units (tasks for macro, steps for micro)."""

    value: float | None
    interval: Interval | None
    n: int


@dataclass(frozen=True, slots=True)
class Rate:
    """One metric averaged in both ways.

    `macro` is the mean over tasks of the mean over the task's steps, the headline of Mind2Web;
    `micro` the mean over steps.
    """

    macro: Estimate
    micro: Estimate


@dataclass(frozen=True, slots=True)
class StepMetrics:
    """The step metrics of one set of rows. `variants` holds operation F1 in every variant."""

    n_tasks: int
    n_steps: int
    element: Rate
    operation_f1: Rate
    operation_exact: Rate
    success: Rate
    variants: Mapping[str, Rate]


@dataclass(frozen=True, slots=True)
class TaskSuccess:
    """The share of tasks all of whose steps succeed.

    `complete` of `total` tasks have every row settled; `successes` counts among the complete ones.
    `value` and `interval` are None as long as a task is incomplete (or there is none): the finished
    tasks are no fair sample, since short ones finish first.
    """

    value: float | None
    interval: Interval | None
    successes: int
    complete: int
    total: int

    @property
    def partial(self) -> bool:
        """Whether some task is not complete."""
        return self.complete < self.total

    def __str__(self) -> str:
        if self.value is None:
            return f"n/a ({self.complete} of {self.total})"
        return f"{self.value:.3f} ({self.successes}/{self.total})"


@dataclass(frozen=True, slots=True)
class TaskMetrics:
    """Task success under the three ways of treating invalid rows.

    `default`: the valid steps of a task must succeed, tasks without any are left out. `strict`: an
    invalid row fails its task. `clean`: only tasks without invalid rows.
    """

    default: TaskSuccess
    strict: TaskSuccess
    clean: TaskSuccess


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows of what kind stand behind the metrics.

    `invalid` counts invalid rows by reason. `statuses` counts the settled valid rows by status
    name, `flags` by what the parser had to repair or overlook; `parse_failures` are those whose
    element could not be read from a reply (`parse_error`, `no_element`, `ambiguous`), and the rate
    is their share of the settled valid rows. Above two per cent a comparison is about formatting.
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


@dataclass(frozen=True, slots=True)
class Metrics:
    """Everything about one group of rows.

    `valid` leaves invalid rows out, `strict` counts them as zero. `tasks` is None where a group
    does not hold whole tasks (groups by operation).
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
