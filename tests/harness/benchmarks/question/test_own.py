"""Questions in a folder of the user's: read, checked, asked, scored."""

# ruff: noqa: E501 (a case is a line)

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import harness
from parsers.question.metrics import METRICS
from reports.kinds.question import QUESTION_REPORTS
from tests.harness.commands.tool import at, call, isolate
from tests.numbers import row
from tests.servers import Answer, Ask, WireServer

TOML = 'name = "tills"\nmetric = "f1"\n'
ROW = {"id": "q7", "question": "What is sold?", "answers": ["lamps"]}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Path("set").mkdir()
    Path("set/till.png").write_bytes(png())


def png(colour: str = "white") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), colour).save(file, "PNG")
    return file.getvalue()


def write(*rows: dict[str, Any], toml: str = TOML) -> None:
    Path("set/questions.toml").write_text(toml)
    text = "\r\n\r\n".join(map(json.dumps, rows))
    Path("set/questions.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode())


def check() -> str:
    found = call("data", "check", "set", "--benchmark", "question-items")
    assert found.code == 2
    lines = [line.removeprefix("error: ") for line in (found.out + found.err).splitlines()]
    return lines[0].removeprefix("vlm-eval: ")


def run(model: str, out: str, *more: str) -> dict[str, Any]:
    line = ("-m", model, "-b", "question-items", "--data", "set", "-o", out, "--progress", "off")
    done = call(*line, *more)
    assert done.code == 0, done.err
    summary = harness.open_run(out).summary
    averages = {one["average"] for one in summary["estimates"] if one["measure"] == "score"}
    return row(summary, "score", "cells" if "cells" in averages else "micro")


MIXED = """name = "tills"
metric = "f1"
cells = ["task"]
cluster = "shop"
no_answer = "<no answer>"
answer_after = "Answer:"
[metric_of]
task = { page = "choice" }
[tolerance]
relative = 0.05
"""
URL = "data:image/png;base64," + base64.b64encode(png("red")).decode()


def mixed() -> list[dict[str, Any]]:
    def labels(task: str, shop: str) -> dict[str, Any]:
        return {"labels": {"task": task, "shop": shop}, "image": "till.png"}

    options = ["Home", "Basket {question}", "Checkout"]
    return [
        {**ROW, "id": "a", **labels("open", "1"), "hint": "Look up."},
        {"id": "b", "question": "Which page?", "answer": 1, "options": options, **labels("page", "2")},
        {"id": "c", "question": "How much?", "answer": 12, "metric": "number", **labels("open", "2")},
        {"id": "d", "question": "Who?", "answers": [None, "Ann"], **labels("open", "1")},
        {"id": "e", "question": "Both?", "answers": ["x"], **labels("open", "1"), "image": [URL, "till.png"]},
    ]  # fmt: skip


def test_the_oracle_is_right_and_chance_is_that_of_options() -> None:
    write(*mixed(), toml=MIXED)
    assert call("data", "check", "set").code == 0
    found = run("oracle", "right")
    assert (found["average"], found["number"]) == ("cells", 1.0)
    assert found["chance"] == pytest.approx((0 + 1 / 3) / 2)


def test_a_page_has_the_right_answer_next_to_what_was_said() -> None:
    write(*mixed(), toml=MIXED)
    with WireServer(lambda ask: Answer("Answer: A" if "Which page" in ask.text else "")) as server:
        assert call(*at(server, "-b", "question-items", "--data", "set", "-o", "run")).code == 0
    page, shown = QUESTION_REPORTS.page, {}
    for record in harness.open_run("run").records():
        part = page.part(record, ())
        (answer,) = part.lines
        shown[record.unit_id] = tuple(cell.text for cell in answer.cells)
    assert shown["b"] == ("B. Basket {question}", "A. Home")
    assert shown["d"] == ("Ann or <no answer>", "empty")
    assert shown["c"] == ("12", "empty")


def test_a_model_is_asked_in_the_words_of_the_set() -> None:
    write(*mixed(), toml=MIXED)
    asked: dict[str, Ask] = {}

    def react(ask: Ask) -> Answer:
        asked[ask.text] = ask
        return Answer("I see.\nAnswer: B" if "Which page" in ask.text else "Answer: lamps and 12.3")

    with WireServer(react) as server:
        line = at(server, "-b", "question-items", "--data", "set", "-o", "run")
        assert call(*line).code == 0
    prompts = sorted(asked)
    assert prompts[0].startswith("Both?\nAnswer in a few words. If the picture does not answer it")
    assert any(text.startswith("Look up.\nWhat is sold?") for text in prompts)
    (page,) = (text for text in prompts if "Which page" in text)
    assert "B. Basket {question}\nC. Checkout\nAnswer with the letter" in page
    assert asked[prompts[0]].pictures == 2
    scores = {one.unit_id: one.scores for one in harness.open_run("run").records()}
    assert {name: found["score"] for name, found in scores.items() if found} == {
        "a": pytest.approx(0.5),
        "b": 1.0,
        "c": 1.0,
        "d": 0.0,
        "e": 0.0,
    }


@pytest.mark.parametrize("suffix", ["json", "csv", "tsv", "parquet"])
def test_other_files_hold_the_same_questions(suffix: str) -> None:
    rows = [{**ROW, "id": f"q{n}", "answers": "lamps"} for n in range(3)]
    path = Path(f"set/mine.{suffix}")
    if suffix == "json":
        path.write_text(json.dumps(rows))
    elif suffix == "parquet":
        image = {"bytes": png(), "path": "x.png"}
        pq.write_table(pa.Table.from_pylist([{**row, "image": image} for row in rows]), path)
    else:
        mark = ",\t"[suffix == "tsv"]
        lines = [mark.join(rows[0]), *(mark.join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines))
    Path("set/questions.toml").write_text(f'{TOML}questions = "{path.name}"\n')
    assert run("oracle", "run")["number"] == 1.0


def test_columns_of_others_are_mapped() -> None:
    toml = TOML + '[columns]\nquestion = "input"\nanswers = "target"\nid = "meta.number"\n'
    write({"input": "What?", "target": ["lamps"], "meta": {"number": "q1"}}, toml=toml)
    assert run("oracle", "run")["number"] == 1.0
    assert harness.open_run("run").records()[0].unit_id == "q1"


def test_without_answers_replies_are_kept_and_nothing_is_scored() -> None:
    write({"id": "a", "question": "What?"}, {"id": "b", "question": "Who?"})
    with WireServer(lambda ask: Answer("lamps")) as server:
        done = call(*at(server, "-b", "question-items", "--data", "set", "-o", "run"))
    assert done.code == 0, done.err
    found = harness.open_run("run").records()
    assert [str(one.prediction.action) for one in found if one.prediction] == [
        'answer(text="lamps")'
    ] * 2
    assert all(one.scores and one.scores["score"] is None for one in found)


CHOICE = {**ROW, "metric": "choice", "options": ["A page", "Basket", "Home", "Exit"]}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**ROW, "metric": "rogue1"}, "questions.jsonl, line 1: 'rogue1' is no metric; did you mean"),
        ({**ROW, "weight": 2}, "rows have no weights; name labels under cells to count groups alike"),
        ({**ROW, "pattern": "a+"}, "patterns are not supported; answer_after reads what follows"),
        ({**ROW, "answers": []}, "q7 has no answers; [null] says that it cannot be answered"),
        ({**ROW, "answers": [""]}, "q7 has an empty answer; [null]"),
        ({**ROW, "answers": [True]}, "an answer of q7 is neither a text nor a number"),
        ({**ROW, "answers": ["..."]}, "the answer '...' of q7 has no words for f1; exact takes it"),
        ({**ROW, "answers": [None]}, "q7 has the answer null, but questions.toml does not say"),
        ({**ROW, "answers": "['a', 'b']"}, "answers of q7 is a text that looks like a list"),
        ({**ROW, "metric": "number"}, "the answer 'lamps' of q7 is no number"),
        ({**ROW, "metric": "choice"}, "q7 is scored as choice and has no options"),
        ({**CHOICE, "answers": "F"}, "the answer 'F' of q7 is beyond its 4 options (A to D)"),
        ({**CHOICE, "answers": 4}, "the answer 4 of q7 is beyond its 4 options (A to D)"),
        ({**CHOICE, "options": ["B", "x"], "answers": "B"}, "is a letter and the text of option A"),
        ({**CHOICE, "options": ["1", "0"], "answers": "1"}, "is an index and the text of option A"),
        ({**CHOICE, "options": ["x", "x"], "answers": "x"}, "'x' of q7 is the text of option A and of"),
        ({**CHOICE, "options": ["x"], "answers": "A"}, "q7 has 1 options; 2 to 26 can be shown"),
        ({**ROW, "image": "lost.png"}, "q7: lost.png is not in set"),
        ({**ROW, "image": "../x.png"}, "q7: ../x.png lies outside of set"),
        ({**ROW, "image": "questions.toml"}, "q7: questions.toml cannot be decoded"),
        ({**ROW, "image": "data:image/png;base64,%%"}, "q7: its data URL is not base64"),
        ({**ROW, "box": [1, 2, 3, 4]}, "does not say what its numbers mean (box)"),
        ({"question": "What?", "answers": ["x"]}, "no id, which every item needs"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_row_is_said(row: dict[str, Any], reason: str) -> None:
    write(row)
    found = check()
    assert reason in found
    assert found.startswith("questions.jsonl, line 1: ")


@pytest.mark.parametrize(
    ("toml", "reason"),
    [
        ("", "questions.toml: Object missing required field `name`"),
        ('name = "x"\nmetrics = "f1"', "unknown key 'metrics'; did you mean 'metric'?"),
        ('name = "x"\nmetric = "rogue1"', "questions.toml: 'rogue1' is no metric; did you mean"),
        ('name = "x"\nregex = "a"', "patterns are not supported"),
        ('name = "x"', "q7 has no metric, and questions.toml names none"),
        ('name = "x"\nmetric = "f1"\ncells = ["task"]', "q7 has no label 'task', which cells needs"),
        (TOML + '[prompt]\nquestion = "{titel}"', "{titel} is neither a column nor a label"),
        ("name", "is not valid TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_settings_is_said(toml: str, reason: str) -> None:
    write(ROW, toml=toml)
    assert reason in check()


def test_files_that_cannot_be_read_are_refused_in_one_line() -> None:
    assert "set has no questions.toml, which names the set and its metric, and no" in check()
    write(ROW, ROW)
    assert check() == "two items have the id q7"
    write()
    assert check().endswith("questions.jsonl holds no questions")
    write(ROW)
    Path("set/questions.jsonl").write_text('{"id": 1}\n{"id": NaN}')
    assert "questions.jsonl, line 2: JSON is malformed" in check()


def test_links_out_of_the_folder_are_not_followed() -> None:
    Path("secret.png").write_bytes(png())
    Path("set/link.png").symlink_to(Path("secret.png").absolute())
    write({**ROW, "image": "link.png"})
    assert "q7: link.png lies outside of set" in check()


def test_each_problem_is_said_once_with_its_number() -> None:
    write(
        {**ROW, "id": "a", "answers": []}, {**ROW, "id": "b", "answers": []}, {**ROW, "metric": "x"}
    )
    found = call("data", "check", "set", "--benchmark", "question-items")
    both, other = found.out.splitlines()
    assert both.endswith(" (2 items)") and "'x' is no metric" in other


def test_the_files_of_the_page_are_read() -> None:
    page = (Path(__file__).parents[4] / "docs" / "questions.md").read_text("utf-8")
    blocks = dict(re.findall(r"```(toml|json)\n(.*?)```", page, re.DOTALL)[::-1])
    prompt = next(
        text for text in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "[prompt]" in text
    )
    dialogue = re.findall(r"```jsonl\n(.*?)```", page, re.DOTALL)[0]
    for questions, toml in (
        (blocks["json"], blocks["toml"]),
        (blocks["json"], blocks["toml"] + prompt),
        (blocks["json"] + dialogue, blocks["toml"]),
    ):
        Path("set/questions.jsonl").write_text(questions)
        Path("set/questions.toml").write_text(toml)
        assert call("data", "check", "set").code == 0
    assert run("oracle", "run")["number"] == 1.0
    assert all(f"`{name}`" in page for name in METRICS)


def test_each_metric_has_its_own_score_whatever_its_letters() -> None:
    write({**ROW, "id": "a", "metric": "rougeL"}, {**ROW, "id": "b"})
    run("oracle", "run")
    scores = {one.unit_id: one.scores for one in harness.open_run("run").records()}
    assert scores["a"] and (scores["a"]["rougel"], scores["a"]["f1"]) == (1.0, None)
    assert scores["b"] and (scores["b"]["rougel"], scores["b"]["f1"]) == (None, 1.0)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1.0", "1e999", "+nan"])
@pytest.mark.parametrize("name", ["absolute", "relative"])
def test_a_tolerance_is_a_finite_number_from_zero(name: str, value: str) -> None:
    row = {"id": "a", "question": "How many?", "answers": [3], "metric": "number"}
    write(row, toml=f"{TOML}[tolerance]\n{name} = {value}\n")
    told = call("data", "check", "set")
    assert told.code == 2 and "questions.toml" in told.err + told.out
