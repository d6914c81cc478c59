"""The interface between the engine and what a provider takes in batches.

Everything here is asked once and raises as an adapter does: `Fault` for what may pass, `Fatal` for
what will not. What is said of one request comes back as its `Result`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from adapters.contract import Fatal, Fault, PictureSource, Request
from adapters.conversation import Reply


class QueueFull(Fault):
    """The provider takes no more for now; what it has must end first."""


class Gone(Fault):
    """The results of a batch were deleted at the provider, or cannot be had."""


class Torn(Fault):
    """The results of a batch broke off, or hold a line that is too long; the others came."""


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
class Line:
    """One request as a line of a batch.

    data: JSON in one line, without a line break.
    sent: the parameters in it, for `Reply.sent`.
    """

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


@dataclass(frozen=True, slots=True)
class Relearned:
    """A request was refused for a parameter that is left out from now on: it is asked again."""

    why: str


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one request in a batch, by the id of its line."""

    id: str
    outcome: Reply | Fault | Fatal | Relearned


class Deferring(Protocol):
    """Batches for one model of a provider.

    limits: of a batch.
    preflights: whether the model can be asked one thing at once, before much is sent.
    """

    limits: PackLimits
    preflights: bool

    async def line(self, id: str, request: Request, pictures: PictureSource) -> Line:
        """Return the body of the ordinary call as a line, but for cache marks and tier. Raises
        `Fatal`."""
        ...

    def id_of(self, line: bytes) -> str:
        """Return the id in a line of results, whatever else is in it. Raises ValueError without
        one."""
        ...

    def read(self, line: bytes, request: Request, sent: Mapping[str, object]) -> Result:
        """Read a line of results, given the parameters sent.

        A `Fault` of kind `malformed` and ValueError mean an answer that cannot be read, which may
        have been billed; other faults are the provider's word that the request failed.
        """
        ...

    async def upload(self, token: str, path: Path) -> str:
        """Send the lines in a file, to be found by the token. Returns the provider's name of them,
        "" where they are sent by `create`. Raises `QueueFull`, `Fault`, `Fatal`."""
        ...

    async def find_upload(self, token: str) -> str | None:
        """Return the provider's name of lines that were sent before, None if it has none."""
        ...

    async def create(self, token: str, path: Path, uploaded: str, total: int) -> RemoteBatch:
        """Begin a batch of an upload. Never carried out twice. Raises as `upload`."""
        ...

    async def find(
        self, token: str, since: float, total: int, known: Collection[str]
    ) -> RemoteBatch | None:
        """Return the batch that was begun with this token, None if there is none.

        since: when it was begun at the earliest, in seconds since 1970.
        total: number of its requests.
        known: ids of batches that are others of ours, or not ours.
        """
        ...

    async def poll(self, id: str) -> RemoteBatch:
        """Return the state of a batch. Raises `Gone` if the provider no longer knows it."""
        ...

    def fetch(self, batch: RemoteBatch) -> AsyncIterator[bytes]:
        """Return the lines of results of a batch that has ended, in any order. Raises `Gone`, and
        `Torn` after the lines that came whole."""
        ...

    async def cancel(self, id: str) -> None:
        """Have a batch end soon; the answers so far can be fetched then."""
        ...

    async def clean(self, batch: RemoteBatch, uploaded: str) -> None:
        """Delete the provider's copies of a batch."""
        ...

    def told(self, path: Path) -> str | None:
        """Return what the user must do to get this file answered; None: nothing.

        The file is then needed until the batch has ended, and is deleted by `clean`.
        """
        ...


@runtime_checkable
class Deferrable(Protocol):
    """An adapter whose provider may take requests in batches."""

    def deferring(self, folder: Path) -> Deferring:
        """Return the way to send them. Raises `Fatal` if this model takes none.

        folder: where the files of lines lie that `upload` and `create` are given.
        """
        ...
