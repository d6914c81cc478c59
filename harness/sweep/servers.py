"""The server of a model that several cells of a sweep share, one after the other."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection
from pathlib import Path

from harness.errors import UserError
from harness.serve.server import ModelServer, NotNeeded

Served = tuple[str, str]
"""A command, and the model's name for it."""


class Servers:
    """At most one server at a time, since it may need the whole device.

    running: what it serves, None without one.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self.running: Served | None = None
        self._folder = folder
        self._say = say
        self._server: ModelServer | None = None
        self._lost = False
        self._failed: dict[Served, str] = {}

    async def lend(self, served: Served | None, timeout_s: float) -> dict[str, str]:
        """Return the variables that let a process use this server; start it unless it runs.

        Another server is stopped first, also for what needs the device without a server (None).
        Raises `UserError` if it does not start, and from then on without trying again.
        """
        if served in self._failed:
            raise UserError(self._failed[served])
        if self._server is not None and (self.running != served or self._lost):
            await self.stop()
        if served is None:
            return {}
        if self._server is None:
            command, model = served
            server = ModelServer(command, model, timeout_s=timeout_s)
            self._server, self.running, self._lost = server, served, False
            name = re.sub(r"[^\w.-]+", "-", model).strip("-.")[-60:]
            log = self._folder / f"server-{name}.log"
            try:
                await asyncio.to_thread(server.start, log, self._say, self._when_lost)
            except UserError as error:
                self._failed[served] = str(error)
                await self.stop()
                raise
            except NotNeeded:
                await self.stop()
                raise UserError("interrupted before the server answered") from None
        return self._server.environment

    async def keep(self, needed: Collection[Served | None]) -> None:
        """Stop the server unless it is among those that are still needed."""
        if self._server is not None and self.running not in needed:
            await self.stop()

    def give_up(self) -> None:
        """Wait no longer for a server that does not answer yet."""
        if self._server is not None:
            self._server.give_up("interrupted")

    async def stop(self) -> None:
        """Stop the server, if one runs."""
        server, self._server, self.running = self._server, None, None
        if server is not None:
            await asyncio.to_thread(server.stop)

    def _when_lost(self, reason: str) -> None:
        self._lost = True
        self._say(reason)
