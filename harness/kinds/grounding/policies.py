"""Baselines that point at pictures without looking at them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from harness.pictures import Recipe
from harness.policies import Secret
from harness.records import Item
from parsers.actions import Action
from parsers.grounding import CLICK, KIND
from parsers.records import Prediction, Status


@dataclass(frozen=True, slots=True)
class RandomPoint:
    """A uniformly random point; never declines. Hits as often as targets are large."""

    name: str = "random"
    needs_gold: bool = False
    kind: str = KIND

    def predict(self, item: Item[str], chance: random.Random, secret: Secret | None) -> Prediction:
        return _at(item, chance.random(), chance.random())


@dataclass(frozen=True, slots=True)
class Centre:
    """The middle of the picture, where some replies that cannot be read are put elsewhere."""

    name: str = "centre"
    needs_gold: bool = False
    kind: str = KIND

    def predict(self, item: Item[str], chance: random.Random, secret: Secret | None) -> Prediction:
        return _at(item, 0.5, 0.5)


def _at(item: Item[str], across: float, down: float) -> Prediction:
    left, top, right, bottom = Recipe.parse(item.pictures[0].recipe).box
    point = left + across * (right - left), top + down * (bottom - top)
    return Prediction(Status.ANSWERED, Action(CLICK, point=point))
