"""Lines of schema 1, which knew recorded steps only: read as units, and written for runs of theirs.

A line is flat: what a step is stands on it field by field, behind its id and repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec

from adapters.conversation import Picture, Usage
from harness.runs.records import UnitRecord
from harness.runs.steps import STEP, ChoiceRecord, StepDetail, StepRecord
from parsers.records import Gold, Operation, Prediction, Scores, Status


class _Prediction(msgspec.Struct, gc=False):
    status: Status
    letter: str | None = None
    element: str | None = None
    point: tuple[float, float] | None = None
    operation: Operation | None = None
    value: str = ""
    flags: tuple[str, ...] = ()
    under: str | None = None


class _Scores(msgspec.Struct, gc=False):
    element: bool
    operation_f1: dict[str, float]
    operation_exact: bool
    success: bool
    element_in_box: bool | None = None
    element_under: bool | None = None


class _Step(msgspec.Struct, gc=False):
    step_id: str
    repeat: int
    task_id: str
    action_uid: str
    index: int
    total_steps: int
    benchmark: str
    split: str
    website: str
    domain: str
    subdomain: str
    task: str
    history: tuple[str, ...]
    invalid: str | None
    asked: bool
    settled: bool
    error: str | None
    source: str
    html_digest: str
    screenshot_digest: str | None
    page_size: tuple[int, int] | None
    pictures: tuple[Picture, ...]
    positives: int
    negatives: int
    gold: Gold
    choices: tuple[ChoiceRecord, ...]
    none_letter: str | None
    same_text: int
    related: int
    short: bool
    prompt_tokens: int | None
    calls: tuple[str, ...]
    prediction: _Prediction | None
    scores: _Scores | None
    usage: Usage | None = None
    cost: float | None = None


_decode = msgspec.json.Decoder(_Step).decode
_said: Callable[[_Prediction | Prediction], tuple[Any, ...]] = attrgetter(
    *_Prediction.__struct_fields__
)


def unit_of(data: bytes) -> StepRecord:
    """The unit on a line of schema 1. Raises what msgspec raises."""
    line = _decode(data)
    said = line.prediction
    digests = {"html": line.html_digest, "screenshot": line.screenshot_digest}
    return UnitRecord(
        kind=STEP,
        unit_id=line.step_id,
        benchmark=line.benchmark,
        split=line.split,
        repeat=line.repeat,
        parents={"task": line.task_id, "website": line.website},
        labels={
            "domain": line.domain,
            "subdomain": line.subdomain,
            "operation": line.gold.operation,
        },
        position=line.index,
        total=line.total_steps,
        goal=line.task,
        invalid=line.invalid,
        asked=line.asked,
        settled=line.settled,
        error=line.error,
        source=line.source,
        digests={name: digest for name, digest in digests.items() if digest is not None},
        pictures=line.pictures,
        prompt_tokens=line.prompt_tokens,
        calls=line.calls,
        prediction=Prediction.of(*_said(said)) if said else None,
        scores=_scores_of(line.scores) if line.scores else None,
        usage=line.usage,
        cost=line.cost,
        detail=StepDetail(
            action_uid=line.action_uid,
            history=line.history,
            page_size=line.page_size,
            positives=line.positives,
            negatives=line.negatives,
            gold=line.gold,
            choices=line.choices,
            none_letter=line.none_letter,
            same_text=line.same_text,
            related=line.related,
            short=line.short,
        ),
    )


def line_of(record: StepRecord) -> Any:
    """The line of a recorded step in a run of schema 1."""
    detail, said = record.detail, record.prediction
    return _Step(
        step_id=record.unit_id,
        repeat=record.repeat,
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
        history=detail.history,
        invalid=record.invalid,
        asked=record.asked,
        settled=record.settled,
        error=record.error,
        source=record.source,
        html_digest=record.digests["html"],
        screenshot_digest=record.digests.get("screenshot"),
        page_size=detail.page_size,
        pictures=record.pictures,
        positives=detail.positives,
        negatives=detail.negatives,
        gold=detail.gold,
        choices=detail.choices,
        none_letter=detail.none_letter,
        same_text=detail.same_text,
        related=detail.related,
        short=detail.short,
        prompt_tokens=record.prompt_tokens,
        calls=record.calls,
        prediction=_Prediction(*_said(said)) if said else None,
        scores=_scores_line(record.scores) if record.scores else None,
        usage=record.usage,
        cost=record.cost,
    )


_F1 = "operation_f1."


def _scores_of(line: _Scores) -> Scores:
    pointed = line.element_in_box, line.element_under
    in_box, under = (None if value is None else float(value) for value in pointed)
    return {
        "element": float(line.element),
        **{f"{_F1}{variant}": value for variant, value in line.operation_f1.items()},
        "operation_exact": float(line.operation_exact),
        "success": float(line.success),
        "element_in_box": in_box,
        "element_under": under,
    }


def _scores_line(scores: Scores) -> _Scores:
    pointed = scores.get("element_in_box"), scores.get("element_under")
    in_box, under = (None if value is None else bool(value) for value in pointed)
    return _Scores(
        bool(scores["element"]),
        {
            name.removeprefix(_F1): value or 0.0
            for name, value in scores.items()
            if name.startswith(_F1)
        },
        bool(scores["operation_exact"]),
        bool(scores["success"]),
        in_box,
        under,
    )
