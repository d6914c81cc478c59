"""The contract of policies: functions from what is asked about to a prediction."""

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

    `kind` says of which ("" for all kinds); a policy that leaves it out answers recorded steps. One
    that does not answer all of them has a method `check`, which is given the selected units before
    anything is asked, and raises `UserError`.
    """

    @property
    def name(self) -> str:
        """The name by which it is selected and recorded."""
        ...

    @property
    def needs_gold(self) -> bool:
        """Whether `predict` is given the `Secret`."""
        ...

    def predict(self, *asked: Any, **_: Any) -> Prediction:
        """The prediction for one unit.

        It is called with what the protocol's dialogue is given (a recorded step and its choices, or
        an item), then with `chance`, a `random.Random` that is the only source of randomness, and
        with the `Secret`, None unless the policy declares `needs_gold`.
        """
        ...


def chance_for(seed: int, repeat: int, unit_id: str, label: str) -> random.Random:
    """A random generator for one unit, independent of other units and of their order.

    `label` separates uses: two policies with the same label make the same draws.
    """
    text = "\n".join([str(seed), str(repeat), unit_id, label])
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))
