"""Comparisons as a tidy, typed frame, and as a grid for readers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import asdict
from typing import Any

import pandas as pd

from harness import tables
from harness.tables import Cell, Data, Grid, Row, Section, bounds, few_notes, percent
from harness.tables.results import cluster_note, coverage, mean_note
from parsers import Declaration, Measure
from reports.comparison.arms import lines as arms_lines
from reports.comparison.results import (
    Comparison,
    Comparisons,
    Contrast,
    RunProgress,
    p_text,
    primary,
)
from reports.frames.rows import varied
from reports.frames.units import Column, typed
from reports.grid import frame_data
from reports.names import name_of
from reports.settings import about

HEADS = ("baseline", "run", "difference", "p (sign-flip)", "p (McNemar)", "won/lost")


def columns(declared: Declaration) -> tuple[Column, ...]:
    """Return the columns for comparisons of runs of a benchmark."""
    units, level = declared.units, declared.innermost
    return (
        Column("baseline", "str", "the run compared with"),
        Column("run", "str", "the run"),
        Column("subject", "str", "what they differ in"),
        Column("metric", "str", "the measure, by its name in results"),
        Column("average", "str", f"macro, micro (over {units}), cells, or what parents are called"),
        Column(level.many, "Int64", f"shared {level.many}"),
        Column("clusters", "Int64", "clusters of intervals and tests"),
        Column(units, "Int64", f"shared {units}"),
        Column("baseline_rate", "float64", "a share between 0 and 1"),
        Column("run_rate", "float64", "a share between 0 and 1"),
        Column("difference", "float64", "the run's rate minus the baseline's"),
        Column("low", "float64", "95 % interval of the difference"),
        Column("high", "float64", "95 % interval of the difference"),
        Column("method", "str", "of the interval"),
        Column("few", "boolean", "whether it is marked: fewer than 30 clusters differ"),
        Column("primary", "boolean", "whether the verdict rests on this row's permutation test"),
        Column("p_permutation", "float64", "two-sided; corrected where several runs are compared"),
        Column("p_mcnemar", "float64", "the same; missing unless all scores are 0 or 1"),
        Column("p_permutation_raw", "float64", "before correction"),
        Column("p_mcnemar_raw", "float64", "before correction"),
        Column("permutation_exact", "boolean", "whether all sign patterns were enumerated"),
        Column("better", "Int64", f"{units} (micro) or {level.many} in which the run is better"),
        Column("worse", "Int64", "in which it is worse"),
        Column("same", "Int64", "in which they are the same"),
        Column(
            f"{level.many}_needed",
            "Int64",
            "to detect the planned difference with 80 % power; else missing",
        ),
        Column("visible", "float64", "difference that these clusters detect with 80 % power"),
    )


def comparison_table(comparisons: Comparisons) -> pd.DataFrame:
    """Return a row per run, measure and average (see `columns`); `attrs` has the settings."""
    records = [_record(one, contrast) for one in comparisons.others for contrast in one.contrasts]
    table = typed(records, columns(comparisons.declared))
    table.attrs = {
        "constants": comparisons.settings.constants,
        "differences": comparisons.settings.differences,
        "given": comparisons.given,
        "variant": comparisons.variant,
        "correction": comparisons.correction,
        "planned": comparisons.planned,
        "cluster": comparisons.cluster,
    }
    return table


def _record(one: Comparison, contrast: Contrast) -> dict[str, Any]:
    difference = contrast.difference
    parents = one.declared.innermost.many
    return {
        "baseline": one.baseline,
        "run": one.run,
        "subject": one.subject,
        "metric": contrast.metric,
        "average": contrast.average,
        parents: difference.tasks,
        "clusters": difference.clusters,
        one.declared.units: difference.steps or None,
        "baseline_rate": difference.first,
        "run_rate": difference.second,
        "difference": difference.difference,
        "low": difference.low,
        "high": difference.high,
        "method": difference.method,
        "few": difference.few,
        "primary": (contrast.metric, contrast.average) == primary(one.declared),
        "p_permutation": contrast.p_permutation,
        "p_mcnemar": contrast.p_mcnemar,
        "p_permutation_raw": contrast.permutation.p,
        "p_mcnemar_raw": contrast.mcnemar,
        "permutation_exact": contrast.permutation.exact,
        "better": contrast.effect.better,
        "worse": contrast.effect.worse,
        "same": contrast.effect.same,
        f"{parents}_needed": contrast.needed,
        "visible": contrast.visible,
    }


def render(comparisons: Comparisons, form: str = "text", *, width: int | None = None) -> str:
    """Write the comparisons in one of `FORMATS`, ending in a newline.

    Text, Markdown, LaTeX and HTML are for readers (per cent); CSV and JSON hold every column of
    `comparison_table`, with shares between 0 and 1. Raises `ValueError` for an unknown format.
    """
    return tables.render(comparison_grid(comparisons), form, width=width)


def comparison_grid(comparisons: Comparisons) -> Grid:
    """Arrange the comparisons for readers: a section per run, the verdict below its rows."""
    above, footnotes = tuple(_above(comparisons)), _footnotes(comparisons)
    needed = []
    if comparisons.planned is not None:
        needed = [f"{_clusters(comparisons)} for 80 % power"]
    return Grid(
        title="",
        columns=(tables.Heading("metric", "left"), *map(tables.Heading, (*HEADS, *needed))),
        sections=tuple(
            Section(
                (
                    *(_row(contrast, one, bool(needed)) for contrast in one.contrasts),
                    *(each.row(1 + len(HEADS) + len(needed)) for each in one.takes),
                ),
                title=f"{one.run} against {one.baseline} (baseline)",
                above=_facts(one),
                below=(one.verdict,),
            )
            for one in comparisons.others
        ),
        above=above,
        footnotes=footnotes,
        data=_data(comparisons, above, footnotes),
    )


def _data(comparisons: Comparisons, above: tuple[str, ...], footnotes: tuple[str, ...]) -> Data:
    declared = comparisons.declared
    metric, average = primary(declared)
    facts = {
        "primary": {"metric": metric, "average": average, "test": "p_permutation"},
        "cluster": comparisons.cluster,
        "baseline": comparisons.baseline,
        "correction": comparisons.correction,
        "planned_difference": comparisons.planned,
        **({one.name: comparisons.variant} if (one := _varied(comparisons)) else {}),
        "settings": {**asdict(comparisons.settings), "given": comparisons.given},
        "changed": list(comparisons.changed),
        "corrupt": list(comparisons.corrupt),
        "runs": [
            {**asdict(progress), "share": progress.share} for progress in comparisons.progress
        ],
        "comparisons": [
            {
                "run": one.run,
                "subject": one.subject,
                declared.units: one.units,
                declared.innermost.many: one.parents,
                "splits": one.splits,
                "left_out": asdict(one.left),
                **{
                    f"incomplete_{declared.level(measure.over).many}": one.incomplete[measure.name]
                    for measure in one.declared.of_parents
                },
                **({"only_one": list(one.single)} if one.single else {}),
                **({"arms": asdict(one.arms)} if one.arms else {}),
                **({"takes": [asdict(each) for each in one.takes]} if one.takes else {}),
                "replies": asdict(one.replies),
                "verdict": one.verdict,
            }
            for one in comparisons.others
        ],
        "notes": list(footnotes),
    }
    comments = (*above, *(one.verdict for one in comparisons.others), *footnotes)
    return frame_data(comparison_table(comparisons), facts, comments)


def _above(comparisons: Comparisons) -> Iterator[str]:
    attrs: dict[Hashable, Any] = {
        "constants": comparisons.settings.constants,
        "differences": comparisons.settings.differences,
        "given": comparisons.given,
        "changed": comparisons.changed,
        "corrupt": comparisons.corrupt,
    }
    yield from about(attrs)
    if comparisons.planned is not None:
        size = f"{100 * comparisons.planned:.10g} points"
        yield f"{_clusters(comparisons)} for 80 % power: planned for a difference of {size}"
    units = comparisons.declared.units
    yield from (_progress(one, units) for one in comparisons.progress if not one.complete)


def _progress(progress: RunProgress, units: str) -> str:
    share = "" if progress.share is None else f", {percent(progress.share)} %"
    return (
        f"INCOMPLETE: {progress.run} has answered {progress.settled:,} of {progress.valid:,} "
        f"rows{share}; the {units} that finished first may not be representative"
    )


def _facts(one: Comparison) -> tuple[str, ...]:
    declared = one.declared
    splits = ", ".join(f"{name} {count:,}" for name, count in one.splits.items())
    left = one.left
    out = [
        (left.invalid, "invalid"),
        (left.unsettled, "not answered in both"),
        (left.only_first, f"only in {one.baseline}"),
        (left.only_second, f"only in {one.run}"),
    ]
    left_out = ", ".join(f"{count:,} {why}" for count, why in out if count) or "none"
    lines = [
        f"compared: {one.subject}",
        f"shared {declared.units}: {one.units:,} of {one.parents:,} {declared.innermost.many} "
        f"({splits}); left out: {left_out}",
    ]
    for measure in declared.of_parents:
        if number := one.incomplete[measure.name]:
            parents = declared.level(measure.over).many
            lines.append(f"incomplete {parents}, left out of {measure.head}: {number:,}")
    if one.replies.same and not one.replies.all_same:
        lines.append(
            f"the same replies decided {one.replies.same:,} of {one.replies.decided:,} dialogues: "
            "there the runs are one measurement"
        )
    if one.arms is not None:
        lines += arms_lines(one.arms, declared)
    if one.single:
        lines.append(f"left out, as only one of the runs has it: {', '.join(one.single)}")
    return tuple(lines)


def _heads(declared: Declaration) -> dict[str, str]:
    """Heads of measures by their names in results."""
    return {name_of(one, declared): one.head for one in (*declared.in_tables, *declared.of_parents)}


def _varied(comparisons: Comparisons) -> Measure | None:
    """Return the measure that the runs have in a variant."""
    return varied(comparisons.declared, comparisons.variant) if comparisons.variant else None


def _clusters(comparisons: Comparisons) -> str:
    return comparisons.declared.level(comparisons.cluster).many


def _row(contrast: Contrast, one: Comparison, needed: bool) -> Row:
    declared, difference, effect = one.declared, contrast.difference, contrast.effect
    measure, _, over_repeats = contrast.metric.partition(" ")
    of_parents = any(name_of(each, declared) == measure for each in declared.of_parents)
    average = "" if of_parents else f" {contrast.average} {_partial(contrast, one)}"
    interval = bounds(difference.low, difference.high, few=difference.few, style="points")
    return Row(
        (
            " ".join(f"{_heads(declared)[measure]}{average} {over_repeats}".split()),
            percent(difference.first),
            percent(difference.second),
            Cell(f"{100 * difference.difference:+.1f}", interval or "n/a"),
            p_text(contrast.p_permutation),
            p_text(contrast.p_mcnemar),
            f"{effect.better:,}/{effect.worse:,}",
            *(["n/a" if contrast.needed is None else f"{contrast.needed:,}"] if needed else []),
        )
    )


def _partial(contrast: Contrast, one: Comparison) -> str:
    """Say how many shared units a measure covers, "" if it covers all."""
    return coverage(contrast.difference.steps or None, one.units)


def _footnotes(comparisons: Comparisons) -> tuple[str, ...]:
    declared, clusters = comparisons.declared, _clusters(comparisons)
    metric, average = primary(declared)
    averages = dict.fromkeys(one for measure in declared.in_tables for one in measure.averages)
    means = "; ".join(
        dict.fromkeys(part for one in averages for part in mean_note(one, declared).split("; "))
    )
    measure = _varied(comparisons)
    variant = f" {measure.head} variant: {comparisons.variant}." if measure else ""
    on = declared.units, declared.innermost.many
    exact = comparisons.cluster == declared.innermost.name
    lines = [
        f"Rates in per cent, differences in points with 95 % intervals. {means}.{variant}",
        cluster_note(declared, comparisons.cluster, method=""),
        f"Primary test: the permutation test of {_heads(declared)[metric]} {average}, on which the "
        "verdict rests together with its interval. The other p values are secondary.",
        f"p (sign-flip): permutation test over {clusters}, two-sided. p (McNemar): "
        f"cluster-corrected on {on[0]}, "
        + ("exact" if exact else "cluster-corrected")
        + f" on {on[1]}. won/lost: {on[0]} (micro) or {on[1]} on which the run does better and "
        "worse.",
    ]
    if any(" pass" in c.metric for one in comparisons.others for c in one.contrasts):
        lines.append("pass@k: at least one of k repeats succeeds; pass^k: all of k do.")
    if any(_partial(c, one) for one in comparisons.others for c in one.contrasts):
        lines.append(f"(n of N): over the n of the N {on[0]} that both runs have a score for.")
    if any(one.arms for one in comparisons.others):
        lines.append(f"A row that ends in an action is over the {on[0]} where that is right.")
    if any(one.takes for one in comparisons.others):
        lines.append(
            f"/{declared.unit}, /success: tokens of replies (thoughts included), seconds and "
            f"dollars of all {on[0]} that both have answered, over these or over each run's own "
            "successes; dollars are the price of the work, replies from the cache included."
        )
    if comparisons.planned is not None:
        lines.append(
            f"{clusters} for 80 % power: to detect a difference of "
            f"{100 * comparisons.planned:.10g} points (observed spread of the pairs) at the 5 % "
            "level."
        )
    if comparisons.correction != "none":
        lines.append(
            f"p values and verdicts are corrected for {len(comparisons.others)} comparisons "
            f"(Holm); intervals are not."
        )
    few = any(c.difference.few for one in comparisons.others for c in one.contrasts)
    return (*lines, *few_notes(rates=False, differences=few, clusters=clusters))
