"""`vlm-eval analyse`: questions that a table of scores does not answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reports.output import RUN, RUNS, emit, format_options

if TYPE_CHECKING:
    import pandas as pd

A_RUN = click.Path(path_type=Path)


@click.group(short_help="Distractors, option positions, pictures, ceilings, published results.")
def analyse() -> None:
    """Answer questions that a table of scores does not."""


def _analysis(question: str) -> Callable[..., click.Command]:

    def command(analysis: Callable[..., pd.DataFrame]) -> click.Command:
        @wraps(analysis)
        def show(form: str, out: Path | None, **given: Any) -> int:
            emit(analysis(**given), form, out)
            return 0

        return analyse.command(short_help=question)(format_options(show))

    return command


@_analysis("How do scores fall with the number of distractors?")
@RUNS
def distractors(runs: tuple[Path, ...]) -> pd.DataFrame:
    """Compare RUNs that differ only in the number of distractors (and possibly in the model).

    Scores are computed on the steps that all runs of a model share.
    """
    from reports.analyses.paired import distractor_curve

    return distractor_curve(runs)


@_analysis("Does the model prefer positions in the list?")
@RUN
def positions(run: Path) -> pd.DataFrame:
    """Show how often RUN picks each position of the list, against chance, and how accurately."""
    from reports.analyses.choices import option_positions

    return option_positions(run)


@_analysis("What does the screenshot add?")
@click.argument("one", metavar="RUN", type=A_RUN)
@click.argument("other", metavar="RUN", type=A_RUN)
def picture(one: Path, other: Path) -> pd.DataFrame:
    """Compare a run with pictures to one of the same model with image policy none, by step."""
    from reports.analyses.paired import picture_effect

    return picture_effect(one, other)


@_analysis("Do tasks succeed as often as independent steps would?")
@RUN
def independence(run: Path) -> pd.DataFrame:
    """Show task success of RUN next to the product of its step rates, by number of steps."""
    from reports.analyses.independence import task_independence

    return task_independence(run)


@_analysis("What is the best any model could score on what was shown?")
@RUN
def ceiling(run: Path) -> pd.DataFrame:
    """Bound the scores of any model by what RUN showed: candidates, pictures, valid rows."""
    from reports.analyses.choices import ceilings

    return ceilings(run)


@_analysis("List published results.")
def published() -> pd.DataFrame:
    """List published results with the keys that decide what compares (report --published)."""
    from reports.published.beside import published_table

    return published_table()
