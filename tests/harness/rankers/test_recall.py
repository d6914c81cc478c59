from __future__ import annotations

from typing import Any

import pytest

from harness.ranker_models.commands import DEPTHS, PAPER, Ranked, recall_by_split
from reports.published.source import published_rows


def rates(part: dict[str, Any]) -> list[float | None]:
    return [part[f"recall_{k}"] for k in DEPTHS]


def counts(part: dict[str, Any]) -> tuple[int, int, int]:
    return part["steps"], part["tasks"], part["without_positive"]


def test_recall_by_hand() -> None:
    """Task a: ranks 0 and 7; task b: rank 3 and none among the ranked; task c: no positive."""
    steps = [
        Ranked("s", "a", 0, True, 10),
        Ranked("s", "a", 7, True, 10),
        Ranked("s", "b", 3, True, 10),
        Ranked("s", "b", None, True, 10),
        Ranked("s", "c", None, False, 10),
    ]
    (left_out,) = recall_by_split(steps)
    assert counts(left_out) == (4, 2, 1)
    assert rates(left_out) == [0.25, 0.5, 0.75, 0.75, 0.75]
    assert left_out["recall_5_method"] == "wilson"
    assert left_out["recall_5_low"] + left_out["recall_5_high"] == pytest.approx(1)  # about half
    (missed,) = recall_by_split(steps, without_fails=True)
    assert counts(missed) == (5, 3, 1)
    assert rates(missed) == [0.2, 0.4, 0.6, 0.6, 0.6]


def test_splits_keep_apart_and_may_have_nothing_to_measure() -> None:
    parts = recall_by_split([Ranked("b", "t", 0, True, 1), Ranked("a", "t", None, False, 1)])
    assert [(part["split"], part["steps"]) for part in parts] == [("b", 1), ("a", 0)]
    assert (rates(parts[0]), rates(parts[1])) == ([1.0] * 5, [None] * 5)
    assert parts[0].keys() == parts[1].keys()


def test_the_figures_of_the_paper_are_those_of_the_published_rows() -> None:
    rows = [row for row in published_rows() if "recall" in row.values]
    assert {row.split: row.values["recall"] for row in rows} == pytest.approx(PAPER)
    assert all("50" in row.model for row in rows)
