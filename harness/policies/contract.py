"""What a policy is: a function from a step and its choices to a prediction."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.records import Choice, Step
from parsers.records import Gold, Prediction


@dataclass(frozen=True, slots=True)
class Secret:
    """The answer of a step: handed only to policies that declare `needs_gold`.

    `shown` is the id of the positive among the choices, None when the row has none.
    """

    gold: Gold
    shown: str | None


class Policy(Protocol):
    """Answers a step without being a model. Instances are values."""

    @property
    def name(self) -> str: ...

    @property
    def needs_gold(self) -> bool: ...

    def predict(
        self,
        step: Step,
        choices: Sequence[Choice],
        chance: random.Random,
        secret: Secret | None,
    ) -> Prediction:
        """The prediction for one step; `chance` is the only source of randomness."""
        ...


def chance_for(seed: int, repeat: int, step_id: str, label: str) -> random.Random:
    """A generator for one step, independent of all others and of the order of steps.

    `label` separates the uses: two policies that share a label share their draws.
    """
    text = "\n".join([str(seed), str(repeat), step_id, label])
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))
