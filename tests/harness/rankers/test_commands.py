"""`rank`, `rank convert`, `recall`, `train-ranker` and `data import-seeact` as they are called."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from harness.rankers.files import RankTable
from tests.harness.benchmarks._files import shared_data
from tests.harness.commands.tool import call, isolate

DEV = ("-b", "sample", "--split", "dev", "--limit", "3")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    done = call("rank", *DEV, "--workers", "1", "-o", "r.parquet")
    assert done.code == 0 and "ranks of 27 steps by lexical" in done.out, done
    return tmp_path / "r.parquet"


def test_stored_ranks_and_the_ranker_have_the_same_recall(stored: Path) -> None:
    done = call("recall", stored, "--ranker", "lexical", *DEV, "--format", "json")
    told = json.loads(done.out)
    one, two = told["rows"]
    assert one == two and one["ranker"] == "lexical" and one["steps"] == 26
    assert 0 < one["recall_1"] <= one["recall_5"] <= one["recall_50"] <= 1
    assert one["recall_5_low"] <= one["recall_5"] <= one["recall_5_high"]
    assert told["notes"][0] == "dev: 1 steps have no acceptable element and are left out."


def test_the_formats_say_the_same(stored: Path, tmp_path: Path) -> None:
    line = ("recall", stored, *DEV, "--no-positive", "fail", "--format")
    (record,) = csv.DictReader(io.StringIO(call(*line, "csv").out))
    assert record["steps"] == "27" and record["paper_recall_50"] == ""
    shown = f"{100 * float(record['recall_10']):.1f}"
    for form in ("text", "markdown"):
        text = call(*line, form).out
        assert shown in text and "count as missed" in text and "fewer than 30 tasks" in text
    assert call(*line, "text", "-o", "table.txt").out == ""
    assert shown in (tmp_path / "table.txt").read_text("utf-8")


def test_the_figures_of_the_paper_stand_beside_splits_of_that_name(tmp_path: Path) -> None:
    from tests.harness.benchmarks._files import task, write

    path = write(tmp_path / "test_website.parquet", task("t", 3))
    done = call("recall", "--ranker", "lexical", "--data", path)
    assert done.code == 0 and " 85.3\n" in done.out
    assert "do not rank other populations against it" in " ".join(done.out.split())


def test_missing_steps_are_listed(stored: Path) -> None:
    done = call("recall", stored, "-b", "sample", "--split", "test")
    assert done.code == 2
    assert "has no ranks for 158 of 158 selected steps" in done.complaint


def test_a_published_pickle_is_converted_once(tmp_path: Path) -> None:
    steps = {"t_u": {"1": 1.5, "2": 2.5}}
    (tmp_path / "s.pkl").write_bytes(pickle.dumps({"scores": steps}))
    done = call("rank", "convert", "s.pkl", "-o", "r.parquet")
    assert done.code == 0 and "scores of 2 candidates in 1 steps" in done.out
    table = RankTable(tmp_path / "r.parquet")
    assert list(table.entry("t_u").ids) == ["2", "1"] and table.ranker == "mind2web"


def test_a_pickle_with_code_is_refused_with_its_class_named(tmp_path: Path) -> None:
    class Bad:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'trace'}",)

    (tmp_path / "s.pkl").write_bytes(pickle.dumps({"scores": Bad()}))
    done = call("rank", "convert", "s.pkl", "-o", "r.parquet")
    assert done.code == 2 and f"names {os.system.__module__}.system" in done.complaint
    assert not (tmp_path / "trace").exists() and not (tmp_path / "r.parquet").exists()
    for line in (("recall", "s.pkl", *DEV), ("rank", "--ranker", "s.pkl", *DEV, "-o", "x.parquet")):
        done = call(*line)
        assert done.code == 2 and "vlm-eval rank convert" in done.complaint


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (("rank", *DEV), "--out FILE.parquet"),
        (("rank", *DEV, "-o", "x.parquet", "--device", "cpu"), "--device is for a cross-encoder"),
        (("rank", *DEV, "-o", "x.parquet", "--ranker", "lexicl"), "did you mean 'lexical'"),
        (("rank", "--ranker", "lexical", "convert", "x", "-o", "y"), "--ranker has no effect"),
        (
            ("rank", *DEV, "-o", "x.parquet", "--ranker", "cross-encoder:x", "--workers", "2"),
            "--workers has no effect",
        ),
        (("recall", *DEV), "name files of ranks"),
        (("recall", "r.parquet", "--device", "cpu", *DEV), "--device is for a cross-encoder"),
        (("recall", "none.parquet", *DEV), "no such file of scores or ranks"),
        (("train-ranker", *DEV, "-o", "t", "--dtype", "float16"), "float32 or bfloat16"),
        (("train-ranker", "-b", "snapshot", "-o", "t"), "no split for training"),
        (("rank", *DEV, "-o", ".", "--overwrite"), "is a folder"),
        (("data", "import-seeact", "none.jsonl", "-o", "x.parquet"), "none.jsonl cannot be read"),
    ],
)
def test_bad_input_is_one_line(line: tuple[str, ...], complaint: str) -> None:
    done = call(*line)
    assert done.code == 2 and complaint in done.complaint


def test_seeacts_queries_become_steps_that_can_be_measured() -> None:
    folder = shared_data("seeact-example/textual_choice")
    done = call("data", "import-seeact", folder, "-o", "s.parquet", "--scores", "r.parquet")
    assert done.code == 0 and "1 step of 3 lines" in done.out
    done = call("recall", "r.parquet", "--data", "s.parquet", "--format", "json")
    (row,) = json.loads(done.out)["rows"]
    # The published ranker has the right element third (candidate_scores.json).
    assert (row["ranker"], row["recall_1"], row["recall_5"]) == ("mind2web", 0.0, 1.0)
