"""`vlm-eval errors`: why the steps of runs failed."""

from __future__ import annotations

from pathlib import Path

import click

from adapters.input_files import utf8_bytes
from harness.tables import say
from reports.output import RUNS, emit_grids, format_options


@click.command(short_help="Classify why the steps of runs failed.")
@RUNS
@click.option(
    "--by",
    metavar="KEY",
    default=None,
    help="Also count by the split, or by what the benchmark declares: website or operation.",
)
@format_options
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Number of example steps to show per class.",
)
@click.option(
    "--pages/--no-pages",
    default=True,
    help="Read the pages to see how the chosen element relates to the right one.",
)
@click.option(
    "--import-labels",
    "source",
    type=click.Path(path_type=Path),
    help="First add the labels of this file, which the HTML page has saved.",
)
def errors(
    runs: tuple[Path, ...],
    by: str | None,
    form: str,
    examples: int,
    pages: bool,
    source: Path | None,
    out: Path | None,
) -> int:
    """Count why the steps of every RUN failed, one class per row (docs/errors.md defines them).

    People label what went wrong on the page of `vlm-eval view`, which saves a file for
    --import-labels; labels are kept in labels.jsonl in the run's directory, and counted here.
    """
    from harness.tables import clean
    from reports.errors.labels import import_labels
    from reports.load import open_runs

    opened = open_runs(runs)
    if source is not None:
        try:
            content = utf8_bytes(source)
        except OSError as error:
            raise click.UsageError(f"cannot read {source}: {error.strerror or error}") from error
        for name, run in opened.items():
            result = import_labels(run, content, name=name)
            for problem in result.problems:
                say(f"left out: {problem}", err=True)
            say(f"{clean(name)}: {result.imported} labels imported", err=True)
    from reports.errors.table import errors_table, grids

    try:
        table = errors_table(opened.values(), by, examples=examples, pages=pages)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--by") from error
    arranged = grids(table)
    # Formats for programs hold one table: the examples are among its facts.
    emit_grids(arranged[:1] if form in ("csv", "json") else arranged, form, out)
    return 0
