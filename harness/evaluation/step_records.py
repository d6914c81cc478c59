"""A step in its three forms: row of the data, `Step` for a protocol, and record of a run."""

from __future__ import annotations

import hashlib

from adapters.conversation import Picture
from harness.evaluation.scene import RecordedScene
from harness.page import Box
from harness.records import Choice, PastAction, Row, Scene, Step, Turn
from harness.runs import STEP, ChoiceRecord, StepDetail, StepRecord, UnitRecord
from harness.runs.steps import PastActionRecord, TurnRecord
from parsers.records import Gold, StepInfo


def unasked_record(row: Row, gold: Gold) -> StepRecord:
    """Return the record of a row before it is asked, without choices, pictures and outcome."""
    info = row.info
    return UnitRecord(
        kind=STEP,
        unit_id=row.step_id,
        benchmark=info.benchmark,
        split=info.split,
        parents=info.parents,
        labels={**info.labels, "operation": gold.operation},
        position=info.index,
        total=info.total_steps,
        goal=info.task,
        invalid=row.invalid,
        source=row.source,
        digests={"html": hashlib.sha256(row.html.encode()).hexdigest()},
        detail=StepDetail(
            action_uid=info.action_uid,
            history=row.history,
            page_size=None,
            positives=len(row.positives),
            negatives=len(row.negatives),
            gold=gold,
        ),
    )


def choice_record(choice: Choice, positive: bool) -> ChoiceRecord:
    """Return the record of a choice."""
    box = choice.box
    return ChoiceRecord(
        choice.letter,
        choice.id,
        choice.tag,
        choice.text,
        (box.x, box.y, box.width, box.height) if box else None,
        positive,
        choice.rank,
        choice.place,
        choice.description,
    )


def turn_record(turn: Turn) -> TurnRecord:
    """Return the record of a finished turn."""
    actions = (
        PastActionRecord(
            action.index,
            action.action_uid,
            action.told,
            action.operation,
            action.value,
            action.positives,
        )
        for action in turn.actions
    )
    return TurnRecord(turn.turn_id, turn.task, tuple(actions))


def turn_of_record(record: TurnRecord) -> Turn:
    """Return a recorded turn: its pages show nothing, and its candidates are unknown."""
    actions = (
        PastAction(
            action.index,
            action.action_uid,
            action.told,
            action.operation,
            action.value,
            action.positives,
            (),
            RecordedScene([Choice("", node_id, "", "") for node_id in action.positives]),
        )
        for action in record.actions
    )
    return Turn(record.turn_id, record.task, tuple(actions))


def step_of_row(
    row: Row,
    pictures: tuple[Picture, ...],
    scene: Scene | None = None,
    page_size: tuple[int, int] | None = None,
) -> Step:
    """Return what a protocol may know of a row."""
    return Step(
        step_id=row.step_id,
        info=row.info,
        history=row.history,
        pictures=pictures,
        stored=row.stored,
        scene=scene,
        page_size=page_size,
    )


def step_of_record(record: StepRecord) -> Step:
    """Return a recorded step, which lacks the page and the bytes of its pictures."""
    detail, parents = record.detail, record.parents
    conversation = parents.get("conversation", "")
    info = StepInfo(
        task_id=parents["task"],
        action_uid=detail.action_uid,
        index=record.position,
        total_steps=record.total,
        benchmark=record.benchmark,
        split=record.split,
        website=parents["website"],
        domain=record.labels["domain"],
        subdomain=record.labels["subdomain"],
        task=record.goal,
        conversation=conversation,
        turn=int(record.labels["turn"]) - 1 if conversation else None,
    )
    return Step(
        step_id=record.unit_id,
        info=info,
        history=detail.history,
        pictures=record.pictures,
        page_size=detail.page_size,
        turns=tuple(map(turn_of_record, detail.turns or ())),
    )


def choices_of_record(record: StepRecord) -> tuple[Choice, ...]:
    """Return the recorded choices of a step."""
    return tuple(
        Choice(
            c.letter,
            c.id,
            c.tag,
            c.text,
            Box(*c.box) if c.box else None,
            c.rank,
            c.description,
            c.place,
        )
        for c in record.detail.choices
    )
