"""Scores of sets of questions as their authors' code computes them, quirks included."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from parsers.question.words import bag_f1

_DELETED = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def plain(text: str) -> str:
    """Return a text as WebSRC's and ScreenQA's code compares it: small letters, without ASCII
    punctuation and articles, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_DELETED)).split())


def exact(gold: str, reply: str) -> float:
    """Return 1 for equal texts; two without any words are equal, whatever their marks."""
    return float(plain(gold) == plain(reply))


def f1(gold: str, reply: str) -> float:
    """Return F1 of words as bags; where a side has none, 1 only if neither has (WebSRC)."""
    right, said = plain(gold).split(), plain(reply).split()
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
    said = plain(reply).split()
    return max(exact(one, reply) for one in texts), max(
        bag_f1(plain(one).split(), said) for one in texts
    )
