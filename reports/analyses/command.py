"""`vlm-eval analyse`: questions that a table of scores does not answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reports.output import AVERAGE, PLOT, RUN, RUNS, emit, format_options

if TYPE_CHECKING:
    import pandas as pd


@click.group(short_help="Distractors, places, pictures, luck, ceilings, intervals; published.")
def analyse() -> None:
    """Look at runs from sides that a table of scores does not show."""


@analyse.command(short_help="Scores over the number of distractors.")
@RUNS
@format_options
@PLOT
def distractors(runs: tuple[Path, ...], form: str, out: Path | None, plot: Path | None) -> int:
    """Compare RUNs that differ in the number of distractors only (or also in the model).

    Scores are of the steps that all runs of a model have in common.
    """
    from reports.analyses.distractors import distractor_curve

    return _show(distractor_curve(runs), form, out, plot, "distractors")


@analyse.command(short_help="Does the model prefer places in the list?")
@RUN
@format_options
@PLOT
def positions(run: Path, form: str, out: Path | None, plot: Path | None) -> int:
    """How often each place of the list is picked in RUN, against chance, and how often rightly."""
    from reports.analyses.positions import option_positions

    return _show(option_positions(run), form, out, plot, "positions")


@analyse.command(short_help="What is the picture worth?")
@click.argument("one", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("other", metavar="RUN", type=click.Path(path_type=Path))
@format_options
@PLOT
def picture(one: Path, other: Path, form: str, out: Path | None, plot: Path | None) -> int:
    """Compare a model with pictures and the same one with image policy none, step by step."""
    from reports.analyses.picture import picture_effect

    return _show(picture_effect(one, other), form, out, plot, "picture")


@analyse.command(short_help="Do tasks succeed as often as independent steps would?")
@RUN
@format_options
@PLOT
def independence(run: Path, form: str, out: Path | None, plot: Path | None) -> int:
    """Task success of RUN beside the products of its step rates, by number of steps."""
    from reports.analyses.independence import task_independence

    return _show(task_independence(run), form, out, plot, "independence")


@analyse.command(short_help="How much could any model reach with what it was shown?")
@RUN
@click.option(
    "--recall",
    multiple=True,
    metavar="[SPLIT=]SHARE",
    help="Recall of a candidate ranker, between 0 and 1; once, or once per split.",
)
@format_options
@PLOT
def ceiling(
    run: Path, recall: tuple[str, ...], form: str, out: Path | None, plot: Path | None
) -> int:
    """Bounds from what RUN listed and showed: candidates, pictures, rows without an answer."""
    from reports.analyses.ceiling import ceilings

    try:
        frame = ceilings(run, _recall(recall))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--recall") from error
    return _show(frame, form, out, plot, "ceiling")


@analyse.command(short_help="Would another method give another interval?")
@RUNS
@format_options
def intervals(runs: tuple[Path, ...], form: str, out: Path | None) -> int:
    """Both intervals of every headline rate of RUNs: t or Clopper-Pearson, and bootstrap by task.

    The bootstrap is seeded by the run: the same run gives the same interval.
    """
    from reports.analyses.intervals import second_intervals

    emit(second_intervals(runs), form, out)
    return 0


@analyse.command(short_help="Results that others published.")
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path))
@format_options
@AVERAGE
def published(runs: tuple[Path, ...], form: str, out: Path | None, average: str) -> int:
    """List published results with what decides whether they compare; with RUNs, whether they do."""
    from reports.published import published_table

    emit(published_table(runs, average=average), form, out)
    return 0


def _recall(given: tuple[str, ...]) -> float | dict[str, float] | None:
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return float(given[0])
    found = {}
    for text in given:
        split, sign, value = text.rpartition("=")
        if not sign or split in found:
            raise ValueError(f"give one number, or each split once as SPLIT=SHARE, not {text!r}")
        found[split] = float(value)
    return found


def _show(frame: pd.DataFrame, form: str, out: Path | None, plot: Path | None, name: str) -> int:
    if plot is not None:
        from reports.analyses import plots

        try:
            plots.save(getattr(plots, name), frame, plot)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--plot") from error
        except OSError as error:
            raise click.UsageError(f"cannot write {plot}: {error.strerror or error}") from error
    emit(frame, form, out)
    return 0
