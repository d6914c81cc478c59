"""`vlm-eval report`: the tables of one or more runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import click

from harness.tables import counted
from parsers import F1Variant
from reports.kinds.step import STEP_GROUPS
from reports.output import (
    AVERAGE,
    CLUSTER,
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

    from parsers import Average
    from reports.frames.rows import InvalidRule

TABLES = ("main", "status", "cost", "prefix")
BY = (
    "Group the main table by what the benchmark declares (several keys with commas: "
    "platform,data_type), or recorded steps by "
    + "; ".join(f"{name}: {key.meaning}" for name, key in STEP_GROUPS.items())
    + "."
)


class _Report(click.Command):
    """Takes what follows `--published` for its value only where it is `all`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words: list[str] = []
        for word in args:
            if word == "all" and words[-1:] == ["--published"]:
                words[-1] = "--published=all"
            else:
                words.append(word)
        alike = ["--published=alike" if word == "--published" else word for word in words]
        return super().parse_args(ctx, alike)


@click.command(cls=_Report, short_help="Print the tables of one or more runs.")
@RUNS
@click.option(
    "--table",
    "kind",
    type=click.Choice(TABLES),
    default="main",
    show_default=True,
    help="main: scores; status: how steps ended; cost: cost, tokens and latency per step; prefix: "
    "how many steps of a task are right before the first failure, and success by place.",
)
@click.option("--by", "key", metavar="KEY", default=None, help=f"{BY}  [default: split]")
@format_options
@AVERAGE
@CLUSTER
@click.option(
    "--invalid",
    type=click.Choice(["exclude", "fail"]),
    default=None,
    help="Rows without a right answer: exclude them, or count them as failures.  "
    "[default: as in the run]",
)
@click.option(
    "--f1",
    type=click.Choice(get_args(F1Variant)),
    default=None,
    help="Variant of operation F1, which also decides step success.  [default: as in the run]",
)
@click.option(
    "--published",
    type=click.Choice(["alike", "all"]),
    is_flag=False,
    flag_value="alike",
    metavar="[all]",
    help="Add published results that were measured in the same way, and say how many others there "
    "are; with `all`, list the others, too.",
)
@click.option(
    "--compact",
    is_flag=True,
    help="A leaderboard: a row per run, over all its splits; the best first if the runs may be "
    "ranked. Over several benchmarks, a row per model and a column per benchmark.",
)
@click.option(
    "--common",
    is_flag=True,
    help="Count only the steps for which all runs have an outcome.",
)
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
    published: Literal["alike", "all"] | None,
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
        if key or published or compact or common or plot or details or average != "macro":
            raise click.UsageError(
                "--by, --average, --published, --compact, --common, --plot and --details are for "
                "--table main"
            )
        if (invalid or f1 or cluster) and kind != "prefix":
            raise click.UsageError(
                "--cluster, --invalid and --f1 are for --table main and --table prefix"
            )
        if kind == "prefix":
            from reports.prefixes import prefix_table

            emit(prefix_table(runs, f1=f1, invalid=invalid, cluster=cluster), form, out)
        elif kind == "status":
            from reports.statuses import status_table

            emit(status_table(runs), form, out)
        else:
            from reports.costs import cost_table

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
        everything = published == "all"
        _beside_published(table, runs, form, out, average, invalid, f1, key or "", everything)
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
    everything: bool,
) -> None:
    if form in ("csv", "parquet"):
        raise click.UsageError(
            f"--format {form} holds one table: vlm-eval analyse published RUN writes the other"
        )
    from adapters.registry import load
    from harness.tables.data import json_content, to_json
    from reports.formats import grid, grids

    published_tables = load("reports.published.beside:published_beside")(
        runs, average=average, by=by, invalid=invalid, f1=f1
    )
    published = [grid(one, average) for one in published_tables]
    if not everything and form != "json":
        alike, apart = published_tables
        published = [replace(published[0], footnotes=(*published[0].footnotes, *_others(apart)))]
    if form == "json":
        listed = (grid(table, average), *published)
        results, alike, apart = (json_content(one, note="") for one in listed)
        note = {"note": note_of_command()} if note_of_command() else {}
        put(to_json({**note, **results, "published": {"alike": alike, "apart": apart}}), out)
    else:
        emit_grids([*grids(table, average), *published], form, out)


def _others(apart: pd.DataFrame) -> Iterator[str]:
    """Say how many published results were measured otherwise, and why the first was."""
    if len(apart):
        first = apart.iloc[0]
        yield (
            f"{counted(len(apart), 'published result')} measured in another way (--published all); "
            f"{first['source']}, {first['model']}: {first['differs']}"
        )
