from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.benchmarks import BENCHMARKS, benchmark, open_steps
from harness.errors import DataError, UserError
from tests.harness.benchmarks._files import page, picture, row, task, write


def complaint(path: Path, *splits: str) -> str:
    """The line that opening and reading a file ends with."""
    with pytest.raises(DataError) as caught:
        list(open_steps("multimodal-mind2web", splits=splits or None, data=path).rows())
    message = str(caught.value)
    assert isinstance(caught.value, UserError)
    assert "\n" not in message
    return message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert (
        complaint(tmp_path / "no.parquet") == f"no such file or folder: {tmp_path / 'no.parquet'}"
    )
    assert complaint(tmp_path) == f"no parquet file in {tmp_path}"


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "test_task.parquet"
    path.write_text("uid,html\n")
    assert complaint(path) == f"{path} is not a parquet file"
    path.write_bytes(b"")
    assert complaint(path) == f"{path} is not a parquet file"


def test_a_git_lfs_pointer_says_what_to_run(tmp_path: Path) -> None:
    path = tmp_path / "test_task.parquet"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    assert complaint(path).endswith("is a git-lfs pointer, not the data; run: git lfs pull")


def test_a_file_cut_short_is_told_from_a_foreign_one(tmp_path: Path) -> None:
    path = write(tmp_path / "test_task.parquet", task("a", 3))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "truncated" in complaint(path)
    path.write_bytes(whole[:-40] + b"\xff" * 32 + whole[-8:])
    assert "is damaged" in complaint(path)


def test_damage_inside_a_file_names_it(tmp_path: Path) -> None:
    path = write(tmp_path / "test_task.parquet", task("a", 40))
    whole = path.read_bytes()
    half = len(whole) // 2
    path.write_bytes(whole[:2000] + b"\xff" * (half - 2000) + whole[half:])
    assert str(path) in complaint(path)


@pytest.mark.parametrize("column", ["cleaned_html", "screenshot", "annotation_id"])
def test_a_missing_column_is_named(tmp_path: Path, column: str) -> None:
    path = write(tmp_path / "test_task.parquet", task("a", 1), without=[column])
    message = f"{path} has no column '{column}'; is it a file of Multimodal-Mind2Web?"
    assert complaint(path) == message


@pytest.mark.parametrize(
    ("column", "value", "part"),
    [
        ("operation", "{broken", "column 'operation' is not valid JSON"),
        ("operation", "[" * 100_000 + "]" * 100_000, "column 'operation' is not valid JSON"),
        (
            "pos_candidates",
            [f'{{"x": {"[" * 100_000 + "]" * 100_000}}}'],
            "cannot be decoded: maximum recursion",
        ),
        ("operation", json.dumps({"op": "FLY", "value": ""}), "op 'FLY'"),
        ("pos_candidates", ["{broken"], "column 'pos_candidates': candidate 0"),
        (
            "neg_candidates",
            [json.dumps({"tag": "a", "attributes": "{", "backend_node_id": "1"})],
            "column 'neg_candidates': candidate 0",
        ),
        ("operation", '{"op": "TYPE", "value": [1]}', "has value [1], not a text"),
        ("target_action_index", "two", "column 'target_action_index' is 'two'"),
        ("target_action_index", "9" * 30, f"column 'target_action_index' is '{'9' * 30}'"),
        ("annotation_id", None, "column 'annotation_id' is empty"),
    ],
)
def test_a_broken_value_names_file_row_and_column(
    tmp_path: Path, column: str, value: object, part: str
) -> None:
    rows = [row(index=0), row(index=1) | {column: value}]
    path = write(tmp_path / "test_task.parquet", rows)
    message = complaint(path)
    assert f"{path}, row 2: " in message
    assert part in message


def test_a_split_that_nobody_has_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "test_task-00000-of-00001.parquet", task("a", 1))
    assert complaint(path, "test_taks") == (
        "multimodal-mind2web has no split 'test_taks'; did you mean 'test_task'?"
    )
    assert complaint(path.parent, "train") == (
        f"{path.parent} has no file for split 'train'; known: test_task"
    )


