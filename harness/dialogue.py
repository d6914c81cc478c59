"""Dialogues: generators that ask models, embed texts, act, and return a prediction.

A dialogue yields a call, or a tuple of calls that may be made at the same time, and receives the
result, or a tuple of results in the same order:

    reply = yield Ask(conversation, "round-1")             # a Reply
    embedded = yield Embed(("a text", "another"), "texts")  # an Embedded
    observation = yield Act(action, "step-1")               # an Observation

It depends on its arguments and these results only: no clock, no unseeded randomness, no iteration
over sets. An interrupted dialogue can therefore be resumed by replaying what is on record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from adapters.contract import Generation
from adapters.conversation import Conversation, Reply, canonical_json
from adapters.embedding import Embedded
from parsers.records import Prediction

T = TypeVar("T")
S = TypeVar("S")


SEEDS_OF_A_REPEAT = 1000
"""Distance between the seeds of two repeats."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A conversation that a model is to continue.

    Attributes:
        place: name of the call. A dialogue makes one call per place, unless they differ in
            `sample`, `temperature` or `seed`.
        continues: whether a later call will continue from the reply.
        max_tokens: limit for this reply; None takes the run's.
        role: who is asked; "" is the model under test.
        about: what a policy is shown to answer it, where a unit is asked about step by step; by
            default the unit's own view. Nothing of it is sent.
        shared: id of a parent of the unit, for a call that is made once for all its units and
            repeat by repeat: the first to ask makes and pays it. It must be one of the level that
            shards keep whole (`Dataset.whole`), and all must ask the same under one place.
        sample: number of the reply, from 0, where one conversation is asked several times.
        temperature: used instead of the run's, for a model.
        seed: sent instead of the run's, which differs by sample and repeat.
        rehearsed: the reply that an estimate takes it to get, where the dialogue goes on for as
            long as replies are such; None: an empty one.
    """

    conversation: Conversation
    place: str
    continues: bool = False
    max_tokens: int | None = None
    role: str = ""
    shared: str = ""
    about: Any = field(default=None, compare=False, repr=False)
    sample: int = 0
    temperature: float | None = None
    seed: int | None = None
    rehearsed: Reply | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Its name within its dialogue: the place, and what else tells it from other calls."""
        return call_name(self.place, self.sample, self.temperature, self.seed)

    @property
    def own(self) -> frozenset[str]:
        """Sampling parameters that it sets in place of the run's."""
        return frozenset(n for n in ("temperature", "seed") if getattr(self, n) is not None)

    def generation(self, usual: Generation, repeat: int) -> Generation:
        """Return the parameters of this call, in place of those that the run usually sends.

        A seed differs by repeat and sample, or a server would give the same reply to all of them.
        """
        changed: dict[str, Any] = {}
        if self.max_tokens is not None:
            changed["max_tokens"] = self.max_tokens
        if self.temperature is not None:
            changed["temperature"] = self.temperature
        if self.seed is not None:
            changed["seed"] = self.seed
        elif usual.seed is not None and (repeat or self.sample):
            changed["seed"] = usual.seed + SEEDS_OF_A_REPEAT * repeat + self.sample
        return replace(usual, **changed) if changed else usual

    def digest(self) -> str:
        """SHA-256 of what is asked."""
        return self.conversation.digest()


def call_name(place: str, sample: int, temperature: float | None, seed: int | None) -> str:
    """Return the name of a call within its dialogue.

    >>> call_name("judge", 2, 0.9, None)
    'judge#2,temperature=0.9'
    """
    name = f"{place}#{sample}" if sample else place
    name += "" if temperature is None else f",temperature={temperature:g}"
    return name if seed is None else f"{name},seed={seed}"


@dataclass(frozen=True, slots=True)
class Embed:
    """Texts to turn into vectors; `place` and `shared` as in `Ask`, `role` names the embedder."""

    texts: tuple[str, ...]
    place: str
    role: str = "embedding"
    shared: str = ""

    @property
    def name(self) -> str:
        """Its name within its dialogue."""
        return self.place

    def digest(self) -> str:
        """SHA-256 of the texts."""
        return _digest(["embed", *self.texts])


