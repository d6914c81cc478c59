"""What batches at the providers have in common: one call of their API at a time, and what may come
back of it."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Awaitable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from adapters.api import ApiAdapter
from adapters.checks import read_json
from adapters.contract import Fatal, Fault
from adapters.conversation import Finish
from adapters.deferred.contract import Gone, PackLimits, QueueFull
from adapters.deferred.lines import Lines
from adapters.faults import Failure, judge

if TYPE_CHECKING:
    import httpx2

MAX_PAGES = 100
"""Pages of a listing that are looked through: a server may say for ever that there are more."""
UPLOAD_S = 600.0
"""Seconds that a server may take to answer an upload, once it has it."""
_GRACE_S = 3600.0
_YEAR_9999 = 253_370_764_800.0
_ID = re.compile(r"[\w./:-]{1,200}", re.ASCII)
_OVER = {400, 404, 409, 410}
_ENQUEUED = re.compile(r"enqueued|queue", re.IGNORECASE)

T = TypeVar("T")


class HostedLines(Lines):
    """Batches at a provider; a subclass knows its API."""

    preflights = True

    def __init__(self, adapter: ApiAdapter, limits: PackLimits) -> None:
        super().__init__(adapter)
        self.limits = limits

    def told(self, path: Path) -> str | None:
        """See `Deferring.told`."""
        return None

    async def _ask(
        self,
        call: Awaitable[Any],
        form: type[T],
        *,
        limit_s: float | None = None,
        known: bool = True,
    ) -> T:
        """What the provider answers to a call.

        limit_s: seconds for the whole call, None where a large file goes with it.
        known: whether what is asked about was there once, so that it is `Gone` if it is not.

        Raises `QueueFull`, `Gone`, `Fault`, `Fatal`.
        """
        response = await self._made(call, limit_s=limit_s, known=known)
        try:
            return read_json(response.content, form)
        except ValueError as error:
            begins = response.content[:400].decode(errors="replace")
            line = self._adapter.clean(f"reply cannot be read ({error}; it begins {begins!r})")
        raise Fault("malformed", f"{self._adapter.speaker}: {line}")

    async def _made(
        self, call: Awaitable[T], *, limit_s: float | None = None, known: bool = True
    ) -> T:
        """The provider's answer to a call as it came. Raises as `_ask`."""
        response = await self._adapter.attempt(call, limit_s)
        if isinstance(response, Failure):
            raise self._error(response, known)
        return response

    async def _unless_over(self, call: Awaitable[Any]) -> None:
        """Make a call that is about what may be over or gone by now, which is as good."""
        answer = await self._adapter.attempt(call)
        if isinstance(answer, Failure) and answer.status not in _OVER:
            raise self._error(answer, known=False)

    def _error(self, failure: Failure, known: bool) -> Fault | Fatal:
        speaker, clean = self._adapter.speaker, self._adapter.clean
        line = clean(f"{speaker} answered {failure.status}: {failure.message}")
        if known and failure.status in {404, 410}:
            return Gone("server", line, status=failure.status)
        if self._is_full(failure):
            return QueueFull("rate_limit", line, failure.retry_after_s, failure.status)
        if failure.status in {404, 405}:
            return Fatal(f"{line}; it may take no batches")
        verdict = judge(failure, speaker, clean)
        return Fatal(line) if isinstance(verdict, Finish) else verdict

    def _is_full(self, failure: Failure) -> bool:
        """Whether a failure says that the provider's queue has no room for now."""
        return failure.status == 429 and bool(_ENQUEUED.search(failure.message))

    async def _lines(self, call: Awaitable[httpx2.Response]) -> AsyncIterator[bytes]:
        """The lines that a streamed reply brings. Raises `Gone`, `Fault`, `Fatal`."""
        from adapters.transport import lines_of

        lines = lines_of(await self._made(call))
        while True:
            line = await self._adapter.attempt(anext(lines, None))
            if isinstance(line, Failure):
                await lines.aclose()
                raise self._error(line, known=False)
            if line is None:
                return
            yield line


def checked_id(id: str) -> str:
    """An id that a provider gave, which becomes part of an address and goes on record.

    Raises `Fault` for what is none.
    """
    if not _ID.fullmatch(id) or ".." in id:
        raise Fault("malformed", f"{id[:80]!r} is not an id")
    return id


def over(expires_at: float | None) -> bool:
    """Whether a batch is past the time at which it ends at the latest, by an hour.

    A state that nobody knows ends the wait then, whatever it means.
    """
    return expires_at is not None and time.time() > expires_at + _GRACE_S


def moment(seconds: float | None) -> float | None:
    """A time in seconds since 1970 that a calendar has, None for any other."""
    return seconds if seconds is not None and 0 <= seconds < _YEAR_9999 else None


def seconds_of(moment: str | None) -> float | None:
    """A moment in ISO 8601 as seconds since 1970, None for none and for what is not one."""
    try:
        return datetime.fromisoformat(moment).timestamp() if moment else None
    except (ValueError, OverflowError):
        return None
