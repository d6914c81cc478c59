"""Which calls go together: those that build on one batch, and fresh ones that are alike.

The replies of a batch were made with one block of kept keys and values. The calls that build on
them are worth most in one batch again, a cohort, so they are waited for: as long as their dialogues
are busy with the reply (recording, reading), not when they ended, asked something else, or wait for
other calls of their own.

The functions below `Cohorts` choose among the calls that wait. They know no clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from adapters.contract import Request
from adapters.conversation import Conversation, Reply
from harness.engine.queues import Seat


@dataclass(slots=True, eq=False)
class Member:
    """A reply that may be continued.

    turn: of the dialogue, in which it was asked for.
    row: of the batch that it came in.
    """

    cohort: Cohort
    dialogue: Dialogue
    turn: int
    conversation: Conversation
    row: int


@dataclass(slots=True, eq=False)
class Dialogue:
    """An open dialogue.

    calls: how many it has in the queue. A turn begins when there were none before.
    since: when it had none any more, in seconds; it is on the move from then on.
    """

    since: float
    calls: int = 0
    turn: int = 0
    members: list[Member] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Cohort:
    """Replies from one batch whose dialogues should continue together.

    members: those not continued yet, by the id of their conversation.
    coming: those whose next call is being prepared, with the time when that began, in seconds.
    """

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
        """A call enters the queue; what it builds on, if that came in one of these cohorts."""
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
        """A call left the queue: answered, failed or given up."""
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


@dataclass(slots=True, eq=False)
class Waiting:
    """A prepared call that waits for its batch.

    number: of its dialogue, in the order of opening.
    length: of its prompt, in tokens.
    after: the reply of a cohort that it builds on; None for a fresh call.
    since: when it was prepared, in seconds.
    passed: how many batches of other groups of fresh calls went first.
    ended: whether it has left the queue.
    """

    number: int
    request: Request
    length: int
    upper: float
    turn: asyncio.Future[Reply]
    seat: Seat | None = None
    after: Member | None = None
    since: float = 0.0
    passed: int = 0
    ended: bool = False

    @property
    def cohort(self) -> Cohort | None:
        return self.after.cohort if self.after else None


def turn(call: Waiting) -> tuple[int, str]:
    """The call's round: how many messages its conversation has, and for a call whose reply will be
    built on, its place.

    Calls of a round are alike whatever they are called: the groups of a tournament, the batches of
    a long list, first questions of different steps. Those that begin a cohort go by place, since
    the parts of one dialogue go on together, and would wait for each other in several cohorts.
    """
    request = call.request
    return len(request.conversation.messages), request.place if request.continues else ""


def by_turn(calls: Iterable[Waiting]) -> list[list[Waiting]]:
    """The calls, by their rounds."""
    rounds: dict[tuple[int, str], list[Waiting]] = {}
    for call in calls:
        rounds.setdefault(turn(call), []).append(call)
    return list(rounds.values())


def choose(waiting: Sequence[Waiting], size: int) -> tuple[list[Waiting], bool]:
    """The fresh calls to send next, and whether they fill a batch.

    A round that fills a batch goes before one that does not; among equals the round where the
    dialogue opened first waits. That call goes, with those closest to it in length.
    """
    group = min(by_turn(waiting), key=lambda g: (len(g) < size, min(c.number for c in g)))
    return company(group, size), len(group) >= size


def company(group: Sequence[Waiting], size: int) -> list[Waiting]:
    """The call of the dialogue opened first, and those of the group closest to it in length."""
    first = min(group, key=lambda call: call.number)
    by_length = sorted(
        group, key=lambda c: (c is not first, abs(c.length - first.length), c.number)
    )
    return by_length[:size]


def rows_together(calls: Iterable[Waiting]) -> list[Waiting]:
    """Calls of one cohort in the round that most of them wait at, in the order of its rows."""
    group = max(by_turn(calls), key=len)
    return sorted(group, key=lambda call: call.after.row if call.after else 0)


def overdue(waiting: Sequence[Waiting], patience: int) -> list[Waiting]:
    """The group of a call that was passed over more often than that, if there is one.

    A call that was tried again, say, while newcomers keep filling batches of another round.
    """
    late = [call for call in waiting if call.passed > patience]
    if not late:
        return []
    first = min(late, key=lambda call: call.number)
    return [call for call in waiting if turn(call) == turn(first)]
