"""The lines of a run directory, as typed records.

`calls.jsonl` holds a `CallRecord` per finished call, `steps.jsonl` a `StepRecord` per row of the
selection, rows that were never asked included. Field names are part of the schema: `SCHEMA` rises
when one changes its meaning. Lines are flat: what a step is (`StepRecord.info`) stands on its line
field by field, behind the step's id and repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from operator import attrgetter
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from adapters.conversation import Message, Picture, Reply, Text, Usage
from parsers.records import Description, Gold, Prediction, ScoredStep, Scores, StepInfo

SCHEMA = 1
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A message that a call added. A part is a text or a reference to a picture."""

    role: str
    parts: tuple[str | Picture, ...]
    native: Any = None

    @classmethod
    def of(cls, message: Message) -> MessageRecord:
        """The record of a message."""
        parts = tuple(part.text if isinstance(part, Text) else part for part in message.parts)
        return cls(message.role, parts, message.native)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One finished call.

    place: which call of the dialogue this is (`round-1`, `group-2`, ...).
    request: hash of everything that the reply depends on.
    conversation: digest of the conversation that was sent; a replay must arrive at the same one.
    messages: those added to the conversation `earlier`, or all of them if that is None.
    attempts: requests sent until the reply came; 0 for a reply from the cache and for a prompt that
        was too long to send.
    from_cache: whether the reply came from the cache, at no cost.
    cost: billed for it, in US dollars; None without a price.
    earlier: digest of the conversation that this one extends.
    price: what a reply from the cache would have cost; left out for other calls, whose price is
        `cost`, and where it is unknown.
    """

    id: str
    step_id: str
    repeat: int
    place: str
    request: str
    conversation: str
    messages: tuple[MessageRecord, ...]
    reply: Reply
    attempts: int = 1
    from_cache: bool = False
    cost: float | None = None
    earlier: str | None = None
    price: float | UnsetType = UNSET

    @property
    def work(self) -> float | None:
        """What the reply costs where it has to be asked for, in US dollars; None if unknown."""
        if not self.from_cache:
            return self.cost
        return None if isinstance(self.price, UnsetType) else self.price


@dataclass(frozen=True, slots=True)
class ChoiceRecord:
    """A choice as listed; `box` is (x, y, width, height) in page pixels.

    `rank`, `place` and `description` are as in `harness.records.Choice`.
    """

    letter: str
    id: str
    tag: str
    text: str
    box: tuple[float, float, float, float] | None
    positive: bool
    rank: int | None = None
    place: int | None = None
    description: Description | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One row of the selection and its outcome.

    info: what the step is. Its fields stand on the line itself.
    invalid: why the row has no right answer, None for a valid row.
    asked: whether a model was asked. Not for invalid rows, nor where a ranker offers no acceptable
        element (status `not_offered`).
    settled: whether the outcome is final. Otherwise `error` says why not, and resuming the run asks
        again. An unreadable row is settled, and `error` says what is wrong with it.
    source: file and row of the data, for messages.
    positives, negatives: numbers of acceptable elements and of other candidates of the row.
    same_text, related: shown negatives that read exactly like the shown positive, and those that
        are its ancestors or descendants.
    short: whether the row had fewer negatives than were wanted.
    prompt_tokens: estimate for the longest prompt.
    calls: ids of the calls, in order.
    cost: billed for the calls, in US dollars; None unless every call has a price.
    """

    step_id: str
    repeat: int
    info: StepInfo
    history: tuple[str, ...]
    invalid: str | None
    asked: bool
    settled: bool
    error: str | None
    source: str
    html_digest: str
    screenshot_digest: str | None
    page_size: tuple[int, int] | None
    pictures: tuple[Picture, ...]
    positives: int
    negatives: int
    gold: Gold
    choices: tuple[ChoiceRecord, ...]
    none_letter: str | None
    same_text: int
    related: int
    short: bool
    prompt_tokens: int | None
    calls: tuple[str, ...]
    prediction: Prediction | None
    scores: Scores | None
    usage: Usage | None = None
    cost: float | None = None

    def scored(self) -> ScoredStep:
        """What the aggregates need of this line."""
        return ScoredStep(
            step_id=self.step_id,
            info=self.info,
            operation=self.gold.operation,
            invalid=self.invalid,
            scores=self.scores if self.settled else None,
            status=self.prediction.status if self.prediction and self.settled else None,
            flags=self.prediction.flags if self.prediction else (),
        )


_INFO = tuple(field.name for field in fields(StepInfo))
_OTHERS = tuple(field.name for field in fields(StepRecord) if field.name != "info")
_info, _others = attrgetter(*_INFO), attrgetter(*_OTHERS)


def _line_of_a_step() -> Any:
    hints = get_type_hints(StepInfo) | get_type_hints(StepRecord)
    defaults = {one.name: one.default for one in fields(StepRecord) if one.default is not MISSING}
    names = (*_OTHERS[:2], *_INFO, *_OTHERS[2:])
    declared = [(n, hints[n], defaults[n]) if n in defaults else (n, hints[n]) for n in names]
    return msgspec.defstruct("StepLine", declared, gc=False)


_StepLine = _line_of_a_step()


def to_line(record: Any) -> Any:
    """What is written for a record: a step's fields side by side, another record as it is.

    Reasoning is left out where there is none, as in runs of versions that did not keep it.
    """
    if isinstance(record, CallRecord) and not record.reply.reasoning:
        without: Any = msgspec.UNSET
        return replace(record, reply=replace(record.reply, reasoning=without))
    if not isinstance(record, StepRecord):
        return record
    step_id, repeat, *others = _others(record)
    return _StepLine(step_id, repeat, *_info(record.info), *others)


def line_decoder(kind: type[T]) -> Callable[[bytes], T]:
    """What reads lines of one kind of record, made once; it raises what msgspec raises."""
    if kind not in _decoders:
        _decoders[kind] = _line_decoder(kind)
    return _decoders[kind]


_decoders: dict[type[Any], Callable[[bytes], Any]] = {}


def _line_decoder(kind: type[Any]) -> Callable[[bytes], Any]:
    if kind is not StepRecord:
        return msgspec.json.Decoder(kind).decode
    decode = msgspec.json.Decoder(_StepLine).decode

    def decode_step(data: bytes) -> Any:
        line = decode(data)
        step_id, repeat, *others = _others(line)
        return StepRecord(step_id, repeat, StepInfo(*_info(line)), *others)

    return decode_step
