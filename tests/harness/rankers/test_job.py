"""Ranking a benchmark: in processes, killed at any instant, continued."""

from __future__ import annotations

import hashlib
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.benchmarks import Filters, StepDataset, open_steps
from harness.candidates import page_of
from harness.errors import DataError, UserError
from harness.ranker_models import job
from harness.ranker_models.job import Source, rank_benchmark
from harness.rankers import open_ranks
from harness.rankers.files import RankTable
from tests.programs import Program, completed

SOURCE = Source("sample", None, ("dev",))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def dev(**filters: Any) -> StepDataset:
    return open_steps("sample", splits=["dev"]).select(Filters(**filters))


@pytest.mark.parametrize("workers", [1, 2])
def test_stored_ranks_are_those_of_the_ranker(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "STEPS_PER_PART", 9)
    out, progress = tmp_path / "r.parquet", list[int]()
    dataset = dev(limit=4)
    done = rank_benchmark(
        dataset, SOURCE, "lexical", out, workers=workers, on_progress=progress.append
    )
    assert (done.steps, done.resumed) == (len(dataset), 0)
    assert progress[0] == 0 and progress[-1] == len(dataset) and progress == sorted(progress)
    assert not (tmp_path / "r.parquet.parts").exists()
    table = RankTable(out)
    assert list(table.steps()) == [entry.unit_id for entry in dataset.entries]
    assert table.settings["ranker"] == "lexical"
    assert table.settings["benchmark"]["benchmark"] == "sample"
    stored, ranks = open_ranks(str(out)), open_ranks("lexical")
    for row in dataset.rows():
        page = page_of(row)
        assert list(stored.of(row, page)) == list(ranks.of(row, page))
    entry = table.entry(dataset.entries[0].unit_id)
    assert entry.scores is not None and list(entry.scores) == sorted(entry.scores, reverse=True)


def test_what_is_finished_is_not_ranked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "STEPS_PER_PART", 5)
    out, dataset = tmp_path / "r.parquet", dev(limit=3)

    def stop(count: int) -> None:
        if count >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rank_benchmark(dataset, SOURCE, "lexical", out, on_progress=stop)
    assert not out.exists()
    # A part that was being written when the process died.
    (tmp_path / "r.parquet.parts" / ".000002.parquet.x.partial").write_bytes(b"PAR1")
    done = rank_benchmark(dataset, SOURCE, "lexical", out)
    assert (done.steps, done.resumed) == (len(dataset), 10)
    once = tmp_path / "once.parquet"
    rank_benchmark(dataset, SOURCE, "lexical", once)
    assert [RankTable(out).entry(s) for s in RankTable(out).steps()] == [
        RankTable(once).entry(s) for s in RankTable(once).steps()
    ]


def test_a_killed_process_is_continued(tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    line = ["rank", "-b", "sample", "--split", "test", "--workers", "1"]
    command = ("-m", "harness", *line, "-o", str(out))
    process = Program(*command)
    parts = tmp_path / "r.parquet.parts"
    deadline = time.monotonic() + 60
    while not list(parts.glob("*.parquet")) and time.monotonic() < deadline:
        if process.poll() is not None:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = completed(*command)
    if out.exists() and done.returncode == 2:
        pytest.skip("the process was done before it could be killed")
    assert done.returncode == 0, done.stderr
    assert "by an earlier call" in done.stdout
    assert len(RankTable(out).steps()) == 158 and not parts.exists()


def test_parts_of_another_ranking_are_not_mixed_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "r.parquet"

    at = [1]

    def stop(count: int) -> None:
        if count >= at[0]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rank_benchmark(dev(), SOURCE, "lexical", out, on_progress=stop)
    test = open_steps("sample", splits=["test"]).select(Filters(limit=1))
    with pytest.raises(UserError, match="parts of another ranking"):
        rank_benchmark(test, replace(SOURCE, splits=("test",)), "lexical", out)
    # Where nothing was finished nothing stands in the way.
    other = tmp_path / "other.parquet"
    at[0] = 0
    with pytest.raises(KeyboardInterrupt):
        rank_benchmark(dev(limit=1), SOURCE, "lexical", other, on_progress=stop)
    assert not (tmp_path / "other.parquet.parts").exists()
    rank_benchmark(test, replace(SOURCE, splits=("test",)), "lexical", other)


def test_a_folder_is_no_place_for_ranks(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder"):
        rank_benchmark(dev(limit=1), SOURCE, "lexical", tmp_path, overwrite=True)


def test_two_processes_do_not_write_into_one_folder(tmp_path: Path) -> None:
    from filelock import FileLock

    folder = tmp_path / "r.parquet.parts"
    folder.mkdir()
    with FileLock(folder / "lock"), pytest.raises(DataError, match="another process"):
        rank_benchmark(dev(limit=1), SOURCE, "lexical", tmp_path / "r.parquet")


def test_a_step_that_cannot_be_ranked_is_named_and_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.harness.benchmarks._files import task, write

    rows = task("t", 40)
    rows[35]["cleaned_html"] = "<html"
    path = write(tmp_path / "test_task.parquet", rows)
    dataset = open_steps("multimodal-mind2web", data=path)
    source = Source("multimodal-mind2web", str(path), ())
    for workers in (1, 2):
        with pytest.raises(DataError, match="row 36"):
            rank_benchmark(dataset, source, "lexical", tmp_path / "r.parquet", workers=workers)
    assert list((tmp_path / "r.parquet.parts").glob("*.parquet"))


def test_a_file_of_ranks_may_be_written_anew(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    rank_benchmark(dev(limit=1), SOURCE, "lexical", first)
    rank_benchmark(dev(limit=1), SOURCE, str(first), second)
    a, b = RankTable(first), RankTable(second)
    assert [a.entry(s).ids for s in a.steps()] == [b.entry(s).ids for s in b.steps()]
    with pytest.raises(DataError, match="exists"):
        rank_benchmark(dev(limit=1), SOURCE, "lexical", first)
    digest = hashlib.sha256(first.read_bytes()).hexdigest()
    assert b.settings["digest"] == digest
