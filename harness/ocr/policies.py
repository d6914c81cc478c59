"""The policy `ocr`, for steps and places."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from adapters.contract import PictureSource
from adapters.conversation import Picture
from harness.ocr.reading import Eyes, TextLine
from harness.policies import Secret
from harness.policies.lexical import Lexical, contains, phrases, plain, read_line, words
from harness.protocols.coordinates import smallest_under
from harness.views import PlaceView, StepView
from parsers.actions import Action
from parsers.grounding import CLICK
from parsers.records import Prediction, Status

LENGTH_POWER = 0.5
QUOTED = 4.0
"""Points of a line that says what the task has in quotes."""
PAIR = 0.5
"""Points of two words that follow each other in both, as a share of theirs."""
REPEATED = 0.25
"""Share that is left of a line's points where an earlier action has dealt with it."""


def best(task: str, lines: Sequence[TextLine], done: Iterable[str] = ()) -> TextLine | None:
    """Return the line that fits a task best, None if no word of the task was read.

    A word counts more the fewer lines have it, and a line less the longer it is. `done` are texts
    that earlier actions dealt with.
    """
    known = [words(line.text) for line in lines]
    frequent = Counter(word for line in known for word in set(line))
    wanted = words(task)
    quoted = [words(one.text) for one in phrases(task, ()) if one.kind == "quoted"]
    dealt = [found for one in done if (found := words(one))]
    pairs = set(pairwise(wanted))

    def points(number: int) -> float:
        inside = known[number]
        rare = {
            word: math.log(1 + len(lines) / frequent[word]) for word in set(inside) & set(wanted)
        }
        found = sum(rare.values())
        found += PAIR * sum(rare[a] + rare[b] for a, b in pairwise(inside) if (a, b) in pairs)
        found = found / math.pow(1 + len(inside), LENGTH_POWER)
        found += QUOTED * sum(bool(one) and one == inside for one in quoted)
        return found * REPEATED if any(contains(one, inside) for one in dealt) else found

    fit = {number: points(number) for number, inside in enumerate(known) if inside}
    chosen = max(fit, key=lambda number: fit[number], default=None)
    return None if chosen is None or fit[chosen] <= 0 else lines[chosen]


def words_read(lines: Iterable[TextLine]) -> set[str]:
    """Return all words of the lines."""
    return {word for line in lines for word in words(line.text)}


NOTHING = Prediction(Status.NONE)


@dataclass(frozen=True, slots=True)
class Reads:
    """Answers by the words on the picture. The words of the task are those that a model gets."""

    name: str = "ocr"
    needs_gold: bool = False
    eyes: Eyes = field(default_factory=Eyes, compare=False, repr=False)

    def check(self, units: Sequence[Any]) -> None:
        """Raise `UserError` if the library that reads is missing."""
        self.eyes.check()

    async def look(
        self, pictures: Sequence[Picture], source: PictureSource
    ) -> tuple[TextLine, ...]:
        """Read the pictures of a unit."""
        return await self.eyes.look(pictures, source)

    def close(self) -> None:
        """End the processes that read."""
        self.eyes.close()


@dataclass(frozen=True, slots=True)
class ReadsSteps(Reads):
    """Recorded steps: `lexical` among the choices whose words were read; without texts of choices,
    the place of the line that fits the task best."""

    View = StepView

    def predict(
        self,
        view: StepView,
        chance: random.Random,
        secret: Secret | None,
        lines: Sequence[TextLine] = (),
    ) -> Prediction:
        step, choices = view.step, view.choices
        read = words_read(lines)
        if any(choice.text for choice in choices):
            seen = [choice for choice in choices if read & set(words(plain(choice.text)))]
            return Lexical().predict(StepView(step, tuple(seen) or choices), chance, secret)
        done = [read_line(one) for one in step.history]
        line = best(step.info.task, lines, [one.what for one in done])
        if line is None:
            return NOTHING
        element = smallest_under(line.middle, choices)
        letter = next((one.letter for one in choices if one.id == element), None)
        return Prediction.of(Status.ANSWERED, letter, element, line.middle, "CLICK")


@dataclass(frozen=True, slots=True)
class ReadsTargets(Reads):
    """Grounding items: the middle of the line that fits; declines where none does."""

    View = PlaceView

    def predict(
        self,
        view: PlaceView,
        chance: random.Random,
        secret: Secret | None,
        lines: Sequence[TextLine] = (),
    ) -> Prediction:
        line = best(view.content, lines)
        if line is None:
            return NOTHING
        return Prediction(Status.ANSWERED, Action(CLICK, point=line.middle))
