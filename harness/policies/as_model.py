"""A policy dressed as a model, so that baselines take every line of code that models take.

The policy settles on a prediction, the protocol spells it in its answer format, and the spelled
text goes through the engine, the run directory and the parser like any reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.contract import AdapterInfo, Fatal, PictureSource, Request
from adapters.conversation import Reply
from harness.policies.contract import Policy, Secret, chance_for
from harness.protocols.contract import AskingProtocol
from harness.records import Choice, Step


class PolicyAdapter:
    """The adapter around a policy. Steps must be announced before they are asked about.

    `always-click` shares the draws of `random`: the policies of one run differ in nothing else.
    """

    def __init__(self, policy: Policy, protocol: AskingProtocol, seed: int) -> None:
        self._policy = policy
        self._protocol = protocol
        self._seed = seed
        self._steps: dict[str, tuple[Step, Sequence[Choice], Secret | None]] = {}
        # By step and repeat: a policy settles on its answer once, not once for every round.
        self._spelled: dict[str, dict[int, Mapping[str, str]]] = {}
        self._info = AdapterInfo(
            name=policy.name,
            model=policy.name,
            provider="policy",
            concurrency=64,
            takes_pictures=True,
            settings={"seed": seed},
        )

    @property
    def info(self) -> AdapterInfo:
        return self._info

    @property
    def needs_gold(self) -> bool:
        return self._policy.needs_gold

    def announce(self, step: Step, choices: Sequence[Choice], secret: Secret | None) -> None:
        """Make a step known. `secret` is dropped unless the policy declares that it needs it."""
        known = secret if self._policy.needs_gold else None
        self._steps[step.step_id] = (step, choices, known)
        self._spelled.pop(step.step_id, None)

    def forget(self, step_id: str) -> None:
        """The step is done."""
        self._steps.pop(step_id, None)
        self._spelled.pop(step_id, None)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """The policy's answer in the protocol's words. Raises `Fatal` for an unknown step."""
        if request.step_id not in self._steps:
            raise Fatal(f"policy '{self._policy.name}' was asked about a step it does not know")
        by_repeat = self._spelled.setdefault(request.step_id, {})
        if request.repeat not in by_repeat:
            by_repeat[request.repeat] = self._settle(request.step_id, request.repeat)
        return Reply(by_repeat[request.repeat][request.place], model=self._policy.name)

    def _settle(self, step_id: str, repeat: int) -> Mapping[str, str]:
        """The policy's replies for all rounds of a step, by place."""
        step, choices, secret = self._steps[step_id]
        chance = chance_for(self._seed, repeat, step_id, "policy")
        prediction = self._policy.predict(step, choices, chance, secret)
        return self._protocol.spell(step, choices, prediction)

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        self._steps.clear()
        self._spelled.clear()
