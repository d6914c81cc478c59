"""A step in its three forms: row of the data, `Step` for a protocol, and record of a run."""

from __future__ import annotations

import hashlib

from adapters.conversation import Picture
from harness.page import Box
from harness.records import Choice, Row, Scene, Step
from harness.runs import ChoiceRecord, StepRecord
from parsers.records import Gold


def unasked_record(row: Row, gold: Gold) -> StepRecord:
    """Return the record of a row before it is asked, without choices, pictures and outcome."""
    return StepRecord(
        step_id=row.step_id,
        repeat=0,
        info=row.info,
        history=row.history,
        invalid=row.invalid,
        asked=False,
        settled=False,
        error=None,
        source=row.source,
        html_digest=hashlib.sha256(row.html.encode()).hexdigest(),
        screenshot_digest=None,
        page_size=None,
        pictures=(),
        positives=len(row.positives),
        negatives=len(row.negatives),
        gold=gold,
        choices=(),
        none_letter=None,
        same_text=0,
        related=0,
        short=False,
        prompt_tokens=None,
        calls=(),
        prediction=None,
        scores=None,
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
    return Step(
        step_id=record.step_id,
        info=record.info,
        history=record.history,
        pictures=record.pictures,
        page_size=record.page_size,
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
        for c in record.choices
    )
