"""Who came in one batch and goes on together.

The replies of a batch were made with one block of kept keys and values. The calls that build on
them are worth most in one batch again, so they are waited for: as long as their dialogues are busy
with the reply (recording, reading), not when they ended, asked something else, or wait for other
calls of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from adapters.contract import Request
from adapters.conversation import Conversation
from harness.engine._lanes import Seat


@dataclass(slots=True, eq=False)
class Member:
    """A reply that may be built on: whose, in which of the dialogue's turns, from which row."""

    cohort: Cohort
    dialogue: Dialogue
    turn: int
    conversation: Conversation
    row: int


@dataclass(slots=True, eq=False)
class Dialogue:
    """An open dialogue. `calls` are in the lane; a turn begins when there were none before.

    Without calls in the lane a dialogue is on the move, `since` then.
    """

    since: float
    calls: int = 0
    turn: int = 0
    members: list[Member] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Cohort:
    """The rows of one batch: replies not built on so far, and those whose next call is being
    prepared, with the times since when."""

    members: dict[int, Member] = field(default_factory=dict)
    coming: dict[Member, float] = field(default_factory=dict)


class Cohorts:
    """All open dialogues, and the cohorts that still have somebody. Times are in seconds."""

    def __init__(self) -> None:
        self._dialogues: dict[Seat, Dialogue] = {}
        self._members: dict[int, Member] = {}
        self._cohorts: dict[Cohort, None] = {}
        self.moving = 0

    def __len__(self) -> int:
        """The number of open dialogues."""
        return len(self._dialogues)

    def __iter__(self) -> Iterator[Cohort]:
        """Cohorts, those answered first before others."""
        return iter(self._cohorts)

    def enter(self, seat: Seat, now: float) -> None:
        """A dialogue was opened."""
        if seat not in self._dialogues:
            self._dialogues[seat] = Dialogue(now)
            self.moving += 1

    def leave(self, seat: Seat) -> None:
        """A dialogue is over."""
        dialogue = self._dialogues.pop(seat, None)
        if dialogue is None:
            return
        self.moving -= not dialogue.calls
        for member in dialogue.members:
            self._forget(member)

    def begin(self, seat: Seat, request: Request, now: float) -> Member | None:
        """A call enters the lane; what it builds on, if that came in one of these cohorts."""
        self.enter(seat, now)
        dialogue = self._dialogues[seat]
        if not dialogue.calls:
            dialogue.turn += 1
            self.moving -= 1
        dialogue.calls += 1
        earlier = request.conversation.earlier
        member = self._members.get(id(earlier))
        if member is None or member.conversation is not earlier:
            return None
        member.cohort.coming[member] = now
        self._forget(member)
        dialogue.members.remove(member)
        return member

    def end(self, seat: Seat, now: float) -> None:
        """A call left the lane: answered, failed or given up."""
        dialogue = self._dialogues.get(seat)
        if dialogue is None:
            return
        dialogue.calls -= 1
        if not dialogue.calls:
            dialogue.since = now
            self.moving += 1

    def answered(self, batch: Iterable[tuple[Seat, Request]]) -> None:
        """Requests whose replies came in one batch; those that will be built on form a cohort.

        To be called before `end`.
        """
        cohort = Cohort()
        for row, (seat, request) in enumerate(batch):
            dialogue = self._dialogues.get(seat)
            if dialogue is None or not request.continues:
                continue
            member = Member(cohort, dialogue, dialogue.turn, request.conversation, row)
            key = id(request.conversation)
            cohort.members[key] = self._members[key] = member
            dialogue.members.append(member)
        if cohort.members:
            self._cohorts[cohort] = None

    def arrived(self, member: Member) -> None:
        """The call that builds on this reply is prepared, or is not going to be."""
        member.cohort.coming.pop(member, None)
        self._tidy(member.cohort)

    def awaited(self, cohort: Cohort) -> float | None:
        """Since when the cohort waits for the last of those who are on their way to it; None when
        nobody is."""
        since = [
            member.dialogue.since
            for member in cohort.members.values()
            if not member.dialogue.calls and member.turn == member.dialogue.turn
        ]
        return max([*since, *cohort.coming.values()], default=None)

    def _forget(self, member: Member) -> None:
        key = id(member.conversation)
        if self._members.get(key) is member:
            del self._members[key]
        if member.cohort.members.get(key) is member:
            del member.cohort.members[key]
        self._tidy(member.cohort)

    def _tidy(self, cohort: Cohort) -> None:
        if not cohort.members and not cohort.coming:
            self._cohorts.pop(cohort, None)
