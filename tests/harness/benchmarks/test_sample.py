from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from lxml import etree

from harness.benchmarks import open_steps
from harness.errors import DataError
from harness.sample import conversation_files
from tests.harness.benchmarks._files import task, write


def test_the_sample_is_read_like_any_file_of_its_form() -> None:
    for splits in (None, ["dev", "test"]):
        dataset = open_steps("sample", splits=splits)
        assert {entry.split for entry in dataset.entries} == set(splits or ["test"])
        for step in dataset.rows():
            assert step.position < step.total
            assert len(step.detail.history) == step.position


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


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("split", ["dev", "test"])
def test_the_sample_of_conversations_holds_what_its_files_hold(split: str, own_cache: Path) -> None:
    released = json.loads(lzma.decompress(conversation_files()[split].read_bytes()))
    actions = [action for one in released for turn in one["turns"] for action in turn["actions"]]
    dataset = open_steps("mt-sample", splits=[split])
    assert dataset.notices == ()
    rows = list(dataset.rows())
    assert [row.detail.action_uid for row in rows] == [one["action_uid"] for one in actions]
    assert {row.parents["conversation"] for row in rows} == {one["task_id"] for one in released}
    for row, action in zip(rows, actions, strict=True):
        ids = {node.get("backend_node_id") for node in etree.fromstring(row.detail.html).iter()}
        positives = [candidate.id for candidate in row.detail.positives]
        assert positives == [c["backend_node_id"] for c in action["pos_candidates"]]
        assert set(positives) <= ids
        assert row.detail.screenshot is not None and row.detail.screenshot.startswith(b"\xff\xd8")


def test_one_action_of_the_test_split_has_lost_its_element(own_cache: Path) -> None:
    without = [row for row in open_steps("mt-sample").rows() if not row.detail.positives]
    assert [row.detail.told for row in without] == ["[checkbox]  Add $2 for the roof fund -> CLICK"]
    assert all(row.detail.positives for row in open_steps("mt-sample", splits=["dev"]).rows())


def test_conversations_are_unpacked_once_and_a_spoilt_copy_is_made_anew(own_cache: Path) -> None:
    assert len(open_steps("mt-sample")) == 129
    (unpacked,) = own_cache.rglob("*-test.json")
    state = unpacked.stat()
    assert len(open_steps("mt-sample")) == 129
    assert unpacked.stat().st_mtime_ns == state.st_mtime_ns
    unpacked.write_bytes(b"[]")
    assert len(open_steps("mt-sample")) == 129


def test_a_cache_that_cannot_be_written_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"dev\.json\.xz .*set XDG_CACHE_HOME") as raised:
        open_steps("mt-sample", splits=["dev"])
    assert "\n" not in str(raised.value)
