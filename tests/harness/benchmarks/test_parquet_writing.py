from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.benchmarks import open_steps
from harness.errors import DataError
from harness.parquet_writing import repack
from tests.harness.benchmarks._files import task, write


def test_the_same_rows_in_smaller_groups(tmp_path: Path) -> None:
    source = write(tmp_path / "in" / "data" / "test_task-00000-of-00001.parquet", task("a", 45))
    lines: list[str] = []
    done = repack(tmp_path / "in", tmp_path / "out", on_progress=lambda one: lines.append(str(one)))
    target = tmp_path / "out" / "data" / source.name
    assert [one.target for one in done] == [target]
    assert (done[0].rows, done[0].groups) == (45, (1, 3))
    assert "45 rows, 1 row groups" in lines[0] and "-> 3 of" in lines[0]
    before, after = pq.read_table(source), pq.read_table(target)
    assert after.equals(before, check_metadata=True)
    assert after.schema.metadata[b"made"] == b"for tests"
    assert pq.ParquetFile(target).metadata.row_group(0).num_rows == 20
    name = "multimodal-mind2web"
    one = open_steps(name, data=tmp_path / "in").row("a_a-44")
    assert open_steps(name, data=tmp_path / "out").row("a_a-44").detail.html == one.detail.html


def test_nothing_is_overwritten_and_nothing_half_done_is_left(tmp_path: Path) -> None:
    source = write(tmp_path / "test_task.parquet", task("a", 3))
    with pytest.raises(DataError, match="exists"):
        repack(source, tmp_path)
    with pytest.raises(DataError, match="name a folder"):
        repack(source, source)
    with pytest.raises(DataError, match="cannot have 0 rows"):
        repack(source, tmp_path / "out", rows_per_group=0)
    whole = source.read_bytes()
    source.write_bytes(whole[:500] + b"\xff" * 5000 + whole[5500:])
    with pytest.raises(DataError):
        repack(source, tmp_path / "out")
    assert list((tmp_path / "out").glob("*")) == []
