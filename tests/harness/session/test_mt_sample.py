"""Whole runs on the shipped conversations."""

from __future__ import annotations

from typing import Any

import harness
from harness.runs import StepUnit, open_run


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
