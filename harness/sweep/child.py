"""A cell's process: `vlm-eval run` with its options on standard input."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.processes import launcher, python_path
from harness.commands.options import STDIN

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
