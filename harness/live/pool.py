"""Worlds in worker processes, lent to one episode at a time.

A world is a class of this package, or another program (`Foreign`), with the same limits.

worlds = Worlds("package.module:Class", options, count=2, limits=TimeLimits())
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
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from adapters.contract import Fatal, Fault
from adapters.decoding import convert_to
from adapters.processes import ChildEnded, Entry, Pool
from adapters.processes.child import Receive, Send
from harness.dialogue import Observation
from harness.errors import UserError
from harness.live.chromium import scratch
from harness.live.clean import clean_line, clean_text
from parsers.actions import Action

LONGEST_ERROR = 1_000
"""Longest error of a world to record or print, in characters."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Limits in seconds of environment time; the agent's time to answer does not count.

    step_s: limit of one action, or of beginning an episode.
    episode_s: limit of all actions of an episode together.
    start_s: limit of starting a worker with its world.
    """

    step_s: float = 30.0
    episode_s: float = 300.0
    start_s: float = 60.0


class Foreign(Protocol):
    """A world in another program.

    The program receives its options first, then `["ready", null]`, `["begin", EPISODE]`, and the
    message of every action. It answers each with a line, except the options.
    """

    @property
    def program(self) -> Entry:
        """Return the command that starts the program."""
        ...

    def message(self, action: Mapping[str, Any]) -> tuple[str, Any]:
        """Convert an action in plain values to the program's message."""
        ...

    def read(self, line: bytes) -> tuple[str, Any]:
        """Convert an answer to that of our workers: `done` with content and blobs.

        Raises:
            ValueError: the answer is malformed; the program is not trusted.
        """
        ...


class Worlds:
    """Worker processes with a world each, started on demand and used again.

    It belongs to one event loop.
    """

    def __init__(
        self, entry: str | Foreign, options: Mapping[str, Any], *, count: int, limits: TimeLimits
    ) -> None:
        self._foreign = None if isinstance(entry, str) else entry
        self._limits = limits
        # Workers are killed, and cannot remove their own files and those of their browsers.
        self._files = ExitStack()
        folder = self._files.enter_context(scratch())
        self._workers = [
            Pool(
                self._foreign.program if self._foreign else f"{__name__}:serve",
                1,
                name="worlds",
                first=dict(options) if self._foreign else (entry, dict(options)),
                environment={"TMPDIR": str(folder)},
            )
            for _ in range(count)
        ]
        # Last in, first out: a running worker is preferred to starting another.
        self._free: asyncio.LifoQueue[Pool] = asyncio.LifoQueue()
        for worker in self._workers:
            self._free.put_nowait(worker)

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the ids of the running worker processes."""
        return tuple(pid for worker in self._workers for pid in worker.pids)

    async def open(self, episode: Mapping[str, Any]) -> Episode:
        """Wait for a free worker and lend it to an episode."""
        return Episode(self, await self._free.get(), dict(episode))

    async def close(self) -> None:
        """Kill the workers, busy or not. May be repeated."""
        await asyncio.gather(*(asyncio.to_thread(worker.close) for worker in self._workers))
        await asyncio.to_thread(self._files.close)


class Episode:
    """An episode in a worker: an `Environment`."""

    def __init__(self, worlds: Worlds, worker: Pool, episode: Mapping[str, Any]) -> None:
        self._worlds = worlds
        self._worker = worker
        self._episode = episode
        self._limits = worlds._limits
        self._left_s = self._limits.episode_s
        self._closed = False

    async def act(self, action: Any) -> Observation:
        """Carry out an action in plain values; None begins the episode.

        Raises:
            Fault: a limit was exceeded, or the worker or its world failed; the worker is gone.
            Fatal: the user has to change something.
        """
        if action is None:
            await self._ask(("ready", None), self._limits.start_s, "start")
            return await self._timed(("begin", self._episode))
        plain, foreign = msgspec.to_builtins(action), self._worlds._foreign
        return await self._timed(foreign.message(plain) if foreign else ("act", plain))

    async def close(self) -> None:
        """Give the worker back. May be repeated."""
        if not self._closed:
            self._closed = True
            self._worlds._free.put_nowait(self._worker)

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
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._worker.threads, self._answer, message)
        try:
            async with asyncio.timeout(limit_s):
                kind, answer = await asyncio.shield(future)
        except ChildEnded as error:
            raise Fault("connection", f"the environment ended: {error}") from None
        except BaseException as error:
            # A worker cannot be interrupted: after a limit or a cancellation, no other episode may
            # use it.
            self._worker.end()
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()
            if isinstance(error, TimeoutError):
                raise Fault("timeout", f"no {what} within {limit_s:g} s") from None
            if isinstance(error, ValueError | OSError):
                raise Fault("connection", f"the environment failed: {error}") from None
            raise
        if kind == "fatal":
            self._worker.end()
            raise Fatal(answer)
        if kind == "failed":
            self._worker.end()
            raise Fault("connection", f"the environment failed: {answer}")
        return answer

    def _answer(self, message: object) -> tuple[str, Any]:
        """Ask the worker, and wait for the kind of the answer, and the answer.

        Raises:
            ChildEnded: the worker has ended.
            ValueError: the answer is malformed.
        """
        answer, foreign = self._worker.ask(message), self._worlds._foreign
        found: tuple[str, Any] = foreign.read(answer) if foreign else answer
        return found


def serve(receive: Receive, send: Send) -> None:
    """Run a world in a worker process."""
    entry, options = receive()
    where, _, name = entry.partition(":")
    world: Any = None

    def answer(verb: str, argument: Any) -> Any:
        nonlocal world
        if verb == "ready":
            world = world or getattr(importlib.import_module(where), name)(options)
            return None
        seen = world.begin(argument) if verb == "begin" else world.act(convert_to(argument, Action))
        return seen.content, dict(seen.blobs)

    while True:
        send(_outcome(answer, *receive()))


def _outcome(answer: Callable[[str, Any], Any], verb: str, argument: Any) -> tuple[str, Any]:
    try:
        return "done", answer(verb, argument)
    except (UserError, Fatal) as error:
        return "fatal", clean_text(str(error), LONGEST_ERROR)
    except Exception as error:
        return "failed", clean_line(f"{type(error).__name__}: {error}", LONGEST_ERROR)
