"""`vlm-eval compare`: is one run better than another, by how much, and how sure is that?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reports.output import CLUSTER, F1, INVALID, RUNS, emit_grids, format_options

if TYPE_CHECKING:
    from parsers import F1Variant
    from reports.frames.rows import InvalidRule


@click.command(short_help="Compare runs on the steps they share.")
@RUNS
@format_options
@click.option(
    "--split",
    "splits",
    metavar="NAME",
    multiple=True,
    help="Compare on this split only; may be repeated.",
)
@click.option(
    "--vary",
    metavar="SETTING",
    multiple=True,
    help="Allow the runs to differ in this setting as well; may be repeated.",
)
@INVALID
@F1
@click.option(
    "--difference",
    metavar="POINTS",
    type=click.FloatRange(0, 100, min_open=True),
    help="Difference to plan the number of tasks for; without it, none is printed.",
)
@CLUSTER
def compare(
    runs: tuple[Path, ...],
    form: str,
    splits: tuple[str, ...],
    vary: tuple[str, ...],
    invalid: InvalidRule | None,
    f1: F1Variant | None,
    difference: float | None,
    cluster: str,
    out: Path | None,
) -> int:
    """Compare every RUN with the first one, the baseline, on the steps they share.

    Prints both rates, their difference with its 95 % interval, a sign-flip permutation test over
    tasks, McNemar's test, steps and tasks won and lost, and a verdict in words, which rests on the
    permutation test of macro step success. With --difference also how many tasks would detect such
    a difference with 80 % power.

    The runs must be of the same data and scored by the same rules. They may differ in the model,
    or, for one model, in a single setting of how it was asked.
    """
    if len(runs) < 2:
        raise click.UsageError("name at least two runs to compare")
    if difference is not None and difference != difference:
        raise click.BadParameter("nan is not a number of points", param_hint="--difference")
    from reports.comparison.compare import compare_runs
    from reports.comparison.table import comparison_grid

    comparisons = compare_runs(
        runs,
        f1=f1,
        invalid=invalid,
        splits=splits,
        vary=vary,
        planned=None if difference is None else difference / 100,
        cluster=cluster,
    )
    emit_grids([comparison_grid(comparisons)], form, out)
    return 0
