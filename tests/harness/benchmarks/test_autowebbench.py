"""AutoWebBench's files: what their rows become, and what is said of files that are not as they
should be."""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from harness.benchmarks import Items, benchmark, published
from harness.benchmarks.prompt import autowebbench
from harness.errors import DataError
from parsers.actions import Action
from tests.harness.benchmarks._autowebbench import SPLITS, prompt, rows, write
from tests.harness.benchmarks._files import shared_data


def opened(data: Path | None, *splits: str) -> Items:
    found = benchmark("autowebbench").open(splits=splits or None, data=data)
    assert isinstance(found, Items)
    return found


def test_rows_keep_their_prompts_and_are_named_by_place(tmp_path: Path) -> None:
    items = opened(write(tmp_path))
    assert [unit.unit_id for unit in items.entries][:5] == [
        *("en-ind-0000", "en-ind-0001", "en-ind-0002", "en-ind-0003", "en-ood-0000")
    ]
    first, _, third, _ = items.entries[:4]
    assert first.detail.asked == prompt("Open the timetable.")
    assert first.goal == "Open the timetable." and first.detail.gold == Action("click", "SD")
    assert third.detail.gold == Action("finish", arguments={"answer": "At nine\nand at noon"})
    assert third.detail.target == "finish('At nine\nand at noon')"
    assert third.labels == {
        "language": "en",
        "domain": "ind",
        "function": "finish",
        "history": "empty",
        "segment": "en-ind-segment-001",
    }


def test_a_task_is_a_run_of_rows_and_a_segment_ends_where_the_history_does(tmp_path: Path) -> None:
    items = opened(write(tmp_path), "zh-ood")
    places = [(unit.parents["task"], unit.position, unit.total) for unit in items.entries]
    assert places == [
        *(("zh-ood-task-00", 0, 2), ("zh-ood-task-00", 1, 2)),
        *(("zh-ood-task-01", 0, 2), ("zh-ood-task-01", 1, 2)),
    ]
    segments = [unit.labels["segment"][-3:] for unit in items.entries]
    assert segments == ["000", "000", "001", "002"]
    assert [unit.labels["history"] for unit in items.entries] == ["none", "shown", "empty", "none"]


def _damaged(**changes: Any) -> list[Any]:
    second = {**rows()[1], **changes}
    return [rows()[0], {name: value for name, value in second.items() if value is not None}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_damaged(target=None), "en/ood/test.json, row 2: 'target' is missing"),
        (_damaged(source=None), "en/ood/test.json, row 2: 'source' is missing"),
        (_damaged(target=["click('A')"]), "en/ood/test.json, row 2: 'target' is no text"),
        (_damaged(target=" "), "en/ood/test.json, row 2: 'target' is no text"),
        (_damaged(url="x"), "en/ood/test.json, row 2: it has an unknown field 'url'"),
        (_damaged(source="<p| x>"), "en/ood/test.json, row 2: 'source' names no task"),
        (_damaged(target="wave('A')"), "row 2: the target \"wave('A')\" is not a call"),
        ([rows()[0], "click"], "en/ood/test.json, row 2: it is not an object with 'source'"),
        ([], "en/ood/test.json should hold a list of rows"),
        ({"rows": rows()}, "en/ood/test.json is not a file of this set: Expected `array`"),
    ],
)
def test_a_damaged_row_is_one_line_that_names_it(
    tmp_path: Path, content: Any, message: str
) -> None:
    folder = write(tmp_path, {**dict.fromkeys(SPLITS, rows()), "en-ood": content})
    with pytest.raises(DataError) as caught:
        opened(folder)
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert len(opened(folder, "zh-ind").entries) == 4


@pytest.mark.parametrize("damage", [lambda text: text[:-40], lambda text: "[" * 100_000])
def test_a_file_that_was_cut_is_one_line(tmp_path: Path, damage: Any) -> None:
    path = write(tmp_path) / "zh/ind/test.json"
    path.write_text(damage(path.read_text("utf-8")), "utf-8")
    with pytest.raises(DataError, match=r"zh/ind/test.json is not a file of this set: "):
        opened(tmp_path)
    path.write_bytes("天".encode("gb18030"))
    with pytest.raises(DataError, match=r"zh/ind/test.json is not a file of this set: "):
        opened(tmp_path)


