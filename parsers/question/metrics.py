"""The metrics of questions: a closed list, each the best over the right answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from parsers.question import Asked, Right, text_of
from parsers.question.words import (
    ROUGES,
    anls,
    contains,
    edit,
    exact,
    f1,
    f1_sets,
    number,
    relaxed,
    rouge,
)
from parsers.records import Prediction

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
    metric = METRICS[asked.metric]
    if metric.compare is None:
        found = [number(one, said, gold.absolute, gold.relative) or 0.0 for one in gold.answers]
    else:
        found = [metric.compare(one, said) for one in gold.answers]
    return max(found, default=0.0)
