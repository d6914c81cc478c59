"""Ranking a benchmark, and the file of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.benchmarks import Filters, StepDataset, open_steps
from harness.candidates import page_of
from harness.errors import DataError
from harness.ranker_models.commands import rank_benchmark
from harness.rankers import RankTable, open_ranks


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def dev(**filters: Any) -> StepDataset:
    return open_steps("sample", splits=["dev"]).select(Filters(**filters))


def test_stored_ranks_are_those_of_the_ranker(tmp_path: Path) -> None:
    out, dataset = tmp_path / "r.parquet", dev(limit=4)
    assert rank_benchmark(dataset, "lexical", out) == len(dataset)
    assert sorted(path.name for path in tmp_path.glob("r.parquet*")) == ["r.parquet"]
    table = RankTable(out)
    ids = [entry.unit_id for entry in dataset.entries]
    assert pq.read_table(out)["step_id"].to_pylist() == ids
    assert table.name == "lexical"
    stored, ranks = open_ranks(str(out)), open_ranks("lexical")
    for row in dataset.rows():
        page = page_of(row)
        assert list(stored.of(row, page)) == list(ranks.of(row, page))
    entry = table.entry(ids[0])
    assert entry.scores is not None and list(entry.scores) == sorted(entry.scores, reverse=True)


def test_a_step_that_cannot_be_ranked_is_named_and_leaves_no_file(tmp_path: Path) -> None:
    from tests.harness.benchmarks._files import task, write

    rows = task("t", 40)
    rows[35]["cleaned_html"] = "<html"
    path = write(tmp_path / "data" / "test_task.parquet", rows)
    dataset = open_steps("multimodal-mind2web", data=path)
    with pytest.raises(DataError, match="row 36"):
        rank_benchmark(dataset, "lexical", tmp_path / "r.parquet")
    assert [one.name for one in tmp_path.iterdir() if one.name != "cache"] == ["data"]


def test_a_file_of_ranks_may_be_written_anew(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    rank_benchmark(dev(limit=1), "lexical", first)
    rank_benchmark(dev(limit=1), str(first), second)
    a, b = pq.read_table(first), pq.read_table(second)
    assert a["ids"].equals(b["ids"])
    with pytest.raises(DataError, match="exists"):
        rank_benchmark(dev(limit=1), "lexical", first)
