"""Operation F1: token F1 between the predicted and the recorded operation and value.

Mind2Web (Deng et al. 2023, section 4) compares operation and value as one string by token F1. Its
released code compares sets of blank-separated, case-sensitive words; others lower-case the words or
use tokenizer ids. The variants differ by about a point, so all are computed; one is the headline.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence

from parsers.records import F1_VARIANTS, F1Variant, Operation
from parsers.tokens import token_ids


def operation_string(operation: Operation | None, value: str) -> str:
    """Return the string that is compared: operation, blank, value; empty without an operation.

    The value of a CLICK is left out. SeeAct's format makes models write `VALUE: None` there, and
    that word would cost every correct click a third of its F1.

    Examples:
        >>> operation_string("TYPE", "new york"), operation_string("CLICK", "None")
        ('TYPE new york', 'CLICK')
    """
    if operation is None:
        return ""
    return operation if operation == "CLICK" else f"{operation} {value}".strip()


def operation_f1(
    prediction: Operation | None,
    prediction_value: str,
    gold: Operation,
    gold_value: str,
    *,
    bag: bool = False,
    variants: Sequence[F1Variant] = F1_VARIANTS,
    written: str | None = None,
) -> dict[str, float]:
    """F1 in some variants, each between 0 and 1. For `bag`, see `token_f1`.

    `written` is compared instead of the predicted operation and value.

    Examples:
        >>> operation_f1("TYPE", "wedding", "TYPE", "wedding photographer")["mind2web"]
        0.8
    """
    predicted = operation_string(prediction, prediction_value) if written is None else written
    recorded = operation_string(gold, gold_value)
    return {variant: token_f1(predicted, recorded, variant, bag=bag) for variant in variants}


def token_f1(prediction: str, gold: str, variant: F1Variant, *, bag: bool = False) -> float:
    """F1 of two operation strings over their tokens.

    `mind2web`: unchanged words; `mind2web-lc`: lower-cased words; `cl100k-lc`: cl100k_base ids of
    the lower-cased, stripped string; `mind2web-np`: unchanged words, without those that are
    punctuation marks in the order of `string.punctuation` (MT-Mind2Web, where the model writes the
    element). Tokens are compared as sets, or with `bag` as multisets (in the cl100k variant only).
    F1 is 1 if neither has tokens, and 0 if only one has.

    Examples:
        >>> round(token_f1("TYPE 10204", "TYPE 10203", "cl100k-lc"), 4)
        0.75

    Raises `VocabularyError` if the tokenizer's vocabulary is missing.
    """
    predicted, recorded = prediction.strip(), gold.strip()
    if variant == "mind2web-np":
        predicted, recorded = _without_marks(predicted), _without_marks(recorded)
    if variant.endswith("-lc"):
        predicted, recorded = predicted.lower(), recorded.lower()
    if predicted == recorded:
        # Most strings are equal, and then the tokenizer is not needed.
        return 1.0
    if not predicted or not recorded:
        return 0.0
    if variant == "cl100k-lc":
        return _f1(token_ids(predicted), token_ids(recorded), bag)
    return _f1(predicted.split(), recorded.split(), False)


def _without_marks(text: str) -> str:
    return " ".join(word for word in text.split() if word not in string.punctuation)


def _f1(predicted: Sequence[int | str], recorded: Sequence[int | str], bag: bool) -> float:
    first, second = Counter(predicted), Counter(recorded)
    if not bag:
        first, second = Counter(set(first)), Counter(set(second))
    shared = (first & second).total()
    # 2PR / (P + R) with P = shared/predicted and R = shared/recorded, in one division.
    return 2 * shared / (first.total() + second.total())


def operation_exact(
    prediction: Operation | None,
    prediction_value: str,
    gold: Operation,
    gold_value: str,
    *,
    lower: bool = False,
    written: str | None = None,
) -> bool:
    """Return True if the operation strings are equal after collapsing blanks; `lower` ignores case.

    `written` is compared instead of the predicted operation and value.

    Stricter than F1 = 1, which permuted or repeated words also reach.

    Examples:
        >>> operation_exact("TYPE", "b a", "TYPE", "a b")
        False
        >>> operation_exact("TYPE", "a  b", "TYPE", "a b")
        True
    """
    said = operation_string(prediction, prediction_value) if written is None else written
    predicted = " ".join(said.split())
    recorded = " ".join(operation_string(gold, gold_value).split())
    return predicted.lower() == recorded.lower() if lower else predicted == recorded
