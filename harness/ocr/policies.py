"""The policy `ocr`, for steps, places, questions and screens."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.contract import PictureSource
from adapters.conversation import Picture
from harness.ocr.eyes import Eyes, TextLine, to_page
from harness.ocr.matching import answer, best, nearest_letter, option, words_read
from harness.policies import Secret
from harness.policies.lexical import Lexical
from harness.policies.words import phrases, plain, read_line, words
from harness.protocols.coordinates import smallest_under
from harness.views import PlaceView, QuestionView, ScreenView, StepView
from parsers.actions import Action
from parsers.grounding import CLICK
from parsers.question import LETTERS, answered, offered
from parsers.question.metrics import number_of
from parsers.records import Prediction, Status
from parsers.screen import DIRECTIONS, OPPOSITE, Past

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


@dataclass(frozen=True, slots=True)
class ReadsQuestions(Reads):
    """Questions: the option that was read, the letter next to the line that fits, or the text next
    to it; that there is no answer, where the set lets one say so and nothing fits.

    Of a question about a box, only the lines in it are read; of options that are boxes, the one
    with the line that fits is taken."""

    View = QuestionView

    def predict(
        self,
        view: QuestionView,
        chance: random.Random,
        secret: Secret | None,
        lines: Sequence[TextLine] = (),
    ) -> Prediction:
        asked = view.content
        inside = _inside(asked.box, view.pictures, lines)
        if inside and not asked.options:
            return answered(" ".join(line.text for line in inside))
        lines = inside or lines
        shown = offered(asked.options)
        letters, options = "".join(shown) or LETTERS, list(shown.values())
        fit = best(asked.question, lines)
        for letter, one in shown.items():
            if fit is not None and fit in _inside(one, view.pictures, [fit]):
                return answered(letter if asked.metric == "choice" else one)
        if asked.metric == "choice":
            if any(one not in letters for one in options):
                return answered(letters[option(asked.question, options, lines)])
            return answered(nearest_letter(asked.question, lines, letters) or letters[0])
        if options:
            return answered(options[option(asked.question, options, lines)])
        text = answer(asked.question, lines, _is_number if asked.metric == "number" else bool)
        text = text or asked.no_answer
        return answered(text) if text else Prediction(Status.EMPTY)


def _is_number(text: str) -> bool:
    return len(text.split()) == 1 and number_of(text) is not None


def _inside(box: str, pictures: Sequence[Picture], lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines with their middle in a box: left, top, right, bottom as shares of the one
    picture; none for anything else."""
    numbers = [float(one) for one in _NUMBER.findall(box)]
    if len(numbers) != 4 or len(pictures) != 1 or not all(0 <= one <= 1 for one in numbers):
        return []
    (picture,) = pictures
    left, top = to_page(picture)(numbers[0] * picture.width, numbers[1] * picture.height)
    right, bottom = to_page(picture)(numbers[2] * picture.width, numbers[3] * picture.height)
    return [
        line
        for line in lines
        if left <= line.middle[0] <= right and top <= line.middle[1] <= bottom
    ]


_NUMBER = re.compile(r"\d+(?:\.\d+)?")
PRESSED = (
    (re.compile(r"\b(?:go|navigate|head|press) back\b|\bback button\b", re.I), Action("back")),
    (re.compile(r"\b(?:go|return) (?:to the )?home\b|\bhome screen\b", re.I), Action("home")),
    (re.compile(r"\bwait\b", re.I), Action("wait")),
    (re.compile(r"\bpress (?:the )?enter\b", re.I), Action("enter")),
)
TYPED = re.compile(r"\b(?:type|enter|input|write|fill in)\b", re.I)
SCROLLED = re.compile(r"\b(scroll|swipe)\b", re.I)
OPENED = re.compile(r"\b(?:open|launch) (?:the )?(.{1,40}?)(?: app(?:lication)?)?\W*$", re.I)


@dataclass(frozen=True, slots=True)
class ReadsScreens(Reads):
    """Steps on screens: what the sentence of the step says to do, at the line that fits it best, or
    the goal; scrolls down where none does."""

    View = ScreenView

    def predict(
        self,
        view: ScreenView,
        chance: random.Random,
        secret: Secret | None,
        lines: Sequence[TextLine] = (),
    ) -> Prediction:
        task = view.content
        said = task.instruction or task.goal
        if task.instruction and (action := _spoken(task.instruction)) is not None:
            return Prediction(Status.ANSWERED, action)
        line = best(said, lines, map(_typed, task.before))
        if line is not None:
            return Prediction(Status.ANSWERED, Action("click", point=line.middle))
        return Prediction(Status.ANSWERED, Action("scroll", arguments={"direction": "down"}))


def _typed(past: Past) -> str:
    return str(past.action.arguments.get("text", ""))


def _spoken(sentence: str) -> Action | None:
    """Return the action that a sentence names, None for a tap."""
    for pattern, action in PRESSED:
        if pattern.search(sentence):
            return action
    if match := SCROLLED.search(sentence):
        named = [one for one in words(sentence) if one in DIRECTIONS]
        side = named[0] if named else "down"
        if named and match[1].lower() == "swipe":  # The view goes against the finger.
            side = OPPOSITE[side]
        return Action("scroll", arguments={"direction": side})
    if TYPED.search(sentence) and (found := phrases(sentence, ())):
        return Action("type", arguments={"text": found[0].text})
    if match := OPENED.search(sentence):
        return Action("open_app", arguments={"text": match[1]})
    return None
