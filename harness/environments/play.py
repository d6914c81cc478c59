"""Playing an environment with a policy, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.environments.recorded import RecordedEnv
from harness.policies.contract import Policy, chance_for
from harness.runs import StepRecord


def play(environment: RecordedEnv, policy: Policy) -> Iterator[list[StepRecord]]:
    """Play every episode, in the order of the data, and yield its steps as a run records them.

    A policy is given what it is given in a run with the same settings, and draws the same.
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


def summary(environment: RecordedEnv, episodes: Sequence[Sequence[StepRecord]]) -> str:
    """A line on whole episodes: how many succeeded, and how far they got without an error."""
    rules = environment.rules
    won = [rules.succeeded(records) for records in episodes]
    counted = [one for one in won if one is not None]
    lengths = [_prefix(environment, records) for records in episodes]
    return (
        f"{len(episodes)} episodes, {sum(counted)} of {len(counted)} successful; "
        f"right steps before the first wrong one: mean {sum(lengths) / len(lengths):.2f}"
    )


def _prefix(environment: RecordedEnv, records: Sequence[StepRecord]) -> int:
    """The number of right steps before the first wrong one."""
    length = 0
    for record in records:
        if environment.rules.failed(record):
            break
        length += record.scores is not None
    return length
