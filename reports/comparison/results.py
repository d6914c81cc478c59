"""A comparison as records, and its verdict in words for a reader who wants no statistics.

Differences are the other run's rate less the baseline's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from parsers import FEW
from reports.comparison.pairing import Left
from reports.settings import Settings
from reports.statistics import Correction, Difference, Effect, McNemar, Permutation

Metric = Literal["element", "operation_f1", "step_success", "task_success"]
Average = Literal["macro", "micro", "tasks"]

LEVEL = 0.05


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


def verdict(found: Comparison, planned: float | None = None) -> str:
    """The verdict on step success, averaged over tasks.

    A difference is claimed when the permutation test (corrected for several runs) and the interval
    agree on it. The tasks needed are for the `planned` difference, where one is given.
    """
    steps = _contrast(found, "macro")
    won = _contrast(found, "micro").effect
    if not won.better and not won.worse:
        return (
            f"{found.run} and {found.baseline} succeed on exactly the same steps: "
            "their step success does not differ."
        )
    said = _claim(found, steps, planned)
    if steps.difference.few:
        said += (
            f" With fewer than {FEW} tasks ({steps.difference.tasks}) coverage is below 95 % and "
            "the numbers of tasks are rough."
        )
    return said


def _contrast(found: Comparison, average: Average) -> Contrast:
    return next(c for c in found.contrasts if (c.metric, c.average) == ("step_success", average))


def _claim(found: Comparison, steps: Contrast, planned: float | None) -> str:
    own = steps.difference
    rates = f"{100 * own.second:.1f} against {100 * own.first:.1f} % of steps, mean over tasks"
    size = f"{100 * own.difference:+.1f} points"
    bounds = ""
    if own.low is not None and own.high is not None:
        bounds = f", 95 % interval {100 * own.low:+.1f} to {100 * own.high:+.1f}"
    by_test = steps.p_permutation <= LEVEL
    by_interval = own.low is not None and own.high is not None and not own.low <= 0 <= own.high
    told = f"{rates} ({size}{bounds}; permutation p {p_text(steps.p_permutation)})"
    if by_test and by_interval:
        better = "better" if own.difference > 0 else "worse"
        return f"{found.run} is {better} than {found.baseline}: {told}."
    if by_test or by_interval:
        pair = f"{found.run} and {found.baseline}"
        return f"Undecided between {pair}, as test and interval disagree: {told}."
    return (
        f"No difference found between {found.run} and {found.baseline}: {told}. "
        f"{_needs(steps, planned)}This does not show that they are equal."
    )


def _needs(steps: Contrast, planned: float | None) -> str:
    said = ""
    if steps.visible is not None:
        said = (
            f"With {steps.difference.tasks:,} tasks, a true difference below "
            f"{100 * steps.visible:.1f} points would be missed more than one time in five"
        )
        if steps.needed is not None:
            size = "as small as this" if planned is None else f"of {100 * planned:.10g} points"
            said += f"; for one {size}, {steps.needed:,} tasks would be needed"
        said += ". "
    return said


def p_text(p: float | None) -> str:
    """A p value for readers.

    >>> p_text(0.00004), p_text(0.0312), p_text(None)
    ('< 0.001', '0.031', 'n/a')
    """
    if p is None:
        return "n/a"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
