"""Read the answer to a question from a reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parsers.actions import mended
from parsers.elements import Labels, read_choice
from parsers.question import Asked, answered, offered
from parsers.question.metrics import exact, number_of
from parsers.records import Prediction, Status
from parsers.reply_text import Nothing, Source, open_reply, plain_width


def said_in(reply: str, finish: str) -> Source | Prediction:
    """Return what a reply says without what dresses it, or why that is nothing."""
    opened = open_reply(reply, finish)
    if isinstance(opened, Nothing):
        return Prediction(opened.status, flags=opened.flags)
    return opened.inside or opened


def read_answer(reply: str, asked: Asked, *, finish: str = "stop") -> Prediction:
    """Return the answer of a reply, or why there is none.

    A reply that was cut off before the words ahead of its answer is `truncated`.
    """
    said = said_in(reply, finish)
    if isinstance(said, Prediction):
        return said
    if asked.after and asked.after in said.text:
        said = said.part(said.text.rindex(asked.after) + len(asked.after), len(said.text))
    elif asked.after and finish == "length":
        return Prediction(Status.TRUNCATED)
    text = plain_width(said.text.strip())
    if not text:
        return Prediction(Status.TRUNCATED if finish == "length" else Status.EMPTY)
    if asked.no_answer and exact(asked.no_answer, text) == 1.0:
        return answered(text)
    if asked.metric == "choice":
        return _chosen(said, asked.options)
    if asked.metric == "number" and number_of(text) is None:
        return Prediction(Status.PARSE_ERROR)
    return answered(mended(text))


def _chosen(said: Source, options: Sequence[str]) -> Prediction:
    shown = offered(options)
    letters = tuple(shown)
    places = {letter: place for place, letter in enumerate(letters)}
    found = read_choice(said, Labels(places, None, tuple(shown.values())))
    if found.option is None:
        return Prediction(found.status)
    return replace(answered(letters[found.option]), flags=found.flags)


def write_answer(text: str, asked: Asked) -> str:
    """Return the reply of a model that answers with a text."""
    return f"{asked.after} {text}" if asked.after else text
