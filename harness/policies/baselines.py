"""Baselines without knowledge, and the one that knows everything.

`random` is the chance level. `always-click` is the floor that every table needs: 81 to 84 % of the
recorded operations are clicks, so this alone earns 0.80 to 0.84 operation F1 on the test splits.
`oracle` answers with the truth and must reach 100 % on valid rows; less is a fault of the plumbing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from harness.policies.contract import Secret
from harness.records import Choice, Step
from parsers.records import OPERATIONS, Operation, Prediction, Status


def _answer(choice: Choice, operation: Operation, value: str = "") -> Prediction:
    return Prediction(
        Status.ANSWERED, letter=choice.letter, element=choice.id, operation=operation, value=value
    )


@dataclass(frozen=True, slots=True)
class RandomPolicy:
    """Element uniform over the choices (None excluded), operation uniform, no value."""

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
    """A listed positive with the recorded operation and value; None where no positive is listed."""

    name: str = "oracle"
    needs_gold: bool = True

    def predict(
        self, step: Step, choices: Sequence[Choice], chance: random.Random, secret: Secret | None
    ) -> Prediction:
        if secret is None:
            raise ValueError("the oracle was not given the answer")
        gold = secret.gold
        listed = [c for c in choices if c.id in gold.elements]
        # Where an answer is a mark or a point, an element without a box cannot be given.
        listed.sort(key=lambda c: (c.box is None or not c.box.is_visible, c.id != gold.original))
        right = next(iter(listed), None)
        if right is None:
            return Prediction(Status.NONE, operation=gold.operation, value=gold.value)
        return _answer(right, gold.operation, gold.value)
