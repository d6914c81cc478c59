"""Batches of OpenAI's API, and of servers that offer the same.

Lines are uploaded as a file; results come as two, one of answers and one of failures. Written
against the API reference and openai 3.54, November 2026.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from adapters.batches.contract import (
    BINARY,
    UPLOAD_S,
    Deferring,
    Fields,
    PackLimits,
    RemoteBatch,
    checked_id,
    is_id,
    moment,
)
from adapters.checks import read_json
from adapters.contract import FaultKind
from adapters.faults import Failure

LIMITS = PackLimits(requests=50_000, bytes=190_000_000, queued_tokens=2_000_000)
ENDPOINT = "/v1/chat/completions"
RUNNING = {"validating", "in_progress", "finalizing", "cancelling"}
ENDED = {"completed", "failed", "expired", "cancelled"}
FULL = "token_limit_exceeded"
_TIMEOUTS = {"batch_expired", "request_timeout"}


class _Response(msgspec.Struct):
    status_code: int
    request_id: str | None = None
    body: object = None


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    # An object, or a text.
    error: object = None


class OpenAIBatches(Deferring):
    """One model in OpenAI's batches, by an `AsyncOpenAI`."""

    limits = LIMITS
    address = "/batches/"
    files = "/files/"
    content = "/files/%s/content", BINARY

    def _wrapped(self, id: bytes, body: bytes) -> bytes:
        head = b'{"custom_id":"%b","method":"POST","url":"%b","body":%b}'
        return head % (id, ENDPOINT.encode(), body)

    def _said(self, line: bytes) -> tuple[object, Mapping[str, str]] | Failure:
        said = read_json(line, _Line)
        response = said.response
        if response is None:
            if not said.error:
                raise ValueError("neither an answer nor an error")
            return _failure(said.error)
        if 200 <= response.status_code < 300:
            return response.body, {"x-request-id": response.request_id or ""}
        if not 400 <= response.status_code < 600:
            raise ValueError(f"the status {response.status_code}")
        # Some servers leave the body empty and put the error next to it.
        return self._adapter.failed(response.status_code, _inner(response.body or said.error))

    async def upload(self, token: str, path: Path) -> str:
        name = f"{token}.jsonl"
        query: dict[str, Any] = {"purpose": "batch", "limit": 1000, "order": "desc"}
        if known := await self._listed(lambda one: one.text("filename") == name, "/files", **query):
            return known.text("id")
        # An open file is sent in pieces; a path would be read as a whole.
        with path.open("rb") as file:
            made = self._client.files.with_raw_response.create(
                file=(name, file, "application/jsonl"), purpose="batch", timeout=UPLOAD_S
            )
            return checked_id((await self._ask(made)).text("id"))

    async def create(self, token: str, path: Path, uploaded: str, total: int) -> RemoteBatch:
        body = {
            "completion_window": "24h",
            "endpoint": ENDPOINT,
            "input_file_id": uploaded,
            "metadata": {"vlm_eval": token},
        }
        return self._begun(await self._ask(self._call("post", "/batches", body=body)))

    async def find(
        self, token: str, since: float, total: int, known: Collection[str]
    ) -> RemoteBatch | None:
        def is_ours(batch: Fields) -> bool:
            tag = batch.inner("metadata").text("vlm_eval")
            return tag == token and batch.text("id") not in known

        found = await self._listed(is_ours, "/batches", limit=100)
        return self._begun(found) if found else None

    def _batch(self, batch: Fields, id: str) -> RemoteBatch:
        status, expires_at = batch.text("status"), batch.number("expires_at")
        ends = ("completed_at", "failed_at", "expired_at", "cancelled_at")
        files = [one for name in ("output", "error") if (one := batch.text(f"{name}_file_id"))]
        errors = batch.inner("errors").each("data")
        ended = status in ENDED or (
            status not in RUNNING and (any(map(batch.number, ends)) or bool(files or errors))
        )
        needed = {"output_file_id", "error_file_id"} if ended else {"status"}
        unread = needed & batch.odd
        if not all(map(is_id, files)) or (status == "completed" and not files):
            unread.add("output_file_id")
        counts = batch.inner("request_counts")
        return RemoteBatch(
            id=id,
            status=self._adapter.clean(status)[:40],
            ended=ended,
            total=counts.count("total"),
            answered=counts.count("completed"),
            failed=counts.count("failed"),
            expires_at=moment(expires_at),
            error=self._adapter.clean("; ".join(map(_words, errors[:3]))),
            full=any(error.text("code") == FULL for error in errors),
            where=tuple(filter(is_id, files)),
            unbilled=status in {"failed", "expired", "cancelled"},
            unread=tuple(sorted(unread)),
        )


def _words(error: Fields) -> str:
    line = error.get("line", int)
    where = "" if line is None else f"line {line}: "
    return f"{where}{error.text('message') or error.text('code') or 'no reason given'}"


def _inner(told: object) -> object:
    return told.get("error", told) if isinstance(told, dict) else told


def _failure(error: object) -> Failure:
    """Return a request that was not answered at all."""
    inner = _inner(error)
    code = inner.get("code") if isinstance(inner, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    text = str(message or code or "neither an answer nor an error")
    kind: FaultKind = "timeout" if str(code) in _TIMEOUTS else "server"
    return Failure(text, kind=kind)
