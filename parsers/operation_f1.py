"""Operation F1: how much of the operation and its value the prediction got right.

Mind2Web (Deng et al. 2023, section 4) compares operation and value as one string by token F1. Its
released code takes the set of blank-separated words, case and all; others lower-case them or take
tokenizer ids. The variants differ by about a point, so all are computed and one is the headline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from parsers.records import F1_VARIANTS, F1Variant, Operation
from parsers.tokens import token_ids


def operation_string(operation: Operation | None, value: str) -> str:
    """The string that is compared: operation, blank, value; empty without an operation.

    The value is left out for CLICK. SeeAct's format makes models write `VALUE: None` there, and the
    word would cost every correct click a third of its F1.

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
) -> dict[str, float]:
    """The F1 in every variant, each between 0 and 1. `bag` is described at `token_f1`.

    >>> operation_f1("TYPE", "wedding", "TYPE", "wedding photographer")["mind2web"]
    0.8
    """
    said = operation_string(prediction, prediction_value)
    right = operation_string(gold, gold_value)
    return {variant: token_f1(said, right, variant, bag=bag) for variant in F1_VARIANTS}


def token_f1(prediction: str, gold: str, variant: F1Variant, *, bag: bool = False) -> float:
    """F1 of two operation strings over their tokens.

    `mind2web`: words as they are; `mind2web-lc`: lower-cased words; `cl100k-lc`: cl100k_base ids of
    the lower-cased, stripped string. Tokens are compared as sets, or with `bag` as multisets (which
    concerns the cl100k variant only). Both empty: 1; exactly one empty, or nothing shared: 0.

    >>> round(token_f1("TYPE 10204", "TYPE 10203", "cl100k-lc"), 4)
    0.75

    Raises `VocabularyError` when the tokenizer's vocabulary is missing.
    """
    said, right = prediction.strip(), gold.strip()
    if variant != "mind2web":
        said, right = said.lower(), right.lower()
    if said == right:
        # Equal strings need no tokens, which spares most replies the tokenizer.
        return 1.0
    if not said or not right:
        return 0.0
    if variant == "cl100k-lc":
        return _f1(token_ids(said), token_ids(right), bag)
    return _f1(said.split(), right.split(), False)


def _f1(said: Sequence[int | str], right: Sequence[int | str], bag: bool) -> float:
    first, second = Counter(said), Counter(right)
    if not bag:
        first, second = Counter(set(first)), Counter(set(second))
    shared = (first & second).total()
    # 2PR / (P + R) with P = shared/said and R = shared/right, in one division.
    return 2 * shared / (first.total() + second.total())


def operation_exact(
    prediction: Operation | None,
    prediction_value: str,
    gold: Operation,
    gold_value: str,
    *,
    lower: bool = False,
) -> bool:
    """Whether the operation strings are equal, blanks collapsed and with `lower` lower-cased.

    Stricter than F1 = 1, which a permuted or repeated word also reaches.

    >>> operation_exact("TYPE", "b a", "TYPE", "a b")
    False
    >>> operation_exact("TYPE", "a  b", "TYPE", "a b")
    True
    """
    said = " ".join(operation_string(prediction, prediction_value).split())
    right = " ".join(operation_string(gold, gold_value).split())
    return said.lower() == right.lower() if lower else said == right
