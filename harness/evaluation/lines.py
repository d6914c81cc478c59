"""A row as the line of a run that nobody has been asked about yet."""

from __future__ import annotations

import hashlib

from harness.page import Box
from harness.records import Row
from harness.runs.records import StepRecord
from parsers.records import Gold


def unasked(row: Row, gold: Gold) -> StepRecord:
    """What a row says by itself; choices, pictures and outcome are filled in by others."""
    return StepRecord(
        step_id=row.step_id,
        repeat=0,
        task_id=row.task_id,
        action_uid=row.action_uid,
        index=row.index,
        total_steps=row.total_steps,
        benchmark=row.benchmark,
        split=row.split,
        website=row.website,
        domain=row.domain,
        subdomain=row.subdomain,
        task=row.task,
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


def plain_box(box: Box | None) -> tuple[float, float, float, float] | None:
    """(x, y, width, height), as lines have it."""
    return (box.x, box.y, box.width, box.height) if box else None
