"""Paired differences between runs, with intervals, tests and power."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from harness.runs import Run, RunError
from parsers import AggregationRules, Average, Declaration, Level, Measure, Results, ScoredUnit
from parsers.clusters import clustered
from parsers.counting import cluster_above, parent_of
from reports.comparison.arms import ARMS, arm_of, facts, subsets
from reports.comparison.pairing import AGAINST, Paired, pair
from reports.comparison.replies import replies_of
from reports.comparison.results import Comparison, Comparisons, Contrast, RunProgress, verdict
from reports.comparison.settings import check_comparable
from reports.comparison.spent import takes
from reports.frames.rows import InvalidRule, RunRows, run_rows
from reports.load import RunLike, changed_lines, corrupt_lines, deployment_lines, open_runs
from reports.names import name_of
from reports.settings import compare as compare_settings
from reports.statistics.paired import (
    effect,
    paired_difference,
    smallest_difference,
    smallest_success_difference,
    success_difference,
    tasks_needed,
    tasks_needed_for_success,
)
from reports.statistics.significance import (
    clustered_mcnemar,
    exact_mcnemar,
    holm,
    permutation_test,
)

Mean = Literal["macro", "micro"]


def compare_runs(
    runs: Iterable[RunLike],
    *,
    f1: str | None = None,
    invalid: InvalidRule | None = None,
    splits: Sequence[str] = (),
    vary: Collection[str] = (),
    planned: float | None = None,
    cluster: str = "",
) -> Comparisons:
    """Compare every run with the first one, the baseline, on the steps they share.

    f1, invalid: scoring rules that replace those of the runs.
    splits: compare on these splits only.
    vary: further settings where the runs may differ.
    planned: difference (a share) to plan the number of tasks for; None plans nothing.
    cluster: the level of parents that intervals and tests take as independent; "" for the usual.

    Raises `RunError` for runs that cannot be read, cannot be compared or share no step, and
    `ValueError` unless 0 < planned <= 1.
    """
    if planned is not None and not 0 < planned <= 1:
        raise ValueError(f"a planned difference must lie between 0 and 1, got {planned}")
    # What a tool is worth is the difference from the arm without it.
    opened = dict(sorted(open_runs(runs).items(), key=lambda one: ARMS.index(arm_of(one[1]))))
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
    shared = {label: _shared((first, opened[first]), (label, opened[label])) for label in compared}
    evaluated = run_rows(opened.values(), f1=f1, invalid=invalid, cluster=cluster)
    rows = dict(zip(labels, evaluated, strict=True))
    for label, one in rows.items():
        _check_measured(label, one.total)
    comparisons = [
        _comparison(rows[first], rows[label], subjects[label], shared[label], splits, planned)
        for label in compared
    ]
    return Comparisons(
        baseline=first,
        others=tuple(_corrected(comparisons, planned)),
        progress=tuple(
            RunProgress(label, of.run.complete, counts.n_settled, counts.n_valid + of.unreached)
            for label, of in rows.items()
            for counts in [of.total.counts]
        ),
        settings=compare_settings(opened),
        given={**overrides, **({"splits": list(splits)} if splits else {})},
        variant=rows[first].variant,
        changed=(*changed_lines(opened), *deployment_lines(opened)),
        corrupt=corrupt_lines(opened),
        planned=planned,
        cluster=rows[first].rules.cluster,
        declared=rows[first].declared,
    )


def _shared(first: tuple[str, Run], second: tuple[str, Run]) -> tuple[Declaration, tuple[str, ...]]:
    """Return the shared declaration, and the heads of measures that only one run has.

    Raises `RunError` if nothing that could be compared is declared by both.
    """
    ours, theirs = first[1].manifest.declaration, second[1].manifest.declaration
    if ours == theirs:
        return ours, ()
    measures: tuple[Measure, ...] = ()
    if (ours.kind, ours.levels) == (theirs.kind, theirs.levels):
        # What another rule reads in one run is compared with what the other's own rule reads.
        fewer, more = sorted((ours.measures, theirs.measures), key=len)
        both = [
            one
            for one in dict.fromkeys((*more, *fewer))
            if one.rule or (one in fewer and one in more)
        ]
        names = {measure.name for measure in both}
        measures = tuple(one for one in both if {*one.needs, one.all_of or one.name} <= names)
    if ours.main not in measures:
        raise RunError(
            f"{first[0]} and {second[0]} are measured differently: {ours.units} by "
            f"{ours.main.meaning or ours.main.name}, {theirs.units} by "
            f"{theirs.main.meaning or theirs.main.name}"
        )
    single = (one for one in (*ours.measures, *theirs.measures) if one not in measures)
    heads = dict.fromkeys(one.title for one in single if one.averages)
    return replace(ours, measures=measures), tuple(heads)


def _check_measured(label: str, total: Results) -> None:
    """Reject runs that leave the main measure open: there is nothing to give a verdict on."""
    declared = total.declared
    if declared.main.name in total.left_open:
        reason = dict(declared.flags).get(declared.main.unmeasured, "it was not asked for")
        raise RunError(
            f"{label} has no {declared.main.meaning} to compare: {reason}; vlm-eval report shows "
            "runs side by side"
        )


def _comparison(
    first: RunRows,
    second: RunRows,
    subject: str,
    shared: tuple[Declaration, tuple[str, ...]],
    splits: Sequence[str],
    planned: float | None,
) -> Comparison:
    declared, single = shared
    pairs = pair(first, second, declared, splits)
    if not pairs.measures[declared.main.name].units:
        raise RunError(
            f"{first.label} and {second.label} share no {declared.unit} that both have answered"
        )
    graded = first.seen.graded | second.seen.graded
    contrasts = [
        _of_units(
            measure, average, pairs.measures[measure.name], first.rules, declared, planned, graded
        )
        for measure in declared.in_tables
        for average in measure.averages
        if pairs.measures[measure.name].units
    ]
    for measure in declared.of_parents:
        if (paired := pairs.measures[measure.name]).units:
            contrasts.append(_of_parents(measure, paired, first.rules, declared, planned))
    main, average = declared.main_of_units, declared.main_of_units.averages[0]
    for name, keys in subsets(first, second, pairs.units, declared).items():
        some = pairs.measures[main.name].of(keys, declared)
        made = _of_units(main, average, some, first.rules, declared, planned, graded)
        contrasts.append(replace(made, metric=f"{made.metric} {name}"))
    for (name, sign), paired in pairs.repeated.items():
        measure, of = declared[name], (paired, first.rules, declared, planned)
        usual = measure.averages[0]
        made = (
            _of_parents(measure, *of) if measure.all_of else _of_units(measure, usual, *of, graded)
        )
        contrasts.append(replace(made, metric=f"{made.metric} {sign}"))
    differences = {
        measure.name: one.difference
        for one in contrasts
        for measure in declared.in_tables
        if (one.metric, one.average) == (name_of(measure, declared), measure.averages[0])
    }
    return Comparison(
        baseline=first.label,
        run=second.label,
        subject=_subject(subject, pairs.splits),
        declared=declared,
        graded=declared.main.name in graded,
        units=len(pairs.units),
        parents=len({parent_of(unit, declared.innermost) for unit in pairs.units}),
        splits=pairs.splits,
        left=pairs.left,
        incomplete=pairs.incomplete,
        single=single,
        contrasts=tuple(contrasts),
        cluster=first.rules.cluster,
        verdict="",
        replies=replies_of(first.run, second.run, pairs.units),
        takes=takes(first, second),
        arms=facts(first, second, subject, pairs.units, declared, differences),
    )


def _subject(subject: str, splits: Collection[str]) -> str:
    """Name what is compared, splits that share their units included."""
    crossed = [f"split ({name})" for name in splits if AGAINST in name]
    named = ", ".join(filter(None, [subject, *crossed]))
    return named or "nothing: both runs have the same settings"


def _of_units(
    measure: Measure,
    average: Average,
    paired: Paired,
    rules: AggregationRules,
    declared: Declaration,
    planned: float | None,
    graded: Collection[str],
) -> Contrast:
    first, second = paired.first, paired.second
    over = declared.level(measure.over if average == "macro" else "")
    parents = [parent_of(unit, over) for unit in paired.units]
    clusters = _clusters(paired.units, over, rules, declared)
    gained = [b - a for a, b in zip(first, second, strict=True)]
    mean: Mean = "micro"
    if average == "macro":
        mean = "macro"
        gained = clustered(gained, parents, "macro").totals.tolist()
    elif average == "cells":
        weights = _weights([tuple(map(unit.group, measure.cells)) for unit in paired.units])
        first, second = (
            tuple(weight * score for weight, score in zip(weights, scores, strict=True))
            for scores in (first, second)
        )
    difference = paired_difference(first, second, parents, mean, clusters=clusters)
    assert difference is not None
    binary = measure.name not in graded and average != "cells" and _binary(first, second)
    mcnemar = clustered_mcnemar(first, second, parents, mean, clusters) if binary else None
    permutation = permutation_test(first, second, parents, mean, clusters)
    spread = difference.deviation
    return Contrast(
        metric=name_of(measure, declared),
        average=average,
        difference=difference,
        effect=effect(gained),
        permutation=permutation,
        mcnemar=mcnemar,
        p_permutation=permutation.p,
        p_mcnemar=mcnemar,
        needed=tasks_needed(planned, spread) if planned and spread else None,
        visible=smallest_difference(difference.clusters, spread) if spread else None,
    )


def _clusters(
    units: Sequence[ScoredUnit], over: Level, rules: AggregationRules, declared: Declaration
) -> list[Hashable] | None:
    """Return the cluster of every unit; None where clusters are the parents at the level itself."""
    cluster = cluster_above(declared, rules, over.name)
    return None if cluster == over else [parent_of(unit, cluster) for unit in units]


def _weights(cells: Sequence[Hashable]) -> list[float]:
    """Return weights that turn the mean over units into the mean of the cells' means."""
    sizes = Counter(cells)
    return [len(cells) / (len(sizes) * sizes[cell]) for cell in cells]


