from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks import StepDataset, open_steps
from harness.benchmarks.snapshot_file import SnapshotRow, write_snapshot
from harness.errors import DataError
from harness.page import Page
from harness.records import Row
from tests.harness.benchmarks._files import picture, row, task, write
from tests.harness.candidates.prepared import prepare
from tests.units import changed

URL = "data:image/jpeg;base64," + base64.b64encode(picture()).decode()
CARD = [
    "task_id",
    "split",
    "step",
    "task_description",
    "prompt_0",
    "prompt_1",
    "raw_html",
    "cleaned_html",
    "candidates",
    "target_elements",
    "target_op",
    "target_op_value",
    "website",
    "domain",
    "subdomain",
    "is_valid",
]


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def prepared(step: Row) -> SnapshotRow:
    listed = prepare(step, Page.parse(step.detail.html), distractors=5)
    shown = {"type": "image_url", "image_url": {"url": URL, "detail": "high"}}
    user = [text(f"Task: {step.goal} ↵\n"), *([shown] if step.detail.screenshot else [])]
    return SnapshotRow(
        step,
        listed.choices,
        first=[
            {"role": "system", "content": [text("You press buttons.")]},
            {"role": "user", "content": user},
        ],
        second=[{"role": "user", "content": [text("\n".join(c.text for c in listed.choices))]}],
        recipe="jpeg/90",
    )


@pytest.fixture
def original(tmp_path: Path) -> StepDataset:
    rows = [
        *task("a", 3),
        row("b", 0, positives=["b4", "b2"], op="TYPE", value="Zürich"),
        row("b", 1, positives=[]),
        row("b", 2, screenshot=None),
    ]
    return open_steps("multimodal-mind2web", data=write(tmp_path / "test_task.parquet", rows))


def test_a_snapshot_comes_back_as_it_was(tmp_path: Path, original: StepDataset) -> None:
    path = tmp_path / "snapshot.parquet"
    wanted = [prepared(step) for step in original.rows()]
    settings = {"seed": 42, "benchmark_option": {"distractors": 5}}
    assert write_snapshot(path, iter(wanted), settings, rows_per_group=2) == 6
    dataset = open_steps("snapshot", data=path)
    assert dataset.settings == settings
    assert dataset.notices == ()
    for found, one in zip(dataset.rows(), wanted, strict=True):
        stored = found.detail.stored
        assert stored is not None
        # A stored question is sent as it is, so where its choices lay on the page is not stored.
        assert stored.choices == tuple(replace(c, place=None) for c in one.choices)
        assert (stored.recipe, stored.reply_prefix) == ("jpeg/90", "")
        assert list(stored.second) == list(one.second)
        assert stored.first[0] == one.first[0]
        assert stored.pictures == ((picture(),) if one.row.detail.screenshot else ())
        parts: Any = stored.first[1]["content"]
        assert parts[0] == one.first[1]["content"][0]  # type: ignore[index]
        if one.row.detail.screenshot:
            assert parts[1] == {"type": "image_url", "image_url": {"detail": "high"}}
        same = changed(
            found,
            stored=None,
            benchmark="multimodal-mind2web",
            source=one.row.source,
            told=one.row.detail.told,
        )
        assert same == one.row
        assert found.detail.gold == one.row.detail.gold
        assert found.unit_id == one.row.unit_id


def test_a_snapshot_has_the_columns_of_the_card(tmp_path: Path, original: StepDataset) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "snapshot.parquet"
    write_snapshot(path, map(prepared, original.rows()), {})
    table = pq.read_table(path)
    assert table.column_names[: len(CARD)] == CARD
    assert all(name.startswith("vlm_eval_") for name in table.column_names[len(CARD) :])
    records = table.to_pylist()
    assert [r["is_valid"] for r in records] == [True, True, True, True, False, False]
    first = records[0]
    assert len(first["candidates"]) == 6
    assert set(first["target_elements"]) <= set(first["candidates"])
    assert records[3]["target_op_value"] == "Zürich"
    assert len(records[3]["target_elements"]) == 2
    assert records[4]["target_elements"] == []


def test_other_libraries_load_it(tmp_path: Path, original: StepDataset) -> None:
    datasets = pytest.importorskip("datasets")
    path = tmp_path / "snapshot.parquet"
    write_snapshot(path, map(prepared, original.rows()), {})
    loaded = datasets.load_dataset(
        "parquet", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert loaded[0]["prompt_0"][1]["content"][1]["image_url"]["url"] == URL


def test_a_snapshot_appears_whole_or_not_at_all(tmp_path: Path, original: StepDataset) -> None:
    path = tmp_path / "out" / "snapshot.parquet"

    def broken() -> Any:
        yield prepared(next(original.rows()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_snapshot(path, broken(), {})
    assert list(path.parent.iterdir()) == []
    write_snapshot(path, map(prepared, original.rows()), {})
    with pytest.raises(DataError, match="exists"):
        write_snapshot(path, iter(()), {})


def test_a_message_that_does_not_fit_is_refused(tmp_path: Path, original: StepDataset) -> None:
    step = prepared(next(original.rows()))
    for message in (
        {"role": "user"},
        {"role": "user", "content": [{"type": "audio"}]},
        {"role": "user", "content": [text("x")], "name": "n"},
    ):
        with pytest.raises(ValueError, match="prompt_1"):
            write_snapshot(tmp_path / "x.parquet", [replace(step, second=[message])], {})


def test_snapshots_of_different_making_are_not_mixed(tmp_path: Path, original: StepDataset) -> None:
    for seed in (1, 2):
        path = tmp_path / "mixed" / f"{seed}.parquet"
        write_snapshot(path, [prepared(next(original.rows()))], json.loads(f'{{"seed": {seed}}}'))
    with pytest.raises(DataError, match="different settings"):
        open_steps("snapshot", data=tmp_path / "mixed")
    with pytest.raises(DataError, match="needs --data PATH"):
        open_steps("snapshot")
