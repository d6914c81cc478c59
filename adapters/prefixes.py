"""Prefixes of conversations that this process wrote to a provider's prompt cache.

If writing costs extra, a prefix is marked in the first round only if a second round will read it,
and in the second only if this process wrote it and it has not expired: after a resumed first round
the mark would pay for a write that is never read.
"""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic

from adapters.contract import Request
from adapters.conversation import Conversation


class Prefixes:
    """Remembers written prefixes for as long as the provider keeps them (`life_s`)."""

    def __init__(self, life_s: float, most: int = 4096) -> None:
        self._life_s = life_s
        self._most = most
        self._written: OrderedDict[str, float] = OrderedDict()

    def marks(self, request: Request) -> set[int]:
        """Return the indexes of the messages whose end is to be marked."""
        conversation = request.conversation
        marks: set[int] = set()
        if conversation.earlier is not None and self._alive(conversation.earlier):
            marks.add(len(conversation.earlier.messages) - 1)
        if request.continues:
            marks.add(len(conversation.messages) - 1)
        return marks

    def wrote(self, conversation: Conversation) -> None:
        """Note that the conversation was sent with its end marked."""
        self._written[conversation.digest()] = monotonic()
        while len(self._written) > self._most:
            self._written.popitem(last=False)

    def _alive(self, conversation: Conversation) -> bool:
        written = self._written.get(conversation.digest())
        return written is not None and monotonic() - written < self._life_s
