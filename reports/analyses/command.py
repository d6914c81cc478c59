"""`vlm-eval analyse`: questions that a table of scores does not answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reports.output import AVERAGE, PLOT, RUN, RUNS, emit, format_options

if TYPE_CHECKING:
    import pandas as pd

    from parsers import Average

A_RUN = click.Path(path_type=Path)


@click.group(
    short_help="Distractors, option positions, pictures, ceilings, intervals, published results."
)
def analyse() -> None:
    """Answer questions that a table of scores does not."""


def _analysis(question: str, *, drawn: bool = True) -> Callable[..., click.Command]:
    """Make a command of a function that returns a frame; `plots` draws it by the same name."""

    def command(analysis: Callable[..., pd.DataFrame]) -> click.Command:
        @wraps(analysis)
        def show(form: str, out: Path | None, plot: Path | None = None, **given: Any) -> int:
            frame = analysis(**given)
            if plot is not None:
                from reports.analyses import plots
                from reports.view.figures import save

                save(getattr(plots, analysis.__name__), frame, plot)
            emit(frame, form, out)
            return 0

        return analyse.command(short_help=question)(format_options(PLOT(show) if drawn else show))

    return command


@_analysis("How do scores fall with the number of distractors?")
@RUNS
def distractors(runs: tuple[Path, ...]) -> pd.DataFrame:
    """Compare RUNs that differ only in the number of distractors (and possibly in the model).

    Scores are computed on the steps that all runs of a model share.
    """
    from reports.analyses.distractors import distractor_curve

    return distractor_curve(runs)


@_analysis("Does the model prefer positions in the list?")
@RUN
def positions(run: Path) -> pd.DataFrame:
    """Show how often RUN picks each position of the list, against chance, and how accurately."""
    from reports.analyses.positions import option_positions

    return option_positions(run)


@_analysis("What does the screenshot add?")
@click.argument("one", metavar="RUN", type=A_RUN)
@click.argument("other", metavar="RUN", type=A_RUN)
def picture(one: Path, other: Path) -> pd.DataFrame:
    """Compare a run with pictures to one of the same model with image policy none, by step."""
    from reports.analyses.picture import picture_effect

    return picture_effect(one, other)


@_analysis("Do tasks succeed as often as independent steps would?")
@RUN
def independence(run: Path) -> pd.DataFrame:
    """Show task success of RUN next to the product of its step rates, by number of steps."""
    from reports.analyses.independence import task_independence

    return task_independence(run)


@_analysis("What is the best any model could score on what was shown?")
@RUN
@click.option(
    "--recall",
    multiple=True,
    metavar="[SPLIT=]SHARE",
    help="Recall of a candidate ranker (0 to 1), for all splits or one split at a time.",
)
def ceiling(run: Path, recall: tuple[str, ...]) -> pd.DataFrame:
    """Bound the scores of any model by what RUN showed: candidates, pictures, valid rows."""
    from reports.analyses.ceiling import ceilings

    try:
        return ceilings(run, _recall(recall))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--recall") from error


@_analysis("Do two methods give the same intervals?", drawn=False)
@RUNS
def intervals(runs: tuple[Path, ...]) -> pd.DataFrame:
    """Print two intervals per headline rate: the printed one, and a bootstrap over tasks.

    The bootstrap is seeded by the run, so the same run always gives the same interval.
    """
    from reports.analyses.intervals import second_intervals

    return second_intervals(runs)


@_analysis("List published results.", drawn=False)
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=A_RUN)
@AVERAGE
def published(runs: tuple[Path, ...], average: Average) -> pd.DataFrame:
    """List published results with the keys that make them comparable; with RUNs, what differs."""
    from reports.published.beside import published_table

    return published_table(runs, average=average)


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
