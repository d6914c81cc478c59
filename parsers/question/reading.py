"""Read the answer to a question from a reply."""

from __future__ import annotations

import re
from collections.abc import Sequence

from parsers.actions import mended
from parsers.question import LETTERS, Asked, answered, offered
from parsers.question.metrics import exact, number_of
from parsers.records import Prediction, Status
from parsers.reply_text import ENDED, ends_in_thought, tidy, without_thinking

_AROUND = " \t\r\n*_`\"'\u201c\u201d\u2018\u2019"
_ALONE = re.compile(r"[(\[{]?([A-Za-z])[)\]}]?[.):]?")
_SAID = re.compile(
    r"\b(?:answer|choice|option)\b(?:\s+is\b|\s*[:=])?[\s:=*_`\"'(\[]*([A-Z])(?![A-Za-z0-9'])",
    re.IGNORECASE,
)
_LED = re.compile(r"[(\[]?([A-Za-z])(?:[)\].:,]+|\s*[-\u2013\u2014])\s*(.+)", re.DOTALL)


def read_choice(reply: str, options: Sequence[str]) -> tuple[Status, str]:
    """Return the status of a reply and the letter that it chooses, "" unless it was answered.

    A letter beyond the options is `out_of_range`.
    """
    text = reply.strip(_AROUND)
    if not text:
        return Status.EMPTY, ""
    letter = _letter(text, options)
    if letter is None:
        same = [one for one, words in offered(options).items() if _plain(words) == _plain(text)]
        letter = same[0] if len(same) == 1 else None
    if letter is None:
        return Status.PARSE_ERROR, ""
    if letter not in offered(options):
        return Status.OUT_OF_RANGE, ""
    return Status.ANSWERED, letter


def _letter(text: str, options: Sequence[str]) -> str | None:
    if alone := _ALONE.fullmatch(text):
        return alone[1].upper()
    named = [match[1] for match in _SAID.finditer(text) if match[1].isupper()]
    if named:
        return named[-1]
    if led := _LED.fullmatch(text):
        place = LETTERS.index(led[1].upper())
        if place < len(options) and _plain(led[2]) == _plain(options[place]):
            return LETTERS[place]
    return None


def _plain(text: str) -> str:
    return " ".join(text.strip(_AROUND + ".").lower().split())


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
