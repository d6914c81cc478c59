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
    [line] = repack(tmp_path / "in", tmp_path / "out")
    target = tmp_path / "out" / "data" / source.name
    assert line.startswith(f"{source} -> {target}: 45 rows, 1 row groups") and "-> 3 of" in line
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
        list(repack(source, tmp_path))
    with pytest.raises(DataError, match="name a folder"):
        list(repack(source, source))
    whole = source.read_bytes()
    source.write_bytes(whole[:500] + b"\xff" * 5000 + whole[5500:])
    with pytest.raises(DataError):
        list(repack(source, tmp_path / "out"))
    assert list((tmp_path / "out").glob("*")) == []
