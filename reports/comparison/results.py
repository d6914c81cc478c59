"""The results of a comparison, and its verdict in plain words.

Differences are the run's rate minus the baseline's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parsers import FEW, Declaration
from reports.comparison.arms import Facts
from reports.comparison.pairing import Left
from reports.comparison.replies import Replies
from reports.comparison.spent import Takes
from reports.names import name_of
from reports.settings import SettingsOfRuns
from reports.statistics.paired import Difference, Effect
from reports.statistics.significance import Permutation

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Contrast:
    """One measure of two runs under one average.

    metric: the name of the measure in results (`reports.names`).
    average: one of the measure's; for measures of parents, the word for these (`tasks`).
    difference: both rates and their difference with its interval.
    effect: units (micro, cells) or parents won, lost and tied.
    permutation: sign-flip permutation test over clusters.
    mcnemar: p of McNemar's test; None unless all scores are 0 or 1.
    p_permutation, p_mcnemar: p values corrected for the number of runs compared.
    needed: clusters for 80 % power at the planned difference; None without one.
    visible: difference that this number of clusters detects with 80 % power.
    """

    metric: str
    average: str
    difference: Difference
    effect: Effect
    permutation: Permutation
    mcnemar: float | None
    p_permutation: float
    p_mcnemar: float | None
    needed: int | None
    visible: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run compared with the baseline.

    subject: what the two differ in, in words.
    declared: what is declared by the benchmarks of both.
    graded: whether the main measure has values other than 0 and 1.
    units, parents: how many they share, parents at the innermost level.
    splits: shared units by split.
    left: units left out.
    incomplete: shared parents left out, by measure of parents.
    single: heads of the measures that only one of the runs has.
    contrasts: the measures under each average.
    cluster: the level that intervals and tests take as independent.
    verdict: the conclusion in words.
    replies: how many dialogues a reply decided, and in how many it is the same one.
    takes: tokens, seconds and dollars per answered unit and per success; none for policies.
    arms: facts about a model that is asked through tools in one run and not in the other.
    """

    baseline: str
    run: str
    subject: str
    declared: Declaration
    graded: bool
    units: int
    parents: int
    splits: dict[str, int]
    left: Left
    incomplete: dict[str, int]
    single: tuple[str, ...]
    contrasts: tuple[Contrast, ...]
    cluster: str
    verdict: str
    replies: Replies
    takes: tuple[Takes, ...] = ()
    arms: Facts | None = None


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a run.

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
    settings: settings that the runs share, and those that differ.
    given: scoring rules and splits that replace those of the runs.
    variant: of the measure that has several, "" if none has.
    changed: lines about runs that more than one model answered, as servers say, and about two
        deployments of one model.
    corrupt: lines of runs that could not be read and are left out.
    planned: difference (a share) to plan tasks for; None plans nothing.
    cluster: the level that intervals and tests take as independent.
    declared: what the benchmark of the baseline declares.
    """

    baseline: str
    others: tuple[Comparison, ...]
    progress: tuple[RunProgress, ...]
    settings: SettingsOfRuns
    given: dict[str, Any]
    variant: str
    cluster: str
    declared: Declaration
    changed: tuple[str, ...] = ()
    corrupt: tuple[str, ...] = ()
    planned: float | None = None

    @property
    def correction(self) -> str:
        """Correction of the p values; `none` for a single comparison."""
        return "holm" if len(self.others) > 1 else "none"


def primary(declared: Declaration) -> tuple[str, str]:
    """Return the contrast whose permutation test and interval decide the verdict: measure and
    average."""
    main = declared.main
    return name_of(main, declared), declared.level(
        main.over
    ).many if main.all_of else main.averages[0]


def verdict(comparison: Comparison, planned: float | None = None) -> str:
    """Say in words whether the main measure differs.

    A difference is claimed only if the permutation test (corrected for several runs) and the
    interval agree, and so do both ends of a bracket. The number of clusters is for the `planned`
    difference if there is one. Runs that rest on the same replies get no verdict: they are one
    measurement.
    """
    declared, replies = comparison.declared, comparison.replies
    if replies.all_same:
        return (
            f"{comparison.run} and {comparison.baseline} have the same replies: what decided each "
            f"of these {declared.units} was asked for once, by one of them or by a third run. They "
            "are one measurement, so there is no verdict."
        )
    found = {(c.metric, c.average): c for c in comparison.contrasts}
    main = found[primary(declared)]
    bracket = comparison.arms.bracket if comparison.arms else None
    if bracket is not None and bracket.called is None:
        return (
            f"Undecided between {comparison.run} and {comparison.baseline}: the difference lies "
            f"between {bracket}, which do not both show a gain or a loss."
        )
    won = found.get((name_of(declared.main, declared), "micro"), main).effect
    if not won.better and not won.worse:
        same = "succeed on exactly the same" if not comparison.graded else "score the same on all"
        units = declared.level(declared.main.over).many if declared.main.all_of else declared.units
        return (
            f"{comparison.run} and {comparison.baseline} {same} {units}: "
            f"their {declared.main.meaning or declared.main.head} does not differ."
        )
    sentence = _claim(comparison, main, planned)
    if main.difference.few:
        rough = (
            f" and the number of {declared.innermost.many} is rough" if planned is not None else ""
        )
        sentence += (
            f" They differ on fewer than {FEW} {_clusters(comparison)}, so coverage can be below "
            f"95 %{rough}."
        )
    return sentence


def _clusters(comparison: Comparison) -> str:
    return comparison.declared.level(comparison.cluster).many


def _rates_of(comparison: Comparison, average: str) -> str:
    """Name the unit of the main measure's rates."""
    declared, main = comparison.declared, comparison.declared.main
    level = declared.level(main.over)
    if main.all_of:
        within = f", mean over {declared.level(main.within).many}" if main.within else ""
        return f"% of {level.many}{within}"
    of = f"% of {declared.units}" if not comparison.graded else f"% {main.meaning or main.head}"
    means = {"macro": f", mean over {level.many}", "cells": f", mean over {' x '.join(main.cells)}"}
    return of + means.get(average, "")


