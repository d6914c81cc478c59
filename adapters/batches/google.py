"""Batches of the Gemini API.

google-genai uploads the file of lines; results are a file, too. Nothing relies on the order of
results, which was seen to change. Other calls are made here, because google-genai 3.4 drops a
batch's error and counts, calls unknown states unfinished, and reads result files into memory.
Written against the API's reference, November 2026.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2
import msgspec

from adapters.api import ApiAdapter
from adapters.api_client import Json
from adapters.batches.contract import PackLimits, RemoteBatch, Said
from adapters.batches.hosted import (
    MAX_PAGES,
    UPLOAD_S,
    HostedLines,
    checked_id,
    is_id,
    moment,
    over,
    seconds_of,
)
from adapters.checks import read_json
from adapters.endpoints import Endpoint
from adapters.faults import Failure
from adapters.transport import Undelivered

if TYPE_CHECKING:
    from google import genai

LIMITS = PackLimits(requests=100_000, bytes=200_000_000, queued_tokens=3_000_000)
"""Far fewer bytes than the 2 GB allowed, since a batch that expires loses everything."""
ENDED = {"SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"}
RUNNING = {"PENDING", "RUNNING", "QUEUED", "UNSPECIFIED"}
LIFE_S = 48 * 3600.0
_STATUSES = (499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401)
_STATUS = dict(enumerate(_STATUSES, 1))
"""HTTP statuses of the codes of gRPC."""
_STATE = re.compile(r"^(BATCH|JOB)_STATE_")
_QUEUE = 8
_ODD_UPLOADS = (KeyError, TypeError, ValueError, AttributeError, RecursionError)
_FILES = {"response", "output", "responsesFile"}
_SIGNS = {"metadata", "state", "done"}
"""Fields that say where results are, and that a batch has ended."""


class _Error(msgspec.Struct):
    code: int = 0
    message: str = ""


class _Line(msgspec.Struct):
    key: str
    response: object = None
    error: object = None


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
    name: str = ""
    done: bool = False
    error: _Error | None = None
    metadata: _Metadata | None = None
    response: _Output | None = None


class _Operations(msgspec.Struct, rename="camel"):
    operations: list[_Operation] = []
    next_page_token: str = ""


class _File(msgspec.Struct, rename="camel"):
    name: str = ""
    display_name: str | None = None
    state: str | None = None


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

    id_field = "key"

    def __init__(
        self, adapter: ApiAdapter, endpoint: Endpoint, sdk: Callable[[], genai.Client]
    ) -> None:
        super().__init__(adapter, LIMITS)
        name = adapter.info.model
        path = quote(name if "/" in name else f"models/{name}")
        key = {"x-goog-api-key": endpoint.key or "none"}
        self._access = GeminiAccess(adapter.http, endpoint.url.rstrip("/"), path, key)
        self._sdk = sdk

    def _wrapped(self, id: bytes, body: bytes) -> bytes:
        return b'{"key":"%b","request":%b}' % (id, body)

    def _said(self, line: bytes) -> Said:
        said = read_json(line, _Line)
        if said.response is not None:
            return Said(said.key, said.response)
        if not said.error:
            raise ValueError("neither an answer nor an error")
        error: Json = said.error if isinstance(said.error, dict) else {"message": said.error}
        code, message = error.get("code"), str(error.get("message", ""))
        status = _STATUS.get(code, code) if isinstance(code, int) else 500
        if not 400 <= status <= 599:
            status = 500
        body = {"error": {"message": message, "code": status}}
        return Said(said.key, failure=self._adapter.failed(status, body))

    async def upload(self, token: str, path: Path) -> str:
        from google.genai.types import HttpOptions, UploadFileConfig

        # The address that the server gives for the pieces is moved to the base URL.
        about = UploadFileConfig(
            display_name=token,
            mime_type="application/jsonl",
            http_options=HttpOptions(
                base_url=self._access.root, api_version="v1beta", timeout=int(1000 * UPLOAD_S)
            ),
        )

        async def sent() -> str:
            try:
                file = await self._sdk().aio.files.upload(file=path, config=about)
            except _ODD_UPLOADS as error:
                failure = Failure(f"the upload's answer cannot be read ({error})", kind="malformed")
                raise Undelivered(failure) from None
            return file.name or ""

        return checked_id(await self._made(sent(), known=False))

    async def find_upload(self, token: str) -> str | None:
        after = ""
        for _ in range(MAX_PAGES):
            page = await self._page("/v1beta/files", _Files, after)
            for file in page.files:
                sound = file.state != "FAILED" and is_id(file.name)
                if file.display_name == token and sound:
                    return str(file.name)
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
        operation = await self._ask(made, _Operation)
        return self._batch(operation, checked_id(operation.name))

    async def find(
        self, token: str, since: float, total: int, known: Collection[str]
    ) -> RemoteBatch | None:
        after = ""
        for _ in range(MAX_PAGES):
            page = await self._page("/v1beta/batches", _Operations, after)
            for operation in page.operations:
                told = operation.metadata
                ours = told is not None and told.display_name == token and is_id(operation.name)
                if ours and operation.name not in known:
                    return self._batch(operation, operation.name)
            after = page.next_page_token
            if not after:
                break
        return None

    async def poll(self, id: str) -> RemoteBatch:
        asked = self._access.call("GET", f"/v1beta/{checked_id(id)}")
        operation, unread = await self._read(asked, _Operation)
        return self._batch(operation, id, unread)

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
        """Return the content of a file, as a stream."""
        access = self._access
        url = f"{access.root}/v1beta/{checked_id(name)}:download"
        query = {"alt": "media"}
        asked = access.http.build_request("GET", url, params=query, headers=dict(access.headers))
        return (await access.http.send(asked, stream=True)).raise_for_status()

    async def _page(self, path: str, form: type[Any], after: str) -> Any:
        query = {"pageSize": "100"} | ({"pageToken": after} if after else {})
        return await self._ask(self._access.call("GET", path, params=query), form)

    def _batch(
        self, operation: _Operation, id: str, unread: frozenset[str] = frozenset()
    ) -> RemoteBatch:
        told = operation.metadata or _Metadata()
        state = _STATE.sub("", told.state)
        outputs = [one for one in (operation.response, told.output) if one is not None]
        named = {one.responses_file for one in outputs if one.responses_file}
        files = sorted(filter(is_id, named))
        error = operation.error or _Error()
        begun = seconds_of(told.create_time)
        expires_at = None if begun is None else moment(begun + LIFE_S)
        ended = (
            operation.done
            or state in ENDED
            or (state not in RUNNING and (bool(files or error.code) or over(expires_at)))
        )
        needed = _FILES & unread if ended else _SIGNS & unread
        if named or state == "SUCCEEDED":
            needed = {*needed, "responsesFile"}
        stats = told.batch_stats or _Stats()
        return RemoteBatch(
            id=id,
            status=self._adapter.clean(state.lower() or "unknown")[:40],
            ended=ended,
            total=_number(stats.request_count),
            answered=_number(stats.successful_request_count),
            failed=_number(stats.failed_request_count),
            expires_at=expires_at,
            error=self._adapter.clean(error.message) if ended else "",
            full=error.code == _QUEUE,
            where=tuple(files),
            unbilled=state in {"FAILED", "CANCELLED", "EXPIRED"} or bool(error.code),
            unread=() if files else tuple(sorted(needed)),
        )


def _number(count: int | str) -> int:
    try:
        return int(count)
    except ValueError:
        return 0
