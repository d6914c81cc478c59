"""A recorded step as a row of the data, as the `Step` of a protocol, and as a unit."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import Any

from adapters.conversation import Picture
from harness.kinds.step.scene import RecordedScene
from harness.records import Choice, Row, Scene, SeenAction, Step
from harness.runs import STEP, StepDetail, StepUnit, Unit
from harness.runs.steps import info_of
from parsers.records import Gold, PastAction, Turn


def unasked_record(row: Row, gold: Gold) -> StepUnit:
    """Return the record of a row before it is asked, without choices, pictures and outcome."""
    info = row.info
    return Unit(
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


def _plain(action: PastAction) -> dict[str, Any]:
    return {one.name: getattr(action, one.name) for one in fields(PastAction)}


def turn_record(turn: Turn[SeenAction]) -> Turn[PastAction]:
    """Return a finished turn as a step's line has it, without pages and candidates."""
    return Turn(turn.turn_id, turn.task, tuple(PastAction(**_plain(one)) for one in turn.actions))


def turn_of_record(turn: Turn[PastAction]) -> Turn[SeenAction]:
    """Return a recorded turn: its pages show nothing, and its candidates are unknown."""
    actions = (
        SeenAction(
            **_plain(one),
            candidates=(),
            scene=RecordedScene([Choice("", node_id, "", "") for node_id in one.positives]),
        )
        for one in turn.actions
    )
    return Turn(turn.turn_id, turn.task, tuple(actions))


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


def step_of_record(record: StepUnit) -> Step:
    """Return a recorded step, which lacks the page and the bytes of its pictures."""
    detail = record.detail
    return Step(
        step_id=record.unit_id,
        info=info_of(record),
        history=detail.history,
        pictures=record.pictures,
        page_size=detail.page_size,
        turns=tuple(map(turn_of_record, detail.turns or ())),
    )
