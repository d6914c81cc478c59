"""Embeddings by the letters of words: no model, no network, the same on every machine."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from adapters.conversation import Usage
from adapters.embedding import Embedded, EmbedderInfo, Vector, single_precision

DIMENSIONS = 1024
EDITION = 1
"""Version of the definition below, raised when a text gets another vector."""

_WORD = re.compile(r"[^\W_]+")


class LexicalEmbedder:
    """The embedder `lexical`: unit vectors whose dot product says how alike the words of texts are.

    A text is normalised (NFKC, case folded) and split into words, runs of letters and digits. Each
    word, with a blank at either end, counts its trigrams, the three-letter pieces of it, as
    PostgreSQL's pg_trgm does; so `flight` and `flights` share five of six and seven, and long words
    weigh more than short ones, which are mostly grammar. A trigram that occurs n times adds the
    square root of n, with a sign, to one of 1024 numbers; number and sign come from its BLAKE2b
    hash (feature hashing, Weinberger et al. 2009). The vector is then scaled to length one. All
    texts without a word have the same vector.
    """

    def __init__(self) -> None:
        self._info = EmbedderInfo(
            name="lexical",
            model="lexical",
            provider="lexical",
            stand_in="code",
            weights_known=True,
            dimensions=DIMENSIONS,
            settings={"edition": EDITION},
        )

    @property
    def info(self) -> EmbedderInfo:
        return self._info

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return embedded(texts)

    def notices(self) -> list[str]:
        return []

    async def close(self) -> None:
        return None


def embedded(texts: Sequence[str]) -> Embedded:
    """Return the embedder's answer without awaiting it."""
    return Embedded(tuple(map(lexical_vector, texts)), Usage(), "lexical")


def lexical_vector(text: str) -> Vector:
    """Return the vector of a text; see `LexicalEmbedder`."""
    # Only sums, products and square roots, which IEEE 754 fixes to the last bit.
    numbers = [0.0] * DIMENSIONS
    for trigram, count in sorted(Counter(_trigrams(text)).items()):
        digest = hashlib.blake2b(trigram.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        place = int.from_bytes(digest, "big")
        sign = 1 if place >> 63 else -1
        numbers[place % DIMENSIONS] += sign * math.sqrt(count)
    if not any(numbers):  # All trigrams of a very short text may cancel out.
        return lexical_vector("")
    length = math.sqrt(math.fsum(number * number for number in numbers))
    return single_precision([number / length for number in numbers])


def _trigrams(text: str) -> Iterator[str]:
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    for word in words:
        padded = f" {word} "
        yield from (padded[start : start + 3] for start in range(len(padded) - 2))
    if not words:
        yield ""
