"""Worlds in worker processes, lent to one episode at a time.

A world is a class of ours, or another program (`Foreign`) that lives by the same limits.

worlds = Worlds("package.module:Class", options, count=2, limits=Limits())
environment = await worlds.open({"task": "click-test", "seed": "7"})
first = await environment.act(None)
then = await environment.act({"name": "CLICK", "element": "12"})
await environment.close()
await worlds.close()
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import msgspec

from adapters.child import Receive, Send
from adapters.contract import Fatal, Fault
from adapters.processes import ChildEnded, Command, Lease, Pool
from harness.dialogue import Observation
from harness.errors import UserError
from harness.printing import printable
from parsers.actions import Action

_ENTRY = f"{__name__}:serve"
_CLEARINGS = 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits in seconds of environment time; what an agent takes to answer does not count.

    step_s: for one action, or for beginning an episode.
    episode_s: for all actions of an episode together.
    start_s: for starting a worker with what it needs.
    """

    step_s: float = 30.0
    episode_s: float = 300.0
    start_s: float = 60.0


class Foreign(Protocol):
    """A world that is another program.

    It is told its options first, then `["ready", null]`, `["begin", EPISODE]`, and what `told`
    makes of every action. It answers each but the options with a line.
    """

    @property
    def program(self) -> Command:
        """How it is started."""
        ...

    def told(self, action: Mapping[str, Any]) -> tuple[str, Any]:
        """An action, given as plain values, in the words of the program."""
        ...

    def read(self, line: bytes) -> tuple[str, Any]:
        """An answer as workers of ours give it, `done` with content and blobs. Raises ValueError
        for anything else: nothing that a program writes is taken on trust."""
        ...


class Worlds:
    """A number of worker processes with a world each, started when needed and used again.

    It belongs to one event loop.
    """

    def __init__(
        self, entry: str | Foreign, options: Mapping[str, Any], *, count: int, limits: Limits
    ) -> None:
        self._limits = limits
        self._foreign = None if isinstance(entry, str) else entry
        # Workers are killed, and cannot clear up what they and their browsers leave.
        self._folder = TemporaryDirectory(prefix="vlm-eval-worlds-", ignore_cleanup_errors=True)
        self._pool = Pool(
            _ENTRY if self._foreign is None else self._foreign.program,
            count,
            name="worlds",
            first=dict(options) if self._foreign else (entry, dict(options)),
            environment={"TMPDIR": self._folder.name},
        )
        self._free = asyncio.Semaphore(count)

    @property
    def pids(self) -> tuple[int, ...]:
        """Ids of the running worker processes."""
        return self._pool.pids

    async def open(self, episode: Mapping[str, Any]) -> Episode:
        """Wait for a free worker and lend it to an episode."""
        await self._free.acquire()
        worker = _Worker(self._pool, self._pool.lend(), self._free, self._foreign)
        return Episode(worker, dict(episode), self._limits)

    async def close(self) -> None:
        """Kill the workers, whatever they are doing. May be repeated."""
        await asyncio.to_thread(self._pool.close)
        for _ in range(_CLEARINGS):
            self._folder.cleanup()
            if not Path(self._folder.name).exists():
                break
            # A browser that has just been killed may still write.
            await asyncio.sleep(0.1)


@dataclass(frozen=True, slots=True)
class _Worker:
    """A worker on loan."""

    pool: Pool
    lease: Lease
    free: asyncio.Semaphore
    foreign: Foreign | None

    def act(self, action: Any) -> tuple[str, Any]:
        """The message of an action given as plain values."""
        plain = msgspec.to_builtins(action)
        return ("act", plain) if self.foreign is None else self.foreign.told(plain)

    def ask(self, message: object) -> tuple[str, Any]:
        """Send a message and return the kind of the answer, and the answer; blocks.

        Raises `ChildEnded`, and ValueError for what is no answer.
        """
        answer: Any = self.lease.ask(message)
        found: tuple[str, Any] = answer if self.foreign is None else self.foreign.read(answer)
        return found

    def give_back(self) -> None:
        self.lease.give_back()
        self.free.release()


class Episode:
    """An episode in a worker: an `Environment`."""

    def __init__(self, worker: _Worker, episode: Mapping[str, Any], limits: Limits) -> None:
        self._worker = worker
        self._episode = episode
        self._limits = limits
        self._left_s = limits.episode_s
        self._closed = False

    async def act(self, action: Any) -> Observation:
        """Carry out an action given as plain values; None begins the episode.

        Raises `Fault` over a limit, or when the worker or its world has failed: the worker is then
        gone. Raises `Fatal` for what the user has to mend.
        """
        if action is None:
            await self._ask(("ready", None), self._limits.start_s, "start")
            return await self._timed(("begin", self._episode))
        return await self._timed(self._worker.act(action))

    async def close(self) -> None:
        """Give the worker back. May be repeated."""
        if not self._closed:
            self._closed = True
            self._worker.give_back()

    async def _timed(self, message: tuple[str, Any]) -> Observation:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        limit = min(self._limits.step_s, self._left_s)
        try:
            content, blobs = await self._ask(message, limit, "step")
        finally:
            self._left_s -= loop.time() - begun
        return Observation(content, blobs)

    async def _ask(self, message: object, limit_s: float, what: str) -> Any:
        worker = self._worker
        future = asyncio.get_running_loop().run_in_executor(
            worker.pool.threads, worker.ask, message
        )
        try:
            async with asyncio.timeout(limit_s):
                kind, answer = await asyncio.shield(future)
        except ChildEnded as error:
            raise Fault("connection", f"the environment ended: {error}") from None
        except BaseException as error:
            # What the worker is doing cannot be taken back: neither over a limit nor when this is
            # cancelled may another episode meet it.
            worker.lease.end()
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()
            if isinstance(error, TimeoutError):
                raise Fault("timeout", f"no {what} within {limit_s:g} s") from None
            if isinstance(error, ValueError | OSError):
                raise Fault("connection", f"the environment failed: {error}") from None
            raise
        if kind == "fatal":
            worker.lease.end()
            raise Fatal(answer)
        if kind == "failed":
            worker.lease.end()
            raise Fault("connection", f"the environment failed: {answer}")
        return answer


def serve(receive: Receive, send: Send) -> None:
    """Run a world in a worker process."""
    entry, options = receive()
    where, _, name = entry.partition(":")
    world: Any = None

    def answer(verb: str, given: Any) -> Any:
        nonlocal world
        if verb == "ready":
            world = world or getattr(importlib.import_module(where), name)(options)
            return None
        seen = world.begin(given) if verb == "begin" else world.act(msgspec.convert(given, Action))
        return seen.content, dict(seen.blobs)

    while True:
        send(_outcome(answer, *receive()))


def _outcome(answer: Callable[[str, Any], Any], verb: str, given: Any) -> tuple[str, Any]:
    try:
        return "done", answer(verb, given)
    except (UserError, Fatal) as error:
        return "fatal", printable(str(error))
    except Exception as error:
        return "failed", printable(f"{type(error).__name__}: {error}".split("\n")[0][:300])
