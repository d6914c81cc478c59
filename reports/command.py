"""`vlm-eval report`: the table of one or more runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from parsers import F1_VARIANTS, GROUP_KEYS, F1Variant, GroupKey

if TYPE_CHECKING:
    from reports.formats import Format
    from reports.frames.rows import InvalidRule
    from reports.layout import Average

FORMATS = ("text", "markdown", "csv", "latex", "json")


@click.command(short_help="Print the table of one or more runs.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--by", "key", type=click.Choice(GROUP_KEYS), default="split", show_default=True)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option(
    "--average",
    type=click.Choice(["macro", "micro"]),
    default="macro",
    show_default=True,
    help="Over tasks or over steps; csv and json hold both.",
)
@click.option(
    "--invalid",
    type=click.Choice(["exclude", "fail"]),
    default=None,
    help="Rows without an answer: left out, or counted as failures.  [default: as the run]",
)
@click.option(
    "--f1",
    type=click.Choice(F1_VARIANTS),
    default=None,
    help="Operation F1; decides step success too.  [default: as the run]",
)
@click.option("--out", "-o", type=click.Path(path_type=Path), help="A file instead of the screen.")
def report(
    runs: tuple[Path, ...],
    key: GroupKey,
    form: Format,
    average: Average,
    invalid: InvalidRule | None,
    f1: F1Variant | None,
    out: Path | None,
) -> int:
    """Print the results of every RUN (a run directory), finished or not.

    A row per run and split, and one over all splits; runs are never pooled. Runs that differ in
    more than their model are shown with what differs.
    """
    from reports.formats import render
    from reports.tables import by_table

    content = render(by_table(runs, key, f1=f1, invalid=invalid), form, average)
    if out is None:
        click.echo(content, nl=False)
        return 0
    try:
        out.write_text(content, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {out}: {error.strerror or error}") from error
    return 0
