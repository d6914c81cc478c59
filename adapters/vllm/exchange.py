"""What this process and the one that has the engine tell each other, many calls at once.

The child (`serving.py`) receives pairs of a number and a message, and answers each question with an
`EngineAnswer` of its number, in any order. What has no answer has no number.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from adapters.contract import Fatal, PixelPicture
from adapters.conversation import Finish
from adapters.processes import Child, ChildEnded


@dataclass(frozen=True, slots=True)
class EngineReady:
    """The model is loaded."""

    context_tokens: int | None
    facts: dict[str, object]


@dataclass(frozen=True, slots=True)
class EngineReply:
    """One generated reply."""

    ids: tuple[int, ...]
    """Token ids, the stop id included."""
    finish: Finish
    prompt: int
    """Tokens of the prompt."""
    cached: int
    """Those of them that the engine had in its prefix cache."""
    seconds: float


@dataclass(frozen=True, slots=True)
class EnginePicture:
    """A picture, and what it is known by in the engine's caches."""

    uuid: str
    pixels: PixelPicture


@dataclass(frozen=True, slots=True)
class EngineCall:
    """A reply to generate; `sampling` are arguments of `SamplingParams`."""

    ids: tuple[int, ...]
    pictures: tuple[EnginePicture, ...]
    sampling: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Abort:
    """The reply to this call is no longer wanted."""

    number: int


@dataclass(frozen=True, slots=True)
class Stop:
    """End in good order."""


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """The answer to a question, or why nothing can be asked any more."""

    number: int
    result: Any
    fatal: str | None = None


class Exchange:
    """A child that answers questions. Two threads write to its pipe and read from it.

    ended: why the child no longer answers; None while it does.
    """

    def __init__(self, child: Child) -> None:
        self.ended: str | None = None
        self._child = child
        self._outbox: queue.SimpleQueue[tuple[int | None, object] | None] = queue.SimpleQueue()
        self._open: dict[int, tuple[str, Future[Any]]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._closed = self._told = False
        self._writer = threading.Thread(target=self._write, name="to vLLM", daemon=True)
        self._reader = threading.Thread(target=self._read, name="from vLLM", daemon=True)
        self._writer.start()
        self._reader.start()

    def ask(self, question: object, and_so: str) -> Future[Any]:
        """Ask a question. Returns at once.

        The future has the answer's result, or raises `Fatal`: with why the child has ended, and the
        words `and_so`, if it did so by itself. If it is cancelled, the child is told.
        """
        future: Future[Any] = Future()
        with self._lock:
            if self.ended is not None:
                future.set_exception(Fatal(self.ended + and_so))
                return future
            number = next(self._numbers)
            self._open[number] = and_so, future
        self._outbox.put((number, question))

        def done(future: Future[Any]) -> None:
            if future.cancelled():
                self._outbox.put((None, Abort(number)))

        future.add_done_callback(done)
        return future

    def notices(self) -> list[str]:
        """Return why the child ended, once, if it did by itself."""
        if self.ended is None or self._closed or self._told:
            return []
        self._told = True
        return [self.ended]

    def close(self, patience_s: float = 0.0) -> None:
        """Have the child stop, and kill it if it has not ended after `patience_s` seconds. May be
        repeated."""
        self._closed = True
        self._outbox.put((None, Stop()))
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
            # What it has started and is in its group goes with it.
            self._child.end()
            reason = "vLLM was closed" if self._closed else f"vLLM ended: {error}"
        with self._lock:
            self.ended = reason
            open_ones, self._open = self._open, {}
        for and_so, future in open_ones.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(Fatal(reason if self._closed else reason + and_so))
        self._outbox.put(None)

    def _take(self, answer: EngineAnswer) -> None:
        with self._lock:
            _, future = self._open.pop(answer.number)
        if not future.set_running_or_notify_cancel():
            return  # Nobody waits for a cancelled one.
        if answer.fatal is None:
            future.set_result(answer.result)
        else:
            future.set_exception(Fatal(answer.fatal))
