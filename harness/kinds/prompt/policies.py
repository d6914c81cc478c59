"""Baselines for finished prompts, which show a page with ids in letters and the task in a line.

Every share that they reach is a share that no understanding is needed for. `evade` shows what a
score is worth that leaves out rows: it gives the right click, and elsewhere an answer of which a
scorer may make nothing.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from harness.policies import Secret
from harness.policies.words import STOP
from harness.records import Item
from parsers.actions import Action
from parsers.records import Prediction, Status

ELEMENT = re.compile(r"<\w*\[([A-Z]{1,4})\]\|([^<>]*)")
"""An element of a page that can be acted upon, with its own text."""
TASK = "\n#Task: "
WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")
"""A word in small letters, or a Chinese character."""
DOWN = Action("scroll_page", arguments={"direction": "down"})


def elements(prompt: str) -> list[tuple[str, str]]:
    """The elements that the page of a prompt gives ids: id and text, in document order.

    >>> elements("< <a[AB]| Help> <p| none> <button[C]| <i| Go> > >\\n\\n#Task: x")
    [('AB', ' Help'), ('C', ' ')]
    """
    page = prompt.partition("\n\n")[0]
    return ELEMENT.findall(page)


def _answer(action: Action) -> Prediction:
    return Prediction(Status.ANSWERED, action)


@dataclass(frozen=True, slots=True)
class RandomElement:
    """Clicks a uniformly random element; finishes where the page has none."""

    name: str = "random"
    needs_gold: bool = False
    kind: str = "prompt"

    def predict(self, item: Item[str], chance: random.Random, secret: Secret | None) -> Prediction:
        found = elements(item.content)
        return _answer(Action("click", chance.choice(found)[0]) if found else Action("finish"))


@dataclass(frozen=True, slots=True)
class Always:
    """The same action whatever is asked."""

    name: str
    action: Action
    needs_gold: bool = False
    kind: str = "prompt"

    def predict(self, *_: Any) -> Prediction:
        return _answer(self.action)


@dataclass(frozen=True, slots=True)
class Evade:
    """Answer with the right click, or `finish()` where the right action is not a click."""

    name: str = "evade"
    needs_gold: bool = True
    kind: str = "prompt"

    def predict(self, item: Item[str], chance: random.Random, secret: Secret | None) -> Prediction:
        gold = secret.gold if secret else None
        right = isinstance(gold, Action) and gold.name == "click"
        return _answer(gold if isinstance(gold, Action) and right else Action("finish"))


@dataclass(frozen=True, slots=True)
class OverlappingElement:
    """Clicks the element whose own text shares most words with the task, rare ones counting more
    and long texts less; of equals the first. Scrolls down where none shares any."""

    name: str = "lexical"
    needs_gold: bool = False
    kind: str = "prompt"

    def predict(self, item: Item[str], chance: random.Random, secret: Secret | None) -> Prediction:
        found = [(one, WORD.findall(text.lower())) for one, text in elements(item.content)]
        seen = Counter(word for _, words in found for word in set(words))
        task = item.content.rpartition(TASK)[2].partition("\n\n")[0].lower()
        weights = {
            word: math.log((len(found) + 1) / seen[word])
            for word in WORD.findall(task)
            if seen[word] and word not in STOP
        }

        def points(words: list[str]) -> float:
            return sum(weights.get(word, 0.0) for word in set(words)) / math.sqrt(1 + len(words))

        best = max(found, key=lambda one: points(one[1]), default=("", []))
        return _answer(Action("click", best[0]) if points(best[1]) > 0 else DOWN)


RANDOM = RandomElement()
LEXICAL = OverlappingElement()
EVADE = Evade()
ALWAYS_SCROLL = Always("always-scroll", DOWN)
ALWAYS_FINISH = Always("always-finish", Action("finish"))
