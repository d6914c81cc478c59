"""Where calls queue up for the model. There are two: one by one (`_gate`) and in batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from adapters.contract import Request
from adapters.conversation import Reply


@dataclass(slots=True, eq=False)
class Seat:
    """A dialogue as the lanes know it. Lower numbers were opened earlier and go first.

    `held` counts the slots that the dialogue's replies came through and that stay its own until it
    asks again or ends. So its next round needs not wait behind newcomers, and a reply counts as
    under way until it is on record. A dialogue with calls `waiting` for a slot holds none: it may
    ask more at a time than there are slots.
    """

    number: int
    step_id: str
    held: int = 0
    waiting: int = 0


class Lane(Protocol):
    """Sends calls, earlier dialogues first, as many as limiter and budget allow."""

    def enter(self, seat: Seat) -> None:
        """A dialogue was opened."""

    async def submit(self, seat: Seat, request: Request, upper: float) -> Reply:
        """Send when it is the call's turn. Raises `Fault`, `Fatal`, `Stopped`."""
        ...

    def leave(self, seat: Seat) -> None:
        """The dialogue is over."""

    def last(self) -> None:
        """No further dialogue is going to be opened."""

    async def work(self) -> None:
        """Whatever must run beside the dialogues; cancelled in the end."""
