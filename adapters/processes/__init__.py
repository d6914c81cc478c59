"""Child processes and the pipes that connect them with this process.

    with closing(Pool("package.module:serve", 4, name="rank")) as pool:
        answer = pool.ask(message)          # blocks; pool.threads has one thread per child

    def serve(receive, send):               # runs in the child
        while True:
            send(answer_to(receive()))

These are plain child processes rather than `multiprocessing`: nothing is forked from a process with
threads, and the user's main module is never imported again. A child exits when the pipe from its
parent closes, however the parent ended and even in the middle of its work, so it must not hold
anything that has to be saved. If a child ends by itself, the parent gets `ChildEnded`, which says
how.

    __init__.py   `Child`: a child, which one thread asks at a time; `Pool`: children that are
                  started when needed, and again when they have ended
    supervisor.py `Exchange`: a child that is asked many things at once; `Program`: another program,
                  with all that it starts, for as long as it is needed
    child.py      runs in a child
    launcher.py   becomes a program that ends with its parent
"""

from __future__ import annotations

import io
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from adapters.processes import child as program
from adapters.processes.child import meaning, receive, send, write

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
    ) -> None:
        """Start the child and return at once. Raises OSError if the program is missing.

        Args:
            entry: the function that the child calls with `Receive` and `Send`, as `module:function`
                or `path.py:function`. A path loads the file without its package. Or a command.
            environment: variables to set in the child in addition to those of this process.
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
                send(self._in, message)
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


class Pool:
    """Children that are started when they are needed, and again after they have ended."""

    def __init__(
        self,
        entry: str | Command,
        count: int,
        *,
        name: str,
        first: object = None,
        attempts: int = 1,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Create the pool; no child is started yet.

        Args:
            entry: see `Child`.
            count: the number of children, and of `threads`.
            name: prefix of the names of the threads.
            first: sent to every child before any other message; the child does not answer it.
            attempts: number of children that may end over a message before `ask` gives up.
            environment: see `Child`.
        """
        if count < 1:
            raise ValueError(f"a pool needs at least one child; got {count}")
        self._entry = entry
        self._first = first
        self._attempts = attempts
        self._environment = environment
        self._closed = False
        self._lock = threading.Lock()  # guards starting and ending, never work
        self._leases = [Lease(self) for _ in range(count)]
        # Last in, first out: a running child is preferred to starting another.
        self._idle: queue.LifoQueue[Lease] = queue.LifoQueue()
        for lease in self._leases:
            lease.give_back()
        self.threads = ThreadPoolExecutor(count, thread_name_prefix=name)

    @property
    def pids(self) -> tuple[int, ...]:
        """Ids of the running processes."""
        with self._lock:
            children = [lease._child for lease in self._leases]
            return tuple(child.pid for child in children if child and child.running)

    def ask(self, message: object) -> Any:
        """Send a message to an idle child and return its answer; blocks, so call it on `threads`.

        Raises `ChildEnded` if all attempts ended a child, or after `close`.
        """
        lease = self.lend()
        try:
            for _ in range(self._attempts - 1):
                try:
                    return lease.ask(message)
                except ChildEnded:
                    pass
            return lease.ask(message)
        finally:
            lease.give_back()

    def lend(self) -> Lease:
        """Lend a child for several messages; blocks until one is idle."""
        return self._idle.get()

    def close(self) -> None:
        """Kill the children, whether they are busy or not. May be repeated."""
        self._closed = True
        for lease in self._leases:
            lease.end()
        self.threads.shutdown(wait=True)
        for lease in self._leases:
            lease._forget()


class Lease:
    """A child of a pool that belongs to one user until it is given back."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._child: Child | None = None

    def ask(self, message: object) -> Any:
        """Send a message and return the answer; blocks.

        Raises `ChildEnded` if that ended the child, or after the pool was closed. The next message
        is sent to a new one.
        """
        try:
            child = self._running()
            child.send(message)
            return child.receive()
        except ChildEnded:
            self._forget()
            raise

    def end(self) -> None:
        """Kill the child, whatever it is doing; waiters for its answer get `ChildEnded`."""
        with self._pool._lock:
            if self._child is not None:
                self._child.end()

    def give_back(self) -> None:
        """Lend the child to others. Nothing may be done with the lease afterwards."""
        self._pool._idle.put(self)

    def _running(self) -> Child:
        pool = self._pool
        with pool._lock:
            if pool._closed:
                raise ChildEnded("the pool of processes is closed")
            if self._child is not None and not self._child.running:
                self._child.close()
                self._child = None
            if self._child is None:
                self._child = Child(pool._entry, environment=pool._environment)
                if pool._first is not None:
                    self._child.send(pool._first)
            return self._child

    def _forget(self) -> None:
        with self._pool._lock:
            if self._child is not None:
                self._child.close()
                self._child = None


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
