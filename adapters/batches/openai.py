"""Batches of OpenAI's API, and of servers that offer the same.

Lines are uploaded as a file; results come as two, one of answers and one of failures. Written
against the API reference and openai 3.54, November 2026.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2
import msgspec

from adapters.api import ApiAdapter
from adapters.api_client import Json
from adapters.batches.contract import Lines, PackLimits, RemoteBatch, Said
from adapters.batches.hosted import (
    MAX_PAGES,
    UPLOAD_S,
    HostedLines,
    checked_id,
    is_id,
    moment,
    over,
)
from adapters.checks import read_json
from adapters.contract import FaultKind
from adapters.faults import Failure

if TYPE_CHECKING:
    from openai import AsyncOpenAI

LIMITS = PackLimits(requests=50_000, bytes=190_000_000, queued_tokens=2_000_000)
ENDPOINT = "/v1/chat/completions"
RUNNING = {"validating", "in_progress", "finalizing", "cancelling"}
ENDED = {"completed", "failed", "expired", "cancelled"}
FULL = "token_limit_exceeded"
_TIMEOUTS = {"batch_expired", "request_timeout"}
_DAY_S = 86_400.0


class _Response(msgspec.Struct):
    status_code: int
    request_id: str | None = None
    body: object = None


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    # An object of OpenAI's and of vLLM's, or a text.
    error: object = None


class ChatLines(Lines):
    """Lines in the form of OpenAI's batches, which vLLM reads, too."""

    def _wrapped(self, id: bytes, body: bytes) -> bytes:
        head = b'{"custom_id":"%b","method":"POST","url":"%b","body":%b}'
        return head % (id, ENDPOINT.encode(), body)

    def _said(self, line: bytes) -> Said:
        said = read_json(line, _Line)
        response = said.response
        if response is None:
            if not said.error:
                raise ValueError("neither an answer nor an error")
            return Said(said.custom_id, failure=_failure(said.error))
        if 200 <= response.status_code < 300:
            headers = {"x-request-id": response.request_id or ""}
            return Said(said.custom_id, response.body, headers)
        if not 400 <= response.status_code < 600:
            raise ValueError(f"the status {response.status_code}")
        # vLLM leaves the body empty and puts the error next to it.
        told = response.body or said.error
        failure = self._adapter.failed(response.status_code, _inner(told))
        return Said(said.custom_id, failure=failure)


class _Counts(msgspec.Struct):
    total: int = 0
    completed: int = 0
    failed: int = 0


class _Error(msgspec.Struct):
    code: str | None = None
    line: int | None = None
    message: str | None = None


class _Errors(msgspec.Struct):
    data: list[_Error] | None = None


class _Batch(msgspec.Struct):
    id: str = ""
    status: str = ""
    created_at: float | None = None
    expires_at: float | None = None
    completed_at: float | None = None
    failed_at: float | None = None
    expired_at: float | None = None
    cancelled_at: float | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    request_counts: _Counts | None = None
    errors: _Errors | None = None
    metadata: Json | None = None


class _File(msgspec.Struct):
    id: str = ""
    filename: str | None = None


class _Files(msgspec.Struct):
    data: list[_File] = []
    has_more: bool = False


class _Batches(msgspec.Struct):
    data: list[_Batch] = []
    has_more: bool = False


Page = TypeVar("Page", _Files, _Batches)