def _claim(comparison: Comparison, main: Contrast, planned: float | None) -> str:
    difference = main.difference
    first, second = 100 * difference.first, 100 * difference.second
    rates = f"{second:.1f} against {first:.1f} {_rates_of(comparison, main.average)}"
    size = f"{100 * difference.difference:+.1f} points"
    bounds = ""
    if difference.low is not None and difference.high is not None:
        bounds = f", 95 % interval {100 * difference.low:+.1f} to {100 * difference.high:+.1f}"
    by_test = main.p_permutation <= LEVEL
    by_interval = (
        difference.low is not None
        and difference.high is not None
        and not difference.low <= 0 <= difference.high
    )
    summary = f"{rates} ({size}{bounds}; permutation p {p_text(main.p_permutation)})"
    if by_test and by_interval:
        better = "better" if difference.difference > 0 else "worse"
        return f"{comparison.run} is {better} than {comparison.baseline}: {summary}."
    if by_test or by_interval:
        pair = f"{comparison.run} and {comparison.baseline}"
        return f"Undecided between {pair}, as test and interval disagree: {summary}."
    return (
        f"No difference found between {comparison.run} and {comparison.baseline}: {summary}. "
        f"{_needs(main, planned, _clusters(comparison))}This does not show that they are equal."
    )


def _needs(main: Contrast, planned: float | None, clusters: str) -> str:
    sentence = ""
    if main.visible is not None:
        sentence = (
            f"With {main.difference.clusters:,} {clusters}, a true difference below "
            f"{100 * main.visible:.1f} points would be missed more than one time in five"
        )
        if main.needed is not None and planned is not None:
            size = f"of {100 * planned:.10g} points"
            sentence += f"; for one {size}, {main.needed:,} {clusters} would be needed"
        sentence += ". "
    return sentence


def p_text(p: float | None) -> str:
    """Return a p value for readers.

    >>> p_text(0.00004), p_text(0.0312), p_text(None)
    ('< 0.001', '0.031', 'n/a')
    """
    if p is None:
        return "n/a"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
