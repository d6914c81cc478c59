"""A recorded step as a line of a run, and as the `Step` of a protocol."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import Any

from harness.kinds.step.scene import RecordedScene
from harness.records import Choice, Row, SeenAction, Step
from harness.runs import StepDetail, StepUnit
from harness.runs.steps import info_of
from parsers.records import Gold, PastAction, Turn


def unlisted(row: Row, gold: Gold | None = None) -> StepUnit:
    """Return a decoded step as a line has it, without choices, pictures and outcome."""
    detail = row.detail
    gold = gold or detail.gold
    return row.with_detail(
        StepDetail(
            action_uid=detail.action_uid,
            history=detail.history,
            page_size=None,
            positives=len(detail.positives),
            negatives=len(detail.negatives),
            gold=gold,
        ),
        labels={**row.labels, "operation": gold.operation},
        digests={"html": hashlib.sha256(detail.html.encode()).hexdigest()},
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
            elements=(),
            scene=RecordedScene([Choice("", node_id, "", "") for node_id in one.positives]),
        )
        for one in turn.actions
    )
    return Turn(turn.turn_id, turn.task, tuple(actions))


def step_of(record: StepUnit) -> Step:
    """Return what a protocol may know of a listed step, without its page."""
    detail = record.detail
    return Step(
        step_id=record.unit_id,
        info=info_of(record),
        history=detail.history,
        pictures=record.pictures,
        page_size=detail.page_size,
        turns=tuple(map(turn_of_record, detail.turns or ())),
    )
