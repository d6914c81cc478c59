"""A cell's process: `vlm-eval run` with its options on standard input."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.processes import launcher, python_path
from harness.commands.config import STDIN
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


_LEAST = 1e-6
_STEPS = 10_000
"""Limits are whole hundredths of a cent, rounded down."""


@dataclass(frozen=True)
class Claim:
    """A cell's share of the money, in US dollars.

    spent: cost of its run so far, and the most that its calls at a provider may still cost.
    allotted: the most that a running one may cost in all; 0 for one that is not running.
    needs: its estimated cost from here on; 0 for one that will not be started any more.
    """

    spent: float = 0.0
    allotted: float = 0.0
    needs: float = 0.0

    @property
    def taken(self) -> float:
        return max(self.spent, self.allotted)


def limit_of(name: str, total: float, claims: Mapping[str, Claim]) -> float:
    """Return the most that a starting cell may cost in all, including its cost before.

    The part that is neither spent nor allotted is divided by the estimates of the cells still to be
    started: whatever they do, the cells never cost more than `total` together.

    >>> running = Claim(allotted=2)
    >>> claims = {"a": Claim(spent=4), "b": running, "c": Claim(1, 0, 6), "d": Claim(0, 0, 3)}
    >>> limit_of("c", 10, claims), limit_of("d", 10, claims)
    (3.0, 1.0)
    """
    free = max(0.0, total - math.fsum(claim.taken for claim in claims.values()))
    waiting = {key: max(claim.needs, _LEAST) for key, claim in claims.items() if not claim.allotted}
    waiting = {key: needs for key, needs in waiting.items() if claims[key].needs or key == name}
    share = free * waiting[name] / math.fsum(waiting.values())
    # Rounded down, but not for what a sum of floats may lack.
    return math.floor((claims[name].spent + share) * _STEPS + 1e-6) / _STEPS


COMMAND = ("-P", "-m", "harness", "run", "--config", STDIN)
"""-P: modules in the current folder must not hide others of the same name."""


class Child:
    """The process of a cell; what it prints goes to the end of a file."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    async def start(
        cls, options: Mapping[str, Any], log: Path, environment: Mapping[str, str]
    ) -> Child:
        """Start a run with these options, which may hold what no command line should show.

        `environment` is added to that of this process. When this process is killed, the run is
        interrupted, where the system offers that (Linux); elsewhere it goes on alone.
        """
        with log.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *launcher.bound(sys.executable, *COMMAND, number=signal.SIGINT),
                stdin=asyncio.subprocess.PIPE,
                stdout=output,
                stderr=output,
                env={**os.environ, **environment, **python_path()},
                # Ctrl-C reaches the sweep alone, which passes it on once.
                process_group=0,
            )
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.write(toml_text(options).encode())
            await process.stdin.drain()
        process.stdin.close()
        return cls(process)

    async def ended(self) -> int:
        """Wait for its exit status; negative where a signal ended it."""
        return await self._process.wait()

    def interrupt(self) -> None:
        """Ask it to finish the calls under way; the second time it does not wait for them."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End it and the processes of its group at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def toml_text(table: Mapping[str, Any]) -> str:
    """Return a table as TOML that reads back equal; values are those that `tomllib` returns.

    >>> print(toml_text({"model": 'a "b"', "role": {"planner": "c"}, "seed": 1, "split": ["x"]}))
    "model" = "a \\"b\\""
    "role" = {"planner" = "c"}
    "seed" = 1
    "split" = ["x"]
    """
    return "\n".join(f"{_text(key)} = {_written(value)}" for key, value in table.items())


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = (f"{_text(key)} = {_written(one)}" for key, one in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    # The escapes of JSON are among those of TOML, which wants one more.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
