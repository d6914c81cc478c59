"""`vlm-eval analyse`: questions that a table of scores does not answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reports.output import AVERAGE, PLOT, RUN, RUNS, emit, format_options

if TYPE_CHECKING:
    import pandas as pd

    from parsers import Average


@click.group(
    short_help="Distractors, option positions, pictures, ceilings, intervals, published results."
)
def analyse() -> None:
    """Answer questions that a table of scores does not."""


@analyse.command(short_help="How do scores fall with the number of distractors?")
@RUNS
@format_options
@PLOT
def distractors(runs: tuple[Path, ...], form: str, out: Path | None, plot: Path | None) -> int:
    """Compare RUNs that differ only in the number of distractors (and possibly in the model).

    Scores are computed on the steps that all runs of a model share.
    """
    from reports.analyses.distractors import distractor_curve

    return _show(distractor_curve(runs), form, out, plot, "distractors")


@analyse.command(short_help="Does the model prefer positions in the list?")
@RUN
@format_options
@PLOT
def positions(run: Path, form: str, out: Path | None, plot: Path | None) -> int:
    """Show how often RUN picks each position of the list, against chance, and how accurately."""
    from reports.analyses.positions import option_positions

    return _show(option_positions(run), form, out, plot, "positions")


@analyse.command(short_help="What does the screenshot add?")
@click.argument("one", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("other", metavar="RUN", type=click.Path(path_type=Path))
@format_options
@PLOT
def picture(one: Path, other: Path, form: str, out: Path | None, plot: Path | None) -> int:
    """Compare a run with pictures to one of the same model with image policy none, by step."""
    from reports.analyses.picture import picture_effect

    return _show(picture_effect(one, other), form, out, plot, "picture")


@analyse.command(short_help="Do tasks succeed as often as independent steps would?")
@RUN
@format_options
@PLOT
def independence(run: Path, form: str, out: Path | None, plot: Path | None) -> int:
    """Show task success of RUN next to the product of its step rates, by number of steps."""
    from reports.analyses.independence import task_independence

    return _show(task_independence(run), form, out, plot, "independence")


@analyse.command(short_help="What is the best any model could score on what was shown?")
@RUN
@click.option(
    "--recall",
    multiple=True,
    metavar="[SPLIT=]SHARE",
    help="Recall of a candidate ranker (0 to 1), for all splits or one split at a time.",
)
@format_options
@PLOT
def ceiling(
    run: Path, recall: tuple[str, ...], form: str, out: Path | None, plot: Path | None
) -> int:
    """Bound the scores of any model by what RUN showed: candidates, pictures, valid rows."""
    from reports.analyses.ceiling import ceilings

    try:
        frame = ceilings(run, _recall(recall))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--recall") from error
    return _show(frame, form, out, plot, "ceiling")


@analyse.command(short_help="Do two methods give the same intervals?")
@RUNS
@format_options
def intervals(runs: tuple[Path, ...], form: str, out: Path | None) -> int:
    """Print two intervals per headline rate: the printed one, and a bootstrap over tasks.

    The bootstrap is seeded by the run, so the same run always gives the same interval.
    """
    from reports.analyses.intervals import second_intervals

    emit(second_intervals(runs), form, out)
    return 0


@analyse.command(short_help="List published results.")
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path))
@format_options
@AVERAGE
def published(runs: tuple[Path, ...], form: str, out: Path | None, average: Average) -> int:
    """List published results with the keys that make them comparable; with RUNs, what differs."""
    from reports.published.beside import published_table

    emit(published_table(runs, average=average), form, out)
    return 0


def _recall(texts: tuple[str, ...]) -> float | dict[str, float] | None:
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return float(texts[0])
    by_split = {}
    for text in texts:
        split, sign, value = text.rpartition("=")
        if not sign or split in by_split:
            raise ValueError(f"give one number, or each split once as SPLIT=SHARE, not {text!r}")
        by_split[split] = float(value)
    return by_split


def _show(frame: pd.DataFrame, form: str, out: Path | None, plot: Path | None, name: str) -> int:
    if plot is not None:
        from reports.analyses import plots
        from reports.view.figures import save

        save(getattr(plots, name), frame, plot)
    emit(frame, form, out)
    return 0
