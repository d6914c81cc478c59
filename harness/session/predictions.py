"""Scoring without a model: predictions from a file.

docs/predictions.md describes the file. What a line says, and what becomes of units without one,
depends on the kind of units (`harness.benchmarks.prediction_file`).
"""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.benchmarks import benchmark_of
from harness.benchmarks.options import refuse_given
from harness.benchmarks.prediction_file import read_predictions
from harness.benchmarks.scoring import scored, scorer_of
from harness.errors import UserError
from harness.printing import say
from harness.session.as_json import scores_json
from harness.session.brief import print_result
from harness.session.report import result_grid
from harness.session.summary import plain_results, results_of
from harness.settings import Settings, declared_by
from harness.tables import (
    counted,
)

if TYPE_CHECKING:
    from rich.console import Console


def score_predictions(
    path: Path, settings: Settings, console: Console, *, as_json: str | None
) -> int:
    """Print the scores of a prediction file, as JSON as `rescore_run` does. Returns the exit
    code."""
    from harness.planning.data import open_data

    source = benchmark_of(settings)
    asking = [n for n, one in declared_by(source.Options).items() if one.group == "Question"]
    refuse_given(source.given, asking, "on predictions: leave it out")
    kind = source.predictions(settings)
    settings = kind.settings
    said = read_predictions(path, kind)
    selected = open_data(settings, source)
    known = {entry.unit_id for entry in selected.part.entries}
    for unit_id in said:
        if unit_id not in known:
            near = difflib.get_close_matches(unit_id, known, n=1, cutoff=0.9)
            hint = f"did you mean {near[0]}?" if near else "is it in another split?"
            raise UserError(f"{path}: no {kind.unit} {unit_id} among those selected; {hint}")
    declared = selected.part.declared or source.declared
    source = replace(source, declared=declared)
    score = scorer_of(source, declared)
    records = [
        scored(record, score)
        if record.prediction is not None and record.invalid is None
        else record
        for record in kind.records(said, selected.part)
    ]
    found = results_of(records, settings, source, selected.task_rows)
    if as_json:
        summary = {"note": source.note, **plain_results(found)}
        splits = sorted({record.split for record in records})
        about = {"predictions": str(path), "benchmark": settings.benchmark, "splits": splits}
        full = json.dumps({**about, **summary, **kind.counts()}, indent=2)
        say(full if as_json == "full" else scores_json(about, summary, declared))
        return 0
    print_result(console, result_grid(records, settings, source, found, selected.task_rows))
    count = f"{len(said)} predictions for {counted(len(records), declared.unit, declared.units)}"
    if any(record.unit_id not in said and record.invalid is None for record in records):
        units = declared.units
        count += (
            f"; {units} without one are left out (--benchmark-option unattempted=fail counts "
            "them as failed)"
            if settings.unattempted == "exclude"
            else f"; {units} without one count as failed"
        )
    for line in (*kind.notes(said), count):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0
