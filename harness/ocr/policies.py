"""The policy `ocr`, for steps and places."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.contract import PictureSource
from adapters.conversation import Picture
from harness.ocr.eyes import Eyes, TextLine
from harness.ocr.matching import best, words_read
from harness.policies import Secret
from harness.policies.lexical import Lexical, plain, read_line, words
from harness.protocols.coordinates import smallest_under
from harness.views import PlaceView, StepView
from parsers.actions import Action
from parsers.grounding import CLICK
from parsers.records import Prediction, Status

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
