"""`vlm-eval play`: play the environment of recorded tasks with a baseline."""

from __future__ import annotations

from typing import Any, get_args

import click

from harness.commands.options import SettingsCommand, given_settings, setting_options
from harness.environments.options import TAKEN, OnInvalid, Transition
from harness.errors import UserError
from harness.printing import say, terminal


@click.command(cls=SettingsCommand)
@setting_options(["model"], model={"required": True, "help": "Baseline that plays."})
@setting_options(TAKEN, point_rule={"default": "smallest"})
@click.option(
    "--transition",
    type=click.Choice(get_args(Transition)),
    default="teacher",
    show_default=True,
    help="Whether the recorded page follows on every action (teacher), or the first wrong one ends "
    "the episode (strict).",
)
@click.option(
    "--on-invalid",
    type=click.Choice(get_args(OnInvalid)),
    default="skip",
    show_default=True,
    help="Whether steps without a right answer are left out, or count as failed.",
)
def play(transition: Transition, on_invalid: OnInvalid, **_: Any) -> int:
    """Play the environment of recorded tasks with a baseline.

    \b
    vlm-eval play --model lexical --benchmark sample --split dev

    The scores are those of `vlm-eval run` with the same settings. An agent of your own plays in
    Python: docs/environment.md.
    """
    from harness.environments.play import play as played
    from harness.environments.play import summary
    from harness.environments.recorded import RecordedEnv
    from harness.evaluation.report import print_result
    from harness.policies import policies_for, policy_named

    settings = given_settings()
    name = settings.pop("model")
    known = policies_for("step")
    if name not in known:
        raise UserError(
            f"'{name}' is no baseline for recorded steps ({', '.join(known)}); evaluate a model "
            "with vlm-eval run, or let it play in Python: docs/environment.md"
        )
    environment = RecordedEnv(transition=transition, on_invalid=on_invalid, **settings)
    episodes = list(played(environment, policy_named(name, "step")))
    if transition == "teacher":
        records = [record for records in episodes for record in records]
        rest = (environment.settings, environment.declared, environment.task_rows)
        print_result(terminal(), records, *rest, top_k=environment.settings.top_k)
    say(summary(environment, episodes))
    return 0
