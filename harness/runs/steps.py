"""What only recorded steps have on their line: their page, their choices, the recorded action."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from harness.runs.records import UnitRecord
from parsers.records import Description, Gold, Operation

STEP = "step"
"""The kind of units that are recorded steps."""


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

    def __reduce__(self) -> tuple[type[ChoiceRecord], tuple[object, ...]]:
        # See `harness.records.Choice`.
        return ChoiceRecord, tuple(map(self.__getattribute__, self.__slots__))


@dataclass(frozen=True, slots=True)
class PastActionRecord:
    """An action of a finished turn as `harness.records.PastAction` has it, without its page."""

    index: int
    action_uid: str
    told: str
    operation: Operation
    value: str
    positives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A finished turn as `harness.records.Turn` has it."""

    turn_id: str
    task: str
    actions: tuple[PastActionRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDetail:
    """The detail of a recorded step.

    action_uid: the recorded action to predict; unique within the task.
    history: representations of the actions before it.
    page_size: width and height of the screenshot in pixels.
    positives, negatives: numbers of acceptable elements and of other candidates of the row.
    none_letter: letter of the None option, if there is one.
    same_text, related: shown negatives that read exactly like the shown positive, and those that
        are its ancestors or descendants.
    short: whether the row had fewer negatives than were wanted.
    turns: the finished turns of its conversation, left out of the line where none were shown.
    """

    action_uid: str
    history: tuple[str, ...]
    page_size: tuple[int, int] | None
    positives: int
    negatives: int
    gold: Gold
    choices: tuple[ChoiceRecord, ...] = ()
    none_letter: str | None = None
    same_text: int = 0
    related: int = 0
    short: bool = False
    turns: tuple[TurnRecord, ...] | UnsetType = UNSET


StepRecord = UnitRecord[StepDetail]
"""The record of a unit that is a recorded step."""
