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

StepKey = tuple[str, int]
"""A step and the number of its repeat."""


class PolicyAdapter:
    """The adapter around a policy. Steps must be announced before they are asked about.

    `always-click` shares the draws of `random`: the policies of one run differ in nothing else.
    """

    def __init__(
        self, policy: Policy, protocol: AskingProtocol, seed: int, *, identified: bool = False
    ) -> None:
        """`identified` has the policy's class put on record beside its name."""
        self._policy = policy
        self._protocol = protocol
        self._seed = seed
        self._steps: dict[StepKey, tuple[Step, Sequence[Choice], Secret | None]] = {}
        # A policy settles on its answer once, not once for every round.
        self._spelled: dict[StepKey, Mapping[str, str]] = {}
        self._info = AdapterInfo(
            name=policy.name,
            model=policy.name,
            provider="policy",
            concurrency=64,
            # The pages of open steps are in memory, and a policy gains nothing by more of them.
            open_dialogues=32,
            takes_pictures=True,
            settings={"seed": seed, **(_class_of(policy) if identified else {})},
        )

    @property
    def info(self) -> AdapterInfo:
        return self._info

    @property
    def needs_gold(self) -> bool:
        return self._policy.needs_gold

    def announce(
        self, step: Step, choices: Sequence[Choice], secret: Secret | None, repeat: int = 0
    ) -> None:
        """Make a repeat of a step known. `secret` is dropped unless the policy declares its need.

        A repeat that was not announced is asked about as the first one is.
        """
        known = secret if self._policy.needs_gold else None
        self._steps[step.step_id, repeat] = (step, choices, known)
        self._spelled.pop((step.step_id, repeat), None)

    def forget(self, step_id: str) -> None:
        """All repeats of the step are done."""
        for held in (self._steps, self._spelled):
            for key in [key for key in held if key[0] == step_id]:
                del held[key]

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """The policy's answer in the protocol's words. Raises `Fatal` for an unknown step."""
        key = request.step_id, request.repeat
        if key not in self._spelled:
            self._spelled[key] = self._settle(*key)
        if request.place not in self._spelled[key]:
            raise Fatal(f"policy '{self._policy.name}' has no words for call '{request.place}'")
        return Reply(self._spelled[key][request.place], model=self._policy.name)

    def _settle(self, step_id: str, repeat: int) -> Mapping[str, str]:
        """The policy's replies for all rounds of a step, by place."""
        known = self._steps.get((step_id, repeat)) or self._steps.get((step_id, 0))
        if known is None:
            raise Fatal(f"policy '{self._policy.name}' was asked about a step it does not know")
        step, choices, secret = known
        chance = chance_for(self._seed, repeat, step_id, "policy")
        prediction = self._policy.predict(step, choices, chance, secret)
        return self._protocol.spell(step, choices, prediction)

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        self._steps.clear()
        self._spelled.clear()


def _class_of(policy: Policy) -> dict[str, str]:
    kind = type(policy)
    return {"class": f"{kind.__module__}:{kind.__qualname__}"}
