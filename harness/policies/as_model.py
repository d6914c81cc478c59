"""An adapter around a policy: baselines run through the same code as models.

The policy makes a prediction and the protocol writes it in its answer format; the text then passes
engine, run directory and parser like any reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.contract import AdapterInfo, Fatal, PictureSource, Request
from adapters.conversation import Reply
from harness.policies import About, Policy, chance_for
from harness.protocols.asking import written_as
from harness.protocols.contract import AskingProtocol
from parsers.actions import ActionSpace

AnswerKey = tuple[str, int, int, str]
"""Id of a unit, numbers of repeat and sample, and the step."""
KEPT = 256
"""Answers whose replies are kept."""


class PolicyAdapter:
    """Answers calls with a policy's predictions; each call says what it is about (`About`).

    All policies draw from the same generator: with one seed, `always-click` clicks the element that
    `random` picks.
    """

    def __init__(
        self,
        policy: Policy,
        protocol: AskingProtocol,
        seed: int,
        *,
        space: ActionSpace | None = None,
        identified: bool = False,
    ) -> None:
        """`space`: the benchmark's action space, in which the policy answers; `identified`: also
        record the policy's class."""
        self._policy = policy
        self._protocol = protocol
        self._seed = seed
        self._space = space
        # The replies to all calls of a step: a policy is asked once for it.
        self._written: dict[AnswerKey, Mapping[str, str]] = {}
        self._info = AdapterInfo(
            name=policy.name,
            model=policy.name,
            provider="policy",
            stand_in="policy",
            concurrency=64,
            # Open units keep their pages in memory, and more of them would not help a policy.
            open_dialogues=32,
            takes_pictures=True,
            takes_tools=True,
            settings={"seed": seed, **(_class_of(policy) if identified else {})},
        )

    @property
    def info(self) -> AdapterInfo:
        return self._info

    @property
    def needs_gold(self) -> bool:
        return self._policy.needs_gold

    @property
    def looks(self) -> bool:
        """True if the policy looks at pictures."""
        return hasattr(self._policy, "look")

    def check(self, units: Sequence[Any]) -> None:
        """Raise `UserError` if the policy does not answer all of the units."""
        if (check := getattr(self._policy, "check", None)) is not None:
            check(units)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Write the policy's answer by the protocol. Raises `Fatal` for a call without a unit."""
        about = request.about
        if not isinstance(about, About):
            raise Fatal(f"policy '{self._policy.name}' was asked about a unit that it is not shown")
        key = request.unit_id, request.repeat, request.sample, about.step
        if key not in self._written:
            # Written anew, it would be the same: no more than the open units are kept.
            if len(self._written) >= KEPT:
                del self._written[next(iter(self._written))]
            self._written[key] = await self._replies(*key, about, pictures)
        place = request.place.removeprefix(f"{about.step}/")
        if place not in self._written[key]:
            name = self._policy.name
            raise Fatal(f"policy '{name}': its protocol writes no reply for '{request.place}'")
        return Reply(self._written[key][place], model=self._policy.name)

    async def _replies(
        self,
        unit_id: str,
        repeat: int,
        sample: int,
        step: str,
        about: About,
        pictures: PictureSource,
    ) -> Mapping[str, str]:
        """Return the replies to all calls of a unit, or of a step of it, by place."""
        view, secret = about.view, about.secret if self._policy.needs_gold else None
        unit = f"{unit_id}/{step}" if step else unit_id
        chance = chance_for(self._seed, repeat, unit, "policy", sample)
        look = getattr(self._policy, "look", None)
        seen = () if look is None else (await look(view.pictures, pictures),)
        prediction = self._policy.predict(view, chance, secret, *seen)
        return written_as(self._protocol, view, prediction, self._space)

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        if (close := getattr(self._policy, "close", None)) is not None:
            close()
        self._written.clear()


def _class_of(policy: Policy) -> dict[str, str]:
    kind = type(policy)
    return {"class": f"{kind.__module__}:{kind.__qualname__}"}
