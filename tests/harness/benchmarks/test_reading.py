from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.benchmarks import StepDataset, open_steps
from harness.errors import DataError
from harness.page import Box
from tests.harness.benchmarks._files import picture, row, shared_data, task, write


def opened(path: Path, *splits: str) -> StepDataset:
    return open_steps("multimodal-mind2web", splits=splits or None, data=path)


def test_the_recorded_row_is_decoded_through_all_levels() -> None:
    dataset = opened(shared_data("seeact-example/multimodal_mind2web_row.parquet"), "test_domain")
    (entry,) = dataset.entries
    (step,) = dataset.rows()
    assert (entry.split, entry.position, entry.detail.row) == ("test_domain", 2, 1)
    assert (step.split, step.parents["website"], step.labels["domain"]) == (
        "test_domain",
        "thumbtack",
        "Service",
    )
    assert len(step.detail.history) == step.position == 2
    assert step.total == 7
    assert len(step.detail.negatives) == 467
    assert step.detail.positives[0].box == Box(587.0, 596.59375, 93.0, 54.0)
    assert step.detail.gold.elements == ("8635",)
    assert (step.detail.operation, step.detail.value, step.invalid) == ("CLICK", "", None)
    assert step.detail.screenshot is not None and step.detail.screenshot[:2] == b"\xff\xd8"
    assert dataset.row(step.unit_id) == step


def test_rows_come_in_file_order_over_groups_and_shards(tmp_path: Path) -> None:
    one, two = task("a", 4), task("b", 3)
    write(tmp_path / "test_task-00000-of-00002.parquet", [*one[:3], two[0]], rows_per_group=3)
    write(tmp_path / "test_task-00001-of-00002.parquet", [two[1], two[2], one[3]], rows_per_group=2)
    dataset = opened(tmp_path)
    wanted = ["a-0", "a-1", "a-2", "b-0", "b-1", "b-2", "a-3"]
    assert [entry.detail.action_uid for entry in dataset.entries] == wanted
    assert [(e.detail.row_group, e.detail.offset, e.detail.row) for e in dataset.entries] == [
        *[(0, 0, 1), (0, 1, 2), (0, 2, 3), (1, 0, 4)],
        *[(0, 0, 1), (0, 1, 2), (1, 0, 3)],
    ]
    rows = list(dataset.rows())
    assert [r.detail.action_uid for r in rows] == wanted
    assert [len(r.detail.history) for r in rows] == [0, 1, 2, 0, 1, 2, 3]
    assert {r.total for r in rows if r.parents["task"] == "a"} == {4}
    assert all(dataset.row(r.unit_id) == r for r in rows)
    assert "lacks" not in " ".join(dataset.notices)
    assert any("no file for test_website, test_domain" in notice for notice in dataset.notices)


def test_step_numbers_are_numbers_though_stored_as_text(tmp_path: Path) -> None:
    path = write(tmp_path / "test_task.parquet", task("a", 12))
    indices = [entry.position for entry in opened(path).entries]
    assert indices == list(range(12))
    assert opened(path).row("a_a-10").position == 10


def test_a_row_never_tells_what_comes_later(tmp_path: Path) -> None:
    path = write(tmp_path / "test_task.parquet", task("a", 3, op="TYPE", value="secret"))
    for step in opened(path).rows():
        assert step.detail.history == tuple(
            f"[button]  Button {n} -> CLICK" for n in range(step.position)
        )


@pytest.mark.parametrize(
    ("lost", "problems"),
    [
        (None, ("no_screenshot",)),
        ({"bytes": None, "path": None}, ("no_screenshot",)),
        ({"bytes": b"", "path": "x.jpg"}, ("no_screenshot",)),
        ({"bytes": picture(), "path": None}, ()),
    ],
)
def test_a_lost_screenshot_is_recognised_in_every_form(
    tmp_path: Path, lost: object, problems: tuple[str, ...]
) -> None:
    path = write(tmp_path / "test_task.parquet", [row(screenshot=lost)])
    (step,) = opened(path).rows()
    assert step.detail.problems == problems
    assert step.invalid == (problems[0] if problems else None)


def test_a_row_that_lacks_both_counts_for_both(tmp_path: Path) -> None:
    path = write(tmp_path / "test_task.parquet", [row(positives=[], screenshot=None)])
    (step,) = opened(path).rows()
    assert step.invalid == "no_positive"
    assert step.detail.problems == ("no_positive", "no_screenshot")


def test_operations_and_values_are_decoded(tmp_path: Path) -> None:
    rows = [
        row(index=0, op="TYPE", value="New York"),
        row(index=1, op="SELECT", value="2"),
        row(index=2, op="HOVER", value=""),
    ]
    path = write(tmp_path / "test_task.parquet", rows)
    assert [(r.detail.operation, r.detail.value) for r in opened(path).rows()] == [
        ("TYPE", "New York"),
        ("SELECT", "2"),
        ("CLICK", ""),
    ]


def test_rows_stored_twice_are_read_once_and_told(tmp_path: Path) -> None:
    rows = task("a", 3)
    write(tmp_path / "test_task-00000-of-00002.parquet", rows)
    write(tmp_path / "test_task-00001-of-00002.parquet", [rows[1], *task("b", 1)])
    dataset = opened(tmp_path, "test_task")
    assert [e.detail.action_uid for e in dataset.entries] == ["a-0", "a-1", "a-2", "b-0"]
    assert dataset.notices == (
        "duplicate rows were skipped (1 in test_task-00001-of-00002.parquet)",
    )


def test_large_row_groups_are_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.benchmarks.index._LARGE_GROUP", 1000)
    for number in range(2):
        write(tmp_path / f"test_task-{number:05}-of-00002.parquet", task(f"t{number}", 2))
    told = [n for n in opened(tmp_path).notices if "vlm-eval data repack" in n]
    assert len(told) == 1


def test_an_abandoned_iteration_leaves_nothing_behind(tmp_path: Path) -> None:
    write(tmp_path / "test_task.parquet", task("a", 5), rows_per_group=2)
    program = (
        "import sys; from pathlib import Path; from harness.benchmarks import open_steps\n"
        f"rows = open_steps('multimodal-mind2web', data=Path({str(tmp_path)!r})).rows()\n"
        "print(next(rows).unit_id, next(rows).unit_id)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "a_a-0 a_a-1\n"), done.stderr


def test_importing_the_package_loads_no_heavy_library() -> None:
    program = (
        "import sys, harness.benchmarks\n"
        "print([m for m in ('pyarrow', 'huggingface_hub', 'datasets', 'lxml') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_fingerprint_is_remembered_away_from_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = write(tmp_path / "data" / "test_task.parquet", task("a", 1))
    first = opened(path).fingerprint
    monkeypatch.setattr("adapters.digests._sha256", lambda _: "not remembered")
    assert opened(path).fingerprint == first
    assert list((tmp_path / "data").iterdir()) == [path]
    path.write_bytes(path.read_bytes() + b"")
    write(path, task("a", 2))
    assert "not remembered" in str(opened(path).fingerprint)


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "test_task.parquet", [])
    with pytest.raises(DataError, match="no rows in"):
        opened(path)
