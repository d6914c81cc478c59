"""`vlm-eval compare`: is one run better than another, by how much, and how sure is that?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from parsers import F1_VARIANTS, F1Variant
from reports.output import RUNS, emit_grids, format_options

if TYPE_CHECKING:
    from reports.frames.rows import InvalidRule
    from reports.statistics import Correction


@click.command(short_help="Compare runs on the steps that they share.")
@RUNS
@click.option(
    "--baseline",
    metavar="RUN",
    help="What the others are compared with, by path or name.  [default: the first]",
)
@format_options
@click.option(
    "--correction",
    type=click.Choice(["holm", "bh", "none"]),
    default="holm",
    show_default=True,
    help="Of p values where several runs are compared with the baseline.",
)
@click.option("--split", "splits", metavar="NAME", multiple=True, help="Only this split; repeats.")
@click.option(
    "--vary",
    metavar="SETTING",
    multiple=True,
    help="Let the runs differ in this setting too; repeats.",
)
@click.option(
    "--invalid",
    type=click.Choice(["exclude", "fail"]),
    default=None,
    help="Rows without an answer: left out, or counted as failures.  [default: as the runs]",
)
@click.option(
    "--f1",
    type=click.Choice(F1_VARIANTS),
    default=None,
    help="Operation F1; decides step success too.  [default: as the runs]",
)
@click.option(
    "--difference",
    metavar="POINTS",
    type=click.FloatRange(0, 100, min_open=True),
    help="Plan for this one: how many tasks would show it?  [default: the observed difference]",
)
def compare(
    runs: tuple[Path, ...],
    baseline: str | None,
    form: str,
    correction: Correction,
    splits: tuple[str, ...],
    vary: tuple[str, ...],
    invalid: InvalidRule | None,
    f1: F1Variant | None,
    difference: float | None,
    out: Path | None,
) -> int:
    """Compare every RUN with the baseline on the steps that both have.

    Both rates, the difference with its 95 % interval, a permutation test, McNemar's test, steps and
    tasks won and lost, the number of tasks that would show such a difference, and a verdict.

    Runs must be of the same data and scored by the same rules. They may differ in the model, or,
    with the same model, in one setting of the question, which is then what is compared.
    """
    if len(runs) + (baseline is not None) < 2:
        raise click.UsageError("a comparison needs two runs")
    if difference is not None and difference != difference:
        raise click.BadParameter("nan is no number of points", param_hint="--difference")
    from reports.comparison.compare import compare_runs
    from reports.comparison.table import comparison_grid

    found = compare_runs(
        runs,
        baseline=baseline,
        f1=f1,
        invalid=invalid,
        splits=splits,
        vary=vary,
        correction=correction,
        planned=None if difference is None else difference / 100,
    )
    emit_grids([comparison_grid(found)], form, out)
    return 0
