"""Dialogues: generators that ask a model and return a prediction.

A dialogue yields an `Ask`, or a tuple of asks that may be sent at the same time, and receives the
reply, or a tuple of replies in the same order. It depends on its arguments and the replies only: no
clock, no unseeded randomness, no iteration over sets. An interrupted dialogue can therefore be
resumed by replaying the replies on record.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from adapters.conversation import Conversation, Reply
from parsers.records import Prediction

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Ask:
    """A conversation that the model is to continue.

    place: name of the call, unique within its dialogue.
    continues: whether a later call will continue from the reply.
    max_tokens: limit for this reply; None takes the run's.
    """

    conversation: Conversation
    place: str
    continues: bool = False
    max_tokens: int | None = None


Asks = Ask | tuple[Ask, ...]
Replies = Reply | tuple[Reply, ...]
Dialogue = Generator[Asks, Replies, Prediction]


def hold(dialogue: Generator[Asks, Replies, T], answer: Callable[[Ask], Reply]) -> T:
    """Drive a dialogue to its end, replying `answer(ask)` to every ask, and return its result.

    Asks yielded together are answered in order; otherwise as `hold_turns`.
    """
    return hold_turns(dialogue, lambda asks: [answer(ask) for ask in asks])


def hold_turns(
    dialogue: Generator[Asks, Replies, T], answer: Callable[[tuple[Ask, ...]], Sequence[Reply]]
) -> T:
    """Drive a dialogue to its end, answering what it asks at the same time in one go.

    Returns its result. The dialogue is closed in any case, also when `answer` raises. For calls
    that take time and may fail there is `harness.engine`.
    """
    replies: Replies | None = None
    try:
        while True:
            try:
                asks = next(dialogue) if replies is None else dialogue.send(replies)
            except StopIteration as stop:
                result: T = stop.value
                return result
            answers = tuple(answer(_as_tuple(asks)))
            replies = answers[0] if isinstance(asks, Ask) else answers
    finally:
        dialogue.close()


def together(*dialogues: Generator[Asks, Replies, T]) -> Generator[Asks, Replies, tuple[T, ...]]:
    """Hold dialogues side by side: each round asks everything that unfinished ones wait for.

    Returns their results in the order of the arguments. Closing this generator closes all of them.
    """
    results: dict[int, T] = {}
    waiting: dict[int, Asks] = {}

    def advance(position: int, replies: Replies | None) -> None:
        waiting.pop(position, None)
        try:
            dialogue = dialogues[position]
            waiting[position] = next(dialogue) if replies is None else dialogue.send(replies)
        except StopIteration as stop:
            results[position] = stop.value

    try:
        for position in range(len(dialogues)):
            advance(position, None)
        while waiting:
            order = sorted(waiting)
            groups = [_as_tuple(waiting[position]) for position in order]
            answers = yield tuple(ask for group in groups for ask in group)
            rest = iter(_as_tuple(answers))
            for position, group in zip(order, groups, strict=True):
                replies = tuple(next(rest) for _ in group)
                single = isinstance(waiting[position], Ask)
                advance(position, replies[0] if single else replies)
    finally:
        for dialogue in dialogues:
            dialogue.close()
    return tuple(results[position] for position in range(len(dialogues)))


def _as_tuple(value: S | tuple[S, ...]) -> tuple[S, ...]:
    return value if isinstance(value, tuple) else (value,)
