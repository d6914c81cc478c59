"""Adapters that answer many requests at a time."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from adapters.contract import (
    AdapterInfo,
    AskingSession,
    Fatal,
    Fault,
    Participant,
    PictureSource,
    Request,
)
from adapters.conversation import Reply

LINGER_S = 0.1
"""Seconds without a new request after which a batch is sent that is not full."""
PREPARING_S = 5.0
"""The same while a request is being prepared."""


class Prepared(Protocol):
    """A request that is ready for its batch."""

    @property
    def length(self) -> int:
        """Tokens of its prompt: requests of similar length share a batch."""


P = TypeVar("P", bound=Prepared)


@dataclass(slots=True, eq=False)
class _Waiting(Generic[P]):
    prepared: P
    reply: asyncio.Future[Reply]


class BatchAdapter(Participant, ABC, Generic[P]):
    """Base class of adapters whose `ask` gathers requests into batches.

    A subclass has `prepare`, `answer`, `notices` and `close`. One batch is answered at a time. The
    next one is gathered meanwhile: the request that has waited longest, and those closest to it in
    length. It is sent when it is full, or when nothing more seems to come.
    """

    def __init__(self, info: AdapterInfo, rows: int) -> None:
        """`rows` is the most requests in a batch; `info` is completed by what follows from it."""
        self.rows = rows
        # One batch is being answered and another prepared, so a call may wait for a whole batch.
        self._info = replace(info, concurrency=2 * rows, wait_s=math.inf)
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def info(self) -> AdapterInfo:
        return self._info

    @abstractmethod
    async def prepare(self, request: Request, pictures: PictureSource) -> P:
        """Prepare a request for its batch, ahead of it. Raises `Fault` or `Fatal`."""

    @abstractmethod
    async def answer(self, batch: Sequence[P]) -> Sequence[Reply | Fault]:
        """Answer a batch: one result per request, in order. Raises `Fatal`."""

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once, in a batch with what else is asked. Raises `Fault` or `Fatal`."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._waiting, self._preparing = loop, list[_Waiting[P]](), 0
            self._interruption, self._news = "", asyncio.Event()
            self._sending: asyncio.Task[None] | None = None
        self._preparing += 1
        try:
            prepared = await self.prepare(request, pictures)
        finally:
            self._preparing -= 1
            self._news.set()
        if self._interruption:
            raise Fault("connection", self._interruption)
        call = _Waiting(prepared, loop.create_future())
        self._waiting.append(call)
        if self._sending is None or self._sending.done():
            self._sending = loop.create_task(self._send())
        try:
            return await call.reply
        finally:
            if call in self._waiting:
                self._waiting.remove(call)

    async def open(self, session: AskingSession) -> None:
        # The state of an earlier session, its interruption above all, does not count any more.
        self._loop = None

    def interrupt(self, reason: str) -> None:
        """Make calls that wait for a batch raise `Fault`."""
        if self._loop is None:
            return
        self._interruption = reason
        while self._waiting:
            call = self._waiting.pop()
            if not call.reply.done():
                call.reply.set_exception(Fault("connection", reason))

    async def _send(self) -> None:
        """Send batches for as long as requests wait."""
        while self._waiting:
            await self._gathered()
            if not (batch := self._chosen()):
                return
            results: Sequence[Reply | BaseException]
            try:
                results = await self.answer([call.prepared for call in batch])
                if len(results) != len(batch):
                    raise Fatal(f"{len(results)} replies came for a batch of {len(batch)} requests")
            except Exception as error:
                results = [error] * len(batch)
            for call, result in zip(batch, results, strict=True):
                if call.reply.done():
                    continue
                if isinstance(result, BaseException):
                    call.reply.set_exception(result)
                else:
                    call.reply.set_result(result)

    async def _gathered(self) -> None:
        """Return once a batch is full, or nothing more seems to come for it."""
        while 0 < len(self._waiting) < self.rows:
            self._news.clear()
            try:
                async with asyncio.timeout(PREPARING_S if self._preparing else LINGER_S):
                    await self._news.wait()
            except TimeoutError:
                return

    def _chosen(self) -> list[_Waiting[P]]:
        """Take the calls of the next batch from those that wait."""
        first = next((call.prepared.length for call in self._waiting), 0)
        near = sorted(self._waiting, key=lambda call: abs(call.prepared.length - first))
        chosen = near[: self.rows]
        self._waiting = [call for call in self._waiting if call not in chosen]
        return chosen
