"""Calls in flight: equal ones are made once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Flights:
    """Calls in flight, by a key that equal calls share."""

    def __init__(self) -> None:
        self._landed: dict[str, asyncio.Event] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._landed

    async def landed(self, key: str) -> None:
        """Return when the call of this key that is under way has ended, however it ended."""
        if key in self._landed:
            await self._landed[key].wait()

    @contextmanager
    def under_way(self, key: str) -> Iterator[None]:
        """Make others wait for this call; of no effect while another one of the key is made."""
        if key in self._landed:
            yield
            return
        event = self._landed[key] = asyncio.Event()
        try:
            yield
        finally:
            del self._landed[key]
            event.set()
