"""Runs another program for as long as this process wants it, and ends all that it has started.

    program = Program(["/usr/bin/vllm", "serve", "..."], Path("server.log"))
    program.ended         # None while it runs, else how it ended
    program.stop(30.0)    # asks it to end, and kills what is left after 30 seconds
    program.close()

Between this process and the program stands a child of `adapters.processes` that keeps it: when this
process ends, however it ends, so do the program and its own children, those in other process groups
included. Where a keeper is killed itself, the kernel kills the program, and `close` the others.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from adapters.processes import Child, ChildEnded, launcher
from adapters.processes.child import Receive, Send, descendants, end_descendants, meaning

_LOOK_S = 0.05


class Program:
    """A program that runs for this process in its own process group."""

    def __init__(
        self,
        words: Sequence[str],
        log: Path,
        on_end: Callable[[Program], None] = lambda program: None,
    ) -> None:
        """Start the program and return at once.

        Args:
            words: the path of the program, and its arguments.
            log: file to which its output is appended.
            on_end: called in a thread, after the program and all that it had started have ended.
        """
        self.ended: str | None = None
        """The end of the program, such as "exit status 1"; None while it runs."""
        self._on_end = on_end
        self._child = Child(f"{__name__}:keep")
        self._thread = threading.Thread(target=self._wait, name="program", daemon=True)
        with suppress(ChildEnded):  # The thread tells it.
            # The keeper's own environment is changed for it to find our packages.
            self._child.send((list(words), str(log.absolute()), dict(os.environ)))
        self._thread.start()

    def stop(self, grace_s: float) -> None:
        """Ask the whole group to end (SIGTERM), kill what is left after `grace_s`, and return when
        nothing is. May be repeated."""
        with suppress(ChildEnded, ValueError):  # It has ended, or was closed.
            self._child.send(grace_s)
        # In `on_end` nothing is left to wait for.
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def close(self) -> None:
        """End the program at once, unless it has ended, and its keeper."""
        self.stop(0.0)
        self._child.close()

    def _wait(self) -> None:
        try:
            self.ended = str(self._child.receive())
        except ChildEnded as error:
            self._child.end()
            self.ended = f"its keeper ended: {error}"
        self._on_end(self)


def keep(receive: Receive, send: Send) -> None:
    """Run a program in a child process; see `adapters.processes`."""
    # A program inherits signals that are ignored, but no handlers.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    _adopt_orphans()
    words, log, environment = receive()
    ends_at = [0.0]
    with Path(log).open("ab") as out:
        # Started by the main thread: with its end, not with that of the process, comes the signal
        # that the launcher asks for.
        process = subprocess.Popen(
            launcher.bound(*words),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
        )

    def wait() -> None:
        status = process.wait()
        while descendants() and time.monotonic() < ends_at[0]:
            time.sleep(_LOOK_S)
        end_descendants()
        send(meaning(status))

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    ends_at[0] = time.monotonic() + receive()
    _terminate(process)
    while descendants() and time.monotonic() < ends_at[0]:
        time.sleep(_LOOK_S)
    process.kill()
    waiting.join()


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Ask the group of this process to end; it has a handler itself."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGTERM)
    else:
        process.terminate()


def _adopt_orphans() -> None:
    """Become the parent of processes below this one whose own parent has ended (on Linux)."""
    if sys.platform.startswith("linux"):
        import ctypes

        pr_set_child_subreaper = 36
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_child_subreaper, 1, 0, 0, 0)
