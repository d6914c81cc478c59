"""Paired differences between runs, with intervals, tests and power."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from harness.runs import Run, RunError
from parsers import F1Variant
from parsers.clusters import clustered
from reports.comparison.pairing import METRICS, Pairs, pair
from reports.comparison.results import Comparison, Comparisons, Contrast, Metric, Progress, verdict
from reports.comparison.settings import Subject, check_comparable
from reports.frames.rows import InvalidRule, RunRows, run_rows
from reports.load import RunLike, corrupt_lines, open_runs
from reports.settings import compare as compare_settings
from reports.statistics import (
    Correction,
    adjust,
    clustered_mcnemar,
    effect,
    exact_mcnemar,
    paired_difference,
    permutation_test,
    smallest_difference,
    smallest_success_difference,
    success_difference,
    tasks_needed,
    tasks_needed_for_success,
)

Mean = Literal["macro", "micro"]


def compare_runs(
    runs: Iterable[RunLike],
    *,
    baseline: RunLike | None = None,
    f1: F1Variant | None = None,
    invalid: InvalidRule | None = None,
    splits: Sequence[str] = (),
    vary: Collection[str] = (),
    correction: Correction = "holm",
    planned: float | None = None,
    cluster: str = "task",
) -> Comparisons:
    """Compare every run with the baseline on the steps they share.

    baseline: a run, its path or its name; by default the first run.
    f1, invalid: scoring rules that replace those of the runs.
    splits: compare on these splits only.
    vary: settings in which the runs may differ in addition to what is compared.
    correction: of p values, when more than one run is compared with the baseline.
    planned: difference (a share) for which to plan the number of tasks; None plans nothing.
    cluster: what intervals and tests take as independent, tasks or websites.

    Raises `RunError` for runs that cannot be read, cannot be compared or share no step, and
    `ValueError` unless 0 < planned <= 1.
    """
    if planned is not None and not 0 < planned <= 1:
        raise ValueError(f"a planned difference must lie between 0 and 1, got {planned}")
    opened = _opened(runs, baseline)
    if len(opened) < 2:
        raise RunError("a comparison needs two different runs")
    labels = list(opened)
    first, compared = labels[0], labels[1:]
    overrides = {name: v for name, v in (("f1", f1), ("invalid", invalid)) if v is not None}
    subjects = {
        label: check_comparable(
            (first, opened[first]), (label, opened[label]), overridden=overrides, vary=vary
        )
        for label in compared
    }
    rows = dict(zip(labels, run_rows(opened.values(), f1=f1, invalid=invalid), strict=True))
    for label, one in rows.items():
        _check_operations(label, one)
    comparisons = []
    for label in compared:
        pairs = pair(rows[first], rows[label], splits)
        if not pairs.tasks:
            raise RunError(f"{first} and {label} share no step that both have settled")
        comparisons.append(_comparison(first, label, subjects[label], pairs, planned, cluster))
    return Comparisons(
        baseline=first,
        others=tuple(_corrected(comparisons, correction, planned)),
        progress=tuple(_progress(one) for one in rows.values()),
        settings=compare_settings(opened),
        given={**overrides, **({"splits": list(splits)} if splits else {})},
        variant=rows[first].rules.variant,
        correction=correction if len(comparisons) > 1 else "none",
        corrupt=corrupt_lines(opened),
        planned=planned,
        cluster=cluster,
        declared=rows[first].declared,
    )


def _check_operations(label: str, rows: RunRows) -> None:
    """Reject runs without operations: they have no step success to give a verdict on."""
    metrics = rows.metrics().metrics
    if rows.declared.main.name in metrics.left_open:
        raise RunError(
            f"{label} was asked for elements and not for operations, so there is no success to "
            "compare; vlm-eval report shows runs side by side"
        )


def _opened(runs: Iterable[RunLike], baseline: RunLike | None) -> dict[str, Run]:
    listed = list(runs)
    opened = open_runs(listed)
    if baseline is None:
        return opened
    named = [run for label, run in opened.items() if label == str(baseline)]
    if named and not (isinstance(baseline, (Path, str)) and Path(baseline).is_dir()):
        return open_runs([named[0], *opened.values()])
    return open_runs([baseline, *opened.values()])


def _comparison(
    first: str,
    label: str,
    subject: Subject,
    pairs: Pairs,
    planned: float | None,
    cluster: str,
) -> Comparison:
    contrasts = [
        _steps(metric, average, pairs, planned, cluster)  # type: ignore[arg-type]
        for metric in METRICS
        for average in get_args(Mean)
    ]
    of_tasks = _tasks(pairs, planned, cluster)
    return Comparison(
        baseline=first,
        run=label,
        subject=str(subject),
        steps=len(pairs.tasks),
        tasks=len(set(pairs.tasks)),
        splits=pairs.splits,
        left=pairs.left,
        incomplete_tasks=pairs.incomplete,
        contrasts=(*contrasts, *([of_tasks] if of_tasks else [])),
        cluster=cluster,
        verdict="",
    )


def _steps(
    metric: Metric, average: Mean, pairs: Pairs, planned: float | None, cluster: str
) -> Contrast:
    first, second = pairs.scores[metric]
    clusters = pairs.websites if cluster == "website" else None
    difference = paired_difference(first, second, pairs.tasks, average, clusters=clusters)
    assert difference is not None
    gained = [b - a for a, b in zip(first, second, strict=True)]
    if average == "macro":
        gained = clustered(gained, pairs.tasks, "macro").totals.tolist()
    binary = metric != "operation_f1" and _binary(first, second)
    mcnemar = clustered_mcnemar(first, second, pairs.tasks, average, clusters) if binary else None
    permutation = permutation_test(first, second, pairs.tasks, average, clusters)
    spread = difference.deviation
    return Contrast(
        metric=metric,
        average=average,
        difference=difference,
        effect=effect(gained),
        permutation=permutation,
        mcnemar=mcnemar,
        p_permutation=permutation.p,
        p_mcnemar=mcnemar.p if mcnemar else None,
        needed=tasks_needed(planned, spread) if planned and spread else None,
        visible=smallest_difference(difference.clusters, spread) if spread else None,
    )


def _tasks(pairs: Pairs, planned: float | None, cluster: str) -> Contrast | None:
    first, second = pairs.successes
    places = list(range(len(first)))
    clusters = pairs.success_websites if cluster == "website" else None
    # What is exact for tasks takes them as independent, of each other and of repeats.
    exact = clusters is None and _binary(first, second)
    difference = (
        success_difference(first, second)
        if exact
        else paired_difference(first, second, places, clusters=clusters)
    )
    if difference is None:
        return None
    gained = [b - a for a, b in zip(first, second, strict=True)]
    outcome = effect(gained)
    discordant = (outcome.better + outcome.worse) / outcome.total
    mcnemar = None
    if exact:
        mcnemar = exact_mcnemar(first, second)
    elif _binary(first, second):
        mcnemar = clustered_mcnemar(first, second, places, "micro", clusters)
    permutation = permutation_test(first, second, places, clusters=clusters)
    return Contrast(
        metric="task_success",
        average="tasks",
        difference=difference,
        effect=outcome,
        permutation=permutation,
        mcnemar=mcnemar,
        p_permutation=permutation.p,
        p_mcnemar=mcnemar.p if mcnemar else None,
        needed=tasks_needed_for_success(planned, discordant) if planned and exact else None,
        visible=smallest_success_difference(difference.tasks, discordant) if exact else None,
    )


def _binary(*scores: Sequence[float]) -> bool:
    return all(score in (0, 1) for sequence in scores for score in sequence)


def _corrected(
    comparisons: Sequence[Comparison], correction: Correction, planned: float | None
) -> list[Comparison]:
    """Correct p values for the number of runs, separately for each metric and test."""
    adjusted: dict[tuple[int, str, str], dict[str, Any]] = {}
    for name in ("p_permutation", "p_mcnemar"):
        kinds = {(c.metric, c.average) for one in comparisons for c in one.contrasts}
        for kind in kinds:
            places = [
                (place, getattr(contrast, name))
                for place, one in enumerate(comparisons)
                for contrast in one.contrasts
                if (contrast.metric, contrast.average) == kind
            ]
            known = [(place, p) for place, p in places if p is not None]
            for (place, _), p in zip(known, adjust([p for _, p in known], correction), strict=True):
                adjusted.setdefault((place, *kind), {})[name] = p
    corrected = []
    for place, one in enumerate(comparisons):
        contrasts = tuple(
            replace(c, **adjusted.get((place, c.metric, c.average), {})) for c in one.contrasts
        )
        with_p = replace(one, contrasts=contrasts)
        corrected.append(replace(with_p, verdict=verdict(with_p, planned)))
    return corrected


def _progress(rows: RunRows) -> Progress:
    counts = rows.metrics().metrics.counts
    return Progress(
        rows.label, rows.run.complete, counts.n_settled, counts.n_valid + rows.unreached
    )
