"""Baselines that answer about screens without looking at them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from harness.policies import Secret
from harness.records import Item
from parsers.actions import Action
from parsers.records import Prediction, Status
from parsers.screen import KIND, Task


@dataclass(frozen=True, slots=True)
class RandomTap:
    """A tap at a uniformly random point."""

    name: str = "random"
    needs_gold: bool = False
    kind: str = KIND

    def predict(self, item: Item[Task], chance: random.Random, secret: Secret | None) -> Prediction:
        width, height = item.content.size
        point = chance.random() * width, chance.random() * height
        return Prediction(Status.ANSWERED, Action("click", point=point))


@dataclass(frozen=True, slots=True)
class Always:
    """The same action for every step."""

    name: str
    action: Action
    needs_gold: bool = False
    kind: str = KIND

    def predict(self, item: Item[Task], chance: random.Random, secret: Secret | None) -> Prediction:
        return Prediction(Status.ANSWERED, self.action)


@dataclass(frozen=True, slots=True)
class Repeat:
    """The recorded action of the step before; a wait in the first step."""

    name: str = "repeat"
    needs_gold: bool = False
    kind: str = KIND
    first: Action = field(default=Action("wait"))

    def predict(self, item: Item[Task], chance: random.Random, secret: Secret | None) -> Prediction:
        before = item.content.before
        return Prediction(Status.ANSWERED, before[-1].action if before else self.first)


SCROLL_DOWN = Always("scroll-down", Action("scroll", arguments={"direction": "down"}))
WAIT = Always("wait", Action("wait"))
