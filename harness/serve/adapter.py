"""Models behind a server that is started for the run (`--with-server`; see `harness.serve.server`).

`Served` wraps the adapter of a model: planning opens it by the name of the setting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters import (
    Adapter,
    AdapterInfo,
    AdapterSpec,
    AskingSession,
    ModelLister,
    Participant,
    PictureSource,
    Reply,
    Request,
    options_of,
)
from harness.errors import UserError
from harness.planning.model import SERVED
from harness.runs import SERVER_LOG, open_run
from harness.serve.server import START_S, ModelServer, NotNeeded
from harness.settings import Settings


class Served:
    """Puts a server behind the model under test.

    settings: those of the run, with `SERVED` as the address on record.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises `UserError` for two servers, and for a run on record that lacks its server now."""
        server = settings
        if not server.with_server:
            raise UserError(
                "the model of that run was behind its own server: start one --with-server"
            )
        if settings.base_url not in (None, SERVED):
            raise UserError("--base-url and --with-server name two servers; leave one of them out")
        self.settings = replace(settings, base_url=SERVED)
        self._command = server.with_server
        self._server: ModelServer | None = None

    def options(self, model: AdapterSpec, options: dict[str, Any]) -> dict[str, Any]:
        """Direct the model's adapter to the server, which is not started yet.

        Raises `UserError` for a model that is not asked by OpenAI's protocol.
        """
        if "recorded_as" not in options_of(model.name, base_url=SERVED):
            raise UserError(
                f"--with-server is for models behind OpenAI's chat protocol, which "
                f"'{model.provider}' does not speak: openai:NAME"
            )
        self._server = ModelServer(self._command, model.model)
        return {"recorded_as": SERVED, **options, "base_url": self._server.url}

    def around(self, adapter: Adapter) -> Adapter:
        """Wrap the adapter that was made with `options`."""
        assert self._server is not None
        return ServedAdapter(adapter, self._server, START_S)


class ServedAdapter(Participant):
    """A model behind a server that is started for it. Calls wait while it is started again."""

    def __init__(self, adapter: Adapter, server: ModelServer, wait_s: float = 0.0) -> None:
        """`wait_s` is how long a call may wait for the server, in seconds."""
        self._adapter = adapter
        self._server = server
        self._info = replace(adapter.info, wait_s=wait_s, assumed_free=False)

    @property
    def info(self) -> AdapterInfo:
        return self._info

    async def open(self, session: AskingSession) -> None:
        """Start the server, whose output goes to the run's folder; it runs until `close`.

        The session is stopped if the server ends for good. Raises `UserError` if it does not start.
        """
        if warning := _other_command(session.folder):
            session.say(warning)
        loop = asyncio.get_running_loop()

        def in_loop(function: Callable[[str], None]) -> Callable[[str], None]:
            def call(text: str) -> None:
                with suppress(RuntimeError):  # The loop is closed.
                    loop.call_soon_threadsafe(function, text)

            return call

        with suppress(NotNeeded):
            await asyncio.to_thread(
                self._server.start,
                session.folder / SERVER_LOG,
                in_loop(session.say),
                in_loop(session.stop),
            )

    def interrupt(self, reason: str) -> None:
        """Wait no longer for a server that does not answer yet, or has to be started again."""
        self._server.give_up(reason)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once. Raises `Fault` or `Fatal`."""
        await self._server.ready()
        return await self._adapter.ask(request, pictures)

    async def listed(self) -> Mapping[str, str]:
        """Return what the server's list of models says of this one."""
        await self._server.ready()
        return await self._adapter.listed() if isinstance(self._adapter, ModelLister) else {}

    def measured(self) -> Mapping[str, object]:
        """Return the server's command, version, models and starts."""
        return self._server.facts

    def notices(self) -> list[str]:
        return self._adapter.notices()

    async def close(self) -> None:
        await asyncio.to_thread(self._server.stop)
        await self._adapter.close()


def _other_command(run: Path) -> str | None:
    """Return a warning if another command served the model before."""
    sessions = open_run(run).manifest.sessions
    *before, now = (session.settings.get("with_server") for session in sessions)
    last = next((command for command in reversed(before) if command), now)
    if last == now:
        return None
    return (
        f"warning: the model was served by another command before ({last}), which is not part of "
        "what a run is: choose another folder with --out if its replies may differ"
    )
