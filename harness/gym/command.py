"""`vlm-eval environments play`: play the environment of recorded tasks with a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum
from typing import Any

import click

from harness.commands.options import SettingsCommand, given_settings, setting_options
from harness.errors import UserError
from harness.gym.recorded import TAKEN, RecordedEnv
from harness.policies import Policy, answers, chance_for, is_policy, policies_for, policy_named
from harness.printing import say, terminal
from harness.runs import StepUnit
from harness.views import StepView
from parsers.counting import prefix


@click.command(cls=SettingsCommand)
@setting_options(["model"], model={"required": True, "help": "Baseline that plays."})
@setting_options(TAKEN)
def play(**_: Any) -> int:
    """Play the environment of recorded tasks with a baseline.

    \b
    vlm-eval environments play --model lexical --benchmark sample --split dev

    The scores equal those of `vlm-eval run --protocol action-strings` with the same settings; a
    point counts for the smallest candidate under it (--benchmark-option point_rule=smallest). Your
    own agent plays in Python: docs/environment.md. Needs the extra gym.
    """
    from harness.session.brief import print_result
    from harness.session.report import result_grid
    from harness.session.summary import results_of

    settings = given_settings()
    name = settings.pop("model")
    policy = policy_named(name, StepView) if is_policy(name) else None
    if policy is None or not answers(policy, StepView):
        known = policies_for(StepView)
        raise UserError(
            f"'{name}' is not a baseline for recorded steps ({', '.join(known)}); evaluate a model "
            "with vlm-eval run, or let it play in Python: docs/environment.md"
        )
    env = RecordedEnv(**settings)
    episodes = list(episodes_of(env, policy))
    records = [record for episode in episodes for record in episode]
    rest = (records, env.settings, env.source)
    found = results_of(*rest, env.task_rows)
    print_result(terminal(), result_grid(*rest, found, env.task_rows))
    won = [[not env.failed(one) for one in episode if env.counts(one)] for episode in episodes]
    counted = [one for one in won if one]
    mean = fsum(map(prefix, counted)) / (len(counted) or 1)
    say(
        f"{sum(map(all, counted))} of {len(counted)} episodes successful; "
        f"mean number of steps before the first failure: {mean:.2f}"
    )
    return 0


def episodes_of(env: RecordedEnv, policy: Policy) -> Iterator[list[StepUnit]]:
    """Play every episode, in the order of the data, and yield its steps in the form of a run's.

    A policy gets the same input as in a run with the same settings, and draws the same choices.
    """
    for index in range(len(env.episodes)):
        env.reset(options={"index": index})
        while (question := env.question) is not None:
            secret = question.secret if policy.needs_gold else None
            chance = chance_for(env.settings.seed, 0, question.unit_id, "policy")
            view = question.view.latest(env.protocol.history_shown.actions)
            env.answer(policy.predict(view, chance, secret))
        yield env.records
