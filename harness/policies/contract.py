"""The contract of policies: functions from a step and its choices to a prediction."""

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
    """The recorded answer of a step, given only to policies that declare `needs_gold`."""

    gold: Gold
    """The recorded action with all acceptable elements."""
    shown: str | None
    """Id of the positive among the choices, None if there is none."""


class Policy(Protocol):
    """Answers steps without a model. Instances are values."""

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
    """A random generator for one step, independent of other steps and of their order.

    `label` separates uses: two policies with the same label make the same draws.
    """
    text = "\n".join([str(seed), str(repeat), step_id, label])
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))
