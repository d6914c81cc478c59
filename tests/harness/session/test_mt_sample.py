"""Whole runs on the shipped conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import harness
from harness.runs import StepUnit, open_run
from tests.harness.commands.tool import call, calls, summary

QUIET = ("--progress", "off", "--no-cache")


def _whole(model: str, split: str) -> list[StepUnit]:
    data: dict[str, Any] = {"benchmark": "mt-sample", "split": split}
    run = harness.evaluate(model=model, **data, image_policy="none", progress="off")
    assert run.complete
    return list(open_run(run.path).records())


def _right(record: StepUnit, score: str = "success") -> bool:
    return bool(record.scores and record.scores[score] == 1.0)


def test_the_oracle_is_right_wherever_there_is_a_right_element() -> None:
    assert all(map(_right, _whole("oracle", "dev")))
    wrong = [record for record in _whole("oracle", "test") if not _right(record)]
    assert [(r.goal[:27], r.asked, r.settled) for r in wrong] == [
        ("Oh, and put a bit towards t", False, True)
    ]


@pytest.mark.parametrize("protocol", ["mt-synapse", "self-map"])
def test_calls_by_role_add_up_to_those_on_record(place: Path, protocol: str) -> None:
    """What turns share is in the part of the step that asked first, and in no other."""
    asked = ("-b", "mt-sample", "--split", "dev", "--limit", "2", "--ranker", "lexical")
    run = ("run", "-m", "oracle", *asked, "--protocol", protocol, *QUIET, "-o", "run")
    assert call(*run).code == 0
    told = {role: part["calls"] for role, part in summary("run")["by_role"].items()}
    on_record = [one.get("role", "") for one in calls("run")]
    assert told == {role: on_record.count(role) for role in set(on_record)}
    assert len(told) > 1
