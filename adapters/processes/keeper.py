"""Programs that run for this process, and end with it.

    program = Program(["/usr/bin/vllm", "serve", "..."], Path("server.log"))
    program.ended         # None while it runs, else how it ended
    program.stop(30.0)    # asks it to end, and kills what is left after 30 seconds
    program.close()

Between this process and a program stands a child that keeps it: when this process ends, however it
ends, so do the program and its own children, those in other process groups included. Where a keeper
is killed itself, the kernel kills the program, and this process the others of their group.
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
    """A program that runs for this process in its own process group.

    ended: the end of the program, such as "exit status 1"; None while it runs.
    """

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
        self._over = threading.Event()
        self._lock = threading.Lock()  # two threads may stop it
        self._keeper = Child(f"{__name__}:keep")
        # The keeper's own environment is changed for it to find our packages.
        self._tell((list(words), str(log.absolute()), dict(os.environ)))
        threading.Thread(target=self._wait, args=[on_end], name="program", daemon=True).start()

    def stop(self, grace_s: float) -> None:
        """Ask the whole group to end (SIGTERM), kill what is left after `grace_s`, and return when
        nothing is. May be repeated."""
        if not self._over.is_set():
            self._tell(grace_s)
        self._over.wait()

    def close(self) -> None:
        """End the program at once, unless it has ended, and its keeper."""
        self.stop(0.0)
        self._keeper.close()

    def _tell(self, message: object) -> None:
        with self._lock, suppress(ChildEnded):  # `_wait` finds out as well.
            self._keeper.send(message)

    def _wait(self, on_end: Callable[[Program], None]) -> None:
        try:
            self.ended = str(self._keeper.receive())
        except ChildEnded as error:
            # Its children in the same group end with it.
            self._keeper.end()
            self.ended = f"its keeper ended: {error}"
        self._over.set()
        on_end(self)


def keep(receive: Receive, send: Send) -> None:
    """Run a program in a child process; see `adapters.processes`."""
    # A program inherits signals that are ignored, but no handlers.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    _adopt_orphans()
    words, log, environment = receive()
    ends_at = [0.0]
    with Path(log).open("ab") as out:
        # Started by the main thread: with its end, not with that of the process, the kernel kills
        # the program.
        process = subprocess.Popen(
            launcher.bound(*words),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
        )

    def outlast() -> None:
        while descendants() and time.monotonic() < ends_at[0]:
            time.sleep(_LOOK_S)

    def end() -> None:
        status = process.wait()
        outlast()
        end_descendants()
        send(meaning(status))

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    ends_at[0] = time.monotonic() + receive()
    # The group of this process, which has a handler itself.
    os.killpg(0, signal.SIGTERM) if os.getpgrp() == os.getpid() else process.terminate()
    outlast()
    process.kill()
    ending.join()


def _adopt_orphans() -> None:
    """Become the parent of processes below this one whose own parent has ended (on Linux)."""
    if sys.platform.startswith("linux"):
        import ctypes

        pr_set_child_subreaper = 36
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_child_subreaper, 1, 0, 0, 0)
