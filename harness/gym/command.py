"""`vlm-eval play`: play the environment of recorded tasks with a baseline."""

from __future__ import annotations

from typing import Any, get_args

import click

from harness.commands.options import SettingsCommand, given_settings, setting_options
from harness.errors import UserError
from harness.gym.episode import TAKEN, OnInvalid, Transition
from harness.printing import say, terminal


@click.command(cls=SettingsCommand)
@setting_options(["model"], model={"required": True, "help": "Baseline that plays."})
@setting_options(TAKEN)
@click.option(
    "--transition",
    type=click.Choice(get_args(Transition)),
    default="teacher",
    show_default=True,
    help="teacher: the recorded page follows every action; strict: the first wrong action ends the "
    "episode.",
)
@click.option(
    "--on-invalid",
    type=click.Choice(get_args(OnInvalid)),
    default="skip",
    show_default=True,
    help="Leave out steps without a right answer (skip), or count them as failed (score_zero).",
)
def play(transition: Transition, on_invalid: OnInvalid, **_: Any) -> int:
    """Play the environment of recorded tasks with a baseline.

    \b
    vlm-eval play --model lexical --benchmark sample --split dev

    The scores equal those of `vlm-eval run` with the same settings; a point counts for the
    smallest candidate under it (--scoring-option point_rule=smallest). Your own agent plays in
    Python: docs/environment.md.
    """
    from harness.gym.play import play as played
    from harness.gym.play import summary
    from harness.gym.recorded import RecordedEnv
    from harness.policies import policies_for, policy_named
    from harness.session.report import print_result, result_grid

    settings = given_settings()
    name = settings.pop("model")
    known = policies_for("step")
    if name not in known:
        raise UserError(
            f"'{name}' is not a baseline for recorded steps ({', '.join(known)}); evaluate a model "
            "with vlm-eval run, or let it play in Python: docs/environment.md"
        )
    environment = RecordedEnv(transition=transition, on_invalid=on_invalid, **settings)
    episodes = list(played(environment, policy_named(name, "step")))
    if transition == "teacher":
        records = [record for records in episodes for record in records]
        rest = (environment.settings, environment.declared, environment.task_rows)
        print_result(terminal(), result_grid(records, *rest))
    say(summary(environment, episodes))
    return 0
