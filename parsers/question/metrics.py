"""Scores of a text against a right one, from 0 to 1, by the definitions of their publications.

`METRICS` is the closed list of those that questions can name, each the best over the right answers.
Those of WebSRC and ScreenQA are as their authors' code computes them, quirks included.
"""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from parsers.actions import mended
from parsers.elements import Labels, read_choice
from parsers.question import Asked, Right, answered, offered, text_of
from parsers.records import Prediction, Status
from parsers.reply_text import Nothing, Source, open_reply, plain_width

_DELETED = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset({"a", "an", "the"})
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_TOKENS = re.compile(r"\w+|[^\w\s]")
_RUNS = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+")
_MINUS = "-\u2212"
ROUGES = ("rouge1", "rouge2", "rougeL")


def squad_words(text: str) -> list[str]:
    """Return the words of a text as SQuAD's evaluation compares them (Rajpurkar et al. 2016).

    >>> squad_words("The  3.5\\u00a0inch Lamp!")
    ['35', 'inch', 'lamp']
    """
    plain = unicodedata.normalize("NFC", text).lower().translate(_DELETED)
    return [word for word in plain.split() if word not in _ARTICLES]


def exact(gold: str, reply: str) -> float:
    """Return 1 for equal words; texts without any are compared up to case and blanks."""
    words = squad_words(gold), squad_words(reply)
    if any(words):
        return float(words[0] == words[1])
    return float(_folded(gold) == _folded(reply))


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def f1(gold: str, reply: str) -> float:
    """Return SQuAD's F1 of words, as bags; a side without words is compared by `exact`."""
    right, said = squad_words(gold), squad_words(reply)
    if not right or not said:
        return exact(gold, reply)
    return bag_f1(right, said)


def bag_f1(right: Sequence[str], said: Sequence[str]) -> float:
    """Return F1 of words that are counted as often as they occur; 0 where none is shared."""
    return _f((Counter(right) & Counter(said)).total(), len(right), len(said))


def f1_sets(gold: str, reply: str) -> float:
    """Return F1 over sets of words and punctuation marks in lower case, as lmms-eval and MultiUI
    compute it for WebSRC and ScreenQA; 0 for a side without any."""
    right = set(_TOKENS.findall(gold.lower().strip()))
    said = set(_TOKENS.findall(reply.lower().strip()))
    return _f(len(right & said), len(right), len(said))


def contains(gold: str, reply: str) -> float:
    """Return 1 if the right words occur in a row among those of the reply."""
    right, said = squad_words(gold), squad_words(reply)
    if not right:
        return exact(gold, reply)
    starts = range(len(said) - len(right) + 1)
    return float(any(said[start : start + len(right)] == right for start in starts))


def number_of(text: str) -> float | None:
    """Return the only number of a text, None where it has none or several.

    Commas group thousands; `%` divides by 100; currency signs and units are left aside.

    >>> number_of("about $1,200.50"), number_of("3,5"), number_of("B12")
    (1200.5, None, None)
    """
    found = [match for match in re.finditer(r"[\d.,]*\d[\d.,]*", text) if _apart(text, match)]
    if len(found) != 1:
        return None
    (match,) = found
    digits = match.group().rstrip(".,")
    if not _NUMBER.fullmatch(digits):
        return None
    value = float(digits.replace(",", ""))
    before = text[: match.start()].rstrip()
    before = before[:-1] if before and unicodedata.category(before[-1]) == "Sc" else before
    signed = before[-1:] in _MINUS and bool(before) and not before[-2:-1].isalnum()
    after = text[match.start() + len(digits) :].lstrip()
    return (-value if signed else value) / (100 if after.startswith("%") else 1)


def _apart(text: str, match: re.Match[str]) -> bool:
    """Return whether digits are not glued to a letter on their left."""
    return not text[max(0, match.start() - 1) : match.start()].isalpha()


def number(gold: str, reply: str, absolute: float, relative: float) -> float | None:
    """Return 1 for a number within the tolerance; None where the reply has not exactly one."""
    right, said = number_of(gold), number_of(reply)
    if said is None or right is None:
        return None
    return float(abs(said - right) <= max(absolute, relative * abs(right)) * (1 + 1e-12))


def relaxed(gold: str, reply: str) -> float:
    """Return ChartQA's relaxed accuracy (Masry et al. 2022): numbers within 5 % of one that is not
    0, other texts equal up to case."""
    right, said = _as_float(gold), _as_float(reply)
    if right and said is not None:
        return float(abs(said - right) / abs(right) <= 0.05)
    return float(gold.strip().lower() == reply.strip().lower())


