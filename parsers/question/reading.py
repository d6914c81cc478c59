"""Read the answer to a question from a reply."""

from __future__ import annotations

from parsers.actions import mended
from parsers.question import Asked, answered
from parsers.question.choice import read_choice
from parsers.question.words import exact, number_of
from parsers.records import Prediction, Status
from parsers.reply_text import ENDED, ends_in_thought, tidy, without_thinking


def read_answer(reply: str, asked: Asked, *, finish: str = "stop") -> Prediction:
    """Return the answer of a reply, or why there is none.

    A thought that is never closed, and a reply that was cut off before its answer, is `truncated`.
    """
    if finish in ENDED:
        return Prediction(ENDED[finish])
    text = tidy(reply)
    if ends_in_thought(text):
        return Prediction(Status.TRUNCATED)
    text = without_thinking(text).strip()
    if asked.after and asked.after in text:
        text = text.rpartition(asked.after)[2].strip()
    elif asked.after and finish == "length":
        return Prediction(Status.TRUNCATED)
    if not text:
        return Prediction(Status.TRUNCATED if finish == "length" else Status.EMPTY)
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
