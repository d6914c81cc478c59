from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.benchmarks import Filters, StepDataset, open_steps
from harness.benchmarks import mind2web_json as module
from harness.benchmarks.mind2web_json import split
from harness.errors import DataError
from harness.records import Row
from tests.units import changed

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def original_task(rows: list[Row]) -> dict[str, Any]:
    """A task of the sample as Mind2Web's own JSON has it (protocol description, 1.3)."""
    first = rows[0]
    return {
        "website": first.parents["website"],
        "domain": first.labels["domain"],
        "subdomain": first.labels["subdomain"],
        "annotation_id": first.parents["task"],
        "confirmed_task": first.goal,
        "action_reprs": [*rows[-1].detail.history, '[button]  {last} "one" -> CLICK'],
        "actions": [
            {
                "action_uid": row.detail.action_uid,
                "raw_html": '<!DOCTYPE html><p title="]}{[\\">' + "x" * 50,
                "cleaned_html": row.detail.html,
                "operation": {
                    "original_op": row.detail.operation,
                    "value": row.detail.value,
                    "op": row.detail.operation,
                },
                "pos_candidates": [
                    {
                        "tag": c.tag,
                        "attributes": c.raw_attributes,
                        "is_original_target": c.original_target,
                        "is_top_level_target": c.top_level_target,
                        "backend_node_id": c.id,
                    }
                    for c in row.detail.positives
                ],
                "neg_candidates": [
                    {"tag": c.tag, "attributes": c.raw_attributes, "backend_node_id": c.id}
                    for c in row.detail.negatives
                ],
            }
            for row in rows
        ],
    }


@pytest.fixture(scope="module")
def sample() -> list[Row]:
    tasks = open_steps("sample", splits=["test"]).select(Filters(limit=4))
    return list(tasks.rows())


def written(folder: Path, sample: list[Row], **options: Any) -> Path:
    tasks: dict[str, list[Row]] = {}
    for row in sample:
        tasks.setdefault(row.parents["task"], []).append(row)
    listed = [original_task(rows) for rows in tasks.values()]
    path = folder / "test_task" / "test_task_0.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(listed, **options), encoding="utf-8")
    return path


def opened(path: Path, **options: Any) -> StepDataset:
    return open_steps("mind2web", data=path, **options)


@pytest.mark.parametrize("options", [{}, {"indent": 1}, {"ensure_ascii": False}])
def test_rows_are_those_that_were_written(
    tmp_path: Path, sample: list[Row], options: dict[str, Any]
) -> None:
    dataset = opened(written(tmp_path, sample, **options).parent)
    rows = list(dataset.rows())
    assert len(rows) == len(dataset) == len(sample)
    for row, expected in zip(rows, sample, strict=True):
        assert row.split == "test_task" and row.benchmark == "mind2web"
        assert row.total == len([r for r in sample if r.parents["task"] == row.parents["task"]])
        same = changed(
            expected,
            benchmark=row.benchmark,
            split=row.split,
            total_steps=row.total,
            source=row.source,
            screenshot=None,
            problems=row.detail.problems,
            invalid=row.invalid,
            told=row.detail.told,
        )
        assert row == same
        if row.position + 1 < row.total:
            assert row.detail.told == expected.detail.told != ""


def test_a_row_without_a_picture_is_valid_and_one_without_a_positive_is_not(
    tmp_path: Path, sample: list[Row]
) -> None:
    rows = list(opened(written(tmp_path, sample).parent).rows())
    assert {bool(row.detail.positives): row.invalid for row in rows} == {
        True: None,
        False: "no_positive",
    }
    assert all(row.detail.screenshot is None for row in rows)


def test_one_step_is_read_without_the_others(tmp_path: Path, sample: list[Row]) -> None:
    dataset = opened(written(tmp_path, sample).parent)
    wanted = dataset.entries[5]
    assert dataset.row(wanted.unit_id).detail.html == sample[5].detail.html
    assert list(dataset.negatives()) == [len(row.detail.negatives) for row in sample]


def test_the_index_is_remembered_until_the_file_changes(
    tmp_path: Path, sample: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, sample)
    first = opened(path).entries
    with monkeypatch.context() as patched:
        patched.setattr(module, "split", lambda path: pytest.fail("the file was read again"))
        assert opened(path).entries == first
    path.write_text(json.dumps([original_task(sample[:1])]), encoding="utf-8")
    assert len(opened(path)) == 1


