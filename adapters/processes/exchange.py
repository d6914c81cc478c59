"""Questions to a child process and its answers, which may come in any order.

    exchange = Exchange(Child("package.module:serve"), job, who="the worker on cpu")
    ready = exchange.ready.result()           # raises `Fatal` where the child says why not
    future = exchange.ask(question, lost=lambda reason: Fault("server", reason))

The child receives pairs of a number and a message. It answers each question with an `Answer` of its
number; the job is the first question, with the number 0. What it is told has no number.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from adapters.contract import Fatal
from adapters.processes import Child, ChildEnded

Lost = Callable[[str], Any]


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
        heard: Callable[[Any], None] = lambda answer: None,
    ) -> None:
        """
        Args:
            child: the process; it is closed with the exchange.
            job: the first question, which has to be answered before any other is asked.
            who: the words for it in messages.
            heard: called with every answer before its future has a result.
        """
        self._child = child
        self._who = who
        self._heard = heard
        self._outbox: queue.SimpleQueue[tuple[int | None, object] | None] = queue.SimpleQueue()
        self._open: dict[int, tuple[Lost, Future[Any]]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._ended: str | None = None
        self._closed = False
        self._notices: list[str] = []
        self.ready = self.ask(
            job, lost=lambda why: Fatal(f"{why} while the model was being loaded")
        )
        """The answer to the job; raises `Fatal`."""
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
            self._end(str(error))

    def _take(self, answer: Answer) -> None:
        self._heard(answer)
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
            if not self._closed and self.ready.done():
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
