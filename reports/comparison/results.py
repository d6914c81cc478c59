"""The results of a comparison, and its verdict in plain words.

Differences are the run's rate minus the baseline's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from parsers import FEW, Declaration, declaration_of
from reports.comparison.pairing import Left
from reports.settings import Settings
from reports.statistics import Correction, Difference, Effect, McNemar, Permutation

Metric = Literal["element", "operation_f1", "step_success", "task_success"]
Average = Literal["macro", "micro", "tasks"]

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Contrast:
    """One metric of two runs under one average.

    average: `macro`, `micro`, or `tasks` for task success.
    difference: both rates and their difference with its interval.
    effect: steps (micro) or tasks (macro, tasks) won, lost and tied.
    permutation: sign-flip permutation test over tasks.
    mcnemar: McNemar's test; None unless all scores are 0 or 1.
    p_permutation, p_mcnemar: p values corrected for the number of runs compared.
    needed: tasks (or other clusters) for 80 % power at the planned difference; None without one.
    visible: difference that this number of tasks detects with 80 % power.
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
    """A run compared with the baseline.

    subject: what the two differ in, in words.
    steps, tasks: how many they share.
    splits: shared steps by split.
    left: steps left out.
    incomplete_tasks: shared tasks left out of task success.
    contrasts: the metrics under each average.
    cluster: what intervals and tests take as independent.
    verdict: the conclusion in words.
    """

    baseline: str
    run: str
    subject: str
    steps: int
    tasks: int
    splits: dict[str, int]
    left: Left
    incomplete_tasks: int
    contrasts: tuple[Contrast, ...]
    cluster: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a run is done.

    settled: valid rows with a final outcome.
    valid: valid rows, including those still to come as far as their number is known.
    """

    run: str
    complete: bool
    settled: int
    valid: int

    @property
    def share(self) -> float | None:
        return self.settled / self.valid if self.valid else None


@dataclass(frozen=True, slots=True)
class Comparisons:
    """All runs compared with the baseline.

    baseline: its label.
    others: one comparison per run.
    progress: how much of each run is done.
    settings: settings that the runs share, and those in which they differ.
    given: scoring rules and splits that replace those of the runs.
    variant: operation F1 variant.
    correction: correction of the p values; `none` for a single comparison.
    corrupt: lines of runs that could not be read and are left out.
    planned: difference (a share) for which tasks are planned; None if none are.
    cluster: what intervals and tests take as independent.
    declared: what the benchmark of the runs declares.
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
    cluster: str = "task"
    declared: Declaration = field(default_factory=lambda: declaration_of(None))


PRIMARY: tuple[Metric, Average] = ("step_success", "macro")
"""The contrast whose permutation test and interval decide the verdict."""


def verdict(comparison: Comparison, planned: float | None = None) -> str:
    """Say in words whether macro step success differs.

    A difference is claimed only if the permutation test (corrected for several runs) and the
    interval agree. The number of tasks is for the `planned` difference if there is one.
    """
    steps = _contrast(comparison, "macro")
    won = _contrast(comparison, "micro").effect
    if not won.better and not won.worse:
        return (
            f"{comparison.run} and {comparison.baseline} succeed on exactly the same steps: "
            "their step success does not differ."
        )
    sentence = _claim(comparison, steps, planned)
    if steps.difference.few:
        rough = " and the number of tasks is rough" if planned is not None else ""
        sentence += (
            f" They differ on fewer than {FEW} {comparison.cluster}s, so coverage can be below "
            f"95 %{rough}."
        )
    return sentence


def _contrast(comparison: Comparison, average: Average) -> Contrast:
    metric, _ = PRIMARY
    return next(c for c in comparison.contrasts if (c.metric, c.average) == (metric, average))


def _claim(comparison: Comparison, steps: Contrast, planned: float | None) -> str:
    difference = steps.difference
    first, second = 100 * difference.first, 100 * difference.second
    rates = f"{second:.1f} against {first:.1f} % of steps, mean over tasks"
    size = f"{100 * difference.difference:+.1f} points"
    bounds = ""
    if difference.low is not None and difference.high is not None:
        bounds = f", 95 % interval {100 * difference.low:+.1f} to {100 * difference.high:+.1f}"
    by_test = steps.p_permutation <= LEVEL
    by_interval = (
        difference.low is not None
        and difference.high is not None
        and not difference.low <= 0 <= difference.high
    )
    summary = f"{rates} ({size}{bounds}; permutation p {p_text(steps.p_permutation)})"
    if by_test and by_interval:
        better = "better" if difference.difference > 0 else "worse"
        return f"{comparison.run} is {better} than {comparison.baseline}: {summary}."
    if by_test or by_interval:
        pair = f"{comparison.run} and {comparison.baseline}"
        return f"Undecided between {pair}, as test and interval disagree: {summary}."
    return (
        f"No difference found between {comparison.run} and {comparison.baseline}: {summary}. "
        f"{_needs(steps, planned, comparison.cluster)}This does not show that they are equal."
    )


def _needs(steps: Contrast, planned: float | None, cluster: str) -> str:
    sentence = ""
    if steps.visible is not None:
        sentence = (
            f"With {steps.difference.clusters:,} {cluster}s, a true difference below "
            f"{100 * steps.visible:.1f} points would be missed more than one time in five"
        )
        if steps.needed is not None and planned is not None:
            size = f"of {100 * planned:.10g} points"
            sentence += f"; for one {size}, {steps.needed:,} {cluster}s would be needed"
        sentence += ". "
    return sentence


def p_text(p: float | None) -> str:
    """A p value for readers.

    >>> p_text(0.00004), p_text(0.0312), p_text(None)
    ('< 0.001', '0.031', 'n/a')
    """
    if p is None:
        return "n/a"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
