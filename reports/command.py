"""`vlm-eval report`: the tables of one or more runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.tables import counted
from reports.kinds.step import STEP_GROUPS
from reports.output import (
    AVERAGE,
    CLUSTER,
    F1,
    INVALID,
    PLOT,
    RUNS,
    emit,
    emit_grids,
    format_options,
    note_of_command,
    put,
)

if TYPE_CHECKING:
    import pandas as pd

    from parsers import Average, F1Variant
    from reports.frames.rows import InvalidRule

TABLES = ("main", "status", "cost")
BY = (
    "Group the main table by what the benchmark declares (several keys with commas: "
    "platform,data_type), or recorded steps by "
    + "; ".join(f"{name}: {key.meaning}" for name, key in STEP_GROUPS.items())
    + "."
)


@click.command(short_help="Print the tables of one or more runs.")
@RUNS
@click.option(
    "--table",
    "kind",
    type=click.Choice(TABLES),
    default="main",
    show_default=True,
    help="main: scores; status: how steps ended; cost: cost, tokens and latency per step.",
)
@click.option("--by", "key", metavar="KEY", default=None, help=f"{BY}  [default: split]")
@format_options
@AVERAGE
@CLUSTER
@INVALID
@F1
@click.option(
    "--published",
    is_flag=True,
    help="Add published results that were measured in the same way, and say how many others there "
    "are; --details lists these.",
)
@click.option(
    "--compact",
    is_flag=True,
    help="A leaderboard: a row per run, over all its splits; the best first if the runs may be "
    "ranked. Over several benchmarks, a row per model and a column per benchmark.",
)
@click.option("--common", is_flag=True, help="Count only the steps with an outcome in all runs.")
@PLOT
@click.option(
    "--details",
    is_flag=True,
    help="Print all settings, and a second line of groups that have invalid rows.",
)
def report(
    runs: tuple[Path, ...],
    kind: str,
    key: str | None,
    form: str,
    average: Average,
    cluster: str,
    invalid: InvalidRule | None,
    f1: F1Variant | None,
    published: bool,
    compact: bool,
    common: bool,
    plot: Path | None,
    details: bool,
    out: Path | None,
) -> int:
    """Print the results of every RUN (a run directory), finished or not.

    There is a row per run and split, and one for all splits pooled; runs are never pooled. What the
    runs share stands above the table, and where they differ in more than the model, how.
    """
    runs = _begun(runs)
    if kind != "main":
        of_scores = key, published, compact, common, plot, details, cluster, invalid, f1
        if any(of_scores) or average != "macro":
            raise click.UsageError(
                "--by, --average, --cluster, --invalid, --f1, --published, --compact, --common, "
                "--plot and --details are for --table main"
            )
        if kind == "status":
            from reports.statuses import status_table

            emit(status_table(runs), form, out)
        else:
            from reports.spending import cost_table

            emit(cost_table(runs), form, out)
        return 0
    if compact and key not in (None, "split"):
        raise click.UsageError("--compact has a row per run: leave out --by")
    if common and len(runs) < 2:
        raise click.UsageError("--common compares several runs: name at least two")
    from reports.tables import leaderboard, main_table

    table = main_table(
        *(runs, key or "split"),
        f1=f1,
        invalid=invalid,
        cluster=cluster,
        common=common,
        spending=compact,
        details=details,
    )
    drawn = table
    if compact:
        table = leaderboard(table, average)
        drawn = drawn if "fields" in table.attrs else table
    if plot:
        from reports.view.figures import results, save

        save(lambda frame: results(frame, average), drawn, plot)
    if published:
        _beside_published(table, runs, form, out, average, invalid, f1, key or "", details)
    else:
        emit(table, form, out, average)
    return 0


def _begun(runs: tuple[Path, ...]) -> tuple[Path, ...]:
    """Leave out runs without records, with one note, unless all are like that."""
    from harness.tables import clean, say
    from reports.load import is_begun

    begun = tuple(run for run in runs if is_begun(run))
    empty = ", ".join(str(run) for run in runs if run not in begun)
    if empty and begun:
        say(clean(f"passed over, nothing is on record yet: {empty}"), err=True)
    return begun or runs


def _beside_published(
    table: pd.DataFrame,
    runs: tuple[Path, ...],
    form: str,
    out: Path | None,
    average: Average,
    invalid: InvalidRule | None,
    f1: F1Variant | None,
    by: str,
    details: bool,
) -> None:
    if form == "csv":
        raise click.UsageError("--format csv holds one table: take json, which holds all")
    from adapters.registry import load
    from harness.tables.data import json_content, to_json
    from reports.formats import grid, grids

    alike, apart = load("reports.published.beside:published_beside")(
        runs, average=average, by=by, invalid=invalid, f1=f1
    )
    if form == "json":
        listed = {
            "alike": json_content(grid(alike), note=""),
            "apart": json_content(grid(apart), note=""),
        }
        note = {"note": note_of_command()} if note_of_command() else {}
        results = json_content(grid(table, average), note="")
        put(to_json({**note, **results, "published": listed}), out)
    else:
        beside = [grid(alike), grid(apart)]
        if not details:
            notes = (*beside[0].footnotes, *_others(apart))
            beside = [replace(beside[0], footnotes=notes)]
        emit_grids([*grids(table, average), *beside], form, out)


def _others(apart: pd.DataFrame) -> Iterator[str]:
    """Say how many published results were measured otherwise, and why the first was."""
    if len(apart):
        first = apart.iloc[0]
        yield (
            f"{counted(len(apart), 'published result')} measured in another way (--details); "
            f"{first['source']}, {first['model']}: {first['differs']}"
        )
