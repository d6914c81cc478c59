"""Children that are watched while they work: those that answer questions, and other programs.

    exchange = Exchange(Child("package.module:serve"), job, who="the worker on cpu", lost=Fatal)
    ready = exchange.first.result()           # raises `Fatal` where the child says why not
    future = exchange.ask(question, lost=lambda reason: Fault("server", reason))

The child receives pairs of a number and a message. It answers each question with an `Answer` of its
number, in any order; the job is the first question, with the number 0. What it is told has no
number.

    program = Program(["/usr/bin/vllm", "serve", "..."], Path("server.log"))
    program.ended         # None while it runs, else how it ended
    program.stop(30.0)    # asks it to end, and kills what is left after 30 seconds
    program.close()

Between this process and a program stands a child that keeps it: when this process ends, however it
ends, so do the program and its own children, those in other process groups included. Where a keeper
is killed itself, the kernel kills the program, and this process the others of their group.
"""

from __future__ import annotations

import itertools
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.contract import Fatal
from adapters.processes import Child, ChildEnded, launcher
from adapters.processes.child import Receive, Send, descendants, end_descendants, meaning

Lost = Callable[[str], Any]
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question, or why nothing can be asked any more."""

    number: int
    result: Any
    fatal: str | None = None


class Exchange:
    """A child that answers questions. Two threads write to its pipe and read from it."""

    def __init__(
        self,
        child: Child,
        job: object,
        *,
        who: str,
        lost: Lost,
    ) -> None:
        """
        Args:
            child: the process; it is closed with the exchange.
            job: the first question, which has to be answered before any other is asked.
            who: the words for it in messages.
            lost: what becomes of the job if the child ends over it; see `ask`.
        """
        self._child = child
        self._who = who
        self._outbox: queue.SimpleQueue[tuple[int | None, object] | None] = queue.SimpleQueue()
        self._open: dict[int, tuple[Lost, Future[Any]]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._ended: str | None = None
        self._closed = False
        self._notices: list[str] = []
        self.first = self.ask(job, lost=lost)
        """The answer to the job."""
        self._threads = [
            threading.Thread(target=target, name=f"{name} {who}", daemon=True)
            for target, name in ((self._write, "to"), (self._read, "from"))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def ended(self) -> str | None:
        """Reason that the child no longer answers; None while it does."""
        return self._ended

    def ask(
        self,
        question: object,
        *,
        lost: Lost,
        unwanted: Callable[[int], object] | None = None,
    ) -> Future[Any]:
        """Ask a question. Returns at once.

        The future has the answer's result, or raises `Fatal`. If the child ends by itself, it has
        what `lost` makes of the reason, or raises it if that is an exception. If it is cancelled,
        the child is sent what `unwanted` makes of the number.
        """
        future: Future[Any] = Future()
        with self._lock:
            if self._ended is not None:
                self._lose(lost, future, self._ended)
                return future
            number = next(self._numbers)
            self._open[number] = lost, future
        self._outbox.put((number, question))
        if unwanted is not None:
            future.add_done_callback(
                lambda done: self.tell(unwanted(number)) if done.cancelled() else None
            )
        return future

    def tell(self, message: object) -> None:
        """Send a message that has no answer. Returns at once."""
        if self._ended is None:
            self._outbox.put((None, message))

    def note(self, notices: Sequence[str]) -> None:
        """Add to `notices`."""
        with self._lock:
            self._notices += notices

    def notices(self) -> list[str]:
        """Return notes since the last call, and why the child ended if it did by itself."""
        with self._lock:
            notices, self._notices = self._notices, []
            return notices

    def close(self, farewell: object = None, patience_s: float = 0.0) -> None:
        """End the child, in the middle of its work if need be. May be repeated.

        It is sent a `farewell` first, and killed if it has not ended after `patience_s` seconds.
        """
        if self._closed:
            return
        self._closed = True
        if farewell is not None:
            self._outbox.put((None, farewell))
            self._threads[1].join(patience_s)
        self._outbox.put(None)
        self._child.end()
        for thread in self._threads:
            thread.join()
        self._child.close()

    def _on_answer(self, answer: Answer) -> None:
        """Called with every answer before its future has a result."""

    def _write(self) -> None:
        try:
            while (message := self._outbox.get()) is not None:
                self._child.send(message)
        except ChildEnded:
            pass  # the reading thread finds out as well

    def _read(self) -> None:
        try:
            while True:
                self._take(self._child.receive())
        except ChildEnded as error:
            # What it has started and is in its group goes with it.
            self._child.end()
            self._end(str(error))

    def _take(self, answer: Answer) -> None:
        self._on_answer(answer)
        with self._lock:
            _, future = self._open.pop(answer.number)
        # A cancelled future has no waiter.
        if future.set_running_or_notify_cancel():
            if answer.fatal is not None:
                future.set_exception(Fatal(answer.fatal))
            else:
                future.set_result(answer.result)

    def _end(self, how: str) -> None:
        reason = f"{self._who} was closed" if self._closed else f"{self._who} ended: {how}"
        with self._lock:
            self._ended = reason
            open_ones, self._open = self._open, {}
            if not self._closed and self.first.done():
                self._notices.append(reason)
        for lost, future in open_ones.values():
            self._lose(lost, future, reason)
        self._outbox.put(None)

    def _lose(self, lost: Lost, future: Future[Any], reason: str) -> None:
        if not future.set_running_or_notify_cancel():
            return
        outcome = Fatal(reason) if self._closed else lost(reason)
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


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
        # The keeper's own environment is changed for it to find our packages.
        job = list(words), str(log.absolute()), dict(os.environ)
        self._keeper = Exchange(Child(f"{__name__}:keep"), job, who="its keeper", lost=str)
        told = threading.Thread(target=on_end, args=[self], name="program", daemon=True)
        self._keeper.first.add_done_callback(lambda end: told.start())

    @property
    def ended(self) -> str | None:
        """The end of the program, such as "exit status 1"; None while it runs."""
        end = self._keeper.first
        return str(end.result()) if end.done() else None

    def stop(self, grace_s: float) -> None:
        """Ask the whole group to end (SIGTERM), kill what is left after `grace_s`, and return when
        nothing is. May be repeated."""
        self._keeper.tell(grace_s)
        wait([self._keeper.first])

    def close(self) -> None:
        """End the program at once, unless it has ended, and its keeper."""
        self.stop(0.0)
        self._keeper.close()


def keep(receive: Receive, send: Send) -> None:
    """Run a program in a child process; see `adapters.processes`."""
    # A program inherits signals that are ignored, but no handlers.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    _adopt_orphans()
    number, (words, log, environment) = receive()
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

    def end() -> None:
        status = process.wait()
        while descendants() and time.monotonic() < ends_at[0]:
            time.sleep(_LOOK_S)
        end_descendants()
        send(Answer(number, meaning(status)))

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    _, grace_s = receive()
    ends_at[0] = time.monotonic() + grace_s
    _terminate(process)
    while descendants() and time.monotonic() < ends_at[0]:
        time.sleep(_LOOK_S)
    process.kill()
    ending.join()


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
