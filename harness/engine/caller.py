"""Calls that are made in another way than one at a time."""

from __future__ import annotations

from typing import Protocol

from adapters.contract import Request
from adapters.conversation import Reply
from harness.engine.limits import Budget
from harness.engine.retries import Answered


class Caller(Protocol):
    """Hands calls of the model under test over, and has their replies when a dialogue is resumed.

    A call that was handed over parks its dialogue, which is played back later. While it is handed
    over, its highest cost is set aside (`Budget.hold`), and then its actual cost is booked
    (`Budget.release`), so the cost limit covers all calls.
    """

    def begin(self, budget: Budget) -> None:
        """Use the session's budget, and set aside the cost of calls that are handed over."""
        ...

    async def arrived(self, request: Request) -> Answered[Reply] | None:
        """Return the reply to a call with its cost; None if the call was not handed over.

        Raises `Parked` until the reply is there, and `GaveUp` after too many attempts.
        """
        ...

    async def hand_over(self, request: Request, tokens: int) -> None:
        """Hand over a call whose prompt has about so many tokens.

        Returns if the engine is to make the call itself. Raises `Parked` otherwise, and `Fatal`,
        `Stopped`, `RunError`.
        """
        ...
