"""Batches of the Gemini API.

Lines are uploaded as a file in pieces; results are a file, too. Nothing relies on the order of
results, which was seen to change. A batch is read as the operation that the API sends: google-genai
3.4 drops its error, and says of states that it does not know that they are not done. Written
against the API's reference, November 2026.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from adapters.api import ApiAdapter
from adapters.checks import read_json
from adapters.contract import Fault
from adapters.deferred.contract import PackLimits, RemoteBatch
from adapters.deferred.hosted import (
    MAX_PAGES,
    UPLOAD_S,
    HostedLines,
    checked_id,
    moment,
    over,
    seconds_of,
)
from adapters.deferred.lines import Said

LIMITS = PackLimits(requests=100_000, bytes=200_000_000, queued_tokens=3_000_000)
"""Far fewer bytes than the 2 GB allowed, since a batch that expires loses everything."""
ENDED = {"SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"}
RUNNING = {"PENDING", "RUNNING", "QUEUED", "UNSPECIFIED"}
CHUNK_BYTES = 8 << 20
LIFE_S = 48 * 3600.0
_STATUSES = (499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401)
_STATUS = dict(enumerate(_STATUSES, 1))
"""HTTP statuses of the codes of gRPC."""
_STATE = re.compile(r"^(BATCH|JOB)_STATE_")
_QUEUE = 8


class _Error(msgspec.Struct):
    code: int = 0
    message: str = ""


class _Line(msgspec.Struct):
    key: str
    response: object = None
    error: _Error | None = None


class _Output(msgspec.Struct, rename="camel"):
    responses_file: str | None = None


class _Stats(msgspec.Struct, rename="camel"):
    # Numbers of 64 bits come as texts.
    request_count: int | str = 0
    successful_request_count: int | str = 0
    failed_request_count: int | str = 0


class _Metadata(msgspec.Struct, rename="camel"):
    state: str = ""
    display_name: str | None = None
    create_time: str | None = None
    batch_stats: _Stats | None = None
    output: _Output | None = None


class _Operation(msgspec.Struct):
    name: str
    done: bool = False
    error: _Error | None = None
    metadata: _Metadata | None = None
    response: _Output | None = None


class _Operations(msgspec.Struct, rename="camel"):
    operations: list[_Operation] = []
    next_page_token: str = ""


class _File(msgspec.Struct, rename="camel"):
    name: str
    display_name: str | None = None
    state: str | None = None


class _Uploaded(msgspec.Struct):
    file: _File


class _Files(msgspec.Struct, rename="camel"):
    files: list[_File] = []
    next_page_token: str = ""


@dataclass(frozen=True, slots=True)
class GeminiAccess:
    """Where the Gemini API is asked, and with what.

    root: its address, without a version.
    model: the model's path (`models/...`).
    """

    http: httpx2.AsyncClient
    root: str
    model: str
    headers: Mapping[str, str]

    async def call(self, method: str, path: str, **more: Any) -> httpx2.Response:
        headers = {**self.headers, **more.pop("headers", {})}
        response = await self.http.request(method, self.root + path, headers=headers, **more)
        return response.raise_for_status()


class GoogleBatches(HostedLines):
    """One model in batches of the Gemini API."""

    def __init__(self, adapter: ApiAdapter, access: GeminiAccess) -> None:
        super().__init__(adapter, LIMITS)
        self._access = access

    def _wrapped(self, id: bytes, body: bytes) -> bytes:
        return b'{"key":"%b","request":%b}' % (id, body)

    def _said(self, line: bytes) -> Said:
        said = read_json(line, _Line)
        if said.error is None:
            return Said(said.key, said.response)
        status = _STATUS.get(said.error.code, said.error.code)
        if not 400 <= status <= 599:
            status = 500
        body = {"error": {"message": said.error.message, "code": said.error.code}}
        return Said(said.key, failure=self._adapter.failed(status, body))

    async def upload(self, token: str, path: Path) -> str:
        size = path.stat().st_size
        started = await self._made(
            self._access.call(
                "POST",
                "/upload/v1beta/files",
                json={"file": {"displayName": token}},
                headers={
                    "X-Goog-Upload-Protocol": "resumable",
                    "X-Goog-Upload-Command": "start",
                    "X-Goog-Upload-Header-Content-Length": str(size),
                    "X-Goog-Upload-Header-Content-Type": "application/jsonl",
                },
            ),
            known=False,
        )
        target = _path_of(started.headers.get("x-goog-upload-url"))
        with path.open("rb") as file:
            offset = 0
            while True:
                piece = file.read(CHUNK_BYTES)
                last = offset + len(piece) >= size
                headers = {
                    "X-Goog-Upload-Command": "upload, finalize" if last else "upload",
                    "X-Goog-Upload-Offset": str(offset),
                    "Content-Type": "application/jsonl",
                }
                sent = self._access.call(
                    "POST", target, content=piece, headers=headers, timeout=UPLOAD_S
                )
                if last:
                    return checked_id((await self._ask(sent, _Uploaded, known=False)).file.name)
                await self._made(sent, known=False)
                offset += len(piece)

    async def find_upload(self, token: str) -> str | None:
        after = ""
        for _ in range(MAX_PAGES):
            page = await self._page("/v1beta/files", _Files, after)
            for file in page.files:
                if file.display_name == token and file.state != "FAILED":
                    return checked_id(file.name)
            after = page.next_page_token
            if not after:
                break
        return None

    async def create(self, token: str, path: Path, uploaded: str, total: int) -> RemoteBatch:
        batch = {"displayName": token, "inputConfig": {"fileName": uploaded}}
        made = self._access.call(
            "POST",
            f"/v1beta/{self._access.model}:batchGenerateContent",
            json={"batch": batch},
        )
        return self._batch(await self._ask(made, _Operation, known=False))

    async def find(
        self, token: str, since: float, total: int, known: Collection[str]
    ) -> RemoteBatch | None:
        after = ""
        for _ in range(MAX_PAGES):
            page = await self._page("/v1beta/batches", _Operations, after)
            for operation in page.operations:
                told = operation.metadata
                if told and told.display_name == token and operation.name not in known:
                    return self._batch(operation)
            after = page.next_page_token
            if not after:
                break
        return None

    async def poll(self, id: str) -> RemoteBatch:
        asked = self._access.call("GET", f"/v1beta/{checked_id(id)}")
        return self._batch(await self._ask(asked, _Operation))

    async def fetch(self, batch: RemoteBatch) -> AsyncIterator[bytes]:
        for name in batch.where:
            async for line in self._lines(self._opened(name)):
                yield line

    async def cancel(self, id: str) -> None:
        await self._unless_over(self._access.call("POST", f"/v1beta/{checked_id(id)}:cancel"))

    async def clean(self, batch: RemoteBatch, uploaded: str) -> None:
        for name in filter(None, (uploaded, *batch.where)):
            await self._unless_over(self._access.call("DELETE", f"/v1beta/{checked_id(name)}"))

    async def _opened(self, name: str) -> httpx2.Response:
        """The content of a file, as a stream."""
        access = self._access
        url = f"{access.root}/v1beta/{checked_id(name)}:download"
        query = {"alt": "media"}
        asked = access.http.build_request("GET", url, params=query, headers=dict(access.headers))
        return (await access.http.send(asked, stream=True)).raise_for_status()

    async def _page(self, path: str, form: type[Any], after: str) -> Any:
        query = {"pageSize": "100"} | ({"pageToken": after} if after else {})
        return await self._ask(self._access.call("GET", path, params=query), form, known=False)

    def _batch(self, operation: _Operation) -> RemoteBatch:
        told = operation.metadata or _Metadata()
        state = _STATE.sub("", told.state)
        files = {
            output.responses_file
            for output in (operation.response, told.output)
            if output is not None and output.responses_file
        }
        error = operation.error or _Error()
        begun = seconds_of(told.create_time)
        expires_at = None if begun is None else moment(begun + LIFE_S)
        ended = (
            operation.done
            or state in ENDED
            or (state not in RUNNING and (bool(files or error.code) or over(expires_at)))
        )
        stats = told.batch_stats or _Stats()
        return RemoteBatch(
            id=checked_id(operation.name),
            status=self._adapter.clean(state.lower() or "unknown")[:40],
            ended=ended,
            total=_number(stats.request_count),
            answered=_number(stats.successful_request_count),
            failed=_number(stats.failed_request_count),
            expires_at=expires_at,
            error=self._adapter.clean(error.message) if ended else "",
            full=error.code == _QUEUE,
            where=tuple(checked_id(name) for name in sorted(files)),
        )


def _path_of(url: str | None) -> str:
    """The path and query of the address for an upload: its pieces go where the user said.

    Raises `Fault` where there is none.
    """
    if not url:
        raise Fault("malformed", "google: no address for an upload")
    try:
        return httpx2.URL(url).raw_path.decode("ascii")
    except (httpx2.InvalidURL, UnicodeDecodeError):
        raise Fault("malformed", "google: an upload to no address") from None


def _number(count: int | str) -> int:
    try:
        return int(count)
    except ValueError:
        return 0
