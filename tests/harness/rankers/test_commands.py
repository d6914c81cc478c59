"""`vlm-eval rankers` with its commands, as they are called."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from harness.rankers import RankTable
from tests.harness.commands.tool import call, isolate

DEV = ("-b", "sample", "--split", "dev", "--limit", "3")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    done = call("rankers", "rank", *DEV, "-o", "r.parquet")
    assert done.code == 0 and "ranks of 27 steps by lexical" in done.out, done
    return tmp_path / "r.parquet"


def test_stored_ranks_and_the_ranker_have_the_same_recall(stored: Path) -> None:
    done = call("rankers", "recall", stored, "--ranker", "lexical", *DEV, "--format", "json")
    told = json.loads(done.out)
    one, two = told["rows"]
    assert one == two and one["ranker"] == "lexical" and one["steps"] == 26
    assert 0 < one["recall_1"] <= one["recall_5"] <= one["recall_50"] <= 1
    assert one["recall_5_low"] <= one["recall_5"] <= one["recall_5_high"]
    assert told["notes"][0] == "dev: 1 steps have no acceptable element and are left out."


def test_the_formats_say_the_same(stored: Path) -> None:
    line = ("rankers", "recall", stored, *DEV, "--no-positive", "fail", "--format")
    (record,) = csv.DictReader(io.StringIO(call(*line, "csv").out))
    assert record["steps"] == "27" and record["paper_recall_50"] == ""
    shown = f"{100 * float(record['recall_10']):.1f}"
    for form in ("text", "markdown"):
        text = call(*line, form).out
        assert shown in text and "count as missed" in text and "fewer than 30 tasks" in text


def test_the_figures_of_the_paper_stand_beside_splits_of_that_name(tmp_path: Path) -> None:
    from tests.harness.benchmarks._files import task, write

    path = write(tmp_path / "test_website.parquet", task("t", 3))
    done = call("rankers", "recall", "--ranker", "lexical", "--data", path)
    assert done.code == 0 and " 85.3\n" in done.out
    assert "do not rank other populations against it" in " ".join(done.out.split())


def test_a_split_without_acceptable_elements_has_a_row_without_shares(tmp_path: Path) -> None:
    from tests.harness.benchmarks._files import task, write

    rows = task("t", 2)
    for row in rows:
        row["pos_candidates"] = []
    for name, members in (("test_task", rows), ("test_website", task("u", 2))):
        write(tmp_path / "data" / f"{name}.parquet", members)
    line = ("rankers", "recall", "--ranker", "lexical", "--data", "data")
    none, some = json.loads(call(*line, "--format", "json").out)["rows"]
    assert none.keys() == some.keys()
    assert (none["split"], none["recall_5"], none["paper_recall_50"]) == ("test_task", None, 0.889)
    assert some["split"] == "test_website" and some["recall_50"] == 1.0
    assert "–" in call(*line).out


def test_the_group_lists_rankers() -> None:
    listed = call("rankers").out.splitlines()
    assert [line.split()[0] for line in listed] == ["lexical", "cross-encoder", "file"]


def test_a_published_pickle_is_converted_once(tmp_path: Path) -> None:
    steps = {"t_u": {"1": 1.5, "2": 2.5}}
    (tmp_path / "s.pkl").write_bytes(pickle.dumps({"scores": steps}))
    done = call("rankers", "convert", "s.pkl", "-o", "r.parquet")
    assert done.code == 0 and "scores of 2 candidates in 1 steps" in done.out
    table = RankTable(tmp_path / "r.parquet")
    assert list(table.entry("t_u").ids) == ["2", "1"] and table.ranker == "mind2web"


def test_a_pickle_with_code_is_refused_with_its_class_named(tmp_path: Path) -> None:
    class Bad:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'trace'}",)

    (tmp_path / "s.pkl").write_bytes(pickle.dumps({"scores": Bad()}))
    done = call("rankers", "convert", "s.pkl", "-o", "r.parquet")
    assert done.code == 2 and f"names {os.system.__module__}.system" in done.complaint
    assert not (tmp_path / "trace").exists() and not (tmp_path / "r.parquet").exists()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (("rankers", "rank", *DEV), "Missing option '--out'"),
        (
            ("rankers", "rank", *DEV, "-o", "x.parquet", "--ranker", "lexicl"),
            "did you mean 'lexical'",
        ),
        (("rankers", "recall", *DEV), "name files of ranks"),
        (("rankers", "recall", "none.parquet", *DEV), "no such file of scores or ranks"),
        (("rankers", "train", "-b", "mm-mind2web-tilde", "-o", "t"), "no split for training"),
        (("rankers", "rank", *DEV, "-o", ".", "--overwrite"), "is a folder"),
    ],
)
def test_bad_input_is_one_line(line: tuple[str, ...], complaint: str) -> None:
    done = call(*line)
    assert done.code == 2 and complaint in done.complaint