def _of_parents(
    measure: Measure,
    paired: Paired,
    rules: AggregationRules,
    declared: Declaration,
    planned: float | None,
) -> Contrast:
    first, second = paired.first, paired.second
    level = declared.level(measure.over)
    averaged = declared.level(measure.within or measure.over)
    places: list[Hashable] = list(range(len(first)))
    if measure.within:
        places = [parent_of(unit, averaged) for unit in paired.units]
    clusters = _clusters(paired.units, averaged, rules, declared)
    # Exact tests of parents take them as independent, of each other and of repeats.
    exact = clusters is None and not measure.within and _binary(first, second)
    difference = (
        success_difference(first, second)
        if exact
        else paired_difference(first, second, places, clusters=clusters)
    )
    assert difference is not None
    gained = [b - a for a, b in zip(first, second, strict=True)]
    outcome = effect(gained)
    discordant = (outcome.better + outcome.worse) / outcome.total
    mcnemar = None
    if exact:
        mcnemar = exact_mcnemar(first, second)
    elif _binary(first, second):
        mean: Mean = "macro" if measure.within else "micro"
        mcnemar = clustered_mcnemar(first, second, places, mean, clusters)
    permutation = permutation_test(first, second, places, clusters=clusters)
    return Contrast(
        metric=name_of(measure, declared),
        average=level.many,
        difference=difference,
        effect=outcome,
        permutation=permutation,
        mcnemar=mcnemar,
        p_permutation=permutation.p,
        p_mcnemar=mcnemar,
        needed=tasks_needed_for_success(planned, discordant) if planned and exact else None,
        visible=smallest_success_difference(difference.tasks, discordant) if exact else None,
    )


def _binary(*scores: Sequence[float]) -> bool:
    return all(score in (0, 1) for sequence in scores for score in sequence)


def _corrected(comparisons: Sequence[Comparison], planned: float | None) -> list[Comparison]:
    """Correct p values for the number of runs (Holm), separately for each metric and test."""
    known: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for place, one in enumerate(comparisons):
        for contrast in one.contrasts:
            for name in ("p_permutation", "p_mcnemar"):
                if (p := getattr(contrast, name)) is not None:
                    key = name, contrast.metric, contrast.average
                    known.setdefault(key, []).append((place, p))
    adjusted: dict[tuple[int, str, str], dict[str, Any]] = {}
    for (name, *of), pairs in known.items():
        for (place, _), p in zip(pairs, holm([p for _, p in pairs]), strict=True):
            adjusted.setdefault((place, of[0], of[1]), {})[name] = p
    corrected = []
    for place, one in enumerate(comparisons):
        contrasts = tuple(
            replace(c, **adjusted.get((place, c.metric, c.average), {})) for c in one.contrasts
        )
        with_p = replace(one, contrasts=contrasts)
        corrected.append(replace(with_p, verdict=verdict(with_p, planned)))
    return corrected
