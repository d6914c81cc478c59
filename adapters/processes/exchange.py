"""Children that answer many questions at once.

    exchange = Exchange(Child("package.module:serve"), job, who="the worker on cpu", lost=Fatal)
    ready = exchange.first.result()           # raises `Fatal` where the child says why not
    future = exchange.ask(question, lost=lambda reason: Fault("server", reason))

The child receives pairs of a number and a message. It answers each question with an `Answer` of its
number, in any order; the job is the first question, with the number 0. What it is told has no
number.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable
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
    """A child that answers questions. Two threads write to its pipe and read from it.

    first: the answer to the job.
    ended: why the child no longer answers; None while it does.
    """

    def __init__(self, child: Child, job: object, *, who: str, lost: Lost) -> None:
        """Send the job, which has to be answered before any other question is asked.

        `who` are the words for the child in messages; `lost` is as of `ask`.
        """
        self.ended: str | None = None
        self._child, self._who = child, who
        self._outbox: queue.SimpleQueue[tuple[int | None, object] | None] = queue.SimpleQueue()
        self._open: dict[int, tuple[Lost, Future[Any]]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._closed = False
        self._notices: list[str] = []
        self.first = self.ask(job, lost=lost)
        self._writer = threading.Thread(target=self._write, name=f"to {who}", daemon=True)
        self._reader = threading.Thread(target=self._read, name=f"from {who}", daemon=True)
        self._writer.start()
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    def ask(
        self, question: object, *, lost: Lost, unwanted: Callable[[int], object] | None = None
    ) -> Future[Any]:
        """Ask a question. Returns at once.

        The future has the answer's result, or raises `Fatal`. If the child ends by itself, it has
        what `lost` makes of the reason, or raises it if that is an exception. If it is cancelled,
        the child is sent what `unwanted` makes of the number.
        """
        future: Future[Any] = Future()
        with self._lock:
            if self.ended is not None:
                self._lose(lost, future, self.ended)
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
        self._outbox.put((None, message))

    def notices(self) -> list[str]:
        """Return why the child ended, once, if it did by itself after its job."""
        with self._lock:
            notices, self._notices = self._notices, []
            return notices

    def close(self, farewell: object = None, patience_s: float = 0.0) -> None:
        """End the child, in the middle of its work if need be. May be repeated.

        It is sent a `farewell` first, and killed if it has not ended after `patience_s` seconds.
        """
        self._closed = True
        if farewell is not None:
            self.tell(farewell)
            self._reader.join(patience_s)
        self._outbox.put(None)
        self._child.end()
        self._writer.join()
        self._reader.join()
        self._child.close()

    def _write(self) -> None:
        try:
            while (message := self._outbox.get()) is not None:
                self._child.send(message)
        except ChildEnded:
            pass  # The reading thread finds out as well.

    def _read(self) -> None:
        try:
            while True:
                self._take(self._child.receive())
        except ChildEnded as error:
            # Its children in the same group end with it.
            self._child.end()
            reason = f"{self._who} {'was closed' if self._closed else f'ended: {error}'}"
        with self._lock:
            self.ended = reason
            open_ones, self._open = self._open, {}
            if not self._closed and self.first.done():
                self._notices.append(reason)
        for lost, future in open_ones.values():
            self._lose(lost, future, reason)
        self._outbox.put(None)

    def _take(self, answer: Answer) -> None:
        with self._lock:
            _, future = self._open.pop(answer.number)
        if not future.set_running_or_notify_cancel():
            return  # No one waits for a cancelled one.
        if answer.fatal is None:
            future.set_result(answer.result)
        else:
            future.set_exception(Fatal(answer.fatal))

    def _lose(self, lost: Lost, future: Future[Any], reason: str) -> None:
        if not future.set_running_or_notify_cancel():
            return
        outcome = Fatal(reason) if self._closed else lost(reason)
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
