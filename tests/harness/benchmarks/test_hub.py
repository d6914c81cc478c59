"""The hub's library reads its address when imported, so each case runs in a process of its own."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks.hub import _listing
from harness.data_files import missing_shards, split_of
from tests.harness.benchmarks import _snapshots as tilde
from tests.harness.benchmarks._conversations import conversations, written
from tests.harness.benchmarks._files import task, write
from tests.harness.benchmarks._hub import REVISION, Hub, serving
from tests.harness.benchmarks._snapshots import stored
from tests.programs import completed

PROGRAM = """
import json, sys
from harness.benchmarks import hub, open_steps
from harness.errors import DataError
hub.PATIENCE_S = float(sys.argv[1])
try:
    dataset = open_steps(sys.argv[2], splits=sys.argv[3:] or None)
    print(json.dumps({"steps": [e.unit_id for e in dataset.entries],
                      "rows": len(list(dataset.rows())), "fingerprint": dataset.fingerprint}))
except DataError as error:
    print(json.dumps({"error": str(error)}))
"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    folder = tmp_path / "hub"
    for split, tasks in (("test_task", "ab"), ("test_website", "c"), ("train", "d")):
        for number, task_id in enumerate(tasks):
            name = f"data/{split}-{number:05}-of-{len(tasks):05}-0123abcd.parquet"
            write(folder / name, task(task_id, 2))
    (folder / "README.md").write_text("card")
    with serving(folder) as served:
        yield served


def run(
    tmp_path: Path,
    hub: Hub | None,
    *splits: str,
    benchmark: str = "multimodal-mind2web",
    patience_s: float = 10,
    **env: str,
) -> Any:
    settings = {
        "HF_ENDPOINT": hub.url if hub else "http://127.0.0.1:9",
        "HF_HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "NO_PROXY": "127.0.0.1",
        "HF_HUB_OFFLINE": "",
    }
    done = completed("-c", PROGRAM, str(patience_s), benchmark, *splits, environment=settings | env)
    assert done.returncode == 0, done.stderr
    assert "%" not in done.stderr, "a progress bar where there is no terminal"
    return json.loads(done.stdout.splitlines()[-1])


def test_only_the_shards_of_the_splits_asked_for_are_downloaded(tmp_path: Path, hub: Hub) -> None:
    found = run(tmp_path, hub, "test_task")
    assert found["steps"] == ["a_a-0", "a_a-1", "b_b-0", "b_b-1"]
    assert found["rows"] == 4
    fingerprint = found["fingerprint"]
    assert (fingerprint["repo"], fingerprint["revision"]) == (
        "osunlp/Multimodal-Mind2Web",
        REVISION,
    )
    assert [len(f["sha256"]) for f in fingerprint["files"]] == [64, 64]
    got = [line for line in hub.asked if line.startswith("GET") and "/resolve/" in line]
    assert len(got) == 2
    assert not any("train" in line or "website" in line for line in hub.asked)
    assert not list(tmp_path.rglob("*.arrow"))


def test_what_is_in_the_cache_is_not_asked_for_again(tmp_path: Path, hub: Hub) -> None:
    first = run(tmp_path, hub, "test_task")
    hub.asked.clear()
    assert run(tmp_path, hub, "test_task") == first
    assert run(tmp_path, None, "test_task", HF_HUB_OFFLINE="1") == first
    assert hub.asked == []
    assert len(run(tmp_path, hub, "test_website", "test_task")["steps"]) == 6
    offline = run(tmp_path, None, "train", HF_HUB_OFFLINE="1")
    assert "HF_HUB_OFFLINE is set" in offline["error"]


