"""`vlm-eval score`: scores from stored replies, or from external predictions."""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.benchmarks import benchmark_of
from harness.benchmarks.options import refuse_given
from harness.benchmarks.prediction_file import read_predictions
from harness.benchmarks.scoring import scored, scorer_of
from harness.commands.options import (
    DATA,
    SettingsCommand,
    json_option,
    names_of,
    read_options,
    setting_options,
)
from harness.errors import UserError
from harness.printing import say
from harness.session.brief import print_result
from harness.session.report import result_grid, scores_json
from harness.session.summary import plain_results, results_of
from harness.settings import Settings, declared_by, written
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


SCORING = names_of("Scoring")
READING = "protocol_option"
"""Has how replies are read: `first_of_many`, `value_style`."""


class _Score(SettingsCommand):
    """Takes a run that follows `--json` for the run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        after = [*args, ""][1:]
        words = [
            "--json=scores" if word == "--json" and following != "full" else word
            for word, following in zip(args, after, strict=True)
        ]
        return super().parse_args(ctx, words)


@click.command(cls=_Score)
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option(
    "--predictions",
    type=click.Path(path_type=Path),
    help="Score this file of predictions, one JSON object per line (see above), instead of a run.",
)
@setting_options([*DATA, *SCORING, READING])
@json_option("; full: the whole summary")
def score(run: Path | None, predictions: Path | None, as_json: str | None, **_: Any) -> int:
    """Score the stored replies of RUN again, or the predictions in a file.

    A run is scored under its own rules unless others are given; --predictions are scored against
    the benchmark and selection given. No model is called.

    \b
    A line of predictions about recorded steps (docs/predictions.md):
      {"step": "<annotation_id>_<action_uid>", "element": "123",
       "operation": "TYPE", "value": "Ohio"}
    element    id of a node on the page (backend_node_id); null: none is right
    point      instead of element: [x, y] in pixels of the page
    operation  CLICK, TYPE or SELECT, read like a model's; null: could not tell
    value      what to type or select; null, "" and words for none: missing

    \b
    About grounding items:
      {"item": "word_macos_0", "point": [640, 212.5]}
    point        or box; "declined": true if nothing fits
    coordinates  absolute (pixels of the original, usual), unit, per-mille, per-999
    """
    from harness.printing import terminal
    from harness.session.rescoring import rescore_run

    console, settings = terminal(), read_options()
    changes = {name: getattr(settings, name) for name in settings.given}
    if (run is None) == (predictions is None):
        raise UserError("score takes a run, or --predictions FILE: give one of them")
    if run is not None:
        for name in DATA:
            if name in changes and name != "benchmark_option":
                raise UserError(f"{written(name)} selects rows of a benchmark; a run has its own")
        return rescore_run(run, changes, console, as_json=as_json)
    for key, _ in settings.protocol_option:
        if key != "value_style":
            option = written(key, "protocol")
            raise UserError(f"{option} has no effect on predictions: leave it out")
    assert predictions is not None
    return score_predictions(predictions, settings, console, as_json=as_json)
