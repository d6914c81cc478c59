"""Everything about one step in one run, as plain data for its script."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adapters.conversation import Picture
from harness.runs import CallRecord, ChoiceRecord, MessageRecord, StepRecord, sent_picture
from reports.view.points import chosen_element


def detail(record: StepRecord, calls: Iterable[CallRecord]) -> dict[str, Any]:
    """The data of the step view. Untrusted texts are values only, never keys."""
    gold, prediction, scores = record.detail.gold, record.prediction, record.scores
    return {
        "history": list(record.detail.history),
        "page": list(record.detail.page_size) if record.detail.page_size else None,
        "source": record.source.replace("\\", "/").rsplit("/", 1)[-1],
        "invalid": record.invalid,
        "error": record.error,
        "positives": record.detail.positives,
        "negatives": record.detail.negatives,
        "gold": {
            "operation": gold.operation,
            "value": gold.value,
            "boxes": [list(box) if box else None for box in gold.boxes],
        },
        "choices": [_choice(choice) for choice in record.detail.choices],
        "none": record.detail.none_letter,
        "chosen": chosen_element(record),
        "prediction": None
        if prediction is None
        else {
            "status": str(prediction.status),
            "letter": prediction.letter,
            "element": prediction.element,
            "point": list(prediction.point) if prediction.point else None,
            "operation": prediction.operation,
            "value": prediction.value,
            "flags": list(prediction.flags),
        },
        "scores": None
        if scores is None
        else {
            "element": bool(scores["element"]),
            "exact": bool(scores["operation_exact"]),
            "success": bool(scores["success"]),
            "f1": [
                [name.removeprefix("operation_f1."), value]
                for name, value in scores.items()
                if name.startswith("operation_f1.")
            ],
        },
        "tokens": [record.usage.input, record.usage.output] if record.usage else None,
        "cost": record.cost,
        "sent": [
            [sent.name, list(sent.part)]
            for picture in record.pictures
            if (sent := sent_picture(picture)) is not None and sent.part is not None
        ],
        "rounds": [_round(call) for call in calls],
    }


def _choice(choice: ChoiceRecord) -> list[Any]:
    box = list(choice.box) if choice.box else None
    return [choice.letter, choice.tag, choice.text, box, int(choice.positive), choice.id]


def _round(call: CallRecord) -> dict[str, Any]:
    reply = call.reply
    messages, answer = call.told
    return {
        "place": call.place,
        "messages": [[message.role, _parts(message)] for message in messages],
        "reasoning": reply.reasoning,
        "reply": answer,
        "finish": str(reply.finish),
        "model": reply.model,
        "latency": reply.latency_s,
        "tokens": [reply.usage.input, reply.usage.output] if reply.usage else None,
        "cost": call.cost,
        "attempts": call.attempts,
        "cached": call.from_cache,
    }


def _parts(message: MessageRecord) -> list[list[str]]:
    return [
        ["text", part]
        if isinstance(part, str)
        else ["picture", f"{part.width} × {part.height} pixels", _name(part)]
        for part in message.parts
    ]


def _name(picture: Picture) -> str:
    sent = sent_picture(picture)
    return sent.name if sent is not None else ""
