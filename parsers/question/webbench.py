"""VisualWebBench (Liu et al. 2024): its ROUGE as executed, its reader of letters, its frames.

The published code scores with the package `rouge` 1.0.1: texts are split at every full stop and
blank, nothing is put in lower case, and n-grams are sets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from parsers.question import LETTERS, Asked, Right, answered, text_of
from parsers.question.metrics import read_answer, said_in
from parsers.records import Prediction, Scores, Status

CAPTION, WEBQA, ELEMENT_OCR = "web_caption", "webqa", "element_ocr"
TASKS = {
    CAPTION: 134,
    WEBQA: 314,
    "heading_ocr": 46,
    ELEMENT_OCR: 245,
    "element_ground": 413,
    "action_prediction": 281,
    "action_ground": 103,
}
"""Tasks with their published numbers of questions."""
CHOICES = ("element_ground", "action_prediction", "action_ground")
OFFERED = LETTERS[:8]
VARIANTS = ("rouge-l", "rouge-1", "screensuite")
LEAD = "The text content within the red bounding box is:"
"""Beginning of answers that the published prompt of element OCR demands."""
_TAG = re.compile(r'<meta\s+name="description"\s+content="(.*)"\s*/?>', re.DOTALL)
_TAG_FOUND = re.compile(r'<meta name="description" content="(.*)">')
_DROPPED = str.maketrans("", "", ",.!?;:'\"")

Frames = Literal["known", "published", "none"]
Reader = Literal["strict", "published"]


class Unscored(ValueError):
    """The published scorer raises: a text of full stops only, or no right answer."""


def rouges(gold: str, reply: str) -> tuple[float, float, float]:
    """Return F of ROUGE-1, -2 and -L as executed. Raises `Unscored`.

    >>> rouges("Buy lamps", "buy lamps.")[0]
    0.4999999950000001
    """
    right, said = _sentences(gold), _sentences(reply)
    both = [word for words in right for word in words], [word for words in said for word in words]
    first, second = (
        _f(*({tuple(words[k : k + n]) for k in range(len(words) - n + 1)} for words in both))
        for n in (1, 2)
    )
    shared = {word for one in right for other in said for word in _common(one, other)}
    sizes = len(set(both[0])), len(set(both[1]))
    return first, second, _f_of(len(shared), *sizes)


def _sentences(text: str) -> list[list[str]]:
    """Return the words of the pieces between full stops; a piece of blanks has an empty word."""
    pieces = [" ".join(piece.split()).split(" ") for piece in text.split(".") if piece]
    if not pieces:
        raise Unscored("a text of full stops only")
    return pieces


def _f(right: set[tuple[str, ...]], said: set[tuple[str, ...]]) -> float:
    return _f_of(len(right & said), len(right), len(said))


def _f_of(shared: int, right: int, said: int) -> float:
    recall, precision = shared / right if right else 0.0, shared / said if said else 0.0
    return 2.0 * (precision * recall / (precision + recall + 1e-8))


def _common(right: Sequence[str], said: Sequence[str]) -> set[str]:
    """Return the words of a longest common subsequence; of several, the one that `rouge` takes."""
    table = [[0] * (len(said) + 1)]
    for one in right:
        above, row = table[-1], [0]
        for place, other in enumerate(said):
            row.append(above[place] + 1 if one == other else max(above[place + 1], row[place]))
        table.append(row)
    found: set[str] = set()
    up, left = len(right), len(said)
    while up and left:
        if right[up - 1] == said[left - 1]:
            found.add(right[up - 1])
            up, left = up - 1, left - 1
        elif table[up - 1][left] > table[up][left - 1]:
            up -= 1
        else:
            left -= 1
    return found


def letter_of(reply: str) -> str:
    """Return the letter that the published code reads from a reply; "" for none.

    Of several, the last; an article is a letter as well ("A page").
    """
    if len(reply) == 1:
        return reply.upper()
    if re.match(r"[A-Z]\.", reply):
        return reply[0]
    text = f" {reply.translate(_DROPPED)} "
    for form in ("({})", " {} "):
        found = {text.rfind(form.format(one)): one for one in OFFERED if form.format(one) in text}
        if found:
            return found[max(found)]
    return ""


def unframed(text: str, task: str, frames: Frames) -> str:
    """Return a text without the frame that its task demands.

    `known` removes a meta tag that is the whole reply, or the exact lead-in; `published` does what
    the published adapters of GPT and LLaVA do: the content of a tag anywhere, and whatever
    follows the first colon.
    """
    if frames == "known":
        if task == CAPTION and (tag := _TAG.fullmatch(text.strip())):
            return tag[1]
        if task == ELEMENT_OCR and text.strip().startswith(LEAD):
            return text.strip().removeprefix(LEAD).strip()
    elif frames == "published":
        if task == CAPTION and (tag := _TAG_FOUND.search(text)):
            return tag[1]
        if task == ELEMENT_OCR and ":" in text:
            return text.partition(":")[2].strip().strip('"').strip("'")
    return text


def framed(text: str, task: str, frames: Frames) -> str:
    """Return the reply of a model that answers with a text."""
    if task == CAPTION and frames != "none":
        return f'<meta name="description" content="{text}">'
    return f"{LEAD} {text}" if task == ELEMENT_OCR and frames != "none" else text


def read(reply: str, asked: Asked, *, reader: Reader, frames: Frames, finish: str) -> Prediction:
    """Return the answer of a reply, or why there is none."""
    if asked.metric == "choice" and reader == "strict":
        return read_answer(reply, asked, finish=finish)
    said = said_in(reply, finish)
    if isinstance(said, Prediction):
        return said
    text = said.text
    if asked.metric == "choice":
        letter = letter_of(text)
        if letter and letter in LETTERS[: len(asked.options)]:
            return answered(letter)
        return Prediction(Status.OUT_OF_RANGE if letter in list(LETTERS) else Status.PARSE_ERROR)
    text = unframed(text, asked.task, frames)
    return answered(text) if text.strip() else Prediction(Status.EMPTY)


def score(prediction: Prediction, asked: Asked, gold: Right) -> Scores:
    """Return the score in every variant, and as executed: None where the published code drops a
    question. What it raises at is 0 here, and stays in the mean."""
    said = text_of(prediction)
    if asked.metric == "choice":
        value = float(said in gold.answers)
        return {**dict.fromkeys((f"score.{one}" for one in VARIANTS), value), "as_executed": value}
    text = said or " "
    if asked.task == ELEMENT_OCR and len(text) == 1:
        text = " "
    found, raised = [], not gold.answers
    for one in gold.answers:
        try:
            found.append(rouges(one, text))
        except Unscored:
            raised = True
    first, second, longest = map(max, zip(*found, strict=True)) if found else (0.0, 0.0, 0.0)
    if asked.task == WEBQA:
        second = longest = first
    executed = None if raised and asked.task == WEBQA else longest
    if said is None:  # The published blank matches a right answer that ends in ". ".
        first = second = longest = 0.0
    return {
        "score.rouge-l": longest,
        "score.rouge-1": first,
        "score.screensuite": (first + second + longest) / 3,
        "as_executed": executed,
    }
