"""Read the answer to a question from a reply."""

from __future__ import annotations

from parsers.actions import mended
from parsers.question import Asked, answered
from parsers.question.choice import read_choice
from parsers.question.words import exact, number_of
from parsers.records import Prediction, Status
from parsers.reply_text import ENDED, ends_in_thought, tidy, without_thinking


def said_in(reply: str, finish: str) -> str | Prediction:
    """Return what a reply says behind its thoughts, or why that is nothing.

    A thought that is never closed was cut off, whatever the provider says.
    """
    if finish in ENDED:
        return Prediction(ENDED[finish])
    text = tidy(reply)
    if ends_in_thought(text):
        return Prediction(Status.TRUNCATED)
    text = without_thinking(text)
    return text if text.strip() else nothing(finish)


def nothing(finish: str) -> Prediction:
    """Return why a reply holds no answer: it was cut off, or is empty."""
    return Prediction(Status.TRUNCATED if finish == "length" else Status.EMPTY)


def read_answer(reply: str, asked: Asked, *, finish: str = "stop") -> Prediction:
    """Return the answer of a reply, or why there is none.

    A reply that was cut off before the words ahead of its answer is `truncated`.
    """
    said = said_in(reply, finish)
    if isinstance(said, Prediction):
        return said
    text = said.strip()
    if asked.after and asked.after in text:
        text = text.rpartition(asked.after)[2].strip()
    elif asked.after and finish == "length":
        return Prediction(Status.TRUNCATED)
    if not text:
        return nothing(finish)
    if asked.no_answer and exact(asked.no_answer, text) == 1.0:
        return answered(text)
    if asked.metric == "choice":
        status, letter = read_choice(text, asked.options)
        return answered(letter) if status is Status.ANSWERED else Prediction(status)
    if asked.metric == "number" and number_of(text) is None:
        return Prediction(Status.PARSE_ERROR)
    return answered(mended(text))


def spell_answer(text: str, asked: Asked) -> str:
    """Return the reply of a model that answers with a text."""
    return f"{asked.after} {text}" if asked.after else text
