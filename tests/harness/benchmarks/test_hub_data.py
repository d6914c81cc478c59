"""One's own data on the hub: read through `datasets` from a stand-in, and copied once.

The hub's library reads its address when imported, so it is asked in processes of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.benchmarks import hub_copies
from harness.benchmarks.hub import HubData, hub_data
from harness.benchmarks.hub_copies import CopyColumns, facts_of, write
from harness.benchmarks.lookup import step_data
from harness.errors import DataError
from harness.runs import StepData
from tests.harness.benchmarks._files import picture
from tests.harness.benchmarks._hub import REVISION, Hub, serving
from tests.harness.commands.tool import Called

COMMANDS = """
import json, sys
from tests.harness.commands.tool import call
print(json.dumps([call(*line.split()) for line in sys.argv[1:]]))
"""
STEP = {
    "instruction": "Find a lamp",
    "html": "pages/1.html",
    "operation": "CLICK",
    "positives": ["1"],
    "screenshot": "shots/1.png",
}
CARD = """---
configs:
- config_name: whole
  default: true
  data_files: [{split: test, path: test.jsonl}, {split: train, path: train.jsonl}]
- config_name: tiny
  data_files: [{split: train, path: train.jsonl}]
---
"""
SCHEMA = 'data = "hf://datasets/me/shop"\nid_attribute = "bid"\ncolumns.task = "instruction"\n'


def called(tmp_path: Path, hub: Hub | None, *lines: str, **env: str) -> list[Called]:
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
    settings = {
        "HF_ENDPOINT": hub.url if hub else "http://127.0.0.1:9",
        "HF_HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, *lines],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=plain | settings | env,
    )
    assert done.returncode == 0, done.stderr
    return [Called(*one) for one in json.loads(done.stdout.splitlines()[-1])]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Hub]:
    """Steps as JSON lines in two splits, with pages and screenshots as files."""
    folder = tmp_path / "hub"
    (folder / "shots").mkdir(parents=True)
    (folder / "pages").mkdir()
    (folder / "shots" / "1.png").write_bytes(picture())
    (folder / "pages" / "1.html").write_text("<a bid=1>lamp</a><input bid=2>")
    rows = [{**STEP, "step": number, "colour": "red"} for number in range(3)]
    (folder / "test.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "train.jsonl").write_text(json.dumps(rows[0]))
    (folder / "README.md").write_text(CARD)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "tiny.toml").write_text(SCHEMA.replace("me/shop", "me/shop@main/tiny"))
    with serving(folder) as hub:
        yield hub


def test_steps_on_the_hub_are_run_and_their_commit_is_on_record(tmp_path: Path, shop: Hub) -> None:
    run = "run -m oracle -b steps --data schema.toml"
    checked, unmapped, first, train, other, form, suggested, tiny, tny = called(
        tmp_path,
        shop,
        "data check schema.toml",
        "data check hf://datasets/me/shop",
        f"{run} -o first",
        "data list -b steps --data schema.toml --split train",
        "data list -b steps --data schema.toml --split dev",
        "data check hf://datasets/shop",
        "run -m oracle --data hf://datasets/me/shop",
        "data check tiny.toml",
        "data check hf://datasets/me/shop/tny",
    )
    assert checked.out.splitlines() == [
        "warning: column 'colour' is not used",
        "test: 3 rows, 1 task; 3 CLICK, 3 valid",
        "3 rows, no errors: a run would ask about 3 steps",
    ]
    assert unmapped.complaint == (
        "vlm-eval: hf://datasets/me/shop has no column 'task', but instruction, colour: map them "
        "with a schema file (docs/own-data.md)"
    )
    assert first.code == 0 and "3 steps of 1 task" in first.out
    assert train.out.count("CLICK") == 1
    assert other.complaint.endswith("has no split 'dev'; known: test, train")
    assert "write hf://datasets/OWNER/NAME" in form.complaint
    assert suggested.complaint.endswith("add --benchmark steps")
    assert tiny.out.splitlines()[1] == "train: 1 row, 1 task; 1 CLICK, 1 valid"
    assert "me/shop has no configuration 'tny'; did you mean 'tiny'?" in tny.complaint
    dataset = json.loads((tmp_path / "first" / "manifest.json").read_bytes())["dataset"]
    assert (dataset["origin"], dataset["repo"]) == ("hub", "me/shop")
    assert dataset["revision"] == REVISION and dataset["splits"] == ["test"]
    assert dataset["columns"]["names"] == {"task": "instruction"}
    # A copy is all that is needed, and the same commit gives the same identity of the data.
    offline, absent, again = called(
        tmp_path,
        None,
        "data check schema.toml",
        "data check hf://datasets/me/other",
        f"{run} -o again",
        HF_HUB_OFFLINE="1",
    )
    assert offline.out == checked.out
    assert "HF_HUB_OFFLINE is set" in absent.complaint and "--data PATH" in absent.complaint
    assert again.code == 0
    there = json.loads((tmp_path / "again" / "manifest.json").read_bytes())["dataset"]
    assert there == dataset


def test_addresses() -> None:
    for text, found in {
        "hf://datasets/me/shop": HubData("me/shop"),
        "hf://datasets/me/shop@v1.2": HubData("me/shop", "v1.2"),
        "hf://datasets/me/shop@refs/pr/3/small": HubData("me/shop", "refs/pr/3", "small"),
        "hf://datasets/me/my.shop/small": HubData("me/my.shop", None, "small"),
    }.items():
        assert hub_data(text) == hub_data(Path(text)) == found
        assert str(found) == text
    assert hub_data(Path("folder")) is None and hub_data(None) is None
    for text in ("hf://me/shop", "hf://datasets/../x", "hf://datasets/a/b/c/d", "hf://models/a/b"):
        with pytest.raises(DataError, match="is not the address of a data set: write hf://"):
            hub_data(text)


def copy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *rows: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The rows of a copy, where the data set is these rows and one file."""

    def only(repo: str, revision: str, name: str) -> Path:
        assert (repo, revision, name) == ("me/shop", REVISION, "shots/1.png")
        return tmp_path / "1.png"

    monkeypatch.setattr(hub_copies, "_batches", lambda *_: iter([[row] for row in rows]))
    monkeypatch.setattr(hub_copies, "fetch_one", only)
    (tmp_path / "1.png").write_bytes(b"png")
    names = {"task": "act.words", "screenshot": "shot", "html": "html"}
    wanted = CopyColumns(names, frozenset({"screenshot"}), frozenset({"html"}))
    write(tmp_path / "copy.parquet", HubData("me/shop", REVISION), "test", wanted)
    return list(pq.read_table(tmp_path / "copy.parquet").to_pylist())


