"""The part of a line that only recorded steps have, and the order of lines."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from harness.runs.files import read_records
from harness.runs.records import Unit
from parsers.records import Choice, Gold, PastAction, Prediction, StepInfo, Turn

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


def latest_steps(
    path: Path, on_unreadable: Callable[[str], None] | None = None, detail: Any = Any
) -> list[Unit[Any]]:
    """Return the last line of every step and repeat, by split, task, index, step and repeat.

    `detail` is the type of their details; by default they are JSON values. Raises `RunError` for a
    line that cannot be read, unless `on_unreadable` takes it.
    """
    with _collector_paused():
        latest = {record.key: record for record in read_records(path, Unit, on_unreadable, detail)}
    return sorted(latest.values(), key=_order)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Records hold no cycles, yet the garbage collector would look through all of those read so far
    again and again: half the time of reading a long run."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _order(record: Unit[Any]) -> tuple[str, str, int, str, int]:
    parent = next(iter(record.parents.values()), "")
    return record.split, parent, record.position, record.unit_id, record.repeat


def arguments_of(prediction: Prediction) -> str | None:
    """Return the arguments of the predicted action as JSON; None without any."""
    if prediction.action is None or not prediction.action.arguments:
        return None
    return msgspec.json.encode(dict(prediction.action.arguments), order="deterministic").decode()
