from __future__ import annotations

import pytest

from harness.benchmarks import Filters, StepDataset, open_steps
from harness.benchmarks.dataset import shard_of
from harness.errors import DataError
from tests.harness.benchmarks._files import task, write


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> StepDataset:
    folder = tmp_path_factory.mktemp("data")
    rows = [
        *task("a", 3, website="shop", domain="Shopping"),
        *task("b", 2, website="air", domain="Travel"),
        *task("c", 1, website="rail", domain="Travel"),
    ]
    straddling = [rows[0], rows[3], rows[1], rows[4], rows[5], rows[2]]
    path = write(folder / "test_task.parquet", straddling, rows_per_group=2)
    return open_steps("multimodal-mind2web", data=path)


def uids(dataset: StepDataset) -> list[str]:
    assert [r.detail.action_uid for r in dataset.rows()] == [
        e.detail.action_uid for e in dataset.entries
    ]
    return [entry.detail.action_uid for entry in dataset.entries]


def test_filters_keep_the_order_of_the_file(dataset: StepDataset) -> None:
    assert uids(dataset) == ["a-0", "b-0", "a-1", "b-1", "c-0", "a-2"]
    assert uids(dataset.select(Filters({"domain": ("Travel",)}))) == ["b-0", "b-1", "c-0"]
    assert uids(dataset.select(Filters({"website": ("rail", "shop")}))) == [
        "a-0",
        "a-1",
        "c-0",
        "a-2",
    ]
    assert uids(dataset.select(Filters({"task": ("b",)}))) == ["b-0", "b-1"]
    assert uids(dataset.select(Filters(unit_ids=("a_a-2", "a_a-0")))) == ["a-0", "a-2"]
    assert uids(dataset.without({"a_a-0", "c_c-0"})) == ["b-0", "a-1", "b-1", "a-2"]


def test_a_limit_takes_whole_tasks(dataset: StepDataset) -> None:
    assert uids(dataset.select(Filters(limit=1))) == ["a-0", "a-1", "a-2"]
    assert uids(dataset.select(Filters({"domain": ("Travel",)}, limit=2))) == ["b-0", "b-1", "c-0"]
    assert len(dataset.select(Filters(limit=99))) == 6


def test_shards_are_whole_tasks_and_cover_the_limited_selection(dataset: StepDataset) -> None:
    whole = dataset.select(Filters(limit=2))
    parts = [dataset.select(Filters(limit=2, shard=(number, 3))) for number in (1, 2, 3)]
    assert sorted(u for part in parts for u in uids(part)) == sorted(uids(whole))
    for part in parts:
        for task_id in {e.parents["task"] for e in part.entries}:
            assert (
                len([e for e in part.entries if e.parents["task"] == task_id])
                == {"a": 3, "b": 2}[task_id]
            )


def test_the_shard_of_a_task_never_changes() -> None:
    assert [shard_of(task_id, 4) for task_id in ("a", "b", "c", "d")] == [3, 3, 3, 2]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (Filters({"website": ("shp",)}), "no website 'shp' in the selection; did you mean 'shop'?"),
        (
            Filters({"domain": ("travel",)}),
            "no domain 'travel' in the selection; did you mean 'Travel'?",
        ),
        (
            Filters({"task": ("zzzz",)}),
            "no task 'zzzz' in the selection; it has 3 others; is this one in another split?",
        ),
        (
            Filters({"website": ("air",), "domain": ("Shopping",)}),
            "no step matches all the filters",
        ),
        (Filters(limit=0), "--limit must be at least 1, not 0"),
        (Filters(shard=(4, 3)), "'4/3' is not a shard; write 1/3 to 3/3"),
    ],
)
def test_what_no_step_has_is_an_error(dataset: StepDataset, filters: Filters, message: str) -> None:
    with pytest.raises(DataError) as caught:
        dataset.select(filters)
    assert str(caught.value) == message
