"""The interface between the engine and an embedder, which turns texts into vectors.

As an adapter does, an embedder asks once and raises `Fault` for an error that may pass and `Fatal`
for one that will not; it neither retries, nor waits, nor caches. It is given at most as many texts
at a time as it declares, see `batches`.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from adapters.contract import ModelInfo
from adapters.conversation import Usage
from adapters.registry import load

Vector = tuple[float, ...]
"""Numbers of single precision: storing a vector does not change it."""

MAX_DIMENSIONS = 65_536
"""More numbers than any model's vectors have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderInfo(ModelInfo):
    """Declaration of an embedder."""

    texts_per_call: int = 64
    """The most texts in a call."""
    bytes_per_call: int | None = None
    """The most bytes of a call's texts together in UTF-8, where a provider limits their tokens (a
    token is a byte or more); a text that is longer by itself is sent alone. None for no limit."""
    dimensions: int | None = None
    """Numbers in a vector, None if that is known from the first reply only."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """The answer of one call.

    Attributes:
        vectors: one per text, in the order of the texts; all have the same length.
        usage: input tokens as billed, None where the server reported none.
        model: what the provider says it ran.
        latency_s: time of the call in seconds.
    """

    vectors: tuple[Vector, ...]
    usage: Usage | None = None
    model: str = ""
    latency_s: float = 0.0


@runtime_checkable
class Embedder(Protocol):
    """A model that is given texts and returns a vector for each."""

    @property
    def info(self) -> EmbedderInfo:
        """The embedder's declaration."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts in one call. Raises `Fault` or `Fatal`.

        An empty text has a vector like any other.
        """
        ...

    def notices(self) -> list[str]:
        """Return notices for the user since the last call."""
        ...

    async def close(self) -> None:
        """Close connections, end processes, free memory."""
        ...


@runtime_checkable
class Loading(Protocol):
    """An embedder that takes minutes to load, and would otherwise do so within its first call."""

    def load(self) -> None:
        """Load the model. Raises `Fatal`."""
        ...


def batches(texts: Sequence[str], info: EmbedderInfo) -> Iterator[tuple[str, ...]]:
    """Return the texts in calls that the embedder takes, in order.

    Examples:
        >>> info = EmbedderInfo("m", "m", "p", texts_per_call=2, bytes_per_call=5)
        >>> list(batches(["a", "b", "c", "ddddddd", "e"], info))
        [('a', 'b'), ('c',), ('ddddddd',), ('e',)]
    """
    most = info.bytes_per_call or sys.maxsize
    batch: list[str] = []
    size = 0
    for text in texts:
        more = len(text.encode("utf-8", "surrogatepass"))
        if batch and (len(batch) == info.texts_per_call or size + more > most):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(text)
        size += more
    if batch:
        yield tuple(batch)


def single_precision(numbers: Sequence[float]) -> Vector:
    """Round numbers to single precision. Raises ValueError unless all are finite then."""
    try:
        rounded = tuple(array("f", numbers))
    except (TypeError, OverflowError) as error:
        raise ValueError(f"a vector that holds no numbers of single precision: {error}") from None
    if not all(map(math.isfinite, rounded)):
        raise ValueError("a vector with a number that is not finite")
    return rounded


def to_bytes(vector: Vector) -> bytes:
    """Return the stored form of a vector: IEEE 754, four bytes per number, little-endian."""
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def from_bytes(data: bytes) -> Vector:
    """Return the vector in `to_bytes`' form. Raises ValueError for anything else."""
    if not data or len(data) % 4:
        raise ValueError(f"{len(data)} bytes are not a vector")
    numbers = array("f")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return single_precision(numbers)


def stand_in(texts: Sequence[str]) -> Embedded:
    """Return lexical vectors of texts, where calls are counted or shown and no model is asked."""
    embedded: Embedded = load("adapters.embedders:embedded")(texts)
    return embedded
