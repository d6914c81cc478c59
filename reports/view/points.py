"""The list of steps with their outcome in every run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.runs import Run, StepRecord

LONGEST = 90
"""Longest text of an element in the list, in characters."""
RIGHT, PART, WRONG, OPEN, NOT_ASKED = "right", "part", "wrong", "open", "not_asked"


@dataclass(frozen=True, slots=True)
class Lane:
    """A run, or one repeat of a run with several."""

    label: str
    run: str
    repeat: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a step in a lane.

    result: RIGHT, PART (right element only), WRONG, OPEN (no final outcome) or NOT_ASKED.
    status: how the step ended, see `parsers.Status`.
    error_class: its error class.
    choice: the chosen element.
    f1: operation F1 in the run's variant.
    """

    result: str
    status: str | None
    error_class: str | None
    choice: str | None
    f1: float | None


@dataclass(slots=True)
class Point:
    """A step of the data, with its outcome by number of the lane."""

    step_id: str
    task_id: str
    task: str
    index: int
    total: int
    split: str
    website: str
    domain: str
    operation: str
    value: str
    target: str
    invalid: str | None
    outcomes: dict[int, Outcome] = field(default_factory=dict)


@dataclass(slots=True)
class Points:
    """The lanes, and all steps of the runs by id, in order."""

    lanes: list[Lane]
    steps: dict[str, Point]


Classes = Mapping[tuple[str, int], str]
"""Error classes by step and repeat."""


def collect(runs: Mapping[str, Run], classes: Mapping[str, Classes]) -> Points:
    """Collect the steps of runs, one run's records in memory at a time. Raises `RunError`."""
    lanes: list[Lane] = []
    steps: dict[str, Point] = {}
    for label, run in runs.items():
        records = run.records()
        repeats = sorted({record.repeat for record in records}) or [0]
        numbers = {repeat: len(lanes) + i for i, repeat in enumerate(repeats)}
        variant = str(run.manifest.config.get("f1") or "mind2web")
        named = len(repeats) > 1
        lanes += [Lane(f"{label} #{r + 1}" if named else label, label, r) for r in repeats]
        for record in records:
            point = steps.get(record.unit_id)
            if point is None:
                point = steps[record.unit_id] = _point(record)
            elif not point.target:
                point.target = _target(record)
            error_class = classes.get(label, {}).get((record.unit_id, record.repeat))
            point.outcomes[numbers[record.repeat]] = _outcome(record, error_class, variant)
    ordered = sorted(steps.values(), key=lambda p: (p.split, p.website, p.task_id, p.index))
    return Points(lanes, {point.step_id: point for point in ordered})


def chosen_element(record: StepRecord) -> str | None:
    """The id of the chosen element, from the prediction or its letter."""
    prediction = record.prediction
    if prediction is None:
        return None
    by_letter = (c.id for c in record.detail.choices if c.letter == prediction.letter)
    return prediction.element or next(by_letter, None)


def _point(record: StepRecord) -> Point:
    return Point(
        step_id=record.unit_id,
        task_id=record.parents["task"],
        task=record.goal,
        index=record.position,
        total=record.total,
        split=record.split,
        website=record.parents["website"],
        domain=record.labels["domain"],
        operation=record.detail.gold.operation,
        value=record.detail.gold.value[:LONGEST],
        target=_target(record),
        invalid=record.invalid,
    )


def _target(record: StepRecord) -> str:
    return next((c.text[:LONGEST] for c in record.detail.choices if c.positive), "")


def _outcome(record: StepRecord, error_class: str | None, variant: str) -> Outcome:
    if not record.asked and record.scores is None:
        return Outcome(NOT_ASKED, None, error_class, None, None)
    prediction, scores = record.prediction, record.scores
    if not record.settled or prediction is None or scores is None:
        return Outcome(OPEN, None, error_class, None, None)
    result = RIGHT if scores["success"] else PART if scores["element"] else WRONG
    f1 = scores.get(f"operation_f1.{variant}")
    return Outcome(result, str(prediction.status), error_class, chosen_element(record), f1)


def as_rows(
    points: Points, numbers: Mapping[str, int], pictures: Mapping[str, Any]
) -> dict[str, Any]:
    """The list as plain data; repeated strings are indices into `words`.

    numbers: the numbers of the scripts of the steps to list, in the order of the list.
    """
    words: dict[str, int] = {}
    tasks: dict[str, tuple[int, str]] = {}

    def word(text: str | None) -> int | None:
        return None if text is None else words.setdefault(text, len(words))

    rows = []
    for step_id, number in numbers.items():
        point = points.steps[step_id]
        task = tasks.setdefault(point.task_id, (len(tasks), point.task))[0]
        outcomes = [
            [word(o.result), word(o.status), word(o.error_class), word(o.choice), o.f1]
            if o is not None
            else None
            for o in (point.outcomes.get(n) for n in range(len(points.lanes)))
        ]
        rows.append(
            [
                step_id,
                task,
                point.index,
                point.total,
                word(point.split),
                word(point.website),
                word(point.domain),
                word(point.operation),
                point.value,
                point.target,
                word(point.invalid),
                pictures.get(step_id) or [None, ""],
                outcomes,
                number,
            ]
        )
    listed = [[task_id, text] for task_id, (_, text) in tasks.items()]
    return {"words": list(words), "tasks": listed, "steps": rows}


def sample(points: Points, count: int) -> list[str]:
    """Choose at most `count` steps, in the order of the list.

    Steps are grouped by their outcomes in all runs and drawn from the groups in turn, so that rare
    outcomes are included. Within a group they are ordered by a hash of their id, so no seed is
    needed.
    """
    groups: dict[tuple[object, ...], list[str]] = {}
    for point in points.steps.values():
        groups.setdefault(_kind(point, len(points.lanes)), []).append(point.step_id)
    queues = [sorted(group, key=_digest) for group in groups.values()]
    queues.sort(key=lambda group: (-len(group), group[0]))
    chosen: list[str] = []
    place = 0
    while len(chosen) < count and any(place < len(group) for group in queues):
        chosen += [group[place] for group in queues if place < len(group)][: count - len(chosen)]
        place += 1
    kept = set(chosen)
    return [step_id for step_id in points.steps if step_id in kept]


def _kind(point: Point, lanes: int) -> tuple[object, ...]:
    outcomes: Mapping[int, Outcome] = point.outcomes
    by_lane = (outcomes.get(lane) for lane in range(lanes))
    return tuple(o and (o.result, o.status, o.error_class) for o in by_lane)


def _digest(step_id: str) -> str:
    return hashlib.sha256(step_id.encode("utf-8", "surrogatepass")).hexdigest()
