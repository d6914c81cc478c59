"""Baselines without knowledge, and the oracle.

`random` is the chance level. `always-click` is the floor of every table: 81 to 84 % of the recorded
operations are clicks: it reaches an operation F1 of 0.80 to 0.84 on the test splits.
`oracle` gives the recorded answer and must reach 100 % on valid rows; less is a bug.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.policies.contract import Secret
from harness.records import Choice, Step
from parsers.records import OPERATIONS, Gold, Operation, Prediction, Status


def _answer(choice: Choice, operation: Operation, value: str = "") -> Prediction:
    return Prediction.of(
        Status.ANSWERED, letter=choice.letter, element=choice.id, operation=operation, value=value
    )


@dataclass(frozen=True, slots=True)
class RandomPolicy:
    """A uniformly random choice (never None) and a uniformly random operation, without a value."""

    name: str = "random"
    needs_gold: bool = False

    def predict(
        self, step: Step, choices: Sequence[Choice], chance: random.Random, secret: Secret | None
    ) -> Prediction:
        element = choices[chance.randrange(len(choices))]
        return _answer(element, OPERATIONS[chance.randrange(len(OPERATIONS))])


@dataclass(frozen=True, slots=True)
class AlwaysClick:
    """Always CLICK, on the element that `random` picks with the same seed."""

    name: str = "always-click"
    needs_gold: bool = False

    def predict(
        self, step: Step, choices: Sequence[Choice], chance: random.Random, secret: Secret | None
    ) -> Prediction:
        return _answer(choices[chance.randrange(len(choices))], "CLICK")


@dataclass(frozen=True, slots=True)
class Oracle:
    """The right answer: of a recorded step a listed positive with the recorded operation and value,
    None if no positive is listed; of any other unit the action that its gold is, or has as
    `action`, where None says that nothing is to be done."""

    name: str = "oracle"
    needs_gold: bool = True
    kind: str = ""

    def predict(self, *asked: Any) -> Prediction:
        *shown, _, secret = asked
        if secret is None:
            raise ValueError("the oracle needs the recorded answer")
        gold = secret.gold
        if isinstance(gold, Gold):
            return self._step(shown[1], gold)
        action = getattr(gold, "action", gold)
        return Prediction(Status.NONE if action is None else Status.ANSWERED, action)

    def _step(self, choices: Sequence[Choice], gold: Gold) -> Prediction:
        listed = [c for c in choices if c.id in gold.elements]
        # Protocols with marks or points cannot refer to an element without a box.
        listed.sort(key=lambda c: (c.box is None or not c.box.is_visible, c.id != gold.original))
        right = next(iter(listed), None)
        if right is None:
            return Prediction.of(Status.NONE, operation=gold.operation, value=gold.value)
        return _answer(right, gold.operation, gold.value)
