"""The contract of policies: functions from a unit to a prediction."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from typing import Any, Protocol

from parsers.records import Prediction


@dataclass(frozen=True, slots=True)
class Secret:
    """The right answer of a unit, given only to policies that declare `needs_gold`."""

    gold: Any
    """Of recorded steps the action with all acceptable elements (`parsers.records.Gold`), of units
    of other kinds what their detail holds as `gold`."""
    shown: str | None = None
    """Id of the positive among the choices, None if there is none."""


class Policy(Protocol):
    """Answers units of one kind without a model. Instances are values.

    `kind` names the kind ("" for all kinds); without it, a policy answers recorded steps. A policy
    that cannot answer all units of its kind has a method `check`, which gets the selected units
    before the first call and raises `UserError`.
    """

    @property
    def name(self) -> str:
        """Its name for users and records."""
        ...

    @property
    def needs_gold(self) -> bool:
        """True if `predict` is given the `Secret`."""
        ...

    def predict(self, *asked: Any, **_: Any) -> Prediction:
        """Return the prediction for one unit.

        Its arguments are those of the protocol's dialogue (a recorded step and its choices, or an
        item), then `chance`, a `random.Random` and the only source of randomness, and the `Secret`,
        None unless the policy declares `needs_gold`.
        """
        ...


def chance_for(seed: int, repeat: int, unit_id: str, label: str) -> random.Random:
    """Return a random generator for one unit, independent of other units and of their order.

    `label` separates uses: two policies with the same label make the same draws.
    """
    text = "\n".join([str(seed), str(repeat), unit_id, label])
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))
