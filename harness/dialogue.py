"""The shape of a protocol: a generator that asks and is answered.

A dialogue yields an `Ask`, or a tuple of them that may be asked at the same time, and receives the
reply, or the tuple of replies in the same order. It returns a prediction. It is a pure function of
what it was given and the replies: no clock, no unseeded chance, no order of a set. So a dialogue
that was interrupted is resumed by playing back the replies on record.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from adapters.conversation import Conversation, Reply
from parsers.records import Prediction

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Ask:
    """A conversation to be continued by the model.

    `place` names the call and is unique within its dialogue. `continues` says that a later call
    will build on the reply. `max_tokens` bounds the reply of this call (None: as for every call).
    """

    conversation: Conversation
    place: str
    continues: bool = False
    max_tokens: int | None = None


Asks = Ask | tuple[Ask, ...]
Replies = Reply | tuple[Reply, ...]
Dialogue = Generator[Asks, Replies, Prediction]


def hold(dialogue: Generator[Asks, Replies, T], answer: Callable[[Ask], Reply]) -> T:
    """Drive a dialogue to its end with `answer(ask)` as the reply to every ask; return its result.

    Asks that were yielded together are answered in order. The dialogue is closed in any case.
    The engine does the same with calls that take time and may fail.
    """
    replies: Replies | None = None
    try:
        while True:
            try:
                asks = next(dialogue) if replies is None else dialogue.send(replies)
            except StopIteration as stop:
                result: T = stop.value
                return result
            if isinstance(asks, Ask):
                replies = answer(asks)
            else:
                replies = tuple([answer(ask) for ask in asks])
    finally:
        dialogue.close()


def together(*dialogues: Generator[Asks, Replies, T]) -> Generator[Asks, Replies, tuple[T, ...]]:
    """Run dialogues side by side: each round asks what all unfinished ones wait for.

    Returns their results in the order given. Closing this generator closes every one of them.
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
                own = tuple(next(rest) for _ in group)
                single = isinstance(waiting[position], Ask)
                advance(position, own[0] if single else own)
    finally:
        for dialogue in dialogues:
            dialogue.close()
    return tuple(results[position] for position in range(len(dialogues)))


def _as_tuple(value: S | tuple[S, ...]) -> tuple[S, ...]:
    return value if isinstance(value, tuple) else (value,)
