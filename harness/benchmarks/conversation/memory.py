"""Memory of the finished turns of a conversation: content, order and length.

Memories consist of snippets, one per recorded action of the finished turns (Deng et al. 2024,
"On the Multi-turn Instruction Following for Conversational Web Agents").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import mul
from typing import Literal

from adapters.conversation import END_TOKEN, Message, Text
from adapters.embedding import Embedded, Vector
from harness.candidates import SeededOrder
from harness.dialogue import Asks, Embed, Replies, as_tuple
from harness.records import SeenAction
from parsers.records import Turn

Order = Literal["relevance", "time"]
Speaker = Literal["user", "assistant"]
Count = Callable[[str], int]
"""The number of tokens of a text."""
ASKED = 5
"""Elements that a question about a remembered page has."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A recorded action and its turn.

    brief: whether its page is shown around a few elements only.
    released: whether its page is shown around an acceptable element and all others, which its
        question lists, as in the released code.
    rationale: why the action was right, "" where nothing is said of that.
    """

    turn: Turn[SeenAction]
    action: SeenAction
    brief: bool = False
    released: bool = False
    rationale: str = ""

    @property
    def name(self) -> str:
        """Return what distinguishes it in its conversation."""
        return f"{self.turn.turn_id}-{self.action.index}"

    @property
    def history(self) -> tuple[str, ...]:
        """The actions of its turn before it."""
        return tuple(one.told for one in self.turn.actions if one.index < self.action.index)

    def positive(self, seed: int) -> str | None:
        """The first acceptable element; None without any."""
        return next(iter(self._sorted(seed, "memory: positive", self.action.positives)), None)

    def asked(self, seed: int) -> tuple[str, ...]:
        """The elements that its question is about: an acceptable one, and others, drawn by hash
        unless they are all."""
        right = self.positive(seed)
        if self.released:
            wrong = (one for one in self.action.elements if one not in self.action.positives)
            return (*([] if right is None else [right]), *wrong)
        others = (i for i, _ in self.action.candidates if i not in self.action.positives)
        drawn = self._sorted(seed, "memory: negatives", others)
        return tuple([*([] if right is None else [right]), *drawn][:ASKED])

    def shown(self, seed: int) -> tuple[str, ...]:
        """The elements around which its page is shown."""
        if self.brief or self.released:
            return self.asked(seed)
        others = (node_id for node_id, _ in self.action.candidates)
        return tuple(dict.fromkeys((*self.action.positives, *others)))

    def _sorted(self, seed: int, label: str, ids: Iterable[str]) -> list[str]:
        return SeededOrder(seed, self.turn.turn_id, self.action.action_uid).sorted(label, ids)


def bank(turns: Sequence[Turn[SeenAction]]) -> list[Snippet]:
    """The snippets of finished turns, oldest first."""
    return [Snippet(turn, action) for turn in turns for action in turn.actions]


def nearest(
    query: Embed, texts: Sequence[Embed], count: int, order: Order = "relevance"
) -> Generator[Asks, Replies, list[int]]:
    """Embed texts, and find those that are most like that of `query` (by cosine).

    Equal texts are one cluster, of which the `count` best are taken, so there may be more than
    `count` texts. If there are no more than that to begin with, nothing is embedded.

    Returns their positions among all of the `texts`: by time in their order, by relevance from the
    most similar to the least, in order within a cluster; of equally similar ones the first comes
    first.
    """
    flat = [text for embed in texts for text in embed.texts]
    if len(flat) <= count:
        return list(range(len(flat)))
    results = as_tuple((yield (query, *texts)))
    found = [vector for one in results if isinstance(one, Embedded) for vector in one.vectors]
    wanted, vectors = found[0], found[1:]
    clusters: dict[str, list[int]] = {}
    for position, text in enumerate(flat):
        clusters.setdefault(text, []).append(position)
    # Sorting is stable: clusters keep the order of their first texts.
    best = sorted(clusters.values(), key=lambda one: -cosine(wanted, vectors[one[0]]))[:count]
    positions = [position for cluster in best for position in cluster]
    return sorted(positions) if order == "time" else positions


def cosine(one: Vector, other: Vector) -> float:
    """The cosine of the angle between two vectors; 0 if one of them has no direction."""
    lengths = math.sqrt(math.fsum(map(mul, one, one)) * math.fsum(map(mul, other, other)))
    return math.fsum(map(mul, one, other)) / lengths if lengths else 0.0


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a prompt that is cut by itself: who says it, and what.

    ends: whether an end token follows, which is one of its `tokens`.
    """

    role: Speaker
    text: str
    tokens: int
    ends: bool = False

    @property
    def sent(self) -> str:
        """The text to send; only its end token is at its end."""
        text = self.text
        while not self.ends and text.endswith(END_TOKEN):
            text = text.removesuffix(END_TOKEN)
        return f"{text}{END_TOKEN}" if self.ends else text


def piece(role: Speaker, text: str, limit: int, count: Count, *, ends: bool = False) -> Piece:
    """A piece of at most `limit` tokens, without the end of a text that is longer."""
    text = within(text, limit - ends, count)
    return Piece(role, text, count(text) + ends, ends)


def cut_left(pieces: Sequence[Piece], room: int, count: Count) -> list[Piece]:
    """The end of what the pieces say in at most `room` tokens."""
    kept: list[Piece] = []
    for one in reversed(pieces):
        if one.tokens > room:
            ends = one.ends and room > 0
            rest = within(one.text, room - ends, count, end=True)
            tokens = count(rest) + ends
            return [*([Piece(one.role, rest, tokens, ends)] if tokens else []), *kept]
        kept.insert(0, one)
        room -= one.tokens
    return kept


def as_messages(pieces: Sequence[Piece]) -> list[Message]:
    """Pieces as messages, without an answer whose question was cut off."""
    messages: list[Message] = []
    for role, of_role in groupby(pieces, lambda one: one.role):
        text = Text("\n\n".join(one.text for one in of_role if one.text))
        if messages or role == "user":
            messages.append(Message(role, (text,)))
    return messages


def within(text: str, limit: int, count: Count, *, end: bool = False) -> str:
    """The longest beginning of a text, or its longest `end`, with at most `limit` tokens.

    >>> words = lambda text: len(text.split())
    >>> within("a bc def", 2, words), within("a bc def", 2, words, end=True)
    ('a bc ', ' bc def')
    """

    def part(length: int) -> str:
        return text[len(text) - length :] if end else text[:length]

    if limit <= 0:
        return ""
    # Texts are much longer than what is kept of them: look for a bound from below.
    most = 4 * limit
    while most < len(text) and count(part(most)) <= limit:
        most *= 2
    if most >= len(text) and count(text) <= limit:
        return text
    least, most = 0, min(most, len(text))
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if count(part(middle)) <= limit else (least, middle)
    return part(least)
