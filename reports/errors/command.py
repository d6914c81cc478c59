"""`vlm-eval errors`: why the steps of runs failed, and labels for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adapters.input_files import utf8_bytes
from harness.tables import say
from reports.output import RUNS, emit_grids, format_options, put

if TYPE_CHECKING:
    from harness.runs import Run

_PATH = click.Path(path_type=Path)


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
    "--label",
    "label",
    nargs=2,
    metavar="STEP LABEL",
    default=None,
    help="Label what went wrong in a step; an empty label removes yours.",
)
@click.option("--note", default="", help="Note to store with --label.")
@click.option(
    "--who", default="", help="Name of the person who labels; each has one label per step."
)
@click.option(
    "--repeat", type=click.IntRange(min=0), default=0, help="Repeat of the step to label."
)
@click.option(
    "--import-labels", "source", type=_PATH, help="Add the labels exported from the HTML page."
)
@click.option(
    "--export-labels", "target", type=_PATH, help="Write all labels to this file, as JSON."
)
def errors(
    runs: tuple[Path, ...],
    by: str | None,
    form: str,
    examples: int,
    pages: bool,
    label: tuple[str, str] | None,
    note: str,
    who: str,
    repeat: int,
    source: Path | None,
    target: Path | None,
    out: Path | None,
) -> int:
    """Count why the steps of every RUN failed, one class per row (docs/errors.md defines them).

    --label, --import-labels and --export-labels edit or write the labels given by people instead of
    printing the table. Labels are kept in labels.jsonl in the run's directory. Any text will do;
    common ones are hallucination, poor graphical recognition, misread task context and pop-up.
    """
    from reports.load import open_runs

    opened = open_runs(runs)
    if label is None and (note or who or repeat):
        raise click.UsageError("--note, --who and --repeat need --label")
    labelling = label is not None or source is not None or target is not None
    if labelling and (by or form != "text" or examples or not pages or out is not None):
        raise click.UsageError(
            "--by, --format, --examples, --no-pages and --out are for the table, not for labels"
        )
    if label is not None:
        _add_label(opened, label, repeat, note, who)
    if source is not None:
        _import(opened, source)
    if target is not None:
        from reports.errors.labels import export_labels

        put(export_labels(opened), target)
        say(f"labels written to {target}")
    if labelling:
        return 0
    from reports.errors.table import errors_table, grids

    try:
        table = errors_table(opened.values(), by, examples=examples, pages=pages)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--by") from error
    arranged = grids(table)
    # Formats for programs hold one table: the examples are among its facts.
    emit_grids(arranged[:1] if form in ("csv", "json", "parquet") else arranged, form, out)
    return 0


def _add_label(
    opened: Mapping[str, Run], step_and_text: tuple[str, str], repeat: int, note: str, who: str
) -> None:
    from harness.tables import clean
    from reports.errors.labels import Label, add_labels, now

    step_id, text = step_and_text
    if len(opened) > 1:
        raise click.UsageError("a label belongs to one run: name a single RUN")
    run = next(iter(opened.values()))
    if not any(one.key == (step_id, repeat) for one in run.records()):
        unit = run.manifest.declaration.unit
        raise click.UsageError(f"{run.path} has no {unit} {clean(step_id)} with repeat {repeat}")
    labels = add_labels(run, [Label(step_id, text, repeat, note, who, now())])
    _warn(labels.problems)
    say(f"{clean(step_id)}: {clean(text) or 'label removed'}")


def _import(opened: Mapping[str, Run], source: Path) -> None:
    from harness.tables import clean
    from reports.errors.labels import import_labels

    try:
        content = utf8_bytes(source)
    except OSError as error:
        raise click.UsageError(f"cannot read {source}: {error.strerror or error}") from error
    for name, run in opened.items():
        result = import_labels(run, content, name=name)
        _warn(result.problems)
        say(f"{clean(name)}: {result.imported} labels imported")


def _warn(problems: Sequence[str]) -> None:
    for problem in problems:
        say(f"left out: {problem}", err=True)
