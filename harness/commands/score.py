"""`vlm-eval score`: numbers from stored replies, or from somebody else's predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.commands.options import scoring_options, selecting_options, to_config
from harness.errors import UserError


@click.command()
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option(
    "--predictions",
    type=click.Path(path_type=Path),
    help="JSON lines: step, element or point, operation, value.",
)
@selecting_options
@scoring_options
@click.option(
    "--first-of-many", is_flag=True, default=None, help="Of several letters take the first."
)
@click.option(
    "--value-style",
    type=click.Choice(["plain", "seeact"]),
    default=None,
    help="How a value is cleaned up.",
)
@click.option(
    "--as",
    "rules_of",
    type=click.Choice(["seeclick"]),
    help="By the rules of a published evaluation, beside its numbers (answers by coordinates).",
)
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON.")
@click.pass_context
def score(
    ctx: click.Context,
    /,
    run: Path | None,
    predictions: Path | None,
    as_json: bool,
    rules_of: str | None,
    first_of_many: bool | None,
    value_style: str | None,
    **values: Any,
) -> int:
    """Score RUN again from its stored replies, or --predictions FILE against a benchmark.

    A run is scored by its own rules unless others are given. Nothing is asked either way.
    """
    from harness.commands.given import given_options
    from harness.commands.output import output
    from harness.evaluation.config import Scoring, Selecting
    from harness.evaluation.predictions import score_predictions
    from harness.evaluation.rescoring import rescore_run

    console = output()
    if (run is None) == (predictions is None):
        raise UserError("score takes a run, or --predictions FILE: give one of them")
    if run is not None:
        refused = given_options(ctx, Selecting)
        if refused:
            raise UserError(f"--{refused[0]} selects rows of a benchmark; a run has its own rows")
        changes: dict[str, Any] = {name: values[name] for name in given_options(ctx, Scoring)}
        if first_of_many is not None:
            changes["first_of_many"] = first_of_many
        if value_style is not None:
            changes["value_style"] = value_style
        if rules_of is not None:
            if changes:
                wrong = next(iter(changes)).replace("_", "-")
                raise UserError(f"--as {rules_of} has its own rules: leave out --{wrong}")
            from harness.evaluation.seeclick import show_as_seeclick

            return show_as_seeclick(run, console, as_json=as_json)
        return rescore_run(run, changes, console, as_json=as_json)
    if rules_of is not None:
        raise UserError(f"--as {rules_of} needs a run, whose steps know their page's size")
    if first_of_many is not None or value_style is not None:
        raise UserError("predictions are not parsed: leave out --first-of-many and --value-style")
    assert predictions is not None
    return score_predictions(predictions, to_config(values), console, as_json=as_json)