def _as_float(text: str) -> float | None:
    plain = text.strip()
    try:
        value = float(plain.rstrip("%")) / 100 if plain.endswith("%") else float(plain)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def anls(gold: str, reply: str) -> float:
    """Return the normalised Levenshtein similarity in lower case (Biten et al. 2019); under a half
    counts as 0."""
    similar = _similarity(_folded(gold), _folded(reply))
    return similar if similar >= 0.5 else 0.0


def edit(gold: str, reply: str) -> float:
    """Return the normalised Levenshtein similarity, case kept."""
    return _similarity(" ".join(gold.split()), " ".join(reply.split()))


def _similarity(first: str, second: str) -> float:
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_similarity(first, second))


def rouge(gold: str, reply: str, name: str) -> float:
    """Return ROUGE-1, -2 or -L (Lin 2004): F of counted n-grams, or of the longest common
    subsequence, over runs of letters and digits in lower case, without stemming."""
    right, said = _RUNS.findall(gold.lower()), _RUNS.findall(reply.lower())
    if name == "rougeL":
        return _f(_common(right, said), len(right), len(said))
    size = int(name[-1])
    bags = [
        Counter(zip(*(words[k:] for k in range(size)), strict=False)) for words in (right, said)
    ]
    return _f((bags[0] & bags[1]).total(), bags[0].total(), bags[1].total())


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    from rapidfuzz.distance import LCSseq

    return int(LCSseq.similarity(first, second))


def _f(shared: int, right: int, said: int) -> float:
    return 2 * shared / (right + said) if shared else 0.0


def websrc_plain(text: str) -> str:
    """Return a text as WebSRC's and ScreenQA's code compares it: small letters, without ASCII
    punctuation and articles, single blanks."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_DELETED)).split())


def websrc_exact(gold: str, reply: str) -> float:
    """Return 1 for equal texts in WebSRC; two without any words are equal, whatever their marks."""
    return float(websrc_plain(gold) == websrc_plain(reply))


def websrc_f1(gold: str, reply: str) -> float:
    """Return F1 of words as bags; where a side has none, 1 only if neither has (WebSRC)."""
    right, said = websrc_plain(gold).split(), websrc_plain(reply).split()
    if not right or not said:
        return float(right == said)
    return bag_f1(right, said)


def screenqa(golds: Sequence[str], reply: str, marker: str) -> tuple[float, float]:
    """Return exact match and F1 of ScreenQA (`sqa_s_metrics`, February 2025).

    A reply that is the marker to the letter is right if a gold is; other replies are compared with
    the other golds. A gold without words is matched exactly by any reply without words, with F1 0.
    """
    if reply == marker:
        return float(marker in golds), float(marker in golds)
    texts = [one for one in golds if one != marker]
    if not texts:
        return 0.0, 0.0
    said = websrc_plain(reply).split()
    return max(websrc_exact(one, reply) for one in texts), max(
        bag_f1(websrc_plain(one).split(), said) for one in texts
    )


Compare = Callable[[str, str], float]


class Metric(NamedTuple):
    """A way to compare an answer with a right one.

    compare: the score of a text against a right one; None for numbers, which have a tolerance.
    binary: whether it is 0 or 1.
    words: whether a right answer needs a word.
    """

    meaning: str
    compare: Compare | None
    binary: bool = True
    words: bool = False


METRICS: Mapping[str, Metric] = {
    "exact": Metric("the same words (SQuAD)", exact),
    "f1": Metric("overlap of words (SQuAD)", f1, binary=False, words=True),
    "f1-sets": Metric("overlap of words and marks, as sets", f1_sets, binary=False),
    "contains": Metric("the right words occur in a row", contains, words=True),
    "choice": Metric("the right option", lambda gold, said: float(gold == said)),
    "number": Metric("the right number, within the tolerance", None),
    "relaxed": Metric("numbers within 5 %, other texts equal (ChartQA)", relaxed),
    "anls": Metric("similarity of letters, from a half on", anls, binary=False),
    "edit": Metric("similarity of letters, case kept", edit, binary=False),
    **{
        name: Metric(
            f"ROUGE-{name[-1]}: overlap of words",
            lambda gold, said, name=name: rouge(gold, said, name),  # type: ignore[misc]
            binary=False,
            words=True,
        )
        for name in ROUGES
    },
}


def score(prediction: Prediction, asked: Asked, gold: Right) -> float:
    """Return the score of an answer, from 0 to 1; 0 where there is none."""
    said = text_of(prediction)
    if said is None:
        return 0.0
    if gold.no_answer and exact(gold.no_answer, said) == 1.0:
        return float(gold.unanswerable)
    metric, answers = METRICS[asked.metric], map(plain_width, gold.answers)
    if metric.compare is None:
        found = [number(one, said, gold.absolute, gold.relative) or 0.0 for one in answers]
    else:
        found = [metric.compare(one, said) for one in answers]
    return max(found, default=0.0)


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
