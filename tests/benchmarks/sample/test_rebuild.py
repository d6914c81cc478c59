"""A rebuild gives the same steps; where it cannot be made, one line says why."""

from __future__ import annotations

import copy
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest

from benchmarks.sample.__main__ import main
from benchmarks.sample.build import compare, read_conversations, rows_of
from benchmarks.sample.serving import SITES, server
from benchmarks.sample.trajectories import load, load_conversations
from harness.live.chromium import chromium
from harness.recording.columns import StepRow, read, write
from harness.sample import conversation_files, files, screenshot_files

HISTORY = "action_reprs"


def _shipped(split: str) -> list[StepRow]:
    return read(files()[split], without=("screenshot",))


@pytest.mark.browser
@pytest.mark.skipif(find_spec("playwright") is None, reason="needs the extra [live]")
@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed")
def test_two_tasks_recorded_again_equal_the_shipped_ones() -> None:
    tasks = [task for task in load() if task.name in ("spanish-list", "visitor-permit")]
    rebuilt = rows_of([task] for task in tasks)
    for split in ("dev", "test"):
        ids = {row["annotation_id"] for row in rebuilt[split]}
        shipped = [row for row in _shipped(split) if row["annotation_id"] in ids]
        assert compare(shipped, rebuilt[split]).differences == []


@pytest.mark.browser
@pytest.mark.skipif(find_spec("playwright") is None, reason="needs the extra [live]")
@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed")
def test_a_conversation_recorded_again_equals_the_shipped_one() -> None:
    (found,) = (one for one in load_conversations() if one.name == "later-way-back")
    rebuilt = rows_of([found.turns])["test"]
    path = conversation_files()["test"]
    ids = {turn.annotation_id for turn in found.turns}
    steps = read_conversations(path, screenshot_files()["test"], without=("screenshot",))
    shipped = [row for row in steps if row["annotation_id"] in ids]
    assert compare(shipped, rebuilt).differences == []
    assert len(rebuilt) == 10


def test_equal_rows_do_not_differ() -> None:
    rows = _shipped("dev")[:4]
    assert compare(rows, copy.deepcopy(rows)) == ([], 0)


def test_a_box_that_moved_is_counted_and_nothing_else() -> None:
    rows = _shipped("dev")[:2]
    other = copy.deepcopy(rows)
    entry = json.loads(other[1]["neg_candidates"][3])
    attributes = json.loads(entry["attributes"]) | {"bounding_box_rect": "1,2,3,4"}
    other[1]["neg_candidates"][3] = json.dumps(entry | {"attributes": json.dumps(attributes)})
    assert compare(rows, other) == ([], 1)


def test_another_target_history_or_number_of_steps_is_reported() -> None:
    rows = _shipped("dev")[:3]
    other = copy.deepcopy(rows)[:2]
    other[0]["pos_candidates"] = []
    other[1]["action_reprs"][0] = "[link]  Elsewhere -> CLICK"
    differences = compare(rows, other).differences
    assert differences[0].startswith("steps: 3 shipped, 2 rebuilt")
    assert [line.rsplit(": ", 1)[1] for line in differences[1:]] == ["pos_candidates", HISTORY]


def test_without_playwright_a_line_tells_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    assert main(["build", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["serve", "librray"], "the sample has no site 'librray'; did you mean 'library'?"),
        (["serve"], "the sample has no site ''"),
        (["serve", "library", "--port", "70000"], "port 70000 cannot be used"),
    ],
)
def test_a_site_that_cannot_be_served_is_named(
    line: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line) == 2
    assert said in capsys.readouterr().err


def test_a_served_site_answers_every_path_with_its_page_and_its_own_files() -> None:
    with server("library") as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        at = f"http://localhost:{serving.server_port}"
        found = {path: urlopen(at + path).read() for path in ("/", "/book?id=1", "/site.js")}
        serving.shutdown()
    assert found["/"] == found["/book?id=1"] == (SITES / "shell.html").read_bytes()
    assert found["/site.js"] == (SITES / "library/site.js").read_bytes()


def test_checking_against_nothing_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["check", "--out", str(tmp_path)]) == 2
    assert "missing" in capsys.readouterr().err


def test_counting_tells_what_the_files_hold(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for split in files():
        write(tmp_path / f"{split}.parquet", read(files()[split])[:3])
    assert main(["count", "tasks", "--out", str(tmp_path)]) == 0
    dev, test = capsys.readouterr().out.splitlines()
    assert dev.startswith("dev: 1 tasks, 3 steps")
    assert test.startswith("test: 1 tasks, 3 steps")