@dataclass(frozen=True, slots=True)
class Act:
    """An action to carry out in the environment of the dialogue.

    Attributes:
        action: anything with a form in JSON.
        place: name of the call, unique within its dialogue.
    """

    action: Any
    place: str

    @property
    def name(self) -> str:
        """Its name within its dialogue."""
        return self.place

    def digest(self) -> str:
        """SHA-256 of the action."""
        return _digest(["act", msgspec.to_builtins(self.action)])


SCREENSHOT = "screenshot"
"""Name of the blob of an observation that is an encoded picture, which a dialogue may show."""


@dataclass(frozen=True, slots=True)
class Observation:
    """An environment after an action.

    Attributes:
        content: anything with a form in JSON; a dialogue receives it in that form, with lists for
            tuples.
        blobs: large parts (a screenshot, a page) by name, which a run keeps by their digests.
    """

    content: Any
    blobs: Mapping[str, bytes] = field(default_factory=dict)


Call = Ask | Embed | Act
Result = Reply | Embedded | Observation
Asks = Call | tuple[Call, ...]
Replies = Result | tuple[Result, ...]
Dialogue = Generator[Asks, Replies, Prediction]


def hold(
    dialogue: Generator[Asks, Replies, T],
    answer: Callable[[Ask], Reply],
    *,
    embed: Callable[[Embed], Embedded] | None = None,
) -> T:
    """Drive a dialogue to its end and return its result.

    `answer(ask)` replies to every ask; a dialogue that embeds texts needs `embed`.
    Calls yielded together are answered in order; otherwise as `hold_turns`.
    """

    def result(call: Call) -> Result:
        if isinstance(call, Ask):
            return answer(call)
        if isinstance(call, Embed) and embed is not None:
            return embed(call)
        raise TypeError(f"nothing here answers the {type(call).__name__} '{call.place}'")

    return hold_turns(dialogue, lambda calls: [result(call) for call in calls])


def hold_turns(
    dialogue: Generator[Asks, Replies, T], answer: Callable[[tuple[Call, ...]], Sequence[Result]]
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
            answers = tuple(answer(as_tuple(asks)))
            replies = answers if isinstance(asks, tuple) else answers[0]
    finally:
        dialogue.close()


def changed(
    dialogue: Generator[Asks, Replies, T],
    change: Callable[[Call], Call],
    heard: Callable[[Call, Result], object] = lambda call, result: None,
) -> Generator[Asks, Replies, T]:
    """Hold a dialogue whose calls are changed before they are made.

    `heard` gets every call as the dialogue made it, with its result. Closing this generator closes
    the dialogue.
    """
    replies: Replies | None = None
    try:
        while True:
            try:
                asks = next(dialogue) if replies is None else dialogue.send(replies)
            except StopIteration as stop:
                result: T = stop.value
                return result
            calls: tuple[Call, ...] = as_tuple(asks)
            made = tuple(map(change, calls))
            replies = yield made if isinstance(asks, tuple) else made[0]
            results: tuple[Result, ...] = as_tuple(replies)
            for call, found in zip(calls, results, strict=True):
                heard(call, found)
    finally:
        dialogue.close()


def replies_of(results: Replies) -> tuple[Reply, ...]:
    """The replies to one or several asks. Raises TypeError if another call was among them."""
    replies = tuple(result for result in as_tuple(results) if isinstance(result, Reply))
    if len(replies) < len(as_tuple(results)):
        raise TypeError("not all of these are replies")
    return replies


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
            groups: list[tuple[Call, ...]] = [as_tuple(waiting[number]) for number in order]
            answers = yield tuple(ask for group in groups for ask in group)
            rest: Iterator[Result] = iter(as_tuple(answers))
            for position, group in zip(order, groups, strict=True):
                replies = tuple(next(rest) for _ in group)
                several = isinstance(waiting[position], tuple)
                advance(position, replies if several else replies[0])
    finally:
        for dialogue in dialogues:
            dialogue.close()
    return tuple(results[position] for position in range(len(dialogues)))


def as_tuple(value: S | tuple[S, ...]) -> tuple[S, ...]:
    """Return what was yielded or answered as a tuple, one alone included."""
    return value if isinstance(value, tuple) else (value,)


def _digest(value: object) -> str:
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