def test_cells_become_texts_and_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    inside = f"hf://datasets/me/shop@{REVISION}/shots/1.png"
    rows = (
        {"act": {"words": "go"}, "shot": {"bytes": b"a", "path": "x"}, "html": "<p>"},
        {"act": {"words": ["a", 1]}, "shot": {"bytes": None, "path": inside}, "html": None},
        {"act": None, "shot": "shots/1.png", "html": "<a>"},
        {"act": {"words": 3}, "shot": "data:image/png;base64,YQ==", "html": "<a>"},
    )
    copied = copy(monkeypatch, tmp_path, *rows)
    assert [row["task"] for row in copied] == ["go", '["a",1]', None, "3"]
    assert [row["screenshot"] for row in copied] == [b"a", b"png", b"png", b"a"]
    facts = facts_of(tmp_path / "copy.parquet")
    assert facts.rows == 4 and facts.columns == ["act", "shot", "html"]
    copy(monkeypatch, tmp_path, *rows)
    assert facts_of(tmp_path / "copy.parquet") == facts


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/passwd", "../secret", "shots/../../x", "file:///etc/passwd", "http://host/x"),
        *("hf://datasets/other/repo@main/x", "zip://a::file:///etc/x", "zip://a::zip://b::x.zip"),
    ],
)
def test_a_data_set_names_no_other_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    for row in ({"shot": {"bytes": None, "path": path}}, {"shot": path}, {"html": path}):
        with pytest.raises(DataError, match=r"row 1: '\w+' is .*, not a file of the data set"):
            copy(monkeypatch, tmp_path, row)
    assert not (tmp_path / "copy.parquet").exists()


def test_pictures_of_a_run_come_from_the_commit_on_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = list[HubData]()

    def noted(source: HubData) -> HubData:
        asked.append(source)
        raise DataError("nothing is read here")

    monkeypatch.setattr(hub_copies, "pinned", noted)
    dataset = {"benchmark": "steps", "data": "hf://datasets/me/shop", "revision": REVISION}
    found: list[tuple[str, StepData | Exception]] = []
    with pytest.raises(Exception, match="nothing is read here"):
        found += step_data(dataset, ["a"])
    assert asked == [HubData("me/shop", REVISION)] and not found
