"""Adapters that answer many requests at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from adapters.contract import AdapterInfo, Dialogue, Fault, Participant, PictureSource, Request
from adapters.conversation import Reply
from adapters.local.gathering import BatchRules, Gatherer
from adapters.local.starvation import Starvation

__all__ = ["BatchAdapter", "BatchRules"]


class BatchAdapter(Participant):
    """Base class of adapters whose `ask` gathers requests into batches.

    A subclass has `ask_many`, `notices` and `close`, and `prepare` if requests take work on the CPU
    before their batch.

    rules: limits of its batches.
    """

    def __init__(self, info: AdapterInfo, rules: BatchRules) -> None:
        """Complete `info`: every request is taken when it is made, and may wait long."""
        self.rules = rules
        self._info = replace(info, concurrency=None, open_dialogues=rules.window, wait_s=math.inf)
        self._gatherer = Gatherer(self.ask_many, self.prepare, rules)

    @property
    def info(self) -> AdapterInfo:
        return self._info

    @property
    def starvation(self) -> Starvation:
        """Return how long the model waited for batches in this session."""
        return self._gatherer.starvation

    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        """Ask once, in a batch with what else is asked. Raises `Fault` or `Fatal`."""
        return await self._gatherer.ask(request, pictures)

    async def ask_many(
        self, requests: Sequence[Request], pictures: PictureSource
    ) -> list[Reply | Fault]:
        """Answer a batch: one result per request, in order. Raises `Fatal`."""
        raise NotImplementedError

    async def prepare(self, request: Request, pictures: PictureSource) -> int:
        """Prepare a request ahead of its batch and return the number of its tokens.

        Raises `Fault` or `Fatal`.
        """
        return 0

    def begun(self) -> None:
        self._gatherer.begun()

    def entered(self, dialogue: Dialogue) -> None:
        self._gatherer.entered(dialogue)

    def away(self, dialogue: Dialogue) -> None:
        self._gatherer.away(dialogue)

    def back(self, dialogue: Dialogue) -> None:
        self._gatherer.back(dialogue)

    def left(self, dialogue: Dialogue) -> None:
        self._gatherer.left(dialogue)

    def last(self) -> None:
        self._gatherer.last()

    def interrupt(self, reason: str) -> None:
        self._gatherer.interrupt(reason)

    def closing_line(self) -> str:
        return self.starvation.text if self.starvation.batches else ""
