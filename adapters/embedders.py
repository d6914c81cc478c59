"""Embedders: OpenAI's models and those of any server that speaks the protocol, and `lexical`.

Limits and forms are those of the API reference as the SDK has it, November 2026. `lexical` knows
the letters of words: it needs no model and no network, and is the same on every machine.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
import unicodedata
from array import array
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from adapters.api_client import Json, OpenAIClient
from adapters.checks import checked_vectors, named, usage_of
from adapters.contract import Fatal, Fault
from adapters.conversation import Finish, Usage
from adapters.embedding import Embedded, Embedder, EmbedderInfo, Vector, single_precision
from adapters.endpoints import Endpoint, need_model, need_package
from adapters.faults import Failure, error_line
from adapters.openai import openai_endpoint
from adapters.options import Count

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


CONTEXT_TOKENS = 8192
TOKENS_PER_CALL = 300_000
TEXTS_PER_CALL = 128
"""Fewer than the 2048 that are allowed: a reply of long vectors in decimal must fit the size limit
of replies."""


def openai_embeddings(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_s: float = 120.0,
    concurrency: int = 8,
    dimensions: Count | None = None,
) -> Embedder:
    """Make an embedder for OpenAI's models, or with `base_url` for any server of the protocol.

    `dimensions` shortens the vectors, where the model can. Raises `Fatal` for a missing key or a
    bad address.
    """
    need_package("openai", "openai")
    model = need_model(model, "openai:text-embedding-3-small")
    endpoint = openai_endpoint(base_url, api_key)
    info = EmbedderInfo(
        **endpoint.facts(model, {"api": "embeddings", "dimensions": dimensions}),
        concurrency=concurrency,
        context_tokens=CONTEXT_TOKENS if endpoint.is_official else None,
        texts_per_call=TEXTS_PER_CALL,
        bytes_per_call=TOKENS_PER_CALL,
        dimensions=dimensions,
    )
    return OpenAIEmbedder(info, endpoint, timeout_s=timeout_s)


class _Embedding(msgspec.Struct):
    index: int
    # Floats in base64, or in decimal from servers that know no other form.
    embedding: str | list[float]


class _Answer(msgspec.Struct):
    data: list[_Embedding]
    model: object = None
    usage: object = None


class OpenAIEmbedder(OpenAIClient[EmbedderInfo]):
    """One embedding model."""

    spellings: ClassVar[Mapping[str, tuple[str, ...]]] = {"encoding_format": ()}
    answers = _Answer
    path = "/embeddings"

    def __init__(self, info: EmbedderInfo, endpoint: Endpoint, *, timeout_s: float) -> None:
        super().__init__(info, endpoint, timeout_s=timeout_s)
        self._dimensions = info.dimensions

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts; `Fault` also for a text that is longer than the model takes.

        The run continues: other texts may still be embedded.
        """

        async def compose() -> tuple[Json, Json]:
            # The protocol takes no empty text.
            content = {"model": self._info.model, "input": [text or " " for text in texts]}
            wanted: Json = {"encoding_format": "base64"}
            if self._info.dimensions is not None:
                wanted["dimensions"] = self._info.dimensions
            return content, wanted

        def read(
            answer: _Answer, headers: Mapping[str, str], sent: Json, latency_s: float
        ) -> Embedded:
            embedded = Embedded(_vectors(answer), _usage(answer), named(answer.model), latency_s)
            embedded = checked_vectors(embedded, len(texts), self._dimensions)
            self._dimensions = len(embedded.vectors[0])
            return embedded

        def end(finish: Finish, failure: Failure, sent: Json) -> Embedded:
            if finish is Finish.PROVIDER_REFUSED:
                raise Fatal(error_line(failure, self.speaker, self.clean))
            longest = max(map(len, texts))
            what = "too long" if finish is Finish.TOO_LONG else "not allowed"
            line = (
                f"{self.speaker} embeds no text that is {what} (the longest of these has "
                f"{longest:,} characters): {failure.message}"
            )
            raise Fault("server", self.clean(line), status=failure.status)

        return await self._exchange(compose, read, end)


def _vectors(answer: _Answer) -> tuple[Any, ...]:
    for place, item in enumerate(answer.data):
        if item.index != place:
            raise ValueError(f"the vector with index {item.index} stands at place {place}")
    return tuple(_numbers(item.embedding) for item in answer.data)


def _numbers(embedding: str | list[float]) -> Sequence[float]:
    """Return the numbers of a vector. Raises ValueError."""
    if not isinstance(embedding, str):
        return embedding
    numbers = array("f")
    numbers.frombytes(b64decode(embedding, validate=True))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _usage(answer: _Answer) -> Usage | None:
    told = answer.usage if isinstance(answer.usage, dict) else {}
    total = told.get("total_tokens")
    return usage_of(input=told.get("prompt_tokens", total), output=0)
