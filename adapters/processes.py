"""Child processes and the pipes that connect them with this process.

    with Pool("package.module:serve", 4, name="rank") as pool:
        answer = pool.ask(message)          # blocks; pool.threads has one thread per child

    def serve(receive, send):               # runs in the child
        while True:
            send(answer_to(receive()))

These are plain child processes rather than `multiprocessing`: nothing is forked from a process with
threads, and the user's main module is never imported again. A child exits when the pipe from its
parent closes, however the parent ended and even in the middle of its work, so it must not hold
anything that has to be saved. If a child ends by itself, the parent gets `ChildEnded`, which says
how.
"""

from __future__ import annotations

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
from types import TracebackType
from typing import IO, Any, BinaryIO, Self, cast

from adapters import child as program
from adapters.child import Reducers, meaning, receive, send, write

_PIPE_BYTES = 1 << 20
"""The most that Linux lets anybody ask for, unless it was told otherwise."""
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
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Child:
    """A child process. One thread may send while another receives."""

    def __init__(
        self,
        entry: str | Command,
        *,
        environment: Mapping[str, str] | None = None,
        reducers: Reducers | None = None,
    ) -> None:
        """Start the child and return at once. Raises OSError if there is no such program.

        Args:
            entry: the function that the child calls with `Receive` and `Send`, as `module:function`
                or `path.py:function`. A path loads the file without its package. Or a command.
            environment: variables to set in the child in addition to those of this process.
            reducers: how to pickle objects for the child that pickle does not handle well.
        """
        self._lines = _Lines() if isinstance(entry, Command) else None
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
        for pipe in (self._process.stdin, self._process.stdout):
            _widen(cast(BinaryIO, pipe))
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
        stream = cast(BinaryIO, self._process.stdin)
        try:
            if self._lines is None:
                send(stream, message, self._reducers)
            else:
                write(stream, memoryview(json.dumps(message).encode() + b"\n"))
        except OSError:
            raise self._ended() from None

    def receive(self) -> Any:
        """Wait for a message. Raises `ChildEnded`."""
        stream = cast(BinaryIO, self._process.stdout)
        try:
            return receive(stream) if self._lines is None else self._lines.next(stream)
        except (EOFError, OSError):
            raise self._ended() from None
        except _TooLong:
            self.end()
            raise ChildEnded(f"a message of more than {LONGEST_LINE} bytes") from None

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
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            cast(BinaryIO, stream).close()

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
    """A fixed number of children that each answer one message at a time, started when needed."""

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
        self._children: list[Child | None] = [None] * count
        # Last in, first out, so that a running child is preferred to starting another.
        self._idle: queue.LifoQueue[int] = queue.LifoQueue()
        for place in range(count):
            self._idle.put(place)
        self._closed = False
        self._lock = threading.Lock()  # guards starting and ending; never held during work
        self.threads = ThreadPoolExecutor(count, thread_name_prefix=name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """Ids of the running processes."""
        with self._lock:
            return tuple(child.pid for child in self._children if child and child.running)

    def ask(self, message: object) -> Any:
        """Send a message to an idle child and return its answer; blocks, so call it on `threads`.

        Raises `ChildEnded` if all attempts ended a child, or after `close`.
        """
        lease = self.lend()
        try:
            for attempt in range(1, self._attempts + 1):
                try:
                    return lease.ask(message)
                except ChildEnded:
                    if attempt == self._attempts:
                        raise
        finally:
            lease.give_back()

    def lend(self) -> Lease:
        """Lend a child for several messages; blocks until one is idle."""
        return Lease(self, self._idle.get())

    def close(self) -> None:
        """Kill the children, whether they are busy or not. May be repeated."""
        with self._lock:
            self._closed = True
            for child in self._children:
                if child is not None:
                    child.end()
        self.threads.shutdown(wait=True)
        for place, child in enumerate(self._children):
            self._forget(place, child)

    def _child(self, place: int) -> Child:
        with self._lock:
            if self._closed:
                raise ChildEnded("the pool of processes is closed")
            child = self._children[place]
            if child is not None and not child.running:
                child.close()
                child = None
            if child is None:
                child = self._children[place] = Child(self._entry, environment=self._environment)
                if self._first is not None:
                    child.send(self._first)
            return child

    def _end(self, place: int) -> None:
        with self._lock:
            child = self._children[place]
            if child is not None:
                child.end()

    def _forget(self, place: int, child: Child | None) -> None:
        with self._lock:
            if child is not None and self._children[place] is child:
                self._children[place] = None
                child.close()


class Lease:
    """A child of a pool that belongs to one user until it is given back."""

    def __init__(self, pool: Pool, place: int) -> None:
        self._pool = pool
        self._place = place

    def ask(self, message: object) -> Any:
        """Send a message and return the answer; blocks.

        Raises `ChildEnded` if that ended the child, or after the pool was closed. The next message
        is sent to a new one.
        """
        child: Child | None = None
        try:
            child = self._pool._child(self._place)
            child.send(message)
            return child.receive()
        except ChildEnded:
            self._pool._forget(self._place, child)
            raise

    def end(self) -> None:
        """Kill the child, whatever it is doing; whoever waits for its answer gets `ChildEnded`."""
        self._pool._end(self._place)

    def give_back(self) -> None:
        """Lend the child to others. Nothing may be done with the lease afterwards."""
        self._pool._idle.put(self._place)


class _TooLong(Exception):
    pass


class _Lines:
    """The lines of a stream, without their ends."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def next(self, stream: BinaryIO) -> bytes:
        """Wait for the next line. Raises EOFError, OSError, `_TooLong`."""
        looked = 0
        while (end := self._rest.find(b"\n", looked)) < 0:
            looked = len(self._rest)
            if looked > LONGEST_LINE:
                raise _TooLong
            read = stream.read(_CHUNK)
            if not read:
                raise EOFError
            self._rest += read
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return line


def _started(entry: str | Command) -> tuple[list[str], dict[str, str]]:
    """The command that starts a child, and the variables that it needs."""
    if isinstance(entry, Command):
        return list(entry.words), {}
    # The child finds the same packages as this process, wherever they are installed.
    paths = [path or str(Path.cwd()) for path in sys.path]
    # -P: modules in the folder of the program must not hide others of the same name.
    words = [sys.executable, "-P", str(program.__file__), entry]
    return words, {"PYTHONPATH": os.pathsep.join(paths)}


def _widen(pipe: BinaryIO) -> None:
    """Let a pipe hold a whole picture where the system allows it.

    With the usual 64 kB a thread that sends one waits for the interpreter 25 times, during which
    the child has nothing to do.
    """
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