class OpenAIBatches(ChatLines, HostedLines):
    """One model in OpenAI's batches."""

    def __init__(self, adapter: ApiAdapter, client: AsyncOpenAI) -> None:
        super().__init__(adapter, LIMITS)
        self._client = client

    async def upload(self, token: str, path: Path) -> str:
        # An open file is sent in pieces; a path would be read as a whole.
        with path.open("rb") as file:
            made = self._client.files.with_raw_response.create(
                file=(_file_name(token), file, "application/jsonl"),
                purpose="batch",
                timeout=UPLOAD_S,
            )
            return checked_id((await self._ask(made, _File)).id)

    async def find_upload(self, token: str) -> str | None:
        query = {"purpose": "batch", "limit": 1000, "order": "desc"}
        async for page in self._pages("/files", query, _Files):
            for file in page.data:
                if file.filename == _file_name(token) and is_id(file.id):
                    return file.id
        return None

    async def create(self, token: str, path: Path, uploaded: str, total: int) -> RemoteBatch:
        body = {
            "completion_window": "24h",
            "endpoint": ENDPOINT,
            "input_file_id": uploaded,
            "metadata": {"vlm_eval": token},
        }
        made = self._client.post("/batches", body=body, cast_to=httpx2.Response)
        batch = await self._ask(made, _Batch)
        return self._batch(batch, checked_id(batch.id))

    async def find(
        self, token: str, since: float, total: int, known: Collection[str]
    ) -> RemoteBatch | None:
        async for page in self._pages("/batches", {"limit": 100}, _Batches):
            for batch in page.data:
                ours = (batch.metadata or {}).get("vlm_eval") == token and is_id(batch.id)
                if ours and batch.id not in known:
                    return self._batch(batch, batch.id)
            # Newest first, as far as is known; a day on top in case it is not quite so.
            if all((batch.created_at or since) < since - _DAY_S for batch in page.data):
                break
        return None

    async def poll(self, id: str) -> RemoteBatch:
        asked = self._client.get(f"/batches/{checked_id(id)}", cast_to=httpx2.Response)
        batch, unread = await self._read(asked, _Batch)
        return self._batch(batch, id, unread)

    async def fetch(self, batch: RemoteBatch) -> AsyncIterator[bytes]:
        for id in batch.where:
            path = f"/files/{checked_id(id)}/content"
            options: Any = {"headers": {"Accept": "application/binary"}}
            opened = self._client.get(path, cast_to=httpx2.Response, options=options, stream=True)
            async for line in self._lines(opened):
                yield line

    async def cancel(self, id: str) -> None:
        asked = self._client.post(f"/batches/{checked_id(id)}/cancel", cast_to=httpx2.Response)
        await self._unless_over(asked)

    async def clean(self, batch: RemoteBatch, uploaded: str) -> None:
        for id in filter(None, (uploaded, *batch.where)):
            await self._unless_over(
                self._client.delete(f"/files/{checked_id(id)}", cast_to=httpx2.Response)
            )

    async def _pages(
        self, path: str, query: Mapping[str, object], form: type[Page]
    ) -> AsyncIterator[Page]:
        after: dict[str, object] = {}
        for _ in range(MAX_PAGES):
            options: Any = {"params": {**query, **after}}
            asked = self._client.get(path, cast_to=httpx2.Response, options=options)
            page = await self._ask(asked, form)
            yield page
            if not page.has_more or not page.data:
                return
            after = {"after": page.data[-1].id}

    def _batch(self, batch: _Batch, id: str, unread: frozenset[str] = frozenset()) -> RemoteBatch:
        ends = batch.completed_at, batch.failed_at, batch.expired_at, batch.cancelled_at
        files = [one for one in (batch.output_file_id, batch.error_file_id) if one]
        errors = (batch.errors.data or []) if batch.errors else []
        ended = batch.status in ENDED or (
            batch.status not in RUNNING
            and (any(ends) or bool(files) or bool(errors) or over(batch.expires_at))
        )
        needed = {"output_file_id", "error_file_id"} & unread if ended else {"status"} & unread
        if not all(map(is_id, files)) or (batch.status == "completed" and not files):
            needed = {*needed, "output_file_id"}
        counts = batch.request_counts or _Counts()
        return RemoteBatch(
            id=id,
            status=self._adapter.clean(batch.status)[:40],
            ended=ended,
            total=counts.total,
            answered=counts.completed,
            failed=counts.failed,
            expires_at=moment(batch.expires_at),
            error=self._adapter.clean("; ".join(map(_words, errors[:3]))),
            full=any(error.code == FULL for error in errors),
            where=tuple(filter(is_id, files)),
            unbilled=batch.status in {"failed", "expired", "cancelled"},
            unread=tuple(sorted(needed)),
        )


def _file_name(token: str) -> str:
    return f"{token}.jsonl"


def _words(error: _Error) -> str:
    where = f"line {error.line}: " if error.line is not None else ""
    return f"{where}{error.message or error.code or 'no reason given'}"


def _inner(told: object) -> object:
    """Return an error's own object, without the one around it."""
    return told.get("error", told) if isinstance(told, dict) else told


def _failure(error: object) -> Failure:
    """Return a request that was not answered at all."""
    inner = _inner(error)
    code = inner.get("code") if isinstance(inner, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    text = str(message or code or "neither an answer nor an error")
    kind: FaultKind = "timeout" if str(code) in _TIMEOUTS else "server"
    return Failure(text, kind=kind)
