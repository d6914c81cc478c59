"""Scores of units, as their benchmark computes them and as it declares them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from harness.benchmarks import declared
from harness.benchmarks.recorded import step_scores
from harness.errors import DataError, UserError
from harness.settings import Settings
from parsers.declaration import Declaration
from parsers.mind2web import declaration_of
from parsers.records import Prediction, Scores

Scorer = Callable[[Prediction, Any], Scores]
"""From a prediction and the detail of a unit to its scores."""


def scorer_of(settings: Settings, declaration: Declaration) -> Scorer:
    """What scores the units of a run by its settings; see `Benchmark.score`.

    Runs of recorded steps are scored without the package that has the benchmark. Raises `DataError`
    for others without theirs; the scorer raises `UserError` for scores that are not as declared.
    """
    found = declared(settings.benchmark)
    if found is None and declaration != declaration_of(None):
        raise DataError(
            f"scoring needs the package that has the benchmark {settings.benchmark}, which is not "
            "installed"
        )
    names = declaration.scores
    averaged = {name for measure in declaration.of_units for name in measure.scores}

    def score(prediction: Prediction, detail: Any) -> Scores:
        if found is None:
            return step_scores(prediction, detail, settings)
        scores = found.score(prediction, detail, settings)
        for name, value in scores.items():
            if name not in names:
                raise UserError(
                    f"{settings.benchmark} scores {name}, which it does not declare ("
                    f"declared: {', '.join(names)})"
                )
            if value is None:
                continue
            if not math.isfinite(value) or (name in averaged and not 0 <= value <= 1):
                where = "between 0 and 1" if name in averaged else "finite"
                raise UserError(f"{settings.benchmark} scores {name} with {value}, not {where}")
        return {name: scores.get(name) for name in names}

    return score
