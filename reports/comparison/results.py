"""A comparison as records. Differences are the other run's rate less the baseline's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from reports.comparison.pairing import Left
from reports.settings import Settings
from reports.statistics import Correction, Difference, Effect, McNemar, Permutation

Metric = Literal["element", "operation_f1", "step_success", "task_success"]
Average = Literal["macro", "micro", "tasks"]


@dataclass(frozen=True, slots=True)
class Contrast:
    """One metric of two runs, averaged one way (`tasks` for task success).

    `effect` counts tasks for macro and tasks, steps for micro. `mcnemar` is None where scores are
    shares and not right or wrong. The adjusted p values take the other runs of the comparison into
    account. `needed` is how many tasks would show this difference, or the planned one, in four of
    five experiments, `visible` the difference that the tasks at hand would show.
    """

    metric: Metric
    average: Average
    difference: Difference
    effect: Effect
    permutation: Permutation
    mcnemar: McNemar | None
    p_permutation: float
    p_mcnemar: float | None
    needed: int | None
    visible: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs. `subject` says what they differ in, `verdict` what came out, in words."""

    baseline: str
    run: str
    subject: str
    steps: int
    tasks: int
    splits: dict[str, int]
    left: Left
    incomplete_tasks: int
    contrasts: tuple[Contrast, ...]
    verdict: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a run is there: settled valid rows of all valid rows, as far as known."""

    run: str
    complete: bool
    settled: int
    valid: int

    @property
    def share(self) -> float | None:
        return self.settled / self.valid if self.valid else None


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Every other run against the baseline. `given` are the rules that replace the runs' own.

    `corrupt` names the lines that could not be read and are left out; `planned` is the difference
    (a share) that the tasks needed are for, None for the observed ones.
    """

    baseline: str
    others: tuple[Comparison, ...]
    progress: tuple[Progress, ...]
    settings: Settings
    given: dict[str, Any]
    variant: str
    correction: Correction
    corrupt: tuple[str, ...] = ()
    planned: float | None = None
