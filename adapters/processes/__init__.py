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
how. `keeper` runs other programs, with all that they start, for as long as they are needed.
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
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from adapters.processes import child as program
from adapters.processes.child import BUFFER_BYTES, meaning, receive, send

_PIPE_BYTES = 1 << 20
"""The most that Linux grants by default."""
_ENDING_S = 5.0
"""Seconds that a child may take to exit after it closed its pipe."""
LONGEST_LINE = 256 << 20
"""Longest message of a child that is another program, in bytes."""


class ChildEnded(Exception):
    """A child process ended; the message has its exit status and last line of standard error."""


Entry = str | tuple[str, ...]
"""The program of a child: a function that it calls with `Receive` and `Send`, `module:function` or
`path.py:function` (a path loads the file without its package); or the command of another program.

That reads a line of JSON for every message and writes one for every answer, which is received as
bytes and never unpickled. When its standard input closes, it has to end, together with what it has
started.
"""


def available_cpus() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Child:
    """A child process. One thread may send while another receives."""

    def __init__(self, entry: Entry, *, environment: Mapping[str, str] | None = None) -> None:
        """Start the child and return at once. Raises OSError if the program is missing.

        `environment` has variables to set in the child in addition to those of this process.
        """
        self._speaks_json = isinstance(entry, tuple)
        if isinstance(entry, tuple):
            words, variables = list(entry), dict[str, str]()
        else:
            # -P: modules in the folder of the program must not hide others of the same name.
            words = [sys.executable, "-P", str(program.__file__), entry]
            paths = [path or str(Path.cwd()) for path in sys.path]
            variables = {"PYTHONPATH": os.pathsep.join(paths)}
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **variables, **(environment or {})},
            bufsize=BUFFER_BYTES,
            # Ctrl-C does not reach it, from its first instruction on. It gets no session of its
            # own, because Linux may share processor time by session and favour the children.
            process_group=0,
        )
        self._in = cast(BinaryIO, self._process.stdin)
        self._out = cast(BinaryIO, self._process.stdout)
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            # With the usual 64 kB a thread that sends a picture waits for the interpreter 25 times,
            # during which the child has nothing to do.
            for pipe in (self._in, self._out):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._lock = threading.Lock()
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
            if self._speaks_json:
                self._in.write(json.dumps(message).encode() + b"\n")
                self._in.flush()
            else:
                send(self._in, message)
        except OSError:
            raise self._ended() from None

    def receive(self) -> Any:
        """Wait for a message. Raises `ChildEnded`."""
        try:
            if not self._speaks_json:
                return receive(self._out)
            line = self._out.readline(LONGEST_LINE + 1)
        except (EOFError, OSError):
            raise self._ended() from None
        if line.endswith(b"\n"):
            return line[:-1]
        if len(line) > LONGEST_LINE:
            self.end()
            raise ChildEnded(f"a message of more than {LONGEST_LINE} bytes")
        raise self._ended()

    def end(self) -> None:
        """Kill the process and those of its group; a thread that is sending or receiving gets
        `ChildEnded`. May be repeated."""
        with self._lock:
            if not self._killed:
                self._killed = True
                # The group outlives its leader, so this comes before the leader is waited for.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Kill the process and close its pipes, which no thread may be using. May be repeated."""
        self.end()
        for stream in (self._in, self._out, self._errors):
            with suppress(OSError):  # Unsent questions have nowhere to go.
                stream.close()

    def _ended(self) -> ChildEnded:
        try:
            status = self._process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            self.end()
            status = self._process.wait()
        with self._lock:
            self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 4096))
            lines = self._errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ChildEnded(meaning(status) + (f" ({last[:300]})" if last else ""))


class Pool:
    """Children that are started when they are needed, and again after they have ended."""

    def __init__(
        self,
        entry: Entry,
        count: int,
        *,
        name: str,
        first: object = None,
        attempts: int = 1,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Create the pool; no child is started yet.

        Args:
            count: the number of children, and of `threads`.
            name: prefix of the names of the threads.
            first: sent to every child before any other message; the child does not answer it.
            attempts: number of children that may end over a message before `ask` gives up.
            environment: see `Child`.
        """
        self._start = partial(Child, entry, environment=environment)
        self._first, self._attempts = first, attempts
        self._closed = False
        self._lock = threading.Lock()  # guards starting and ending, never work
        self._children: set[Child] = set()
        # Last in, first out: a running child is preferred to starting another.
        self._idle: queue.LifoQueue[Child | None] = queue.LifoQueue()
        for _ in range(count):
            self._idle.put(None)
        self.threads = ThreadPoolExecutor(count, thread_name_prefix=name)

    @property
    def pids(self) -> tuple[int, ...]:
        """Ids of the running processes."""
        with self._lock:
            return tuple(child.pid for child in self._children if child.running)

    def ask(self, message: object) -> Any:
        """Send a message to an idle child and return its answer; blocks, so call it on `threads`.

        Raises `ChildEnded` if all attempts ended a child, or after `close`.
        """
        child = self._idle.get()
        try:
            for left in reversed(range(self._attempts)):
                try:
                    child = self._running(child)
                    child.send(message)
                    return child.receive()
                except ChildEnded:
                    if not left:
                        raise
        finally:
            self._idle.put(child)

    def _running(self, child: Child | None) -> Child:
        """Return a child that runs, a new one if this one has ended."""
        with self._lock:
            if self._closed:
                raise ChildEnded("the pool of processes is closed")
            if child is not None and child.running:
                return child
            if child is not None:
                child.close()
                self._children.discard(child)
            child = self._start()
            self._children.add(child)
        if self._first is not None:
            child.send(self._first)
        return child

    def end(self) -> None:
        """Kill the children, whatever they do; waiters for an answer get `ChildEnded`."""
        with self._lock:
            for child in self._children:
                child.end()

    def close(self) -> None:
        """Kill the children, and start no others. May be repeated."""
        self._closed = True
        self.end()
        self.threads.shutdown(wait=True)
        children, self._children = self._children, set()
        for child in children:
            child.close()
