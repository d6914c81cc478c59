from __future__ import annotations

from pathlib import Path

import pytest

from harness.benchmarks import open_steps
from harness.errors import DataError
from tests.harness.benchmarks._files import task, write


def test_the_sample_is_read_like_any_file_of_its_form() -> None:
    for splits in (None, ["dev", "test"]):
        dataset = open_steps("sample", splits=splits)
        assert {entry.split for entry in dataset.entries} == set(splits or ["test"])
        for step in dataset.rows():
            assert step.info.index < step.info.total_steps
            assert len(step.history) == step.info.index


def test_a_sample_that_was_not_installed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "dev.parquet", task("a", 2))
    paths = {"dev": path, "test": tmp_path / "test.parquet"}
    monkeypatch.setattr("harness.sample.files", lambda: paths)
    assert len(open_steps("sample", splits=["dev"])) == 2
    with pytest.raises(DataError, match="missing from this installation"):
        open_steps("sample")


def test_the_sample_takes_no_path_and_no_foreign_split() -> None:
    with pytest.raises(DataError, match="ships with the package"):
        open_steps("sample", data=Path("x.parquet"))
    with pytest.raises(DataError, match="sample has no split 'train'"):
        open_steps("sample", splits=["train"])