def test_splits_are_told_by_folders_and_file_names(tmp_path: Path, sample: list[Row]) -> None:
    text = json.dumps([original_task(sample[:2])])
    other = text.replace(sample[0].parents["task"], "another")
    for name, content in (("test_domain/test_domain_3.json", text), ("train_1.json", other)):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    dataset = opened(tmp_path / "data")
    assert {entry.split for entry in dataset.entries} == {"test_domain"}
    assert len(opened(tmp_path / "data", splits=["train"])) == 2
    with pytest.raises(DataError, match="has no file for split 'test_task'"):
        opened(tmp_path / "data", splits=["test_task"])


@given(
    st.lists(
        st.dictionaries(
            st.text(st.sampled_from('a"\\{}[],é\n'), max_size=4),
            st.recursive(
                st.text(st.sampled_from('a"\\{}[],:é\n'), max_size=12) | st.integers(),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.text(max_size=3), inner, max_size=3)
                ),
                max_leaves=6,
            ),
            max_size=3,
        ),
        max_size=4,
    ),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.sampled_from([b"", b" \n", b"\xef\xbb\xbf"]),
)
def test_files_are_split_at_their_objects(
    tmp_path_factory: pytest.TempPathFactory,
    objects: list[dict[str, object]],
    indent: int | None,
    plain: bool,
    before: bytes,
) -> None:
    path = tmp_path_factory.getbasetemp() / "split.json"
    text = before + json.dumps(objects, indent=indent, ensure_ascii=plain).encode()
    path.write_bytes(text)
    parts = list(split(path))
    assert [json.loads(part) for _, part in parts] == objects
    for start, part in parts:
        assert text[start : start + len(part)] == part


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[{"annotation_id": "a", "actions": [', "truncated"),
        ('[{"annotation_id": "a", "actions": []}', "truncated"),
        ('[{"a": "b', "truncated"),
        ("PAR1", "not a JSON file of tasks"),
        ("[1, 2]", "task 1 is not a Mind2Web task"),
        ('{"annotation_id": "a", "actions": []}', "not a JSON file of tasks"),
        ('[{"annotation_id": "a"}]', "task 1 is not a Mind2Web task: .*actions"),
        ('[{"annotation_id": "a", "actions": 3}]', "task 1 is not a Mind2Web task"),
        (
            '[{"annotation_id": "a", "actions": [], "x": ' + DEEP + "}]",
            "not a JSON file of tasks: .* recursion",
        ),
        ("[]", "no tasks in"),
        ("", "no tasks in"),
        ("version https://git-lfs.github.com/spec/v1", "git lfs pull"),
    ],
)
def test_other_files_are_refused_with_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "train_0.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=complaint) as raised:
        opened(path, splits=["train"])
    assert "\n" not in str(raised.value)


def test_a_broken_action_is_named(tmp_path: Path, sample: list[Row]) -> None:
    task = original_task(sample[:2])
    task["actions"][1]["operation"] = {"op": "DANCE"}
    path = tmp_path / "test_task_0.json"
    path.write_text(json.dumps([task]), encoding="utf-8")
    with pytest.raises(DataError, match=r"task 1, action 2: .*DANCE"):
        list(opened(path).rows())


def test_a_history_that_is_not_there_is_not_made_up(tmp_path: Path, sample: list[Row]) -> None:
    task = original_task(sample[:3])
    task["action_reprs"] = task["action_reprs"][:1]
    path = tmp_path / "test_task_0.json"
    path.write_text(json.dumps([task]), encoding="utf-8")
    with pytest.raises(DataError, match=r"task 1, action 3: 'action_reprs' has 1 entries, too few"):
        list(opened(path).rows())


def test_test_data_without_a_folder_and_the_archive_say_how_to_unpack(tmp_path: Path) -> None:
    for splits in (None, ["test_task"]):
        with pytest.raises(DataError, match=r"unzip -P .* --data"):
            open_steps("mind2web", splits=splits)
    archive = tmp_path / "test.zip"
    archive.write_bytes(b"PK")
    with pytest.raises(DataError, match=r"unzip -P .* --data"):
        opened(archive)


def test_a_single_task_is_all_that_is_held(tmp_path: Path) -> None:
    """Peak memory of reading a large file is that of its largest task, several times over."""
    import tracemalloc

    chance = random.Random(0)
    filler = "".join(chance.choice('abc<>{}[]" ') for _ in range(200_000))
    action = {
        "action_uid": "u",
        "raw_html": filler,
        "cleaned_html": "<html/>",
        "operation": {"op": "CLICK", "value": ""},
    }
    path = tmp_path / "train_0.json"
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for number in range(120):
            task = {"annotation_id": f"t{number}", "actions": [action]}
            file.write((", " if number else "") + json.dumps(task))
        file.write("]")
    assert path.stat().st_size > 20_000_000
    tracemalloc.start()
    try:
        count = sum(1 for _ in opened(path, splits=["train"]).rows())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 120
    assert peak < 18_000_000
