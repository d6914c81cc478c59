"""Runs whose model is behind a server of their own (`--with-server`; see `harness.serving`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from adapters import Adapter, AdapterInfo, PictureSource, Reply, Request
from harness.errors import UserError
from harness.runs import SERVER_LOG, RunDirectory
from harness.serving import SERVED, ModelServer, NotNeeded
from harness.settings import Settings


def with_address(settings: Settings) -> Settings:
    """The settings with what stands for the server's address on record.

    Raises `UserError` for two servers, and for a run on record that had one and now has none.
    """
    if not settings.with_server:
        if settings.base_url == SERVED:
            raise UserError(
                "the model of that run was behind a server of its own: start one --with-server"
            )
        return settings
    if settings.base_url not in (None, SERVED):
        raise UserError("--base-url and --with-server name two servers; leave one of them out")
    return replace(settings, base_url=SERVED)


class ServedAdapter:
    """A model behind a server that is started for it. Calls wait while it is started again."""

    def __init__(self, adapter: Adapter, server: ModelServer) -> None:
        self._adapter = adapter
        self._server = server

    @property
    def info(self) -> AdapterInfo:
        return self._adapter.info

    async def serve(
        self, directory: RunDirectory, say: Callable[[str], None], stop: Callable[[str], None]
    ) -> None:
        """Start the server, whose output goes to the run's folder, until `close`.

        `stop` is called in the running loop, with the reason, if the server ends for good. Returns
        early after `give_up`. Raises `UserError` if the server does not start.
        """
        if warning := _other_command(directory):
            say(warning)
        loop = asyncio.get_running_loop()

        def in_loop(function: Callable[[str], None]) -> Callable[[str], None]:
            def call(text: str) -> None:
                with suppress(RuntimeError):  # The loop is closed.
                    loop.call_soon_threadsafe(function, text)

            return call

        try:
            await asyncio.to_thread(
                self._server.start, directory.path / SERVER_LOG, in_loop(say), in_loop(stop)
            )
        except NotNeeded:
            return

    def give_up(self) -> None:
        """Wait no longer for a server that does not answer yet, or has to be started again."""
        self._server.give_up("interrupted")

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once. Raises `Fault` or `Fatal`."""
        await self._server.ready()
        return await self._adapter.ask(request, pictures)

    def measured(self) -> Mapping[str, object]:
        """What the server is; see `adapters.contract.Measuring`."""
        return self._server.facts

    def notices(self) -> list[str]:
        return self._adapter.notices()

    async def close(self) -> None:
        await asyncio.to_thread(self._server.stop)
        await self._adapter.close()


def _other_command(directory: RunDirectory) -> str | None:
    """A warning if the model was served by another command before."""
    sessions = directory.manifest.sessions
    *before, now = (session.settings.get("with_server") for session in sessions)
    last = next((command for command in reversed(before) if command), now)
    if last == now:
        return None
    return (
        f"warning: the model was served by another command before ({last}), which is no part of "
        "what a run is: choose another folder with --out if its replies may differ"
    )
