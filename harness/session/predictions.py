"""Scoring without a model: predictions from a file, and a run by SeeClick's rules.

docs/predictions.md describes the file. What a line says, and what becomes of units without one,
depends on the kind of units (`harness.benchmarks.prediction_file`).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.benchmarks import benchmark_of
from harness.benchmarks.options import refuse_given
from harness.benchmarks.prediction_file import read_predictions
from harness.benchmarks.scoring import scored, scorer_of
from harness.errors import UserError
from harness.printing import say
from harness.runs import StepUnit, open_run
from harness.runs.finding import settings_of
from harness.session.as_json import scores_json
from harness.session.brief import print_result
from harness.session.report import result_grid
from harness.session.rescoring import rescored
from harness.session.summary import plain, plain_results, results_of
from harness.settings import Settings, declared_by
from harness.tables import (
    TEST_DATA_NOTE,
    Grid,
    Heading,
    Row,
    Section,
    clean,
    counted,
    percent,
    render,
)
from parsers.records import Prediction, Status
from parsers.seeclick import SKIPS, SeeClickScores, seeclick_scores, seeclick_step

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


PUBLISHED: dict[str, tuple[float, float, float]] = {
    "Qwen-VL, published": (12.6, 10.1, 8.0),
    "SeeClick, published": (23.7, 18.8, 20.2),
}
"""Step success on test_task, test_website, test_domain (AutoWebGLM's table quotes SeeClick's)."""
SPLITS = ("test_task", "test_website", "test_domain")
NOT_COMPARABLE = (
    "The published row was measured on screenshots that the authors distribute, which are not the "
    "full pages of Multimodal-Mind2Web; whether it is a mean over steps or over tasks is not said."
)


def show_as_seeclick(path: Path, console: Console, *, as_json: bool = False) -> int:
    """Print the table; the exit code. Raises `UserError` for a run without points."""
    run = open_run(path)
    records = rescored(run, settings_of(run)).records
    answers = [record.prediction for record in records if record.prediction and record.settled]
    no_points = all(answer.point is None for answer in answers)
    if no_points and any(answer.element is not None for answer in answers):
        raise UserError(
            f"{path} has no answers by coordinates, and SeeClick scores nothing else; "
            "run with --protocol coordinates"
        )
    splits = list(dict.fromkeys(record.split for record in records))
    parts = {split: scores_of([r for r in records if r.split == split]) for split in splits}
    unsettled = sum(not record.settled and record.invalid is None for record in records)
    if as_json:
        content = {"note": TEST_DATA_NOTE, "unsettled": unsettled, "by_split": plain(parts)}
        say(json.dumps(content, indent=2))
        return 0
    grid = _grid(parts, unsettled)
    shown = render(grid, width=console.width, note="")
    console.print(shown, markup=False, highlight=False, soft_wrap=True, end="")
    return 0


def scores_of(records: Sequence[StepUnit]) -> SeeClickScores:
    """The scores of some lines; unsettled ones of valid rows are left out."""
    return seeclick_scores(
        (
            record.parents["task"],
            seeclick_step(
                record.prediction or Prediction(Status.NO_REPLY),
                record.detail.gold,
                record.detail.page_size
                if record.invalid is None or record.digests.get("screenshot")
                else None,
                record.parents["task"],
            ),
        )
        for record in records
        if record.settled or record.invalid is not None
    )


def _skips(part: tuple[str, SeeClickScores]) -> str:
    split, scores = part
    skipped = ", ".join(f"{scores.skipped[skip]} {skip.replace('_', ' ')}" for skip in SKIPS)
    empty = f", {scores.empty_tasks} tasks left without a step" if scores.empty_tasks else ""
    return f"{clean(split)} ({skipped}{empty})"


def _grid(parts: dict[str, SeeClickScores], unsettled: int) -> Grid:
    heads = ("steps", "Ele", "Operation F1", "Step SR", "Macro Ele", "Macro SR")
    rows = []
    for split, scores in parts.items():
        rates = (
            scores.element,
            scores.operation_f1,
            scores.success,
            scores.macro_element,
            scores.macro_success,
            scores.ceiling,
        )
        rows.append(Row((split, str(scores.steps), *map(percent, rates))))
        if split in SPLITS:
            place = SPLITS.index(split)
            rows += [
                Row((name, "", "", "", f"{row[place]:.1f}", "", "", ""), parent=split)
                for name, row in PUBLISHED.items()
            ]
    left_out = [f"{unsettled} steps have no reply yet and are left out."] if unsettled else []
    return Grid(
        title="",
        columns=(Heading("", "left"), *map(Heading, (*heads, "2-decimal ceiling"))),
        sections=(Section(tuple(rows)),),
        footnotes=(
            f"Per cent. Skipped as in SeeClick: {', '.join(map(_skips, parts.items()))}.",
            "2-decimal ceiling: steps whose box can be hit by a click with two decimals.",
            NOT_COMPARABLE,
            *left_out,
        ),
    )
