"""Requests that a provider answers within a day, in batches: what every provider shares.

Everything here is asked once and raises as an adapter does: `Fault` for what may pass, `Fatal` for
what will not. A request has the body that `ask` would send; a result is read as the reply that
`ask` would receive, and a failure judged as that of an ordinary call.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import httpx2
import msgspec

from adapters.api import ApiAdapter
from adapters.checks import plain_json
from adapters.contract import Adapter, Fatal, Fault, PictureSource, Request
from adapters.conversation import Finish, Reply
from adapters.decoding import convert_to
from adapters.faults import Failure, judge

MAX_ID = 200
"""Characters of a result's id."""
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


class QueueFull(Fault):
    """The provider takes no more for now; what it has must end first."""


class Gone(Fault):
    """The results of a batch were deleted at the provider, or cannot be had."""


class Torn(Fault):
    """The results of a batch broke off, or hold a line that is too long; the others came."""


@dataclass(frozen=True, slots=True)
class Relearned:
    """A request was refused for a parameter that is left out from now on: it is asked again."""

    why: str


Outcome = Reply | Fault | Fatal | Relearned


@dataclass(frozen=True, slots=True)
class PackLimits:
    """Limits of one batch.

    requests, bytes: the most of one batch; the bytes are those of its lines with their line breaks.
    open: the most batches at a time.
    queued_tokens: the most prompt tokens in batches that have not ended; None: not limited so.
    """

    requests: int
    bytes: int
    open: int = 20
    queued_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RequestLine:
    """One request as a line of a batch: JSON without a line break, and the parameters in it, for
    `Reply.sent`."""

    data: bytes
    sent: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RemoteBatch:
    """A batch as the provider reports it.

    status: in the provider's words.
    ended: true once no more results will follow, however it ended.
    total, answered, failed: requests; some providers count them at the end only.
    expires_at: when it ends at the latest, in seconds since 1970; None if unknown.
    error: why the batch as a whole failed, in one line; "" if it did not.
    full: true if the queue was full; the same requests are sent again later.
    where: what its results are fetched from, in the provider's terms.
    unbilled: whether the provider says that requests without a result were not carried out.
    unread: fields without which its results cannot be had, and which cannot be read.
    """

    id: str
    status: str
    ended: bool = False
    total: int = 0
    answered: int = 0
    failed: int = 0
    expires_at: float | None = None
    error: str = ""
    full: bool = False
    where: tuple[str, ...] = ()
    unbilled: bool = False
    unread: tuple[str, ...] = ()


class Fields:
    """The fields of a JSON object from a server, each as the type that is wanted.

    A field of another type counts as missing. `odd` has the names of such fields, those of inner
    objects included.
    """

    def __init__(self, plain: Mapping[str, object], odd: set[str] | None = None) -> None:
        self._plain = plain
        self.odd = set[str]() if odd is None else odd

    @classmethod
    def of(cls, data: bytes) -> Fields:
        """Read a server's JSON; bytes that are not UTF-8 are replaced. Raises ValueError for
        anything but an object."""
        plain = plain_json(data, "replace")
        if not isinstance(plain, dict):
            raise ValueError(f"a {type(plain).__name__} instead of an object")
        return cls(plain)

    def get(self, name: str, *kinds: type) -> Any:
        """Return a field of one of these types; None without one."""
        value = self._plain.get(name)
        if value is None or type(value) in kinds:
            return value
        self.odd.add(name)
        return None

    def text(self, name: str) -> str:
        value: str | None = self.get(name, str)
        return value or ""

    def number(self, name: str) -> float | None:
        """Return a finite number; None without one."""
        value = self.get(name, int, float)
        return float(value) if value is not None and math.isfinite(value) else None

    def count(self, name: str) -> int:
        """Return a number of things, which some servers write as a text; 0 for what is none."""
        text = str(self.get(name, int, str))
        return int(text) if text.isdecimal() and text.isascii() and len(text) < 16 else 0

    def inner(self, name: str) -> Fields:
        """Return an inner object; one without fields if it is missing."""
        return Fields(self.get(name, dict) or {}, self.odd)

    def each(self, name: str) -> list[Fields]:
        """Return the objects in a list."""
        return [Fields(one) for one in self.get(name, list) or () if isinstance(one, dict)]


