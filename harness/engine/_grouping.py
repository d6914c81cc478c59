"""Which of the calls that wait should go together. Pure functions; nothing here knows a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adapters.contract import Request
from adapters.conversation import Reply
from harness.engine._cohorts import Cohort, Member
from harness.engine._lanes import Seat


@dataclass(slots=True, eq=False)
class Waiting:
    """A prepared call that waits for its batch; `length` is that of its prompt, in tokens.

    `after` is the reply of a cohort that it builds on; None for a fresh call. `since` is when it
    was prepared, `passed` how many batches of other groups of fresh calls went first.
    `ended`: it has left the lane.
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
