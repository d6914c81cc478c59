"""Play an environment with a policy, and summarise the episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import fsum

from harness.gym.recorded import RecordedEnv
from harness.policies import Policy, chance_for
from harness.runs import StepUnit
from parsers.parents import prefix


def play(environment: RecordedEnv, policy: Policy) -> Iterator[list[StepUnit]]:
    """Play every episode, in the order of the data, and yield its steps in the form of a run's.

    A policy gets the same input as in a run with the same settings, and draws the same choices.
    """
    seed = environment.settings.seed
    for index in range(len(environment.episodes)):
        environment.reset(options={"index": index})
        while (question := environment.question) is not None:
            asked = question.for_policy(environment.protocol)
            secret = question.secret if policy.needs_gold else None
            chance = chance_for(seed, 0, question.unit_id, "policy")
            environment.step(environment.action_of(policy.predict(*asked, chance, secret)))
        yield environment.records


def summary(environment: RecordedEnv, episodes: Iterable[Sequence[StepUnit]]) -> str:
    """Write a line on whole episodes: successes, and steps before the first failure.

    Episodes without a counting step are left out.
    """
    rules = environment.rules
    each = [
        [not rules.failed(record) for record in records if rules.counts(record)]
        for records in episodes
    ]
    counted = [won for won in each if won]
    mean = fsum(map(prefix, counted)) / (len(counted) or 1)
    return (
        f"{sum(map(all, counted))} of {len(counted)} episodes successful; "
        f"mean number of steps before the first failure: {mean:.2f}"
    )
