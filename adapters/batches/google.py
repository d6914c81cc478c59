"""Batches of the Gemini API.

google-genai uploads the file of lines; results are a file, too. Nothing relies on the order of
results, which was seen to change. Other calls are made here, because google-genai 3.4 drops a
batch's error and counts, calls unknown states unfinished, and reads result files into memory.
Written against the API's reference, November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2
import msgspec

from adapters.api import ApiAdapter
from adapters.batches.contract import (
    UPLOAD_S,
    Deferring,
    Fields,
    PackLimits,
    RemoteBatch,
    checked_id,
    is_id,
    moment,
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


class _Line(msgspec.Struct):
    response: object = None
    error: object = None


class GoogleBatches(Deferring):
    """One model in batches of the Gemini API."""

    limits = LIMITS
    id_field = "key"
    address = files = ""
    content = "%s:download", {"params": {"alt": "media"}}
    cancels = ":cancel"
    named = "name"

    def __init__(
        self, adapter: ApiAdapter, endpoint: Endpoint, sdk: Callable[[], genai.Client]
    ) -> None:
        super().__init__(adapter, sdk)
        name = adapter.info.model
        self._model = quote(name if "/" in name else f"models/{name}")
        self._http, self._root = adapter.http, endpoint.url.rstrip("/")
        self._headers = {"x-goog-api-key": endpoint.key or "none"}

    def _wrapped(self, id: bytes, body: bytes) -> bytes:
        return b'{"key":"%b","request":%b}' % (id, body)

    def _said(self, line: bytes) -> tuple[object, Mapping[str, str]] | Failure:
        said = read_json(line, _Line)
        if said.response is not None:
            return said.response, {}
        if not said.error:
            raise ValueError("neither an answer nor an error")
        error = said.error if isinstance(said.error, dict) else {"message": said.error}
        code, message = error.get("code"), str(error.get("message", ""))
        status = _STATUS.get(code, code) if isinstance(code, int) else 500
        if not 400 <= status <= 599:
            status = 500
        body = {"error": {"message": message, "code": status}}
        return self._adapter.failed(status, body)

    async def upload(self, token: str, path: Path) -> str:
        from google.genai.types import HttpOptions, UploadFileConfig

        def is_ours(file: Fields) -> bool:
            return file.text("displayName") == token and file.text("state") != "FAILED"

        if known := await self._listed(is_ours, "files", "files", pageSize=100):
            return known.text("name")
        # The address that the server gives for the pieces is moved to the base URL.
        about = UploadFileConfig(
            display_name=token,
            mime_type="application/jsonl",
            http_options=HttpOptions(
                base_url=self._root, api_version="v1beta", timeout=int(1000 * UPLOAD_S)
            ),
        )

        async def sent() -> str:
            try:
                file = await self._client().aio.files.upload(file=path, config=about)
            except _ODD_UPLOADS as error:
                failure = Failure(f"the upload's answer cannot be read ({error})", kind="malformed")
                raise Undelivered(failure) from None
            return file.name or ""

        return checked_id(await self._made(sent()))

    async def create(self, token: str, path: Path, uploaded: str, total: int) -> RemoteBatch:
        batch = {"displayName": token, "inputConfig": {"fileName": uploaded}}
        begins = f"{self._model}:batchGenerateContent"
        return self._begun(await self._ask(self._call("post", begins, json={"batch": batch})))

    async def find(
        self, token: str, since: float, total: int, known: Collection[str]
    ) -> RemoteBatch | None:
        def is_ours(batch: Fields) -> bool:
            tag = batch.inner("metadata").text("displayName")
            return tag == token and batch.text("name") not in known

        found = await self._listed(is_ours, "batches", "operations", pageSize=100)
        return self._begun(found) if found else None

    async def _call(
        self, method: str, path: str, *, stream: bool = False, **more: Any
    ) -> httpx2.Response:
        url, headers = f"{self._root}/v1beta/{path}", self._headers
        asked = self._http.build_request(method.upper(), url, headers=headers, **more)
        return (await self._http.send(asked, stream=stream)).raise_for_status()

    def _next(self, page: Fields, items: list[Fields]) -> dict[str, str]:
        return {"pageToken": page.text("nextPageToken")}

    def _batch(self, batch: Fields, id: str) -> RemoteBatch:
        told, error = batch.inner("metadata"), batch.inner("error")
        state, code = _STATE.sub("", told.text("state")), error.count("code")
        outputs = batch.inner("response"), told.inner("output")
        named = {name for one in outputs if (name := one.text("responsesFile"))}
        files = sorted(filter(is_id, named))
        begun = seconds_of(told.text("createTime"))
        expires_at = None if begun is None else moment(begun + LIFE_S)
        ended = (
            batch.get("done", bool) is True
            or state in ENDED
            or (state not in RUNNING and bool(files or code))
        )
        unread = (_FILES if ended else _SIGNS) & batch.odd
        if named or state == "SUCCEEDED":
            unread.add("responsesFile")
        stats = told.inner("batchStats")
        return RemoteBatch(
            id=id,
            status=self._adapter.clean(state.lower() or "unknown")[:40],
            ended=ended,
            total=stats.count("requestCount"),
            answered=stats.count("successfulRequestCount"),
            failed=stats.count("failedRequestCount"),
            expires_at=expires_at,
            error=self._adapter.clean(error.text("message")) if ended else "",
            full=code == _QUEUE,
            where=tuple(files),
            unbilled=state in {"FAILED", "CANCELLED", "EXPIRED"} or bool(code),
            unread=() if files else tuple(sorted(unread)),
        )
