"""Logs of inspect_ai for tests, and runs of one step to make them of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, read_eval_log

from adapters.conversation import Reply
from harness.runs import CallRecord, MessageRecord
from reports.exports import export
from tests.reports.runs import setup, step, write


def exported(path: Path, out: Path, **options: Any) -> EvalLog:
    """The log of a run, as inspect_ai reads it."""
    done = export([path], "inspect", out, **options)
    return read_eval_log(str(done.files[0]), resolve_attachments=True)


def samples_of(log: EvalLog) -> dict[tuple[str, int], EvalSample]:
    assert log.samples is not None
    return {(str(one.id), one.epoch): one for one in log.samples}


def asked(
    unit: str, place: str, sent: Sequence[MessageRecord], reply: str, **more: Any
) -> CallRecord:
    """A call whose conversation is named by its place."""
    usage = more.pop("usage", None)
    answer = Reply(reply, usage=usage, model=more.pop("model", ""), latency_s=0.5)
    answer = replace(answer, **more.pop("about", {}))
    values: dict[str, Any] = {"conversation": place, "request": place, "cost": 0.1} | more
    return CallRecord(
        f"{unit}/0/{place}", unit, 0, place, messages=tuple(sent), reply=answer, **values
    )


def said(role: str, *parts: str) -> MessageRecord:
    return MessageRecord(role, parts)


def told(sample: EvalSample) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in sample.messages]


def one_step(path: Path, calls: Sequence[CallRecord], **facts: Any) -> EvalSample:
    """The sample of a run that has one step with these calls."""
    record = step("A", 0, True, total_steps=1, calls=tuple(one.id for one in calls), **facts)
    made = write(path / "run", [record], setup(dataset={"rows": 1}), calls=calls)
    (sample,) = exported(made, path / "out").samples or []
    return sample
