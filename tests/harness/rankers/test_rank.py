"""Ranking a benchmark: killed at any instant, continued."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.benchmarks import Filters, StepDataset, open_steps
from harness.candidates import page_of
from harness.errors import DataError, UserError
from harness.ranker_models import commands
from harness.ranker_models.commands import rank_benchmark
from harness.rankers import RankTable, open_ranks
from harness.runs.files import append_lines
from tests.programs import Program, completed


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def dev(**filters: Any) -> StepDataset:
    return open_steps("sample", splits=["dev"]).select(Filters(**filters))


def stop_after(monkeypatch: pytest.MonkeyPatch, batches: int, size: int = 5) -> None:
    """Interrupt a ranking behind so many batches of so many steps."""
    left = [batches]

    def append(path: Path, lines: list[bytes]) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        append_lines(path, lines)

    monkeypatch.setattr(commands, "STEPS_AT_A_TIME", size)
    monkeypatch.setattr(commands, "append_lines", append)


def test_stored_ranks_are_those_of_the_ranker(tmp_path: Path) -> None:
    out, dataset = tmp_path / "r.parquet", dev(limit=4)
    assert rank_benchmark(dataset, "lexical", out) == 0
    assert sorted(path.name for path in tmp_path.glob("r.parquet*")) == ["r.parquet"]
    table = RankTable(out)
    ids = [entry.unit_id for entry in dataset.entries]
    assert pq.read_table(out)["step_id"].to_pylist() == ids
    assert table.name == "lexical"
    stored, ranks = open_ranks(str(out)), open_ranks("lexical")
    for row in dataset.rows():
        page = page_of(row)
        assert list(stored.of(row, page)) == list(ranks.of(row, page))
    entry = table.entry(ids[0])
    assert entry.scores is not None and list(entry.scores) == sorted(entry.scores, reverse=True)


def test_finished_steps_are_not_ranked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, dataset = tmp_path / "r.parquet", dev(limit=3)
    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        stop_after(stopped, 2)
        rank_benchmark(dataset, "lexical", out)
    assert not out.exists()
    # A line that was being written when the process was killed.
    with (tmp_path / "r.parquet.partial").open("ab") as file:
        file.write(b'["t_u", ["1", "2')
    assert rank_benchmark(dataset, "lexical", out) == 10
    once = tmp_path / "once.parquet"
    rank_benchmark(dataset, "lexical", once)
    assert pq.read_table(out).equals(pq.read_table(once))


def test_a_killed_process_is_continued(tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    command = ("-m", "harness", "rankers", "rank", "-b", "sample", "--split", "test", "-o", out)
    process = Program(*map(str, command))
    partial = tmp_path / "r.parquet.partial"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if partial.exists() and partial.stat().st_size:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = completed(*map(str, command))
    if out.exists() and done.returncode == 2:
        pytest.skip("the process was done before it could be killed")
    assert done.returncode == 0, done.stderr
    assert "by an earlier call" in done.stdout
    assert pq.read_table(out).num_rows == 158 and not partial.exists()


def test_steps_of_another_ranking_are_not_mixed_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, other = tmp_path / "r.parquet", tmp_path / "other.parquet"
    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        stop_after(stopped, 1)
        rank_benchmark(dev(), "lexical", out)
    test = open_steps("sample", splits=["test"]).select(Filters(limit=1))
    for selected in (test, dev(limit=1)):
        with pytest.raises(UserError, match="steps of another ranking"):
            rank_benchmark(selected, "lexical", out)
    (tmp_path / "s.parquet.partial").write_bytes(b"\xff of somebody else\n")
    with pytest.raises(UserError, match="steps of another ranking"):
        rank_benchmark(test, "lexical", tmp_path / "s.parquet")
    # A ranking that finished nothing leaves nothing behind.
    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        stop_after(stopped, 0)
        rank_benchmark(dev(limit=1), "lexical", other)
    assert not list(tmp_path.glob("other*"))
    rank_benchmark(test, "lexical", other)


def test_a_step_that_cannot_be_ranked_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    from tests.harness.benchmarks._files import task, write

    rows = task("t", 40)
    rows[35]["cleaned_html"] = "<html"
    path = write(tmp_path / "test_task.parquet", rows)
    dataset = open_steps("multimodal-mind2web", data=path)
    with pytest.raises(DataError, match="row 36"):
        rank_benchmark(dataset, "lexical", tmp_path / "r.parquet")
    kept = (tmp_path / "r.parquet.partial").read_bytes().splitlines()
    assert len(kept) == 1 + commands.STEPS_AT_A_TIME


def test_a_file_of_ranks_may_be_written_anew(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    rank_benchmark(dev(limit=1), "lexical", first)
    rank_benchmark(dev(limit=1), str(first), second)
    a, b = pq.read_table(first), pq.read_table(second)
    assert a["ids"].equals(b["ids"])
    with pytest.raises(DataError, match="exists"):
        rank_benchmark(dev(limit=1), "lexical", first)
