"""Scoring predictions from a file, without a model.

docs/predictions.md describes the file. What a line says, and what becomes of units without one,
depends on the kind of units (`harness.kinds.prediction_file`).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.benchmarks import benchmark, note_of
from harness.errors import UserError
from harness.kinds.contract import kind_of, unit_kind
from harness.kinds.prediction_file import read_predictions
from harness.kinds.scoring import Records, scorer_of
from harness.printing import say
from harness.session.report import print_result, result_grid
from harness.session.summary import (
    aggregation_rules,
    part,
    parts,
    plain_part,
    plain_parts,
)
from harness.settings import Settings
from harness.tables import counted
from parsers import Declaration
from parsers.declaration import SPLIT

if TYPE_CHECKING:
    from rich.console import Console


def score_predictions(path: Path, settings: Settings, console: Console, *, as_json: bool) -> int:
    """Print the scores of a prediction file. Returns the exit code."""
    from harness.planning.plan import open_data

    kind = kind_of(settings).predictions(settings)
    settings = kind.settings
    said = read_predictions(path, kind)
    selected = open_data(replace(settings, distractors=0))
    known = {entry.unit_id for entry in selected.part.entries}
    for unit_id in said:
        if unit_id not in known:
            near = difflib.get_close_matches(unit_id, known, n=1, cutoff=0.9)
            hint = f"did you mean {near[0]}?" if near else "is it in another split?"
            raise UserError(f"{path}: no {kind.unit} {unit_id} among those selected; {hint}")
    declared = benchmark(settings.benchmark).declared
    score = scorer_of(settings, declared)
    records = [
        replace(record, scores=score(record.prediction, record.detail))
        if record.prediction is not None and record.invalid is None
        else record
        for record in kind.records(said, selected.part)
    ]
    if as_json:
        summary = _summary(records, settings, declared, selected.task_rows)
        say(json.dumps({**summary, **kind.counts()}, indent=2))
        return 0
    # A file says nothing of candidates that a ranker missed.
    shown = replace(settings, top_k=None)
    print_result(console, result_grid(records, shown, declared, selected.task_rows))
    count = f"{len(said)} predictions for {counted(len(records), kind.unit)}"
    if any(record.unit_id not in said and record.invalid is None for record in records):
        units = declared.units
        count += (
            f"; {units} without one are left out (--unattempted fail counts them as failed)"
            if settings.unattempted == "exclude"
            else f"; {units} without one count as failed"
        )
    for line in (*kind.notes(said), count):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def _summary(
    records: Records,
    settings: Settings,
    declared: Declaration,
    task_rows: Mapping[str, int],
) -> dict[str, Any]:
    rules = aggregation_rules(settings, declared)
    bounds = unit_kind(declared.kind).extras.bounds(records, settings)
    shared = (declared, rules, task_rows)
    return {
        "note": note_of(settings.benchmark),
        "total": plain_part(part(records, *shared, bounds=bounds)),
        "by_split": plain_parts(parts(records, SPLIT, *shared, bounds=bounds)),
    }
