"""A step in its three forms: row of the data, `Step` for a protocol, and record of a run."""

from __future__ import annotations

import hashlib

from adapters.conversation import Picture
from harness.page import Box
from harness.records import Choice, Row, Scene, Step
from harness.runs import STEP, ChoiceRecord, StepDetail, StepRecord, UnitRecord
from parsers.records import Gold, StepInfo


def unasked_record(row: Row, gold: Gold) -> StepRecord:
    """Return the record of a row before it is asked, without choices, pictures and outcome."""
    info = row.info
    return UnitRecord(
        kind=STEP,
        unit_id=row.step_id,
        benchmark=info.benchmark,
        split=info.split,
        parents={"task": info.task_id, "website": info.website},
        labels={
            "domain": info.domain,
            "subdomain": info.subdomain,
            "operation": gold.operation,
        },
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
    detail = record.detail
    info = StepInfo(
        task_id=record.parents["task"],
        action_uid=detail.action_uid,
        index=record.position,
        total_steps=record.total,
        benchmark=record.benchmark,
        split=record.split,
        website=record.parents["website"],
        domain=record.labels["domain"],
        subdomain=record.labels["subdomain"],
        task=record.goal,
    )
    return Step(
        step_id=record.unit_id,
        info=info,
        history=detail.history,
        pictures=record.pictures,
        page_size=detail.page_size,
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
