"""Shared code of batches at providers: one call of their API and its possible answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Any, ClassVar, TypeVar

import httpx2

from adapters.api import ApiAdapter
from adapters.batches.contract import Deferring, Fields, Gone, QueueFull, RemoteBatch, Torn
from adapters.contract import Fatal, Fault
from adapters.conversation import Finish
from adapters.faults import Failure, judge

MAX_PAGES = 100
"""Pages of a listing that are looked through: a server may say for ever that there are more."""
BINARY = {"headers": {"Accept": "application/binary"}}
UPLOAD_S = 600.0
"""Seconds that a server may take to answer an upload, once it has it."""
_YEAR_9999 = 253_370_764_800.0
_ID = re.compile(r"[\w./:-]{1,200}", re.ASCII)
_OVER = {400, 404, 409, 410}
_ENQUEUED = re.compile(r"enqueued|queue", re.IGNORECASE)
_OPTIONS = ("params", "headers", "timeout")

T = TypeVar("T")


class HostedBatches(Deferring):
    """Batches at a provider, asked by the client of its SDK, which has the address and the key.

    address: what comes before a batch's id in its path.
    files: what comes before the id of a file, to delete it.
    content: the path of results, by an id in `RemoteBatch.where`, and how they are asked for.
    cancels: what follows a batch's path where it is cancelled.
    after: the parameter of listings that takes the last id of the page before.
    named: the field with the id of a batch or file.
    """

    address: ClassVar[str]
    files: ClassVar[str]
    content: ClassVar[tuple[str, Mapping[str, Any]]]
    cancels: ClassVar[str] = "/cancel"
    after: ClassVar[str] = "after"
    named: ClassVar[str] = "id"

    def __init__(self, adapter: ApiAdapter, client: Any) -> None:
        super().__init__(adapter)
        self._client = client

    def _batch(self, batch: Fields, id: str) -> RemoteBatch:
        """Read a batch."""
        raise NotImplementedError

    def _begun(self, batch: Fields) -> RemoteBatch:
        """Read a batch that was just begun. Raises `Fault` for one without an id."""
        return self._batch(batch, checked_id(batch.text(self.named)))

    async def _listed(
        self, is_wanted: Callable[[Fields], bool], path: str, field: str = "data", **query: object
    ) -> Fields | None:
        """Return the first object of a listing that is wanted and has an id."""
        async for page in self._pages(path, field, **query):
            for one in page:
                if is_id(one.text(self.named)) and is_wanted(one):
                    return one
        return None

    async def poll(self, id: str) -> RemoteBatch:
        asked = self._call("get", self.address + checked_id(id))
        return self._batch(await self._ask(asked, known=True), id)

    async def cancel(self, id: str) -> None:
        await self._unless_over("post", self.address + checked_id(id) + self.cancels)

    async def fetch(self, batch: RemoteBatch) -> AsyncIterator[bytes]:
        path, asked = self.content
        for id in batch.where:
            async for line in self._lines(path % checked_id(id), **asked):
                yield line

    async def clean(self, batch: RemoteBatch, uploaded: str) -> None:
        for id in filter(None, (uploaded, *batch.where)):
            await self._unless_over("delete", self.files + checked_id(id))

    def _call(
        self, method: str, path: str, *, stream: bool = False, **more: Any
    ) -> Awaitable[httpx2.Response]:
        """Ask at a path, with `params`, `headers`, `timeout`, and arguments of the client."""
        options = {name: more.pop(name) for name in _OPTIONS if name in more}
        more |= {"stream": True} if stream else {}
        call = getattr(self._client, method)
        called: Awaitable[httpx2.Response] = call(
            path, cast_to=httpx2.Response, options=options, **more
        )
        return called

    async def _ask(self, call: Awaitable[httpx2.Response], *, known: bool = False) -> Fields:
        """Return the provider's answer to a call. Raises as `_made`, and `Fault` for one that is
        not a JSON object."""
        response = await self._made(call, known=known)
        try:
            return Fields.of(response.content)
        except ValueError as error:
            begins = response.content[:400].decode(errors="replace")
            line = self._adapter.clean(f"reply cannot be read ({error}; it begins {begins!r})")
        raise Fault("malformed", f"{self._adapter.speaker}: {line}")

    async def _made(self, call: Awaitable[T], *, known: bool = False) -> T:
        """Return the provider's answer to a call as it came.

        known: true if the object was there before: it is `Gone` if it is missing now.

        Raises `QueueFull`, `Gone`, `Fault`, `Fatal`.
        """
        response = await self._adapter.attempt(call)
        if isinstance(response, Failure):
            raise self._error(response, known)
        return response

    async def _unless_over(self, method: str, path: str) -> None:
        """Make a call that is about what may be over or gone by now, which is as good."""
        answer = await self._adapter.attempt(self._call(method, path))
        if isinstance(answer, Failure) and answer.status not in _OVER:
            raise self._error(answer)

    def _error(self, failure: Failure, known: bool = False) -> Fault | Fatal:
        speaker, clean = self._adapter.speaker, self._adapter.clean
        line = clean(f"{speaker} answered {failure.status}: {failure.message}")
        if known and failure.status in {404, 410}:
            return Gone("server", line, status=failure.status)
        if failure.status == 429 and _ENQUEUED.search(failure.message):
            return QueueFull("rate_limit", line, failure.retry_after_s, failure.status)
        if failure.status in {404, 405}:
            return Fatal(f"{line}; it may take no batches")
        verdict = judge(failure, speaker, clean)
        return Fatal(line) if isinstance(verdict, Finish) else verdict

    async def _pages(
        self, path: str, field: str = "data", **query: object
    ) -> AsyncIterator[list[Fields]]:
        """Return the objects of a listing, page by page."""
        for _ in range(MAX_PAGES):
            page = await self._ask(self._call("get", path, params=dict(query)))
            items = page.each(field)
            yield items
            more = self._next(page, items)
            if not any(more.values()):
                return
            query |= more

    def _next(self, page: Fields, items: list[Fields]) -> dict[str, str]:
        """Return the parameter that asks for the next page, "" without one."""
        has_more = items and page.get("has_more", bool)
        return {self.after: items[-1].text("id") if has_more else ""}

    async def _lines(self, path: str, **more: Any) -> AsyncIterator[bytes]:
        """Return the lines at a path. Raises `Gone`, `Torn`, `Fault`, `Fatal`."""
        from adapters.transport import lines_of

        call = self._call("get", path, stream=True, **more)
        async with aclosing(lines_of(await self._made(call, known=True))) as lines:
            while True:
                line = await self._adapter.attempt(anext(lines, None))
                if isinstance(line, Failure):
                    error = self._error(line)
                    raise Torn(error.kind, str(error)) if isinstance(error, Fault) else error
                if line is None:
                    return
                yield line


def checked_id(id: str) -> str:
    """Return an id that a provider gave, which becomes part of an address and goes on record.

    Raises `Fault` for what is none.
    """
    if not is_id(id):
        raise Fault("malformed", f"{id[:80]!r} is not an id")
    return id


def is_id(id: str) -> bool:
    """Return whether a text may be an id from a provider."""
    return _ID.fullmatch(id) is not None and ".." not in id


def moment(seconds: float | None) -> float | None:
    """Return a time in seconds since 1970 that a calendar has, None for any other."""
    return seconds if seconds is not None and 0 <= seconds < _YEAR_9999 else None


def seconds_of(moment: str) -> float | None:
    """Return a moment in ISO 8601 as seconds since 1970, None for what is not one."""
    try:
        return datetime.fromisoformat(moment).timestamp() if moment else None
    except (ValueError, OverflowError):
        return None
