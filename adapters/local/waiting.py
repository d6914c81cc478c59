"""Decides which calls to send together: those that continue one batch, and fresh ones alike.

The replies of a batch share one block of cached keys and values. The calls that continue them are
cheapest in one batch again, a cohort, so the adapter waits for them as long as their dialogues are
busy with the reply (recording and reading it); not if those have ended, asked something else, or
wait for other calls.

The functions below `Cohorts` choose among waiting calls, without a clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from adapters.contract import Dialogue, PictureSource, Request
from adapters.conversation import Conversation, Reply


@dataclass(slots=True, eq=False)
class Member:
    """A reply that may be continued.

    turn: number of the dialogue's turn that made the request.
    row: its row in the batch.
    """

    cohort: Cohort
    dialogue: OpenDialogue
    turn: int
    conversation: Conversation
    row: int


@dataclass(slots=True, eq=False)
class OpenDialogue:
    """A dialogue that may ask.

    since: time at which it last had no request here; it is moving from then on.
    calls: number of its requests here. The first one begins a turn.
    """

    since: float
    calls: int = 0
    turn: int = 0
    members: list[Member] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Cohort:
    """Replies from one batch whose dialogues should continue together.

    members: replies not continued yet, by the id() of their conversation.
    coming: replies whose next call is being prepared, with the time at which that began.
    """

    members: dict[int, Member] = field(default_factory=dict)
    coming: dict[Member, float] = field(default_factory=dict)


class Cohorts:
    """All open dialogues, and the cohorts that are not complete. Times are in seconds.

    moving: number of open dialogues without a request here.
    """

    def __init__(self) -> None:
        self._dialogues: dict[Dialogue, OpenDialogue] = {}
        self._members: dict[int, Member] = {}
        self._cohorts: dict[Cohort, None] = {}
        self.moving = 0

    def __len__(self) -> int:
        """Return the number of open dialogues."""
        return len(self._dialogues)

    def __iter__(self) -> Iterator[Cohort]:
        """Iterate over the cohorts in the order of their answers."""
        return iter(self._cohorts)

    def enter(self, key: Dialogue, now: float) -> None:
        """Note that a dialogue was opened."""
        if key not in self._dialogues:
            self._dialogues[key] = OpenDialogue(now)
            self.moving += 1

    def leave(self, key: Dialogue) -> None:
        """Note that a dialogue is over."""
        dialogue = self._dialogues.pop(key, None)
        if dialogue is None:
            return
        self.moving -= not dialogue.calls
        for member in dialogue.members:
            self._forget(member)

    def rest(self, key: Dialogue) -> None:
        """Note that a dialogue waits for something else, until `end`: no batch waits for it."""
        dialogue = self._dialogues.get(key)
        if dialogue is not None:
            self.moving -= not dialogue.calls
            dialogue.calls += 1

    def begin(self, key: Dialogue, request: Request, now: float) -> Member | None:
        """Note a new request and return the reply it continues, if that belongs to a cohort."""
        self.enter(key, now)
        dialogue = self._dialogues[key]
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

    def end(self, key: Dialogue, now: float) -> None:
        """Note that a request is over: answered, failed or given up."""
        dialogue = self._dialogues.get(key)
        if dialogue is None:
            return
        dialogue.calls -= 1
        if not dialogue.calls:
            dialogue.since = now
            self.moving += 1

    def answered(self, batch: Iterable[Request]) -> None:
        """Form a cohort from the requests of one batch whose replies will be continued.

        To be called before `end`.
        """
        cohort = Cohort()
        for row, request in enumerate(batch):
            dialogue = self._dialogues.get(request.dialogue)
            if dialogue is None or not request.continues:
                continue
            member = Member(cohort, dialogue, dialogue.turn, request.conversation, row)
            key = id(request.conversation)
            cohort.members[key] = self._members[key] = member
            dialogue.members.append(member)
        if cohort.members:
            self._cohorts[cohort] = None

    def arrived(self, member: Member) -> None:
        """Note that the call that continues `member` is prepared, or will not be."""
        member.cohort.coming.pop(member, None)
        self._tidy(member.cohort)

    def awaited(self, cohort: Cohort) -> float | None:
        """Return since when a cohort has waited for the last call on its way to it, or None."""
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

    number: its dialogue's position in the order of opening.
    length: prompt tokens.
    after: the reply of a cohort that it continues; None for a fresh call.
    since: time at which it was prepared.
    passed: number of batches with other groups of fresh calls that went first.
    ended: whether it has left the queue.
    """

    number: int
    request: Request
    pictures: PictureSource
    length: int
    turn: asyncio.Future[Reply]
    after: Member | None = None
    since: float = 0.0
    passed: int = 0
    ended: bool = False

    @property
    def cohort(self) -> Cohort | None:
        return self.after.cohort if self.after else None


Turn = tuple[int, str, int]


def turn(call: Waiting) -> Turn:
    """Return a call's round: the length of its conversation in messages and, for a call whose reply
    will be continued, its place and sample.

    Calls of a round are alike whatever their place: the groups of a tournament, the parts of a long
    list, the first questions of different steps. Calls that begin a cohort are separated by place,
    since the parts of one dialogue continue together and, in different cohorts, would wait for each
    other.
    """
    request = call.request
    begins = (request.place, request.sample) if request.continues else ("", 0)
    return len(request.conversation.messages), *begins


def by_turn(calls: Iterable[Waiting]) -> list[list[Waiting]]:
    """Group calls by round."""
    rounds: dict[Turn, list[Waiting]] = {}
    for call in calls:
        rounds.setdefault(turn(call), []).append(call)
    return list(rounds.values())


def choose(waiting: Sequence[Waiting], size: int) -> tuple[list[Waiting], bool]:
    """Choose the fresh calls to send next; also say whether they fill a batch.

    A round that fills a batch goes before one that does not, and then the round of the dialogue
    that was opened first. Its call goes with those closest to it in length.
    """
    group = min(by_turn(waiting), key=lambda g: (len(g) < size, min(c.number for c in g)))
    return company(group, size), len(group) >= size


def company(group: Sequence[Waiting], size: int) -> list[Waiting]:
    """Choose the call of the dialogue opened first, and those closest to it in length."""
    first = min(group, key=lambda call: call.number)
    by_length = sorted(
        group, key=lambda c: (c is not first, abs(c.length - first.length), c.number)
    )
    return by_length[:size]


def rows_together(calls: Iterable[Waiting]) -> list[Waiting]:
    """Choose the largest round among the calls of one cohort, in the order of the cohort's rows."""
    group = max(by_turn(calls), key=len)
    return sorted(group, key=lambda call: call.after.row if call.after else 0)


def overdue(waiting: Sequence[Waiting], patience: int) -> list[Waiting]:
    """Return the round of a call that was passed over more than `patience` times, or nothing.

    Such a call may be a retry, while newcomers keep filling batches of another round.
    """
    late = [call for call in waiting if call.passed > patience]
    if not late:
        return []
    first = min(late, key=lambda call: call.number)
    return [call for call in waiting if turn(call) == turn(first)]