class Deferring(ABC):
    """Batches for one model of a provider. Its adapter writes bodies and reads replies, and the
    client of its SDK, which has the address and the key, is asked.

    limits: of a batch.
    id_field: the field of a line of results that holds the id of its request.
    address: what comes before a batch's id in its path.
    files: what comes before the id of a file, to delete it.
    content: the path of results, by an id in `RemoteBatch.where`, and how they are asked for.
    cancels: what follows a batch's path where it is cancelled.
    after: the parameter of listings that takes the last id of the page before.
    named: the field with the id of a batch or file.
    """

    limits: PackLimits
    id_field: ClassVar[str] = "custom_id"
    address: ClassVar[str]
    files: ClassVar[str]
    content: ClassVar[tuple[str, Mapping[str, Any]]]
    cancels: ClassVar[str] = "/cancel"
    after: ClassVar[str] = "after"
    named: ClassVar[str] = "id"

    def __init__(self, adapter: ApiAdapter, client: Any) -> None:
        self._adapter = adapter
        self._client = client

    async def line(self, id: str, request: Request, pictures: PictureSource) -> RequestLine:
        """Return the body of the ordinary call as a line, but for cache marks and tier. Raises
        `Fatal`."""
        body, sent = await self._adapter.body(_unmarked(request), pictures)
        return RequestLine(self._wrapped(id.encode(), body), sent)

    def id_of(self, line: bytes) -> str:
        """Return the id in a line of results, whatever else is in it. Raises ValueError without
        one."""
        id = Fields.of(line).text(self.id_field)
        if not 0 < len(id) <= MAX_ID:
            raise ValueError(f"no id in {self.id_field}")
        return id

    def read(self, line: bytes, request: Request, sent: Mapping[str, object]) -> Outcome:
        """Read a line of results, given the parameters sent.

        A `Fault` of kind `malformed` and ValueError mean an answer that cannot be read, which may
        have been billed; other faults are the provider's word that the request failed.
        """
        said, parameters, adapter = self._said(line), dict(sent), self._adapter
        if isinstance(said, Failure):
            adapter.note(request)
            # A batch has no streams to try next.
            verdict = adapter.verdict(said, {**adapter.streaming, **parameters})
            if verdict is None:
                return Relearned(adapter.clean(said.message))
            if isinstance(verdict, Finish):
                return adapter.ended(verdict, said, parameters)
            return verdict
        plain, headers = said
        try:
            answer: Any = convert_to(plain, adapter.answers)
            return adapter.read(_unmarked(request), answer, headers, parameters)
        except (Fault, Fatal) as error:
            return error
        except (ValueError, msgspec.ValidationError) as error:
            begins = repr(plain)[:400]
            line_of = adapter.clean(f"reply cannot be read ({error}; it begins {begins})")
            return Fault("malformed", f"{adapter.speaker}: {line_of}")

    @abstractmethod
    def _wrapped(self, id: bytes, body: bytes) -> bytes:
        """Return a line of requests, of the body of one."""

    @abstractmethod
    def _said(self, line: bytes) -> tuple[object, Mapping[str, str]] | Failure:
        """Return the answer in a line of results and its headers, or why there is none. Raises
        ValueError if it has neither."""

    async def upload(self, token: str, path: Path) -> str:
        """Send the lines in a file, unless the provider has some with this token. Returns its name
        of them, "" where they are sent by `create`. Raises `QueueFull`, `Fault`, `Fatal`."""
        return ""

    @abstractmethod
    async def create(self, token: str, path: Path, uploaded: str, total: int) -> RemoteBatch:
        """Begin a batch of an upload. Never carried out twice. Raises as `upload`."""

    @abstractmethod
    async def find(
        self, token: str, since: float, total: int, known: Collection[str]
    ) -> RemoteBatch | None:
        """Return the batch that was begun with this token, None if there is none.

        since: when it was begun at the earliest, in seconds since 1970.
        total: number of its requests.
        known: ids of batches that are others of ours, or not ours.
        """

    async def poll(self, id: str) -> RemoteBatch:
        """Return the state of a batch. Raises `Gone` if the provider no longer knows it."""
        asked = self._call("get", self.address + checked_id(id))
        return self._batch(await self._ask(asked, known=True), id)

    async def cancel(self, id: str) -> None:
        """Have a batch end soon; the answers so far can be fetched then."""
        await self._unless_over("post", self.address + checked_id(id) + self.cancels)

    async def fetch(self, batch: RemoteBatch) -> AsyncIterator[bytes]:
        """Return the lines of results of a batch that has ended, in any order. Raises `Gone`, and
        `Torn` after the lines that came whole."""
        path, asked = self.content
        for id in batch.where:
            async for line in self._lines(path % checked_id(id), **asked):
                yield line

    async def clean(self, batch: RemoteBatch, uploaded: str) -> None:
        """Delete the provider's copies of a batch."""
        for id in filter(None, (uploaded, *batch.where)):
            await self._unless_over("delete", self.files + checked_id(id))

    @abstractmethod
    def _batch(self, batch: Fields, id: str) -> RemoteBatch:
        """Read a batch as the provider reports it."""

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


@runtime_checkable
class Deferrable(Protocol):
    """An adapter whose provider may take requests in batches."""

    def deferring(self) -> Deferring:
        """Return the way to send them. Raises `Fatal` if this model takes none."""
        ...


def deferring_of(adapter: Adapter, name: str) -> Deferring:
    """Return how an adapter is asked in batches. Raises `Fatal` if it is not."""
    if not isinstance(adapter, Deferrable):
        raise Fatal(f"{name} does not say how it is asked in batches: leave --tier out")
    return adapter.deferring()


def _unmarked(request: Request) -> Request:
    """Return the request without a tier, and without marks for the prompt cache, which a batch
    would rarely read."""
    return replace(request, continues=False, tier="")


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
