"""A server for the model under test that is started here, and ends with this process.

    server = ModelServer("vllm serve {model} --port {port}", "Qwen/Qwen3-VL-8B-Instruct")
    server.start(Path("server.log"))    # blocks until it answers
    server.url                          # http://127.0.0.1:PORT/v1
    server.stop()

Several runs may share one: other processes that are given `server.environment` use it where they
would start the same command, and leave it running. `Served` puts one behind the adapter of the
model under test; planning opens it by the name of the setting (`--with-server`).
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

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
from adapters.checks import MAX_NAME, read_json
from adapters.contract import Fault
from adapters.processes.keeper import Program
from adapters.secrets import secrets_in
from harness.errors import UserError
from harness.planning.model import SERVED
from harness.printing import printable
from harness.runs.directory import SERVER_LOG
from harness.settings import Settings

SHARED = "VLM_EVAL_SERVER"
"""Environment variable with the address of a running server to use instead."""
START_S = 3600.0
"""Seconds that it may take until it answers."""
GRACE_S = 30.0
"""Seconds that it has to end before it is killed."""
LAST_LINES = 20

_OPTION = "--with-server"
_LOOK_S, _LOOK_LESS_S, _ANSWER_S = 0.1, 2.0, 10.0
_ANSWER_BYTES, _TAIL_BYTES, _MODELS = 1 << 20, 1 << 16, 32
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=.*", re.DOTALL)

T = TypeVar("T")


class NotNeeded(Exception):
    """The server was stopped, or given up, before it answered."""


Say = Callable[[str], None]


class ModelServer:
    """A server of one model, on a free port of this machine. `url` is its base URL."""

    def __init__(self, command: str, model: str, *, timeout_s: float = START_S) -> None:
        """Read the command; nothing is started yet.

        Args:
            command: a program and its arguments, split as a shell would and run without one;
                `{model}` and `{port}` are replaced by these.
            model: the model's name, as the server knows it.
            timeout_s: how long it may take until it answers.

        Raises:
            UserError: the command cannot be one.
        """
        self._given = words_of(command)
        self.command, self._model, self._timeout_s = command, model, timeout_s
        lent = os.environ.get(SHARED, "")
        self.is_lent = bool(lent)
        self.url = _checked(lent) if lent else f"http://127.0.0.1:{_free_port()}/v1"
        self._version, self._models = "", tuple[str, ...]()
        self._program: Program | None = None
        self._log = Path()
        self._log_from = 0
        self._say: Say = lambda line: None
        self._when_lost: Say = lambda reason: None
        self._lost = ""
        self._lock = threading.Lock()  # guards which of two threads sees an end
        self._up, self._stopping = threading.Event(), threading.Event()

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that let other processes use this server."""
        return {SHARED: self.url}

    @property
    def facts(self) -> dict[str, Any]:
        """Facts that a run records about the server, next to the settings of the session."""
        return {
            "command": self.command,
            "version": self._version,
            "models": list(self._models),
        }

    def start(
        self, log: Path, say: Say = lambda line: None, when_lost: Say = lambda reason: None
    ) -> None:
        """Start it, and block until it answers; of one that is lent, only the latter. One that
        answers already, since its deployment was verified before the run, is left as it is.

        Args:
            log: file to which its output is appended.
            say: receives lines about the server's state.
            when_lost: called in another thread with the reason, if it ends while it is needed.

        Raises:
            UserError: it ended, or did not answer in time. Its last lines have been printed.
            NotNeeded: after `stop` or `give_up`.
        """
        self._log, self._say, self._when_lost = log, say, when_lost
        begun = time.monotonic()
        if self._up.is_set():
            return
        if self.is_lent:
            say(f"server:   {self.url}, which another process has started")
            self._await_answer(None)
            return
        say(f"server:   {shlex.join(self._words())} (log: {log})")
        self._launch()
        serves = ", ".join(self._models) or "nothing that it names"
        version = f" {self._version}" if self._version else ""
        say(f"server:  {version} ready after {time.monotonic() - begun:.0f} s, serves {serves}")

    def stop(self) -> None:
        """Ask it to end, and kill what is left of it after 30 seconds. May be repeated."""
        self._stopping.set()
        with self._lock:
            program = self._program
        if program is not None:
            program.stop(GRACE_S)
            program.close()

    def give_up(self, reason: str) -> None:
        """Wait for it no longer, and refuse calls."""
        self._lost = self._lost or reason

    def check(self) -> None:
        """Raise `Fault` if it has ended."""
        if self._lost:
            raise Fault("connection", self._lost)

    def _words(self) -> list[str]:
        values = {"model": self._model, "port": str(urlsplit(self.url).port)}
        return [re.sub(r"\{(model|port)\}", lambda m: values[m[1]], word) for word in self._given]

    def _launch(self) -> None:
        words = self._words()
        path = shutil.which(words[0])
        if path is None:
            raise UserError(f"{_OPTION}: program '{words[0]}' not found on this machine")
        with self._lock:
            if self._stopping.is_set():
                raise NotNeeded
            try:
                with self._log.open("a", encoding="utf-8", errors="replace") as file:
                    now = datetime.now(UTC).isoformat(timespec="seconds")
                    print(f"--- {now} {shlex.join(words)}", file=file)
                self._log_from = self._log.stat().st_size
            except OSError as error:
                raise UserError(f"cannot write {self._log}: {error.strerror}") from error
            self._program = Program([path, *words[1:]], self._log, self._ended)
        self._await_answer(self._program)

    def _await_answer(self, program: Program | None) -> None:
        """Block until the server answers; `program` is None for one that is lent."""
        begun = time.monotonic()
        while True:
            if program is not None and program.ended is not None:
                program.close()
                raise self._failed(f"the server ended before it was ready ({program.ended})")
            if self._answers():
                with self._lock:
                    if program is None or program.ended is None:
                        self._up.set()
                        return
                continue
            taken = time.monotonic() - begun
            if self._lost:
                raise NotNeeded
            if taken > self._timeout_s:
                self.stop()
                raise self._failed(f"the server was not ready within {self._timeout_s:g} s")
            if self._stopping.wait(_LOOK_S if taken < 10 else _LOOK_LESS_S):
                raise NotNeeded

    def _failed(self, what: str) -> UserError:
        if self.is_lent:
            return UserError(f"{what}: {self.url} ({SHARED})")
        lines = list(self._last_lines())
        for line in lines:
            self._say(f"  {line}")
        where = f"its last lines are above, all of them in {self._log}"
        return UserError(f"{what}; {where if lines else f'it wrote nothing to {self._log}'}")

    def _last_lines(self) -> Iterator[str]:
        with self._log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self._log_from, size - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).decode(errors="replace").splitlines()
        for line in [line.rstrip() for line in lines if line.strip()][-LAST_LINES:]:
            yield printable(line[:MAX_NAME])

    def _ended(self, program: Program) -> None:
        """End what needs the server; called in a thread when it has ended."""
        with self._lock:
            was_up = self._up.is_set()
            self._up.clear()
        if was_up and not self._stopping.is_set():
            program.close()
            reason = f"the server ended ({program.ended}); its log: {self._log}"
            self.give_up(reason)
            self._when_lost(reason)

    def _answers(self) -> bool:
        """Return whether the server lists its models, which are noted. Raises `UserError`."""
        answer = self._get("/v1/models")
        if answer is None:
            return False
        status, body, headers = answer
        if status in (401, 403):
            raise UserError(f"the server wants a key (status {status}): set OPENAI_API_KEY to it")
        if status != 200:
            return False
        listed = _read(body, _Models)
        self._models = tuple(printable(one.id[:MAX_NAME]) for one in listed.data[:_MODELS])
        reply = self._get("/version")
        version = _read(reply[1], _Version).version if reply and reply[0] == 200 else ""
        self._version = printable(version or headers.get("server", ""))[:MAX_NAME]
        return True

    def _get(self, path: str) -> tuple[int, bytes, Mapping[str, str]] | None:
        # Not through the proxy of the environment, if there is one.
        parts = urlsplit(self.url)
        connection = HTTPConnection(str(parts.hostname), parts.port, timeout=_ANSWER_S)
        key = os.environ.get("OPENAI_API_KEY", "").strip()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            body = response.read(_ANSWER_BYTES)
            return response.status, body, {k.lower(): v for k, v in response.getheaders()}
        except (OSError, HTTPException, ValueError):
            return None
        finally:
            connection.close()


