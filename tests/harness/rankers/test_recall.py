from __future__ import annotations

import pytest

from harness.ranker_models.recall import PAPER, Ranked, ranked, recall_by_split
from reports.published.source import published_rows


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
    assert (left_out.steps, left_out.tasks, left_out.without) == (4, 2, 1)
    assert [rate.value for rate in left_out.rates] == [0.25, 0.5, 0.75, 0.75, 0.75]
    interval = left_out.rates[1].interval
    assert interval is not None and (interval.method, interval.clusters) == ("wilson", 2)
    assert interval.low + interval.high == pytest.approx(1)  # about one half
    (missed,) = recall_by_split(steps, without_fails=True)
    assert (missed.steps, missed.tasks, missed.without) == (5, 3, 1)
    assert [rate.value for rate in missed.rates] == [0.2, 0.4, 0.6, 0.6, 0.6]


def test_any_acceptable_element_counts() -> None:
    assert ranked("s", "t", ["x", "c"], ["a", "b", "c"]).rank == 2
    assert ranked("s", "t", ["x"], ["a"]) == Ranked("s", "t", None, True, 1)
    assert ranked("s", "t", [], ["a"]) == Ranked("s", "t", None, False, 1)


def test_splits_keep_apart_and_may_have_nothing_to_measure() -> None:
    parts = recall_by_split([Ranked("b", "t", 0, True, 1), Ranked("a", "t", None, False, 1)])
    assert [(part.split, part.steps, len(part.rates)) for part in parts] == [
        ("b", 1, 5),
        ("a", 0, 0),
    ]


def test_the_figures_of_the_paper_are_those_of_the_published_rows() -> None:
    rows = [row for row in published_rows() if "recall" in row.values]
    assert {row.split: row.values["recall"] for row in rows} == pytest.approx(PAPER)
    assert all("50" in row.model for row in rows)
