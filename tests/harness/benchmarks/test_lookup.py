"""Pages of a run's steps, looked up again in the data that its manifest names."""

from __future__ import annotations

from harness.benchmarks import open_steps
from harness.benchmarks.lookup import step_data
from harness.runs import StepData


def test_a_run_on_another_split_than_the_usual_one_finds_its_pages() -> None:
    row = next(open_steps("sample", splits=["dev"]).rows())
    dataset = {"benchmark": "sample", "splits_asked": ["dev"]}
    page = StepData(row.detail.html, row.detail.screenshot)
    assert list(step_data(dataset, [row.unit_id])) == [(row.unit_id, page)]