def test_a_folder_with_other_splits_says_what_it_has(tmp_path: Path) -> None:
    write(tmp_path / "train-00000-of-00001.parquet", task("a", 1))
    assert complaint(tmp_path).endswith("available splits: train")


def test_missing_shards_are_noticed(tmp_path: Path) -> None:
    write(tmp_path / "data" / "test_task-00000-of-00003.parquet", task("a", 1))
    dataset = open_steps("multimodal-mind2web", splits=["test_task"], data=tmp_path)
    assert dataset.notices == (f"{tmp_path} is missing some shards of test_task",)


def test_files_without_a_split_in_their_name_take_the_one_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.parquet", task("a", 1))
    for asked, split in [(None, "local"), (["test_domain"], "test_domain")]:
        (entry,) = open_steps("multimodal-mind2web", splits=asked, data=path).entries
        assert entry.split == split
    assert "ask for one split" in complaint(path, "test_task", "train")


def test_an_unknown_benchmark_suggests_a_known_one() -> None:
    with pytest.raises(DataError, match="did you mean 'multimodal-mind2web'"):
        benchmark("multimodal-mindweb")


def test_every_registered_benchmark_describes_itself() -> None:
    # One of them is named with the tasks that are meant.
    meant = {"browsergym": "browsergym:miniwob.*"}
    # Other tests put benchmarks of their own, which stay for the rest of the process.
    named = {n: text for n, text in BENCHMARKS.names().items() if not BENCHMARKS.was_put(n)}
    for known, summary in named.items():
        name = meant.get(known, known)
        found = benchmark(name)
        assert found.name == name
        assert set(found.default_splits) <= set(found.splits)
        assert summary


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("website", pa.array([1, 2])),
        ("cleaned_html", pa.array([b"\xff\xfe", b"a"])),
        ("pos_candidates", pa.array(["a", "b"])),
        ("action_reprs", pa.array([[{"a": 1}], [{"a": 2}]])),
        ("operation", pa.array([True, False])),
        ("screenshot", pa.array([{"a": 1}, {"a": 2}])),
        ("target_action_index", pa.array([1.5, 2.5])),
    ],
)
def test_a_column_of_another_type_is_named_before_any_row_is_read(
    tmp_path: Path, column: str, values: pa.Array
) -> None:
    source = pq.read_table(write(tmp_path / "source.parquet", task("a", 2)))
    path = tmp_path / "test_task.parquet"
    pq.write_table(source.set_column(source.schema.get_field_index(column), column, values), path)
    with pytest.raises(DataError) as caught:
        open_steps("multimodal-mind2web", data=path)
    assert str(caught.value).startswith(f"{path}: column '{column}' holds ")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("cleaned_html", pa.array([page(), page()], pa.large_string())),
        ("cleaned_html", pa.array([page(), page()]).dictionary_encode()),
        ("website", pa.nulls(2)),
        ("screenshot", pa.array([picture(), picture()], pa.large_binary())),
        ("screenshot", pa.nulls(2)),
        ("target_action_index", pa.array([0, 1], pa.int16())),
    ],
)
def test_the_ways_to_store_the_same_values_are_all_read(
    tmp_path: Path, column: str, values: pa.Array
) -> None:
    source = pq.read_table(write(tmp_path / "source.parquet", task("a", 2)))
    place = source.schema.get_field_index(column)
    path = tmp_path / "test_task.parquet"
    pq.write_table(source.set_column(place, column, values), path)
    assert len(list(open_steps("multimodal-mind2web", data=path).rows())) == 2


def test_a_row_that_cannot_be_decoded_does_not_hide_the_others(tmp_path: Path) -> None:
    rows = task("a", 3)
    rows[1] |= {"operation": "{broken"}
    path = write(tmp_path / "test_task.parquet", rows)
    read = list(open_steps("multimodal-mind2web", data=path).decoded())
    assert [isinstance(row, DataError) for _, row in read] == [False, True, False]
    assert [entry.detail.row for entry, _ in read] == [1, 2, 3]
