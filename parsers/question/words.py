"""Scores of a text against a right one, from 0 to 1, by the definitions of their publications."""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

_DELETED = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset({"a", "an", "the"})
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
