"""Small runs on disk for tests, with results that can be computed by hand.

The worked example: task A succeeds twice; B succeeds, has an invalid row, succeeds; C succeeds,
then fails. Step success is 5/6 micro and macro, strictly 5/7 and 13/18; task success is 2/3,
strictly 1/3, and 1/2 among the tasks without invalid rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from adapters.conversation import Reply, Usage
from harness.benchmarks.step.options import StepOptions
from harness.runs import CallRecord, MessageRecord, RunDirectory, Setup, StepUnit
from harness.settings import declared_by
from parsers.mind2web import MIND2WEB
from parsers.records import F1_VARIANTS, Choice, Gold, Prediction, Status
from reports.comparability import OF_PROTOCOL
from reports.frames.units import Column
from tests.units import step_of, step_scores

WORKED = {"A": (True, True), "B": (True, None, True), "C": (True, False)}


def setup(**config: Any) -> Setup:
    """A run's setup; `dataset` and `model` replace those parts, the rest goes into the settings:
    options of recorded steps and of protocols under the names of their owners."""
    dataset = {"files": [{"name": "part-0", "sha256": "ab" * 32}], "rows": 7, "partial_tasks": {}}
    dataset |= config.pop("dataset", {})
    model = {"name": "model-1"} | config.pop("model", {})
    settings: dict[str, Any] = {"benchmark": "test", "distractors": 20, "seed": 1, "f1": "mind2web"}
    settings |= {"invalid": "exclude", "step_rule": "f1", "repeats": 1, **config}
    of_steps: Iterable[str] = declared_by(StepOptions)
    for owner, names in (("benchmark_option", of_steps), ("protocol_option", OF_PROTOCOL)):
        own = {name: settings.pop(name) for name in sorted(names) if name in settings}
        if own:
            settings[owner] = {**own, **settings.get(owner, {})}
    return Setup(
        declaration=MIND2WEB, config=settings, model=model, dataset=dataset, seed=1, pictures="full"
    )


def step(task: str, index: int, right: bool | None, **more: Any) -> StepUnit:
    """A step: right, wrong (both element and operation), or an invalid row for None."""
    settled = more.pop("settled", True)
    asked = right is not None
    said = settled and asked
    f1 = more.pop("f1", None) or dict.fromkeys(F1_VARIANTS, float(bool(right)))
    status = more.pop("status", Status.ANSWERED)
    letter = "B" if right else "A"
    prediction = Prediction.of(
        status, letter, "7" if right else "8", None, "CLICK", "", ("multiple",)
    )
    success = bool(right)
    values: dict[str, Any] = {
        "step_id": f"{task}_{index}",
        "repeat": 0,
        "task_id": task,
        "action_uid": f"uid-{task}-{index}",
        "index": index,
        "total_steps": 3,
        "benchmark": "test",
        "split": "test_website",
        "website": f"shop-{task}",
        "domain": "Shopping",
        "subdomain": "Books",
        "task": f"Buy {task}.",
        "history": ("[link] Home -> CLICK", "[button] Go -> CLICK"),
        "invalid": None if asked else "no_positive",
        "asked": asked,
        "settled": settled,
        "error": None if settled else "timeout: no reply",
        "source": "part-0 row 1",
        "html_digest": "h",
        "screenshot_digest": "s",
        "page_size": (1280, 900),
        "pictures": (),
        "positives": 1,
        "negatives": 20,
        "gold": Gold("CLICK", "", ("7",), (None,), "7"),
        "choices": (Choice("A", "8", "a", "Wrong"), Choice("B", "7", "button", "Right")),
        "none_letter": "C",
        "same_text": 0,
        "related": 1,
        "short": False,
        "prompt_tokens": 900,
        "calls": (f"{task}_{index}/0/round-1",) if asked else (),
        "prediction": prediction if said else None,
        "scores": step_scores(success, f1, success, success) if said else None,
        "usage": Usage(100, output=5) if asked else None,
        "cost": 0.25 if asked else None,
    }
    values |= more
    return step_of(**values)


def worked(**more: Any) -> list[StepUnit]:
    """The rows of the worked example."""
    return [
        step(task, index, right, total_steps=len(rights), **more)
        for task, rights in WORKED.items()
        for index, right in enumerate(rights)
    ]


def call(record: StepUnit, text: str) -> CallRecord:
    """The call of a step."""
    return CallRecord(
        id=f"{record.unit_id}/{record.repeat}/round-1",
        unit_id=record.unit_id,
        repeat=record.repeat,
        place="round-1",
        request="key",
        conversation="digest",
        messages=(MessageRecord("user", ("Which?",)),),
        reply=Reply(text, usage=Usage(100, output=5), model="model-1"),
        cost=0.25,
    )


def write(
    path: Path,
    steps: Sequence[StepUnit],
    made: Setup | None = None,
    *,
    complete: bool = True,
    calls: Iterable[CallRecord] = (),
) -> Path:
    """A run with these lines."""

    async def record(run: RunDirectory) -> None:
        await asyncio.gather(*(run.record_call(one) for one in calls))

    with RunDirectory.start(path, made or setup()) as run:
        asyncio.run(record(run))
        for one in steps:
            run.append_step(one)
        if complete:
            run.finish({}, complete=True)
    return path


def schema(columns: Iterable[Column]) -> dict[str, str]:
    """The names of columns with their pandas types."""
    return {column.name: column.kind for column in columns}
