"""The answer of a recorded call, as its dialogue received it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from adapters.embedding import Embedded, Vector, from_bytes, to_bytes
from harness.dialogue import Observation, Result
from harness.errors import RunError
from harness.runs.records import CallRecord, EmbedRecord

BYTES = 4
"""Of a number in a vector."""


def result_of(record: CallRecord, blob: Callable[[str], bytes]) -> Result:
    """Return the reply, vectors or observation of a call.

    `blob` returns the bytes of a digest; those of an observation are fetched when they are looked
    at. Raises `RunError` for vectors that cannot be read.
    """
    reply = record.reply
    if record.embed is not None:
        vectors = _vectors(record, record.embed, blob(record.embed.vectors))
        return Embedded(vectors, reply.usage, reply.model, reply.latency_s)
    if record.act is not None:
        return Observation(record.act.observation, _Blobs(record.act.blobs, blob))
    return reply


def packed(vectors: tuple[Vector, ...]) -> bytes:
    """Return the vectors as the bytes of a blob."""
    return b"".join(map(to_bytes, vectors))


def _vectors(record: CallRecord, embed: EmbedRecord, data: bytes) -> tuple[Vector, ...]:
    size = BYTES * embed.dimensions
    try:
        if len(data) != embed.count * size:
            raise ValueError(f"{len(data)} bytes instead of {embed.count} times {size}")
        return tuple(from_bytes(data[at : at + size]) for at in range(0, len(data), size or 1))
    except ValueError as error:
        raise RunError(f"the vectors of call {record.id} cannot be read: {error}") from error


class _Blobs(Mapping[str, bytes]):
    """The large parts of an observation, read when they are needed."""

    def __init__(self, digests: Mapping[str, str], blob: Callable[[str], bytes]) -> None:
        self._digests = digests
        self._blob = blob

    def __getitem__(self, name: str) -> bytes:
        return self._blob(self._digests[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __len__(self) -> int:
        return len(self._digests)
