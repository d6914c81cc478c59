"""Runs of a made-up kind of unit: road signs to find and name, in streets of towns."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

from PIL import Image

from adapters.conversation import Reply, Usage
from harness.runs import (
    ActRecord,
    Blobs,
    CallRecord,
    EmbedRecord,
    MessageRecord,
    RunDirectory,
    Setup,
    Unit,
)
from parsers import Declaration, Status
from parsers.actions import Action
from parsers.declaration import Group, Level, Measure
from parsers.records import Prediction
from tests.reports.view.pages import HOSTILE

SIZE = (640, 400)
IOU = (1.0, 0.6, 0.25, 0.0, None)
"""Of signs in turn; the last one is not settled."""


def signs_declared(head: str = "IoU") -> Declaration:
    return Declaration(
        measures=(
            Measure("iou", head, "overlap with the sign", main=True),
            Measure("named", "Name", "named rightly", averages=("micro",)),
        ),
        levels=(Level("street"), Level("town", shared=True)),
        groups=(Group("split", "the split", whole="street"), Group("shape", "its shape")),
        kind="sign",
    )


def picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", SIZE, (200, 40, 40)).save(out, "PNG")
    return out.getvalue()


def sign(number: int, digest: str) -> Unit[Any]:
    """The first sign of a street has no picture; goals and details are hostile."""
    text, iou = HOSTILE[number % 4], IOU[number % 5]
    answered = Prediction(Status.ANSWERED, Action("mark", None, (30.5, 40.0), {"name": text}))
    return Unit(
        kind="sign",
        unit_id=f"sign-{number}",
        benchmark="road-signs",
        split="test",
        parents={"street": f"Street {number // 2}", "town": "<b>Ulm</b>"},
        labels={"shape": ("round", "square")[number % 2], "weather": text},
        position=number % 2,
        total=2,
        goal=f"Find sign {number} {text}",
        asked=True,
        settled=iou is not None,
        error=None if iou is not None else text,
        source="signs.json",
        digests={"screenshot": digest} if number % 2 else {},
        calls=tuple(call.id for call in _calls(number, digest)),
        prediction=answered if iou is not None else None,
        scores=None if iou is None else {"iou": iou, "named": float(iou > 0) if number else None},
        usage=Usage(10, output=2),
        cost=0.5,
        detail={"asked": text, text: [1, {"__proto__": text}], "box": [1, 2, 3, 4], "none": None},
    )


def _calls(number: int, digest: str) -> list[CallRecord]:
    """A planner is asked, texts are embedded, something is done, the model is asked."""
    unit, text = f"sign-{number}", HOSTILE[number % 4]

    def call(place: str, reply: Reply, **more: Any) -> CallRecord:
        sent = more.pop("messages", ())
        id = f"{unit}/0/{place}"
        return CallRecord(id, unit, 0, place, "key", "digest", sent, reply, **more)

    ask = (MessageRecord("user", (text,)),)
    acted = ActRecord({"turn": 15}, {"seen": [text], text: True}, {text: digest, "log": "0" * 64})
    embedded = EmbedRecord(1, 4, "1" * 64, (text,))
    planned = Reply(text, usage=Usage(7, output=3), model="small")
    asked = Reply(text, usage=Usage(10, output=2), model="model")
    return [
        call("plan", planned, messages=ask, role="planner", cost=0.25),
        call("memory", Reply("", usage=Usage(2), model="letters"), embed=embedded, role="memory"),
        call("turn", Reply("", latency_s=0.5), act=acted),
        call("look", asked, messages=ask, cost=0.5),
    ]


def signs(path: Path, count: int = 5, head: str = "IoU") -> Path:
    """A run of signs, complete but for those that are not settled."""
    setup = Setup(
        config={"benchmark": "road-signs", "repeats": 1},
        model={"name": path.name},
        dataset={"rows": count},
        declaration=signs_declared(head),
    )
    with RunDirectory.start(path, setup) as run:
        digest = Blobs(path).put(picture())

        async def record() -> None:
            for number in range(count):
                for call in _calls(number, digest):
                    await run.record_call(call)

        asyncio.run(record())
        for number in range(count):
            run.append_step(sign(number, digest))
    return path
