"""A child process, as its parent has it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from adapters.processes import child as program
from adapters.processes.child import Reducers, meaning, receive, send, write

_PIPE_BYTES = 1 << 20
"""The most that Linux grants by default."""
_ENDING_S = 5.0
"""Seconds that a child may take to exit after it closed its pipe."""
_CHUNK = 1 << 20
LONGEST_LINE = 256 << 20
"""Longest message of a child that is another program, in bytes."""


class ChildEnded(Exception):
    """A child process ended; the message has its exit status and last line of standard error."""


@dataclass(frozen=True, slots=True)
class Command:
    """A child that is another program than this Python.

    It reads a line of JSON for every message and writes one for every answer, which is received as
    bytes and never unpickled. When its standard input closes, it has to end, together with what it
    has started.

    words: the command that starts it.
    """

    words: tuple[str, ...]


def available_cpus() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def python_path() -> dict[str, str]:
    """Return the variable by which another Python finds the same packages as this process."""
    paths = [path or str(Path.cwd()) for path in sys.path]
    return {"PYTHONPATH": os.pathsep.join(paths)}


class Child:
    """A child process. One thread may send while another receives."""

    def __init__(
        self,
        entry: str | Command,
        *,
        environment: Mapping[str, str] | None = None,
        reducers: Reducers | None = None,
    ) -> None:
        """Start the child and return at once. Raises OSError if the program is missing.

        Args:
            entry: the function that the child calls with `Receive` and `Send`, as `module:function`
                or `path.py:function`. A path loads the file without its package. Or a command.
            environment: variables to set in the child in addition to those of this process.
            reducers: how to pickle objects for the child that pickle does not handle well.
        """
        words, variables = _started(entry)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **variables, **(environment or {})},
            bufsize=0,
            # Ctrl-C does not reach it, from its first instruction on. It gets no session of its
            # own, because Linux may share processor time by session and favour the children.
            process_group=0,
        )
        self._in = cast(BinaryIO, self._process.stdin)
        self._out = cast(BinaryIO, self._process.stdout)
        for pipe in (self._in, self._out):
            _widen(pipe)
        self._lines = (
            io.BufferedReader(cast(io.RawIOBase, self._out), _CHUNK)
            if isinstance(entry, Command)
            else None
        )
        self._reducers = reducers
        self._lock = threading.Lock()
        self._ending = threading.Lock()
        self._killed = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def send(self, message: object) -> None:
        """Send a message. Raises `ChildEnded`."""
        try:
            if self._lines is None:
                send(self._in, message, self._reducers)
            else:
                write(self._in, memoryview(json.dumps(message).encode() + b"\n"))
        except OSError:
            raise self._ended() from None

    def receive(self) -> Any:
        """Wait for a message. Raises `ChildEnded`."""
        try:
            if self._lines is None:
                return receive(self._out)
            line = self._lines.readline(LONGEST_LINE + 1)
        except (EOFError, OSError):
            raise self._ended() from None
        if line.endswith(b"\n"):
            return line[:-1]
        if len(line) <= LONGEST_LINE:
            raise self._ended()
        self.end()
        raise ChildEnded(f"a message of more than {LONGEST_LINE} bytes")

    def end(self) -> None:
        """Kill the process and those of its group; a thread that is sending or receiving gets
        `ChildEnded`. May be repeated."""
        with self._ending:
            if not self._killed:
                self._killed = True
                # The group outlives its leader, so this comes before the leader is waited for.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Kill the process and close its pipes, which no thread may be using. May be repeated."""
        self.end()
        for stream in (self._in, self._lines or self._out, self._errors):
            stream.close()

    def _ended(self) -> ChildEnded:
        with self._lock:
            try:
                status = self._process.wait(_ENDING_S)
            except subprocess.TimeoutExpired:
                self.end()
                status = self._process.wait()
            return ChildEnded(f"{meaning(status)}{self._last_words()}")

    def _last_words(self) -> str:
        """Return the last line that the process wrote to standard error, in parentheses, or ""."""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - 4096))
        lines = self._errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f" ({last[:300]})" if last else ""


def _started(entry: str | Command) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts a child, and the variables that it needs."""
    if isinstance(entry, Command):
        return list(entry.words), {}
    # -P: modules in the folder of the program must not hide others of the same name.
    words = [sys.executable, "-P", str(program.__file__), entry]
    return words, python_path()


def _widen(pipe: BinaryIO) -> None:
    """Let a pipe hold a whole picture where the system allows it.

    With the usual 64 kB a thread that sends one waits for the interpreter 25 times, during which
    the child has nothing to do.
    """
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
