"""Scores of units, as their benchmark computes them and as it declares them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from harness.benchmarks import declared
from harness.benchmarks.recorded import step_scores
from harness.errors import DataError, UserError, suggestion
from harness.settings import SETTINGS, Settings
from parsers.declaration import Declaration
from parsers.mind2web import MIND2WEB
from parsers.records import Prediction, Scores

Scorer = Callable[[Prediction, Any], Scores]
"""From a prediction and the detail of a unit to its scores."""


def scorer_of(settings: Settings, declaration: Declaration) -> Scorer:
    """Open the scorer of a run's units by its settings; see `Benchmark.score`.

    Runs of recorded steps are scored without the package that has the benchmark. Raises `DataError`
    for others without theirs, and `UserError` for a variant that they do not have; the scorer
    raises `UserError` for scores that are not as declared.
    """
    found = declared(settings.benchmark)
    if found is None and declaration != MIND2WEB:
        raise DataError(
            f"scoring needs the package that has the benchmark {settings.benchmark}, which is not "
            "installed"
        )
    if found is not None:
        found.check_installed()
    check_variant(settings, declaration)
    names = declaration.scores

    def score(prediction: Prediction, detail: Any) -> Scores:
        if found is None:
            return step_scores(prediction, detail, settings)
        scores = found.score(prediction, detail, settings)
        if problem := _problem(scores, found.declared):
            raise UserError(f"{settings.benchmark} {problem}")
        if unscored := [name for name in found.declared.scores if name not in scores]:
            raise UserError(f"{settings.benchmark} declares {unscored[0]} and does not score it")
        # The measures are those of the run's manifest: its benchmark may declare more by now.
        return {name: scores.get(name) for name in names}

    return score


def check_variant(settings: Settings, declaration: Declaration) -> None:
    """Raise `UserError` for a variant of a measure that a benchmark does not declare."""
    for measure in declaration.measures:
        if not (measure.variants and measure.setting):
            continue
        chosen, option = getattr(settings, measure.setting), SETTINGS[measure.setting].option
        if chosen not in measure.variants:
            raise UserError(
                f"{option} {chosen} is not a variant of {measure.meaning or measure.name} on "
                f"{settings.benchmark}, which has {', '.join(measure.variants)}"
            )


def _problem(scores: Scores, declaration: Declaration) -> str:
    """Describe what is wrong with the scores of a unit; "" if nothing is."""
    averaged = {name for measure in declaration.of_units for name in measure.scores}
    binary = {name for _, name, measure in declaration.columns if measure.binary}
    for name, value in scores.items():
        if name not in declaration.scores:
            return (
                f"scores {name}, which it does not declare: {suggestion(name, declaration.scores)}"
            )
        if value is None:
            continue
        if not math.isfinite(value):
            return f"scores {name} with {value}, which is not finite"
        if name in averaged and not 0 <= value <= 1:
            return f"scores {name} with {value}: what is averaged lies between 0 and 1"
        if name in binary and value not in (0, 1):
            return f"scores {name} with {value}: a measure that is not 0 or 1 has binary=False"
    return ""
