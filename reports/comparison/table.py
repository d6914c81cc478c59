"""A comparison as a tidy, typed frame, and as a grid for readers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import asdict
from typing import Any

import pandas as pd

from harness import tables
from harness.tables import FEW_NOTE, FORMATS, MEANS, Cell, Data, Grid, Row, Section, bounds, percent
from reports.about import about
from reports.comparison.results import Comparison, Comparisons, Contrast, Progress, p_text
from reports.frames.schema import Column, schema, typed
from reports.grid import frame_data

__all__ = ["COLUMNS", "FORMATS", "comparison_grid", "comparison_table", "render"]

HEADS = (
    "baseline",
    "run",
    "difference",
    "p (sign-flip)",
    "p (McNemar)",
    "won/lost",
    "tasks for 80 % power",
)
NAMES = {
    "element": "Ele. Acc",
    "operation_f1": "Op. F1",
    "step_success": "Step SR",
    "task_success": "Task SR",
}
CORRECTED = {"holm": "Holm", "bh": "Benjamini and Hochberg"}

COLUMNS = (
    Column("baseline", "str", "the first run of the pair"),
    Column("run", "str", "the other run"),
    Column("subject", "str", "what they differ in"),
    Column("metric", "str", "element, operation_f1, step_success or task_success"),
    Column("average", "str", "macro (over tasks), micro (over steps), or tasks for task success"),
    Column("tasks", "Int64", "shared tasks"),
    Column("steps", "Int64", "shared steps"),
    Column("baseline_rate", "float64", "a share between 0 and 1"),
    Column("run_rate", "float64", "a share between 0 and 1"),
    Column("difference", "float64", "the run's less the baseline's"),
    Column("low", "float64", "95 % interval of the difference"),
    Column("high", "float64", "95 % interval of the difference"),
    Column("few", "boolean", "fewer than 30 tasks: the interval is too narrow"),
    Column("p_permutation", "float64", "two-sided; corrected where several runs are compared"),
    Column("p_mcnemar", "float64", "the same; missing where scores are not right or wrong"),
    Column("p_permutation_raw", "float64", "before correction"),
    Column("p_mcnemar_raw", "float64", "before correction"),
    Column("permutation_exact", "boolean", "whether all sign patterns were looked at"),
    Column("better", "Int64", "steps (micro) or tasks in which the run is better"),
    Column("worse", "Int64", "in which it is worse"),
    Column("same", "Int64", "in which they are the same"),
    Column("tasks_needed", "Int64", "to see this difference, or the planned one, with 80 % power"),
    Column("visible", "float64", "the difference that these tasks show with 80 % power"),
)
COMPARISON_SCHEMA = schema(COLUMNS)


def comparison_table(found: Comparisons) -> pd.DataFrame:
    """The frame; `COLUMNS` says what the columns hold, `attrs` the settings of the runs."""
    records = [_record(one, contrast) for one in found.others for contrast in one.contrasts]
    table = typed({c.name: [record[c.name] for record in records] for c in COLUMNS}, COLUMNS)
    table.attrs = {
        "constants": found.settings.constants,
        "differences": found.settings.differences,
        "given": found.given,
        "variant": found.variant,
        "correction": found.correction,
        "planned": found.planned,
    }
    return table


def _record(one: Comparison, contrast: Contrast) -> dict[str, Any]:
    difference, mcnemar = contrast.difference, contrast.mcnemar
    return {
        "baseline": one.baseline,
        "run": one.run,
        "subject": one.subject,
        "metric": contrast.metric,
        "average": contrast.average,
        "tasks": difference.tasks,
        "steps": difference.steps or None,
        "baseline_rate": difference.first,
        "run_rate": difference.second,
        "difference": difference.difference,
        "low": difference.low,
        "high": difference.high,
        "few": difference.few,
        "p_permutation": contrast.p_permutation,
        "p_mcnemar": contrast.p_mcnemar,
        "p_permutation_raw": contrast.permutation.p,
        "p_mcnemar_raw": mcnemar.p if mcnemar else None,
        "permutation_exact": contrast.permutation.exact,
        "better": contrast.effect.better,
        "worse": contrast.effect.worse,
        "same": contrast.effect.same,
        "tasks_needed": contrast.needed,
        "visible": contrast.visible,
    }


def render(found: Comparisons, form: str = "text", *, width: int | None = None) -> str:
    """The comparison in one of `FORMATS`, ending in a newline.

    Text, Markdown, LaTeX and HTML are for readers (per cent); CSV and JSON hold every column of
    `comparison_table`, with shares between 0 and 1. Raises `ValueError` for an unknown format.
    """
    return tables.render(comparison_grid(found), form, width=width)


def comparison_grid(found: Comparisons) -> Grid:
    """The comparison arranged for readers: a section per run, with its verdict below the rows."""
    above = tuple(_above(found))
    return Grid(
        title="",
        columns=(tables.Column("metric", "left"), *map(tables.Column, HEADS)),
        sections=tuple(
            Section(
                tuple(map(_row, one.contrasts)),
                title=f"{one.run} against {one.baseline} (baseline)",
                above=_facts(one),
                below=(one.verdict,),
            )
            for one in found.others
        ),
        above=above,
        footnotes=_footnotes(found),
        data=_data(found, above),
    )


def _data(found: Comparisons, above: tuple[str, ...]) -> Data:
    facts = {
        "baseline": found.baseline,
        "correction": found.correction,
        "planned_difference": found.planned,
        "operation_f1": found.variant,
        "settings": {**asdict(found.settings), "given": found.given},
        "corrupt": list(found.corrupt),
        "runs": [{**asdict(own), "share": own.share} for own in found.progress],
        "comparisons": [
            {
                "run": one.run,
                "subject": one.subject,
                "steps": one.steps,
                "tasks": one.tasks,
                "splits": one.splits,
                "left_out": asdict(one.left),
                "incomplete_tasks": one.incomplete_tasks,
                "verdict": one.verdict,
            }
            for one in found.others
        ],
    }
    comments = (*above, *(one.verdict for one in found.others))
    return frame_data(comparison_table(found), facts, comments)


def _above(found: Comparisons) -> Iterator[str]:
    attrs: dict[Hashable, Any] = {
        "constants": found.settings.constants,
        "differences": found.settings.differences,
        "given": found.given,
        "corrupt": found.corrupt,
    }
    yield from about(attrs)
    if found.planned is not None:
        size = f"{100 * found.planned:.10g} points"
        yield f"tasks for 80 % power: planned for a difference of {size}"
    yield from (_progress(own) for own in found.progress if not own.complete)


def _progress(own: Progress) -> str:
    share = "" if own.share is None else f", {percent(own.share)} %"
    return (
        f"UNFINISHED: {own.run} has settled {own.settled:,} of {own.valid:,} rows{share}; "
        "the steps that finished first may not be representative"
    )


def _facts(one: Comparison) -> tuple[str, ...]:
    splits = ", ".join(f"{name} {count:,}" for name, count in one.splits.items())
    left = one.left
    out = [
        (left.invalid, "invalid"),
        (left.unsettled, "not settled in both"),
        (left.only_first, f"only in {one.baseline}"),
        (left.only_second, f"only in {one.run}"),
    ]
    left_out = ", ".join(f"{count:,} {why}" for count, why in out if count) or "none"
    lines = [
        f"compared: {one.subject}",
        f"shared steps: {one.steps:,} of {one.tasks:,} tasks ({splits}); left out: {left_out}",
    ]
    if one.incomplete_tasks:
        lines.append(f"incomplete tasks, left out of Task SR: {one.incomplete_tasks:,}")
    return tuple(lines)


def _row(contrast: Contrast) -> Row:
    own, won = contrast.difference, contrast.effect
    average = "" if contrast.average == "tasks" else f" {contrast.average}"
    interval = bounds(own.low, own.high, few=own.few, style="points")
    return Row(
        (
            f"{NAMES[contrast.metric]}{average}",
            percent(own.first),
            percent(own.second),
            Cell(f"{100 * own.difference:+.1f}", interval or "n/a"),
            p_text(contrast.p_permutation),
            p_text(contrast.p_mcnemar),
            f"{won.better:,}/{won.worse:,}",
            "n/a" if contrast.needed is None else f"{contrast.needed:,}",
        )
    )


def _footnotes(found: Comparisons) -> tuple[str, ...]:
    size = "the observed difference"
    if found.planned is not None:
        size = f"a difference of {100 * found.planned:.10g} points (observed spread of the pairs)"
    lines = [
        "Rates in per cent, differences in points with 95 % intervals. "
        f"{MEANS['macro']}; {MEANS['micro']}. Tasks are the clusters of every interval and "
        f"p value. Op. F1 variant: {found.variant}.",
        "p (sign-flip): permutation test over tasks, two-sided. p (McNemar): cluster-corrected on "
        "steps, exact on tasks. won/lost: steps (micro) or tasks on which the run does better and "
        f"worse. tasks for 80 % power: to detect {size} at the 5 % level.",
    ]
    if found.correction != "none":
        lines.append(
            f"p values and verdicts are corrected for {len(found.others)} comparisons "
            f"({CORRECTED[found.correction]}); intervals are not."
        )
    if any(c.difference.few for one in found.others for c in one.contrasts):
        lines.append(FEW_NOTE)
    return tuple(lines)
