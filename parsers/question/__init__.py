"""Questions about pictures: what is asked, what is right, and how answers are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parsers.actions import Action, ActionKind, ActionSpace, Argument
from parsers.records import Prediction, Status

KIND = "question"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SPACE = ActionSpace("question", (ActionKind("answer", (Argument("text", "text"),)),))
"""An answer is a text; of options, the letter of one."""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn of the same dialogue before the one that is asked.

    Attributes:
        prompt: the text that was sent.
        pictures: number of pictures that were shown with it.
        reply: what is there as the reply; None for the model's own, which it is asked for.
    """

    prompt: str
    pictures: int = 0
    reply: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A model's view of a question.

    Attributes:
        prompt: the text that is sent.
        system: the system text; "" for none.
        question: the question alone.
        options: the texts to choose from, "" for a letter that is left out; () for an open
            question.
        metric: how the answer is scored, which decides how it is read.
        after: the answer is what follows the last of these words; "" for the whole reply.
        no_answer: what says that the picture does not answer the question; "" for nothing.
        task: the task of the question in its set, where that decides words and reading.
        box: left, top, right and bottom of what the question is about, as shares of the picture.
        before: the turns before it that are shown, oldest first.
        dialogue: the id of its dialogue, where the replies to its turns are the model's own.
    """

    prompt: str
    system: str = ""
    question: str = ""
    options: tuple[str, ...] = ()
    metric: str = "exact"
    after: str = ""
    no_answer: str = ""
    task: str = ""
    box: str = ""
    before: tuple[PastTurn, ...] = ()
    dialogue: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """The right answers of a question.

    Attributes:
        answers: any of them is right; letters where there are options to choose from.
        unanswerable: whether it is right to say that the picture does not answer it.
        no_answer: what says so; "" for nothing.
        absolute, relative: tolerance of numbers.
    """

    answers: tuple[str, ...] = ()
    unanswerable: bool = False
    no_answer: str = ""
    absolute: float = 0.0
    relative: float = 0.0

    def __str__(self) -> str:
        return " or ".join((*self.answers, *([self.no_answer] if self.unanswerable else ())))

    @property
    def action(self) -> Action | None:
        """A right answer; None where none is known."""
        text = next(iter(self.answers), self.no_answer if self.unanswerable else "")
        return Action("answer", arguments={"text": text}) if text else None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionDetail:
    """Detail of a question."""

    asked: Asked
    gold: Right


def offered(options: Sequence[str]) -> dict[str, str]:
    """Return the options by letter; the letter of an empty one is not offered.

    >>> offered(["red", "", "white"])
    {'A': 'red', 'C': 'white'}
    """
    return {letter: one for letter, one in zip(LETTERS, options, strict=False) if one}


def answered(text: str) -> Prediction:
    """Return an answer in words, or a letter."""
    return Prediction(Status.ANSWERED, Action("answer", arguments={"text": text}))


def text_of(prediction: Prediction | None) -> str | None:
    """Return what was answered; None where nothing was."""
    action = prediction.action if prediction is not None else None
    if prediction is None or prediction.status is not Status.ANSWERED or action is None:
        return None
    return str(action.arguments.get("text", ""))