def test_a_data_set_without_a_pinned_commit_records_the_one_it_got(tmp_path: Path) -> None:
    rows = [stored("a", 0), stored("a", 1, split="test_domain")]
    tilde.write(tmp_path / "hub" / "data" / "test-00000-of-00001.parquet", rows)
    name = "mm-mind2web-tilde"
    with serving(tmp_path / "hub") as hub:
        found = run(tmp_path, hub, benchmark=name)
        assert run(tmp_path, hub, "test_domain", benchmark=name)["steps"] == ["a_1"]
    assert found["steps"] == ["a_0", "a_1"]
    assert found["fingerprint"]["revision"] == REVISION
    assert run(tmp_path, None, benchmark=name, HF_HUB_OFFLINE="1") == found


def test_an_unreachable_hub_says_what_to_do(tmp_path: Path) -> None:
    error = run(tmp_path, None, "test_task")["error"]
    assert "\n" not in error
    for part in (
        "cannot get osunlp/Multimodal-Mind2Web from the hub",
        "--data PATH",
        "https://huggingface.co/datasets/osunlp/Multimodal-Mind2Web",
        "HF_HUB_OFFLINE=1",
        "--benchmark sample",
    ):
        assert part in error


def test_an_answer_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()

    def answers(answer: Callable[[], object], patience_s: float) -> None:
        monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda *_, **__: answer())
        monkeypatch.setattr("harness.benchmarks.hub.PATIENCE_S", patience_s)

    answers(given_up.wait, 0.05)
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        _listing("a/b", None)
    given_up.set()
    answers(lambda: 7, 300)
    assert _listing("a/b", None) == 7
    answers(lambda: os.environ["NO SUCH NAME"], 300)
    with pytest.raises(KeyError):
        _listing("a/b", None)


@pytest.mark.parametrize(
    ("status", "code", "part"),
    [
        (403, "GatedRepo", "accept its terms at https://huggingface.co/datasets/osunlp"),
        (404, "RevisionNotFound", f"has no revision {REVISION}"),
        (401, "", "hf auth login"),
        (500, "", "it answers with HTTP 500"),
    ],
)
def test_refusals_are_one_line(tmp_path: Path, hub: Hub, status: int, code: str, part: str) -> None:
    hub.status, hub.error_code = status, code
    error = run(tmp_path, hub, "test_task")["error"]
    assert part in error
    assert "\n" not in error


def test_names_tell_splits_and_missing_shards() -> None:
    splits = ("test_task", "test_website", "train")
    assert split_of("data/test_task-00000-of-00005-abc.parquet", splits) == "test_task"
    assert split_of("test_website/0000.parquet", splits) == "test_website"
    assert split_of("train.parquet", splits) == "train"
    assert split_of("training.parquet", splits) is None
    full = [f"data/test-{n:05}-of-00003.parquet" for n in range(3)]
    assert not missing_shards(full)
    assert missing_shards(full[:2])
    assert not missing_shards([*full, "data/test-00001-of-00001.parquet"])


@pytest.mark.parametrize("above", ["", "data/"])
def test_only_the_shards_of_a_split_of_conversations_are_fetched(
    tmp_path: Path, above: str
) -> None:
    folder = tmp_path / "mt"
    every = conversations(3)
    for split, part in (
        ("test_website", every[:1]),
        ("test_task", every[1:2]),
        ("train", every[2:3]),
    ):
        written(folder / above, part, split)
    (folder / "scores_all_data.pkl").write_bytes(b"never read")
    with serving(folder) as hub:
        found = run(tmp_path, hub, "test_website", benchmark="mt-mind2web")
        uids = [a["action_uid"] for turn in every[0]["turns"] for a in turn["actions"]]
        assert [step.rpartition("_")[2] for step in found["steps"]] == uids
        assert found["rows"] == len(uids)
        fetched = {line.rpartition("/")[2] for line in hub.asked if "/resolve/" in line}
        assert fetched == {"test_website_0.json"}
        missing = run(tmp_path, hub, "test_subdomain", benchmark="mt-mind2web")
        assert "has no matching json file" in missing["error"] and "--data" in missing["error"]
    unreachable = run(tmp_path, None, "train", benchmark="mt-mind2web", patience_s=2)
    assert "give their folder with --data PATH" in unreachable["error"]
