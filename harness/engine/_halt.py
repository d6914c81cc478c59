"""The one place that says whether a session is coming to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from harness.engine._errors import Stopped


class Halt:
    """Set once, with a reason; whoever waits is woken."""

    def __init__(self) -> None:
        self.reason: Stopped | None = None
        self._event = asyncio.Event()
        self._told: list[Callable[[Stopped], None]] = []

    def tell(self, whom: Callable[[Stopped], None]) -> None:
        """Call `whom` with the reason when the halt is set."""
        self._told.append(whom)

    def set(self, reason: Stopped) -> None:
        """No further call is to be sent; those under way are waited for."""
        if self.reason is None:
            self.reason = reason
            self._event.set()
            for whom in self._told:
                whom(reason)

    def check(self) -> None:
        """Raises `Stopped` once the halt is set."""
        if self.reason:
            # A fresh exception each time: one that many tasks raise would gather their tracebacks.
            raise type(self.reason)(*self.reason.args)

    async def sleep(self, seconds: float) -> None:
        """Sleep, or raise `Stopped` as soon as the halt is set."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return
        self.check()