class _Listed(msgspec.Struct):
    id: str = ""


class _Models(msgspec.Struct):
    data: list[_Listed] = []


class _Version(msgspec.Struct):
    version: str = ""


def _read(body: bytes, kind: type[T]) -> T:
    try:
        return read_json(body, kind)
    except ValueError:
        return kind()


def words_of(command: str) -> list[str]:
    """Return the words of a command for a server, with their placeholders.

    Raises `UserError` if it is not a command, has no place for the port, or contains a key.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"{_OPTION}: {error}") from None
    if not words:
        raise UserError(f"{_OPTION} needs a command: vllm serve {{model}} --port {{port}}")
    if _ASSIGNED.fullmatch(words[0]):
        raise UserError(
            f"{_OPTION} is run without a shell: write env {words[0].partition('=')[0]}=..."
        )
    for name in secrets_in(words):
        raise UserError(
            f"{_OPTION} holds a key ({name}), which a run would write down: leave it out, and "
            "let the server read it from the environment (VLLM_API_KEY, HF_TOKEN)"
        )
    if "{port}" not in command:
        raise UserError(f"{_OPTION} must say where the port goes: ... --port {{port}}")
    return words


def _checked(address: str) -> str:
    """Return the address of a lent server. Raises `UserError` if it is invalid."""
    try:
        parts = urlsplit(address)
        sound = parts.scheme == "http" and parts.hostname and parts.port and "@" not in parts.netloc
    except ValueError:
        sound = False
    if not sound:
        raise UserError(f"{SHARED} is not an address like http://127.0.0.1:8000/v1; unset it")
    return address


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """Puts a server behind the model under test."""

    def __init__(self, settings: Settings) -> None:
        """Raises `UserError` for a run on record that lacks its server now."""
        if not settings.with_server:
            raise UserError(
                "the model of that run was behind its own server: start one --with-server"
            )
        self._command = settings.with_server
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
        return ServedAdapter(adapter, self._server)


class ServedAdapter(Participant):
    """A model behind a server that is started for it."""

    def __init__(self, adapter: Adapter, server: ModelServer) -> None:
        self._adapter = adapter
        self._server = server
        self._info = replace(adapter.info, assumed_free=False)

    @property
    def info(self) -> AdapterInfo:
        return self._info

    async def open(self, session: AskingSession) -> None:
        """Start the server, whose output goes to the run's folder; it runs until `close`.

        The session is stopped if the server ends for good. Raises `UserError` if it does not start.
        """
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
        """Wait no longer for a server that does not answer yet."""
        self._server.give_up(reason)

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once. Raises `Fault` or `Fatal`."""
        self._server.check()
        return await self._adapter.ask(request, pictures)

    async def listed(self) -> Mapping[str, str]:
        """Return what the server's list of models says of this one."""
        self._server.check()
        return await self._adapter.listed() if isinstance(self._adapter, ModelLister) else {}

    def measured(self) -> Mapping[str, object]:
        """Return the server's command, version and models."""
        return self._server.facts

    def notices(self) -> list[str]:
        return self._adapter.notices()

    async def close(self) -> None:
        await asyncio.to_thread(self._server.stop)
        await self._adapter.close()
