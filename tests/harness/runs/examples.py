"""Records to put into runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from adapters.conversation import Picture, Reply, Usage
from harness.runs import (
    CallRecord,
    MessageRecord,
    RunDirectory,
    Setup,
    StepUnit,
)
from parsers.mind2web import MIND2WEB
from parsers.records import Gold, Prediction, Status
from tests.units import step_of, step_scores

SETUP = Setup(
    declaration=MIND2WEB, config={"candidates": {"count": 17}, "protocol": "seeact"}, seed=1
)


def call(
    step_id: str, place: str = "round-1", text: str = "I would click.", **more: Any
) -> CallRecord:
    message = MessageRecord("user", ("Which?", Picture("d", "r", 10, 20)))
    return CallRecord(
        id=f"{step_id}/{more.get('repeat', 0)}/{place}",
        unit_id=step_id,
        repeat=more.pop("repeat", 0),
        place=place,
        request="key",
        conversation="digest",
        messages=(message,),
        reply=Reply(text, usage=Usage(100, output=5), model="model-1"),
        **more,
    )


def step(step_id: str, *, settled: bool = True, letter: str = "A", **more: Any) -> StepUnit:
    values: dict[str, Any] = {
        "step_id": step_id,
        "repeat": 0,
        "task_id": "t1",
        "action_uid": step_id,
        "index": 0,
        "total_steps": 3,
        "benchmark": "test",
        "split": "test_website",
        "website": "shop",
        "domain": "d",
        "subdomain": "s",
        "task": "Buy it.",
        "history": ("[link] Home -> CLICK",),
        "invalid": None,
        "asked": True,
        "settled": settled,
        "error": None if settled else "timeout after 2 tries: no reply",
        "source": "part-0 row 1",
        "html_digest": "h",
        "screenshot_digest": None,
        "page_size": (1280, 900),
        "pictures": (),
        "positives": 1,
        "negatives": 20,
        "gold": Gold("CLICK", "", ("7",), ((1.0, 2.0, 3.0, 4.0),), "7"),
        "choices": (),
        "none_letter": "Q",
        "same_text": 0,
        "related": 0,
        "short": False,
        "prompt_tokens": 900,
        "calls": (f"{step_id}/0/round-1",),
        "prediction": Prediction.of(Status.ANSWERED, letter, "7", None, "CLICK")
        if settled
        else None,
        "scores": step_scores(True, {"mind2web": 1.0}, True, True) if settled else None,
        "usage": Usage(100, output=5),
        "cost": 0.25,
    }
    values |= more
    return step_of(**values)


def write(
    path: Path,
    calls: Iterable[CallRecord] = (),
    steps: Iterable[StepUnit] = (),
    setup: Setup = SETUP,
) -> Path:
    """A run with these lines."""

    async def record(run: RunDirectory) -> None:
        await asyncio.gather(*(run.record_call(one) for one in calls))

    with RunDirectory.start(path, setup) as run:
        asyncio.run(record(run))
        for one in steps:
            run.append_step(one)
    return path
