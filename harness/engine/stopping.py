"""Ends a session: the reasons, the signal to all waiting tasks, Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from adapters.contract import Fatal, FaultKind
from harness.runs import RunError

_SAME_REQUEST_S = 0.5


class Stopped(Exception):
    """The session ended before the last step; everything so far is on record.

    Starting the same run again continues from there.
    """


class CostLimitReached(Stopped):
    """The next call might have exceeded the cost limit."""


class TooManyFailures(Stopped):
    """Call after call failed for good; trying the rest is pointless."""


class NoAnswers(Stopped):
    """Units end without an answer for reasons that lie with the deployment, not the model."""


class ProtocolError(Exception):
    """A protocol raised, or yielded something it must not. The message names the step."""


class ReplayMismatch(ProtocolError):
    """A replayed dialogue asked something other than what is on record."""


class Parked(Exception):
    """The reply to a call comes later: its dialogue is closed, and played back another time."""


class GaveUp(Exception):
    """A call got no reply in any attempt; its step stays unsettled."""

    def __init__(self, kind: FaultKind, attempts: int, message: str) -> None:
        tries = "1 try" if attempts == 1 else f"{attempts} tries"
        super().__init__(f"{kind} after {tries}: {message}")
        self.kind = kind


class ActFailed(GaveUp):
    """An environment was gone, which is never the model's failure."""


def most_severe(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the exception of a group to raise: what ends a run before what ends a step."""
    return max(_leaves(group), key=_severity)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _severity(error: BaseException) -> int:
    for rank, kind in enumerate((Parked, GaveUp, Stopped, Fatal, RunError, ProtocolError)):
        if isinstance(error, kind):
            return rank
    return 9


@dataclass(slots=True, eq=False)
class Halt:
    """True if the session is ending, and why. Set once."""

    reason: Stopped | None = None
    _event: asyncio.Event = field(default_factory=asyncio.Event)
    _listeners: list[Callable[[Stopped], None]] = field(default_factory=list)

    def subscribe(self, callback: Callable[[Stopped], None]) -> None:
        """Call `callback` with the reason when the halt is set."""
        self._listeners.append(callback)

    def set(self, reason: Stopped) -> None:
        """End the session: send no further call, wait for those in flight."""
        if self.reason is None:
            self.reason = reason
            self._event.set()
            for callback in self._listeners:
                callback(reason)

    def check(self) -> None:
        """Raise `Stopped` if the halt is set."""
        if self.reason:
            # A new exception each time: one raised by many tasks would collect their tracebacks.
            raise type(self.reason)(*self.reason.args)

    async def sleep(self, seconds: float) -> None:
        """Sleep, but raise `Stopped` as soon as the halt is set."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return
        self.check()


@dataclass(slots=True, eq=False)
class FailuresInARow:
    """Ends the session after `most` failures without a success in between.

    what: what fails, in the plural.
    """

    what: str
    most: int
    halt: Halt
    count: int = 0

    def add(self, failure: GaveUp) -> None:
        self.count += 1
        if self.count >= self.most:
            self.halt.set(TooManyFailures(f"{self.count} {self.what} in a row failed: {failure}"))


class _Sessions:
    """The sessions of an event loop, which one request stops together."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.stops: list[Callable[[], None]] = []
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._first_at: float | None = None
        self.before: dict[int, Any] = {}

    def watch(self) -> None:
        """Take signals, in the main thread; others never get any."""
        if threading.current_thread() is not threading.main_thread():
            return
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        left_alone = signal.SIG_IGN, None
        self.before = {n: one for n, one in handlers.items() if one not in left_alone}
        for number in self.before:
            signal.signal(number, self._caught)

    def _caught(self, number: int, frame: FrameType | None) -> None:
        now = self._clock()
        if self._first_at is None:
            self._first_at = now
            self._loop.call_soon_threadsafe(interrupt)
        elif now - self._first_at < _SAME_REQUEST_S:
            return
        elif signal.SIGINT in self.before:
            signal.signal(signal.SIGINT, self.before[signal.SIGINT])
            signal.raise_signal(signal.SIGINT)
        else:
            raise KeyboardInterrupt


_sessions: dict[asyncio.AbstractEventLoop, _Sessions] = {}


def interrupt() -> bool:
    """Stop the sessions of the running loop; False if there are none."""
    sessions = _sessions.get(asyncio.get_running_loop())
    for stop in list(sessions.stops) if sessions else []:
        stop()
    return sessions is not None


@contextmanager
def on_interrupt(
    stop: Callable[[], None], clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Within the block, make `interrupt` and the first Ctrl-C or SIGTERM call `stop`.

    Sessions may be side by side in a loop: each has a block, and one request stops all of them.
    The next signal, of either kind, has the usual effect of Ctrl-C: asyncio cancels the main task.
    What comes within half a second of the first is the same request: a terminal signals a whole
    group of processes, of which some pass it on, and the kernel signals the end of a parent once
    for each of its threads.
    A signal that is ignored stays so: shells ignore Ctrl-C for programs in the background.

    Use it in a coroutine. Signals arrive in the main thread only.
    """
    loop = asyncio.get_running_loop()
    sessions = _sessions.get(loop)
    if sessions is None:
        sessions = _sessions[loop] = _Sessions(clock)
        sessions.watch()
    sessions.stops.append(stop)
    try:
        yield
    finally:
        sessions.stops.remove(stop)
        if not sessions.stops:
            del _sessions[loop]
            for number, handler in sessions.before.items():
                signal.signal(number, handler)
