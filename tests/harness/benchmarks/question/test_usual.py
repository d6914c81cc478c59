"""Questions in a file without a `questions.toml`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import harness
from tests.harness.commands.tool import call, isolate


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)
    Path("set").mkdir()
    Image.new("RGB", (64, 48), "white").save("set/till.png")


def write(name: str, *rows: dict[str, Any]) -> str:
    path = Path("set") / name
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    elif name.endswith((".csv", ".tsv")):
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), delimiter=",\t"[name.endswith(".tsv")])
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue(), "utf-8")
    elif name.endswith(".json"):
        path.write_text(json.dumps(rows))
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    return path.as_posix()


def asked(data: str) -> tuple[str, dict[str, Any]]:
    """Let the oracle answer; return the line on what was assumed, and the questions by id."""
    line = ("-m", "oracle", "-b", "question-items", "--data", data, "-o", "run")
    done = call(*line, "--progress", "off")
    assert done.code == 0, done.err
    (assumed,) = (line for line in done.err.splitlines() if " without questions.toml: " in line)
    run = harness.open_run("run")
    assert run.scores.score.value == 1.0
    return assumed, {record.unit_id: record for record in run.records()}


FILES = ("questions.csv", "questions.tsv", "questions.jsonl", "questions.json", "questions.parquet")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("alone", [False, True])
def test_a_folder_or_a_file_is_read(name: str, alone: bool) -> None:
    path = write(name, {"question": "What is sold?", "answer": "lamps", "image": "till.png"})
    assumed, found = asked(path if alone else "set")
    assert assumed.endswith(f"{name} without questions.toml: metric exact")
    assert list(found) == ["1"] and found["1"].digests
    assert call("data", "check", path if alone else "set", "-b", "question-items").code == 0


@pytest.mark.parametrize("answer", ["B", "Basket"])
def test_options_are_scored_by_choice(answer: str) -> None:
    options = "['Home', 'Basket', 'Till']"
    rows = [{"question": "Which page?", "options": options, "answer": answer} for _ in range(2)]
    assumed, found = asked(write("questions.csv", *rows))
    detail = found["2"].detail
    assert detail.asked.metric == "choice" and detail.gold.answers == ("B",)
    assert detail.asked.options == ("Home", "Basket", "Till")
    assert assumed.endswith("metric choice")


def test_questions_with_and_without_options_have_their_own_metrics() -> None:
    assumed, found = asked(
        write(
            "questions.jsonl",
            {"id": "a", "question": "Which?", "options": ["x", "y"], "answer": 1},
            {"id": "b", "question": "How much?", "answers": [12, "12.0"]},
            {"id": "c", "question": "Which?", "answers": ["3"], "metric": "contains"},
        )
    )
    metrics = {name: record.detail.asked.metric for name, record in found.items()}
    assert metrics == {"a": "choice", "b": "number", "c": "contains"}
    assert assumed.endswith(": metric choice and number")


def test_without_answers_nothing_is_scored() -> None:
    path = write("questions.csv", {"question": "What?"})
    done = call("data", "check", path, "-b", "question-items")
    assert done.code == 0
    assert "no answers, so nothing is scored" in done.err


def test_settings_in_the_folder_hold() -> None:
    write("questions.csv", {"question": "What?", "answer": "x"})
    write("questions.jsonl", {"id": "a", "question": "What?", "answer": "y"})
    Path("set/questions.toml").write_text('name = "tills"\nmetric = "f1"\n')
    done = call("data", "check", "set")
    assert done.code == 0 and "without questions.toml" not in done.err
    # A file that is named is read alone.
    _, found = asked("set/questions.csv")
    assert found["1"].detail.gold.answers == ("x",)


def mistakes() -> list[tuple[str, dict[str, Any], str]]:
    return [
        ("q.csv", {"frage": "Was?"}, "q.csv has no column question, only frage; a questions.toml"),
        ("q.txt", {"question": "What?"}, "questions are read from .jsonl, .json, .csv, .tsv, "),
        ("q.csv", {"question": "What?", "answer": "x", "image": "no.png"}, "no.png is not in set"),
        (
            "q.csv",
            {"question": "What?", "options": "[x", "answer": "x"},
            "1 has 1 options; 2 to 26",
        ),
        ("q.csv", {"question": "What?", "answer": "a", "metric": "good"}, "'good' is no metric"),
    ]


@pytest.mark.parametrize(("name", "row", "said"), mistakes())
def test_mistakes_are_one_line(name: str, row: dict[str, Any], said: str) -> None:
    line = ("-m", "oracle", "-b", "question-items", "--data", write(name, row))
    done = call(*line, "--dry-run")
    assert done.code == 2 and said in done.complaint, done.err


def test_of_several_files_one_has_to_be_named() -> None:
    write("questions.csv", {"question": "What?"})
    write("questions.json", {"question": "What?"})
    done = call("data", "check", "set", "-b", "question-items")
    assert done.code == 2 and "set has questions.json and questions.csv: name one" in done.complaint
