"""`vlm-eval list`, and folders in place of runs: what is found, and what is passed over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from harness.runs import RunDirectory
from harness.runs.manifest import read_manifest
from tests.harness.commands.tool import DEV, call, isolate
from tests.numbers import row
from tests.reports.runs import setup, worked, write


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run of a baseline."""
    run = tmp_path_factory.mktemp("list") / "good"
    done = call("--model", "lexical", *DEV, "--limit", "2", "--out", run)
    assert done.code == 0, done.err
    return run


@pytest.fixture(autouse=True)
def folders(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That run, one that ended early inside a sweep, and things that are no runs."""
    isolate(monkeypatch, tmp_path)
    shutil.copytree(good, "runs/good")
    early = Path("sweeps/s/early")
    shutil.copytree("runs/good", early)
    (early / "summary.json").unlink()
    lines = (early / "steps.jsonl").read_bytes().splitlines(keepends=True)
    (early / "steps.jsonl").write_bytes(lines[-1])
    manifest = (early / "manifest.json").read_text()
    (early / "manifest.json").write_text(manifest.replace('"name": "lexical"', '"name": "model-2"'))
    for name, text in {"other": '{"schema": 1}', "foreign": "[]"}.items():
        Path("runs", name).mkdir()
        Path("runs", name, "manifest.json").write_text(text)
    Path("runs/notes").mkdir()


def rows(*words: str) -> list[dict[str, object]]:
    done = call("list", "--json", *words)
    assert done.code == 0, done.err
    listed: list[dict[str, object]] = json.loads(done.out)["rows"]
    return listed


def test_every_run_is_listed_with_its_state_score_and_cost() -> None:
    good, early = rows()
    summary = json.loads(Path("runs/good/summary.json").read_text())
    success = row(summary, "success")
    assert (good["path"], good["model"], good["state"]) == ("runs/good", "lexical", "complete")
    assert (good["measure"], good["score"]) == ("Step SR", success["number"])
    assert good["score_low"] == success["low"]
    assert good["setting.distractors"] == "20"
    assert (early["path"], early["model"]) == ("sweeps/s/early", "model-2")
    assert (early["state"], early["settled"]) == ("incomplete", 1)
    assert early["units"] == good["units"] == good["settled"]
    assert early["score"] in (0.0, 1.0)


def test_readers_are_told_what_was_passed_over() -> None:
    done = call("list")
    assert done.code == 0
    assert "runs/good" in done.out
    assert "passed over: runs/foreign (" in done.out
    assert "and 1 more" in done.out


def test_a_run_that_a_process_works_on_is_running() -> None:
    early = Path("sweeps/s/early")
    with RunDirectory.start(early, read_manifest(early)):
        assert [one["state"] for one in rows("sweeps")] == ["running"]


def test_settings_and_columns_choose_runs() -> None:
    assert [one["path"] for one in rows("--where", "model=lexical")] == ["runs/good"]
    assert [one["path"] for one in rows("--where", "state=incomplete")] == ["sweeps/s/early"]
    assert len(rows("--where", "model=lexical", "--where", "model=model-2")) == 2
    assert rows("--where", "model=lexical", "--where", "state=incomplete") == []
    scores = [float(str(one["score"])) for one in rows("--sort", "score")]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--where", "modle=x"], "has no setting 'modle'"),
        (["--where", "model"], "write SETTING=VALUE"),
        (["nowhere"], "there is no folder nowhere"),
    ],
)
def test_mistakes_are_one_line(words: list[str], complaint: str) -> None:
    done = call("list", *words)
    assert done.code == 2
    assert complaint in done.complaint


def test_commands_take_a_folder_for_the_runs_below_it(tmp_path: Path) -> None:
    write(Path("more/a"), worked(), setup(model={"name": "a"}))
    write(Path("more/b"), worked(), setup(model={"name": "b"}))
    write(Path("more/b/shard-1"), worked(), setup(model={"name": "b"}))
    report = call("report", "more", "--format", "csv")
    assert report.code == 0, report.err
    assert sum(",a," in line or line.startswith("a,") for line in report.out.splitlines()) > 0
    assert "shard-1" not in report.out
    assert call("compare", "more").code == 0
    page = call("view", "more", "--out", "page", "--no-pictures")
    assert (page.code, page.out) == (0, "page/index.html: 7 steps\n")
    done = call("report", "runs")
    assert "passed over: runs/foreign (" in done.err
    empty = call("report", "runs/notes")
    assert (empty.code, empty.complaint) == (
        2,
        "vlm-eval: there is no run in runs/notes or below it",
    )
