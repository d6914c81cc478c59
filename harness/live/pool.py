"""Worlds in worker processes, lent to one episode at a time.

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
from typing import Any

import msgspec

from adapters.contract import Fatal, Fault
from adapters.processes import ChildEnded, Lease, Pool, Receive, Send
from harness.dialogue import Observation
from harness.errors import UserError
from harness.printing import printable
from parsers.actions import Action

_ENTRY = f"{__name__}:serve"
_CLEARINGS = 20
START_S = 60.0
"""Limit for starting a worker with what it needs, in seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits in seconds of environment time; what an agent takes to answer does not count.

    step_s: for one action, or for beginning an episode.
    episode_s: for all actions of an episode together.
    """

    step_s: float = 30.0
    episode_s: float = 300.0


class Worlds:
    """A number of worker processes with a world each, started when needed and used again.

    It belongs to one event loop.
    """

    def __init__(
        self, entry: str, options: Mapping[str, Any], *, count: int, limits: Limits
    ) -> None:
        self._limits = limits
        # Workers are killed, and cannot clear up what they and their browsers leave.
        self._folder = TemporaryDirectory(prefix="vlm-eval-worlds-", ignore_cleanup_errors=True)
        self._pool = Pool(
            _ENTRY,
            count,
            name="worlds",
            first=(entry, dict(options)),
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
        return Episode(self._pool, self._pool.lend(), self._free, dict(episode), self._limits)

    async def close(self) -> None:
        """Kill the workers, whatever they are doing. May be repeated."""
        await asyncio.to_thread(self._pool.close)
        for _ in range(_CLEARINGS):
            self._folder.cleanup()
            if not Path(self._folder.name).exists():
                break
            # A browser that has just been killed may still write.
            await asyncio.sleep(0.1)


class Episode:
    """An episode in a worker: an `Environment`."""

    def __init__(
        self,
        pool: Pool,
        lease: Lease,
        free: asyncio.Semaphore,
        episode: Mapping[str, Any],
        limits: Limits,
    ) -> None:
        self._pool = pool
        self._lease = lease
        self._free = free
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
            await self._ask(("ready", None), START_S, "start")
            return await self._timed(("begin", self._episode))
        return await self._timed(("act", msgspec.to_builtins(action)))

    async def close(self) -> None:
        """Give the worker back. May be repeated."""
        if not self._closed:
            self._closed = True
            self._lease.give_back()
            self._free.release()

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
        future = asyncio.get_running_loop().run_in_executor(
            self._pool.threads, self._lease.ask, message
        )
        try:
            async with asyncio.timeout(limit_s):
                kind, answer = await asyncio.shield(future)
        except ChildEnded as error:
            raise Fault("connection", f"the environment ended: {error}") from None
        except BaseException as error:
            # What the worker is doing cannot be taken back: neither over a limit nor when this is
            # cancelled may another episode meet it.
            self._lease.end()
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()
            if isinstance(error, TimeoutError):
                raise Fault("timeout", f"no {what} within {limit_s:g} s") from None
            raise
        if kind == "fatal":
            self._lease.end()
            raise Fatal(answer)
        if kind == "failed":
            self._lease.end()
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
