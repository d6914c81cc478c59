"""Contract of a provider that takes requests in batches.

Everything here is asked once and raises as an adapter does: `Fault` for what may pass, `Fatal` for
what will not. A request has the body that `ask` would send; a result is read as the reply that
`ask` would receive, and a failure judged as that of an ordinary call.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import msgspec

from adapters.api import ApiAdapter
from adapters.checks import plain_json
from adapters.contract import Adapter, Fatal, Fault, PictureSource, Request
from adapters.conversation import Finish, Reply
from adapters.decoding import convert_to
from adapters.faults import Failure

MAX_ID = 200
"""Characters of a result's id."""


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


class Deferring(ABC):
    """Batches for one model of a provider, whose adapter writes bodies and reads replies.

    limits: of a batch.
    id_field: the field of a line of results that holds the id of its request.
    """

    limits: PackLimits
    id_field: ClassVar[str] = "custom_id"

    def __init__(self, adapter: ApiAdapter) -> None:
        self._adapter = adapter

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

    @abstractmethod
    async def poll(self, id: str) -> RemoteBatch:
        """Return the state of a batch. Raises `Gone` if the provider no longer knows it."""

    @abstractmethod
    def fetch(self, batch: RemoteBatch) -> AsyncIterator[bytes]:
        """Return the lines of results of a batch that has ended, in any order. Raises `Gone`, and
        `Torn` after the lines that came whole."""

    @abstractmethod
    async def cancel(self, id: str) -> None:
        """Have a batch end soon; the answers so far can be fetched then."""

    @abstractmethod
    async def clean(self, batch: RemoteBatch, uploaded: str) -> None:
        """Delete the provider's copies of a batch."""


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
