"""Anthropic's message batches.

The lines go into the body of the request that begins a batch. A batch bears no tag of ours: one
whose beginning was not confirmed is known by its time and size. Written against the API reference
and anthropic 2.12, November 2026.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path

import msgspec

from adapters.batches.contract import (
    BINARY,
    UPLOAD_S,
    Deferring,
    Fields,
    Gone,
    PackLimits,
    RemoteBatch,
    is_id,
    seconds_of,
)
from adapters.checks import read_json
from adapters.contract import FaultKind
from adapters.faults import Failure

LIMITS = PackLimits(requests=100_000, bytes=64 << 20)
"""A quarter of the bytes allowed, since they go out in one request."""
PATH = "/v1/messages/batches"
CLOCKS_S = 300.0
"""Seconds that this machine's clock may be ahead of the provider's."""
RUNNING = {"in_progress", "canceling"}
STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP statuses of errors by their type; every other is the server's own."""


class _Result(msgspec.Struct):
    type: str
    message: object = None
    error: object = None


class _Line(msgspec.Struct):
    result: _Result


class AnthropicBatches(Deferring):
    """One model in Anthropic's batches, by an `AsyncAnthropic`."""

    limits = LIMITS
    address = files = f"{PATH}/"
    # Not from `results_url`: the key goes to no address that a server names.
    content = f"{PATH}/%s/results", BINARY
    after = "after_id"

    def _wrapped(self, id: bytes, body: bytes) -> bytes:
        return b'{"custom_id":"%b","params":%b}' % (id, body)

    def _said(self, line: bytes) -> tuple[object, Mapping[str, str]] | Failure:
        result = read_json(line, _Line).result
        if result.type == "succeeded":
            return result.message, {}
        if result.type == "errored":
            error = result.error if isinstance(result.error, dict) else {}
            status = STATUS.get(Fields(error).inner("error").text("type"), 500)
            return self._adapter.failed(status, result.error)
        if result.type not in {"expired", "canceled"}:
            raise ValueError(f"a result of type '{result.type[:40]}'")
        kind: FaultKind = "timeout" if result.type == "expired" else "server"
        return Failure(f"the request ended as '{result.type[:40]}'", kind=kind)

    async def create(self, token: str, path: Path, uploaded: str, total: int) -> RemoteBatch:
        # The API is not documented to take a body without its length.
        headers = {"Content-Length": str(_length(path))}
        begun = self._call("post", PATH, content=_body(path), headers=headers, timeout=UPLOAD_S)
        return self._begun(await self._ask(begun))

    async def find(
        self, token: str, since: float, total: int, known: Collection[str]
    ) -> RemoteBatch | None:
        found: RemoteBatch | None = None
        earliest = since - CLOCKS_S
        async for page in self._pages(PATH, limit=100):
            for batch in page:
                begun, id = seconds_of(batch.text("created_at")), batch.text("id")
                if begun is None or begun < earliest or not is_id(id) or id in known:
                    continue
                read = self._batch(batch, id)
                # Newest first: the last is the next after the attempt. One before it may be
                # ours as well: two machines have two clocks.
                if read.total == total and (begun >= since or found is None):
                    found = read
            oldest = seconds_of(page[-1].text("created_at")) if page else None
            if oldest is None or oldest < earliest:
                break
        return found

    async def fetch(self, batch: RemoteBatch) -> AsyncIterator[bytes]:
        if not batch.where:
            raise Gone("server", f"{self._adapter.speaker} keeps no results of {batch.id}")
        async for line in super().fetch(batch):
            yield line

    def _batch(self, batch: Fields, id: str) -> RemoteBatch:
        counts, expires_at = batch.inner("request_counts"), seconds_of(batch.text("expires_at"))
        status, answered = batch.text("processing_status"), counts.count("succeeded")
        failed = sum(map(counts.count, ("errored", "canceled", "expired")))
        ended = status == "ended" or (
            status not in RUNNING and bool(batch.text("ended_at") or batch.text("results_url"))
        )
        return RemoteBatch(
            id=id,
            status=self._adapter.clean(status)[:40],
            ended=ended,
            total=counts.count("processing") + answered + failed,
            answered=answered,
            failed=failed,
            expires_at=expires_at,
            where=(id,) if ended and seconds_of(batch.text("archived_at")) is None else (),
            unread=() if ended else tuple({"processing_status"} & batch.odd),
        )


_HEAD, _TAIL = b'{"requests":[', b"]}"


def _length(path: Path) -> int:
    # A comma takes the place of every line break but the last.
    return len(_HEAD) + path.stat().st_size - 1 + len(_TAIL)


async def _body(path: Path) -> AsyncIterator[bytes]:
    """Return the body that begins a batch, a line at a time."""
    before = _HEAD
    with path.open("rb") as file:
        for line in file:
            yield before + line.rstrip(b"\n")
            before = b","
    yield _TAIL