def test_three_of_four_files_are_one_line_unless_the_splits_are_named(tmp_path: Path) -> None:
    three = write(tmp_path, dict.fromkeys(SPLITS[:3], rows()))
    with pytest.raises(DataError) as caught:
        opened(three)
    assert str(caught.value) == (
        f"{three} has no zh/ood/test.json; get it, or ask for what is there: "
        "--split en-ind --split en-ood --split zh-ind"
    )
    assert len(opened(three, *SPLITS[:3])) == 12
    with pytest.raises(DataError, match=r"no zh/ood/test.json; download the folder autowebbench"):
        opened(three, "zh-ood")
    with pytest.raises(DataError, match="has no split 'en-odd'; did you mean 'en-ood'"):
        opened(three, "en-odd")
    with pytest.raises(DataError, match=r"test.json is a file; give the folder that holds en/ind"):
        opened(three / "en/ind/test.json")
    with pytest.raises(DataError, match="gone does not exist; give the folder"):
        opened(three / "gone")


def test_a_clone_of_the_repository_is_known_as_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "autowebbench")
    assert len(opened(tmp_path)) == 16
    source = benchmark("autowebbench")
    assert source.holds(tmp_path / "autowebbench") and not source.holds(tmp_path / "gone")


class Quiet(SimpleHTTPRequestHandler):
    asked: list[str]

    def log_message(self, format: str, *args: object) -> None:
        self.asked.append(self.path)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, list[str]]]:
    """A stand-in for the place of release, and the paths that were asked for."""
    folder = write(tmp_path / "released")
    asked: list[str] = []
    kind = type("Recorded", (Quiet,), {"asked": asked})
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(kind, directory=folder)
    ) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        monkeypatch.setattr(
            autowebbench, "ADDRESS", f"http://127.0.0.1:{serving.server_address[1]}"
        )
        monkeypatch.setattr(
            autowebbench,
            "DIGESTS",
            {
                split: hashlib.sha256((folder / autowebbench._name(split)).read_bytes()).hexdigest()
                for split in SPLITS
            },
        )
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        yield folder, asked
        serving.shutdown()


def test_released_files_are_downloaded_once(server: tuple[Path, list[str]]) -> None:
    folder, asked = server
    items = opened(None, "en-ind", "zh-ood")
    assert len(items) == 8 and len(asked) == 2
    assert items.origin["revision"] == autowebbench.COMMIT
    assert items.digest == opened(folder, "en-ind", "zh-ood").digest
    assert len(opened(None, "zh-ood")) == 4 and len(asked) == 2


def test_another_file_than_was_released_is_not_used(
    server: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, asked = server
    write(folder, {"en-ood": rows("Buy a ticket.")})
    with pytest.raises(DataError, match=r"en/ood/test.json \(it is not the file that was released"):
        opened(None, "en-ood")
    (folder / "en/ood/test.json").unlink()
    with pytest.raises(DataError, match=r"404.*; download the folder autowebbench of https://gith"):
        opened(None, "en-ood")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    asked.clear()
    with pytest.raises(DataError, match="HF_HUB_OFFLINE is set"):
        opened(None, "en-ood")
    assert not asked


def test_a_server_that_says_nothing_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(published, "PATIENCE_S", 0.2)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(DataError, match="cannot get http://127") as caught:
            published.fetch_released(address, {"a": "0"}, "do without")
    assert "\n" not in str(caught.value) and str(caught.value).endswith("; do without")


def test_the_released_files_are_as_they_are_described() -> None:
    items = opened(shared_data("autowebbench"))
    sizes = {size.split: size for size in benchmark("autowebbench").sizes}
    tasks: dict[str, set[str]] = {}
    for unit in items.entries:
        tasks.setdefault(unit.split, set()).add(unit.parents["task"])
    counts = Counter(unit.split for unit in items.entries)
    assert {s: (len(tasks[s]), counts[s]) for s in SPLITS} == {
        split: (size.tasks, size.rows) for split, size in sizes.items()
    }
    assert sum(map(len, tasks.values())) == 300
    assert len({unit.labels["segment"] for unit in items.entries}) == 416
    assert Counter(unit.labels["function"] for unit in items.entries) == {
        "click": 808,
        "hover": 34,
        "type_string": 54,
        "scroll_page": 165,
        "go": 69,
        "user_input": 16,
        "finish": 305,
    }
    assert Counter(u.labels["history"] for u in items.entries) == {
        "none": 278,
        "empty": 7,
        "shown": 1166,
    }
    assert max(len(unit.detail.asked) for unit in items.entries) == 21_833
    files = (shared_data("autowebbench") / autowebbench._name(split) for split in SPLITS)
    recorded = [row for file in files for row in json.loads(file.read_text("utf-8"))]
    assert [unit.detail.asked for unit in items.entries] == [row["source"] for row in recorded]
