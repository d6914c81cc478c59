"""The part of a line that only recorded steps have: page, choices, the recorded action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, UnsetType

from harness.runs.records import Unit
from parsers.records import Choice, Gold, PastAction, StepInfo, Turn

STEP = "step"
"""The kind of units that are recorded steps."""


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
    choices: tuple[Choice, ...] = ()
    none_letter: str | None = None
    same_text: int = 0
    related: int = 0
    short: bool = False
    turns: tuple[Turn[PastAction], ...] | UnsetType = UNSET

    def accepts(self, choice: Choice) -> bool:
        """Return whether a choice is an acceptable element."""
        return choice.id in self.gold.elements

    @property
    def right(self) -> tuple[Choice, ...]:
        """The choices that are acceptable elements."""
        return tuple(choice for choice in self.choices if self.accepts(choice))


StepUnit = Unit[StepDetail]
"""The record of a unit that is a recorded step."""


def info_of(unit: Unit[Any]) -> StepInfo:
    """Return what a recorded step is, in the terms of its view."""
    parents, labels = unit.parents, unit.labels
    return StepInfo(
        task_id=parents["task"],
        action_uid=unit.detail.action_uid,
        index=unit.position,
        total_steps=unit.total,
        benchmark=unit.benchmark,
        split=unit.split,
        website=parents["website"],
        domain=labels["domain"],
        subdomain=labels["subdomain"],
        task=unit.goal,
        conversation=parents.get("conversation", ""),
        turn=turn_of(unit),
    )


def turn_of(unit: Unit[Any]) -> int | None:
    """Return the place of a step's task in its conversation, from 0; None outside of one."""
    number = unit.labels.get("turn")
    return None if number is None else int(number) - 1
