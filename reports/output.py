"""Options shared by the commands of this package, and output of their tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from harness.tables import FORMATS as FORMATS
from harness.tables import say
from parsers import Average, F1Variant

if TYPE_CHECKING:
    import pandas as pd

    from harness.tables import Grid

FOLDERS = "vlm_eval.folders"
"""Where the context of a command has the folders that it was given in place of runs."""


def _with_folders(
    context: click.Context, parameter: click.Parameter, named: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Replace every folder that is not a run by the runs below it, shards left out.

    `context.meta[FOLDERS]` has the folders where nothing else was named.
    """
    if not any(_is_folder(path) for path in named):
        return named
    if all(_is_folder(path) for path in named):
        context.meta[FOLDERS] = named
    from harness.runs.run import find_runs
    from harness.tables import clean

    runs: dict[Path, None] = {}
    for path in named:
        if not _is_folder(path):
            runs[path] = None
            continue
        found = find_runs(path)
        runs |= dict.fromkeys(found.outermost)
        if found.passed_over:
            say(clean(found.note), err=True)
        if not found.runs:
            raise click.UsageError(f"there is no run in {path} or below it")
    return tuple(runs)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not (path / "manifest.json").exists()


RUNS = click.argument(
    "runs",
    metavar="RUN...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    callback=_with_folders,
)
"""Runs by their directories; a folder represents all runs below it."""
RUN = click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
AVERAGE = click.option(
    "--average",
    type=click.Choice(get_args(Average)),
    default="macro",
    show_default=True,
    help="Average over tasks (macro), steps (micro) or cells; a measure without it has its own. "
    "csv and json hold all.",
)
CLUSTER = click.option(
    "--cluster",
    metavar="LEVEL",
    default="",
    help="Clusters of intervals and tests, of those that the benchmark declares: task "
    "generalises to new tasks on these websites, website to new websites.  "
    "[default: the first one, mostly task]",
)
INVALID = click.option(
    "--invalid",
    type=click.Choice(["exclude", "fail"]),
    default=None,
    help="Rows without a right answer: exclude them, or count them as failures.  "
    "[default: as in the run]",
)
F1 = click.option(
    "--f1",
    type=click.Choice(get_args(F1Variant)),
    default=None,
    help="Variant of operation F1, which also decides step success.  [default: as in the run]",
)
SUFFIXES = (".png", ".svg", ".pdf")


def _plot_file(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    if path is not None and path.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(f"{path} should end in one of {', '.join(SUFFIXES)}")
    return path


PLOT = click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_plot_file,
    help="Also draw a figure into this file (.png, .svg or .pdf).",
)


def format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options `--format` and `--out` to a command."""
    form = click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="Output format.",
    )
    as_json = click.option("--json", "form", flag_value="json", help="Short for --format json.")
    out = click.option(
        "--out",
        "-o",
        type=click.Path(path_type=Path),
        help="Write to this file instead of standard output.",
    )
    return form(as_json(out(command)))


def emit(
    table: pd.DataFrame,
    form: str,
    out: Path | None,
    average: Average = "macro",
    note: str | None = None,
) -> None:
    """Write a table in a format to a file or standard output."""
    from reports.formats import arranged

    emit_grids(arranged(table, form, average), form, out, note)


def emit_grids(grids: Sequence[Grid], form: str, out: Path | None, note: str | None = None) -> None:
    """Write grids in a format to a file or standard output; text fits the terminal's width.

    `note` is the one on test data, by default that of the runs that the command names.
    """
    from harness.tables import render, terminal_width

    note = note_of_command() if note is None else note
    width = terminal_width() if out is None else None
    put(render(grids, form, width=width, note=note), out)


def note_of_command() -> str:
    """Return the note on test data, "" where every run that the command names is of made-up
    data."""
    from harness.tables import TEST_DATA_NOTE
    from reports.load import guarding_notes

    context = click.get_current_context()
    named: list[Path] = []
    for parameter in context.command.params:
        if isinstance(parameter, click.Argument):
            value = context.params.get(str(parameter.name))
            named += value if isinstance(value, (tuple, list)) else filter(None, [value])
    return guarding_notes(named) if named else TEST_DATA_NOTE


def put(content: str, out: Path | None) -> None:
    """Write a text to a file or standard output."""
    if out is None:
        say(content, nl=False)
        return
    try:
        out.write_text(content, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {out}: {error.strerror or error}") from error
