"""`vlm-eval score`: scores from stored replies, or from external predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.commands.options import (
    DATA,
    SettingsCommand,
    json_option,
    names_of,
    read_options,
    setting_options,
)
from harness.errors import UserError
from harness.settings import written

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
    from harness.session.predictions import score_predictions
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
