"""An adapter around a policy: baselines run through the same code as models.

The policy makes a prediction and the protocol writes it in its answer format; the text then passes
engine, run directory and parser like any reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.contract import AdapterInfo, Fatal, PictureSource, Request
from adapters.conversation import Reply
from harness.policies import Policy, Secret, chance_for
from harness.protocols.asking import written_as
from harness.protocols.contract import AskingProtocol
from parsers.actions import ActionSpace

UnitKey = tuple[str, int]
"""Id of a unit and number of the repeat."""
AnswerKey = tuple[str, int, int]
"""The same with the number of the sample."""


class PolicyAdapter:
    """Answers calls with a policy's predictions. Units must be announced before their calls.

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
        self._units: dict[UnitKey, tuple[Any, Secret | None]] = {}
        # The step ("" for units of one step) and the replies to all of its calls: a policy is asked
        # once per step and sample.
        self._written: dict[AnswerKey, tuple[str, Mapping[str, str]]] = {}
        self._info = AdapterInfo(
            name=policy.name,
            model=policy.name,
            provider="policy",
            stand_in="policy",
            concurrency=64,
            # Open units keep their pages in memory, and more of them would not help a policy.
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

    @property
    def looks(self) -> bool:
        """True if the policy looks at pictures."""
        return hasattr(self._policy, "look")

    def announce(self, unit_id: str, view: Any, secret: Secret | None, repeat: int = 0) -> None:
        """Announce a repeat of a unit, with what the policy is shown of it.

        `secret` is dropped unless the policy declares `needs_gold`. A repeat that was not announced
        is answered for the unit of the first one.
        """
        known = secret if self._policy.needs_gold else None
        self._units[unit_id, repeat] = (view, known)
        for key in [key for key in self._written if key[:2] == (unit_id, repeat)]:
            del self._written[key]

    def check(self, units: Sequence[Any]) -> None:
        """Raise `UserError` if the policy does not answer all of the units."""
        if (check := getattr(self._policy, "check", None)) is not None:
            check(units)

    def forget(self, unit_id: str) -> None:
        """Drop a unit when all its repeats are done."""
        by_units: tuple[dict[Any, Any], ...] = (self._units, self._written)
        for by_unit in by_units:
            for key in [key for key in by_unit if key[0] == unit_id]:
                del by_unit[key]

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Write the policy's answer by the protocol. Raises `Fatal` for an unknown step."""
        key = request.unit_id, request.repeat, request.sample
        step, _, place = request.place.rpartition("/" if request.about is not None else "\0")
        if key not in self._written or self._written[key][0] != step:
            replies = await self._settle(*key, step, request.about, pictures)
            self._written[key] = step, replies
        _, replies = self._written[key]
        if place not in replies:
            name = self._policy.name
            raise Fatal(f"policy '{name}': its protocol writes no reply for '{request.place}'")
        return Reply(replies[place], model=self._policy.name)

    async def _settle(
        self,
        unit_id: str,
        repeat: int,
        sample: int,
        step: str,
        about: Any,
        pictures: PictureSource,
    ) -> Mapping[str, str]:
        """Return the replies to all calls of a unit, or of a step of it, by place."""
        announced = self._units.get((unit_id, repeat)) or self._units.get((unit_id, 0))
        if announced is None:
            raise Fatal(f"policy '{self._policy.name}' was asked about a step it does not know")
        view, secret = announced
        view = about or view
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
        self._units.clear()
        self._written.clear()


def _class_of(policy: Policy) -> dict[str, str]:
    kind = type(policy)
    return {"class": f"{kind.__module__}:{kind.__qualname__}"}
