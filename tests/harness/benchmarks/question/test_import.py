"""Tasks of lm-evaluation-harness and lmms-eval, turned into questions of the user's."""

from __future__ import annotations

import io
import json
import tomllib
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image

import harness
from harness.benchmarks.question.folder import Bad
from harness.benchmarks.question.task_templates import check_template, filled
from tests import clock
from tests.harness.commands.tool import Called, call, isolate
from tests.numbers import number

RANKED = """
task: pages
dataset_path: json
dataset_kwargs: {data_files: {test: data/pages.jsonl, train: data/none.jsonl}}
training_split: train
test_split: test
output_type: multiple_choice
description: "Pages of {{shop}}."
doc_to_text: "Page: {{text.strip()}}\\nQuestion: {{question}}\\nAnswer:"
doc_to_choice: "{{[first, second]}}"
doc_to_target: label
target_delimiter: ""
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
metadata: {version: 1.0}
"""
PAGES: list[dict[str, Any]] = [
    {"text": " Home ", "question": "Which?", "first": "it's", "second": "b", "label": 1},
    {"text": "{hint}", "question": "And {options}?", "first": "x", "second": "A", "label": "A"},
]
SHOWN = """
task: tills
dataset_path: parquet
dataset_kwargs: {data_files: tills.parquet, token: true}
test_split: train
output_type: generate_until
doc_to_visual: image
doc_to_text: question
doc_to_target: "answers"
generation_kwargs: {max_new_tokens: 16, temperature: 0, do_sample: false, until: ["\\n"]}
metric_list:
  - {metric: anls, aggregation: mean, higher_is_better: true}
lmms_eval_specific_kwargs: {default: {post_prompt: "?"}}
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)
    Path("tasks/data").mkdir(parents=True)


def png(colour: str = "white") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), colour).save(file, "PNG")
    return file.getvalue()


def lines(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def imported(text: str, *more: str) -> Called:
    Path("tasks/mine.yaml").write_text(text)
    return call("data", "import", "tasks/mine.yaml", *more)


def task(**keys: Any) -> str:
    """Return a task over `data/q.jsonl` with other keys; None leaves one out."""
    usual: dict[str, Any] = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": "data/q.jsonl"},
        "test_split": "train",
        "doc_to_text": "question",
        "doc_to_target": "answer",
    }
    return str(yaml.safe_dump({k: v for k, v in (usual | keys).items() if v is not None}))


def problems(text: str) -> list[str]:
    found = imported(text)
    assert (found.code, found.out) == (2, "")
    assert not Path("mine").exists()
    assert not list(Path.cwd().glob(".import-*"))
    return [line.removeprefix("error: mine.yaml: ") for line in found.err.splitlines()]


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("mine/questions.jsonl").read_text().splitlines()]


def score_of_oracle() -> float:
    """Return the oracle's score on what was imported, which has to pass the check as well."""
    checked = call("data", "check", "mine")
    assert checked.code == 0, checked.out
    line = ("-m", "oracle", "-b", "question-items", "--data", "mine", "-o", "run")
    done = call(*line, "--progress", "off")
    assert done.code == 0, done.err
    return float(number(harness.open_run("run").summary, "score", "micro"))


def test_a_task_that_ranks_options_asks_for_a_letter() -> None:
    lines("tasks/data/pages.jsonl", [{**row, "shop": "Till & Co."} for row in PAGES])
    done = imported(RANKED)
    assert done.code == 0, done.err
    assert rows()[0] == {
        "id": "0",
        "question": "Page: Home\nQuestion: Which?\nAnswer:",
        "options": ["it's", "b"],
        "answers": [1],
        "system": "Pages of Till & Co..",
    }
    assert rows()[1]["answers"] == [1]
    read = tomllib.loads(Path("mine/questions.toml").read_text())
    assert (read["name"], read["metric"]) == ("pages", "choice")
    assert read["prompt"]["choice"].endswith("{options}\nAnswer with the letter of one option.")
    assert "scores are not comparable" in done.out
    assert "not used: training_split, target_delimiter, metadata" in done.out
    assert done.out.splitlines()[-2:] == [
        "vlm-eval data check mine",
        "vlm-eval run --model MODEL --benchmark question-items --data mine",
    ]
    assert score_of_oracle() == 1.0


def test_a_task_with_pictures_keeps_its_words_and_its_limit() -> None:
    images = [{"bytes": png(), "path": None}, {"bytes": png("red"), "path": None}]
    table = [
        {"question": "What is sold?", "answers": ["lamps", "lights"], "image": images[0]},
        {"question": "How much?", "answers": ["12"], "image": images[1]},
        {"question": "Who?", "answers": ["Ann"], "image": images[1]},
    ]
    pq.write_table(pa.Table.from_pylist(table), "tasks/tills.parquet")
    done = imported(SHOWN)
    assert done.code == 0, done.err
    assert done.out.startswith("mine: 3 questions of tills.parquet, split train\n")
    assert done.out.endswith(" --data mine --max-tokens 16\n")
    assert "cut at ['\\n']" in done.out
    assert rows()[0]["answers"] == ["lamps", "lights"]
    assert len(list(Path("mine/pictures").iterdir())) == 2
    read = tomllib.loads(Path("mine/questions.toml").read_text())
    assert (read["metric"], read["prompt"]) == ("anls", {"question": "{question}"})
    assert score_of_oracle() == 1.0


PRINTED = r"""tills: 2 questions of tills.jsonl, split test
  doc_to_text: '{{question}}\nAnswer with one word.'
  doc_to_target: column 'answers'
  pictures: column 'image'
  first question: 'What is sold?\nAnswer with one word.'; right: ['lamps', 'lights']
  prompt: '{question}'
  exact_match is scored as exact: case, punctuation and articles do not count
  --max-tokens 16 is max_new_tokens, and holds for thoughts, too
  replies are read whole, and not cut at ['\n']
vlm-eval data check tills
vlm-eval run --model MODEL --benchmark question-items --data tills --max-tokens 16
"""
"""What the command says of the task that the page shows."""


def test_the_task_of_the_page_is_understood() -> None:
    page = (Path(__file__).parents[4] / "docs" / "questions.md").read_text("utf-8")
    given = page.split("```yaml\n")[1].split("```")[0]
    Path("tills.yaml").write_text(given)
    Path("till.png").write_bytes(png())
    asked = {"question": "What is sold?", "answers": ["lamps", "lights"], "image": "till.png"}
    lines("tills.jsonl", [asked, asked | {"question": "How many?", "answers": [3]}])
    assert call("data", "import", "tills.yaml").out == PRINTED


def test_pictures_in_the_folder_of_a_task_are_copied() -> None:
    Path("tasks/data/till.png").write_bytes(png())
    two = {"question": "Q?", "answer": "x", "a": "data/till.png", "b": ["data/till.png", None]}
    lines("tasks/data/q.jsonl", [{**two, "b": ["data/till.png"]}, {"question": "R?", "answer": 3}])
    assert imported(task(doc_to_image=["a", "b"])).code == 0
    assert [len(row.get("images", [])) for row in rows()] == [2, 0]
    assert score_of_oracle() == 1.0


def test_options_that_the_words_list_are_letters_alone() -> None:
    lines("tasks/data/q.jsonl", [{"question": "A. x\nB. y", "answer": "B"}])
    keys = {"output_type": "multiple_choice", "doc_to_choice": ["A", "B"]}
    done = imported(task(**keys))
    assert (done.code, rows()[0]["answers"]) == (0, [1])
    assert "prompt: '{question}\\nAnswer with the letter of one option.'" in done.out
    assert score_of_oracle() == 1.0


@pytest.mark.parametrize(
    ("target", "answer", "right"),
    [
        ("answer", 1, 1),
        ("answer", "no", 1),
        ("answer", True, 1),
        ("answer", [0, "no"], None),
        ("{{answer}}", "no", 1),
        ("{{answer}}", "0", 0),
        ("{{['no', 'yes'].index(answer)}}", "yes", 1),
        ("{{answer if answer == 'no' else 'yes'}}", "?", 0),
        (0, None, 0),
    ],
)
def test_targets_are_indices_or_options(target: Any, answer: Any, right: int | None) -> None:
    lines("tasks/data/q.jsonl", [{"question": "Q?", "answer": answer}])
    done = imported(task(doc_to_target=target, doc_to_choice={"a": "yes", "b": "no"}))
    assert done.code == 0, done.err
    assert rows()[0]["answers"] == ([0, 1] if right is None else [right])


def test_digits_of_a_template_are_an_index_and_those_of_a_column_an_option() -> None:
    lines("tasks/data/q.jsonl", [{"question": "Q?", "answer": "1", "options": ["1", "2"]}])
    for target, right in (("answer", 0), ("{{answer}}", 1)):
        more = ("--out", f"out-{right}")
        assert imported(task(doc_to_target=target, doc_to_choice="options"), *more).code == 0
        found = json.loads(Path(f"out-{right}/questions.jsonl").read_text())
        assert found["answers"] == [right]


def test_a_table_of_texts_is_read_with_options_and_another_metric() -> None:
    Path("tasks/data/q.csv").write_text("The question,answer\nWhat? ,0\nWho?,1\n")
    keys = {"dataset_path": "csv", "dataset_kwargs": {"data_files": ["data/q.csv"]}}
    f1 = [{"metric": "f1", "aggregation": "mean"}]
    asked = {"doc_to_text": "The question", "doc_to_choice": ["red lamps", "Ann"]}
    assert imported(task(**keys, **asked, metric_list=f1)).code == 0
    assert [row["answers"] for row in rows()] == [["red lamps"], ["Ann"]]
    assert score_of_oracle() == 1.0


def test_everything_that_cannot_be_read_is_named_at_once() -> None:
    text = """
include: base.yaml
process_results: !function utils.results
doc_to_text: "{% for x in y %}{{x}}{% endfor %}"
doc_to_target: !function utils.target
doc_to_choice: !!python/object/apply:os.system ["touch ran"]
dataset_path: json
dataset_kwargs: {data_files: ../x.jsonl, field: rows}
num_fewshot: 3
filter_list:
  - {name: x, filter: [{function: regex, regex_pattern: "(a+)+"}, {function: take_first}]}
metric_list:
  - {metric: bleu}
  - {metric: exact_match, aggregation: !function utils.mean, regexes_to_ignore: [","]}
  - {metric: f1}
weight_by_size: true
gen_prefx: "A:"
output_type: loglikelihood
"""
    found = problems(text)
    for wanted in (
        "include: other files are not read; write their keys into this one",
        "process_results: !function utils.results is code, and is not run",
        "doc_to_text: 'for' is not read in a template",
        "doc_to_target: !function utils.target is code, and is not run",
        "doc_to_choice: !!python/object/apply:os.system is code, and is not run",
        f"data_files: ../x.jsonl lies outside of {Path('tasks').resolve()}",
        "dataset_kwargs: field is not read, only data_files",
        "num_fewshot: questions are asked without examples; set it to 0",
        "metric_list: bleu is not read; exact_match, acc, anls, f1 are",
        "metric_list.aggregation: !function utils.mean is code, and is not run",
        "metric_list: regexes_to_ignore of exact_match is not read",
        "metric_list: f1 is not a mean over questions",
        "gen_prefx: unknown key; did you mean 'gen_prefix'?",
        "output_type: loglikelihood is not read; generate_until and multiple_choice are",
    ):
        assert wanted in found
    assert any(line.startswith("filter_list: regex is not read; answer_after") for line in found)
    assert any(line.startswith("weight_by_size: a group of tasks") for line in found)
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"doc_to_text": "qestion"}, "doc_to_text: 'qestion' is no column and no template; did"),
        ({"doc_to_target": None}, "doc_to_target: missing"),
        ({"doc_to_visual": "pic"}, "doc_to_visual: 'pic' is no column and no template; known"),
        ({"dataset_path": "me/set"}, "dataset_path: 'me/set' is not read; json, csv and parquet"),
        ({"dataset_kwargs": {"data_files": "hf://x/y"}}, "data_files: hf://x/y is not local"),
        ({"dataset_kwargs": {"data_files": "/etc/passwd"}}, "data_files: /etc/passwd lies outside"),
        ({"dataset_kwargs": {"data_files": "data/p.jsonl"}}, "data_files: data/p.jsonl is not a f"),
        ({"dataset_kwargs": {"data_files": {"dev": "q"}}}, "test_split: data_files has no files"),
        ({"task": ["a", "b"]}, "task: a group of tasks is not read"),
        ({"doc_to_text": "{{missing}}?"}, "q.jsonl, line 1: doc_to_text: 'missing' is undefined"),
        ({"doc_to_text": "{{question * 9}}"}, "doc_to_text: 'mul' is not read in a template"),
        ({"doc_to_text": "{{range(9)}}"}, "doc_to_text: a call of 'range' is not read in a temp"),
        ({"doc_to_text": "{{"}, "doc_to_text: not a template that can be read"),
        ({"doc_to_choice": ["x", "y"]}, "q.jsonl, line 1: doc_to_target: 'lamps' is none of the"),
        ({"doc_to_choice": "question"}, "q.jsonl, line 1: doc_to_choice: 'Q?' is not a list"),
        ({"doc_to_choice": ["x"], "doc_to_target": 0}, "q.jsonl, line 1: 0 has 1 options; 2 to"),
        ({"output_type": "multiple_choice"}, "doc_to_choice: missing"),
        ({"doc_to_visual": "image"}, "q.jsonl, line 1: ../till.png lies outside of"),
        ({"metric_list": [{"metric": "anls", "thresh_hold": 0.3}]}, "metric_list: thresh_hold of"),
        (
            {
                "output_type": "multiple_choice",
                "doc_to_choice": ["x", "y"],
                "metric_list": [{"metric": "anls"}],
            },
            "metric_list: anls does not score multiple_choice",
        ),
        (
            {"metric_list": [{"metric": "anls"}, {"metric": "exact_match"}]},
            "metric_list: a question has one metric; keep one of anls and exact_match",
        ),
    ],
)
def test_a_task_that_means_something_else_is_refused(keys: dict[str, Any], says: str) -> None:
    Path("till.png").write_bytes(png())
    image = {"image": "../till.png"} if keys.get("doc_to_visual") == "image" else {}
    lines("tasks/data/q.jsonl", [{"question": "Q?", "answer": "lamps", **image}])
    (found,) = problems(task(**keys))
    assert found.startswith(says)


def test_a_problem_of_many_rows_is_said_once() -> None:
    asked = [{"question": "Q?", "answer": 2}, {"question": "R?", "answer": 0}]
    lines("tasks/data/q.jsonl", [asked[0], asked[1], asked[0]])
    (found,) = problems(task(doc_to_choice=["x", "y"]))
    assert found == "q.jsonl, line 1: the answer 2 of 0 is beyond its 2 options (A to B) (2 items)"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: &x [1]\nb: *x", "aliases (*name) are not read"),
        ("a: " + "[" * 90_000, "is nested too deeply"),
        ("a: !!bool maybe", "is no YAML of a task"),
        ("a: \x00", "is no YAML of a task"),
        ("just words", "is no YAML of a task: it has no keys"),
    ],
)
def test_files_that_are_no_task_are_one_line(text: str, says: str) -> None:
    with clock.linear_time():
        found = imported(text)
    assert found.code == 2
    assert says in found.complaint


def test_a_folder_with_files_is_kept() -> None:
    lines("tasks/data/q.jsonl", [{"question": "Q?", "answer": "lamps"}])
    Path("mine").mkdir()
    assert imported(task()).code == 0
    before = {path: path.read_bytes() for path in Path("mine").iterdir()}
    again = imported(task())
    assert again.complaint.endswith(
        "mine exists and is not an empty folder; name another with --out"
    )
    assert {path: path.read_bytes() for path in Path("mine").iterdir()} == before
    assert imported(task(), "--out", "my sets/other").code == 0
    assert imported(task(), "-o", "my sets/2").out.endswith("--data 'my sets/2'\n")


LONG = {"question": "a'" * 5_000, "shop": {"name": ["a"] * 99}}


@pytest.mark.parametrize(
    "text",
    [
        "{{ question" + "|list|string" * 9 + " }}",
        "{{ " + "[" * 40 + "question" + "]|string" * 40 + " }}",
        "{{ [" + ",".join(["question"] * 999) + "]|string|length }}",
        "{{ [" + ",".join(["question"] * 999) + "] }}",
        "{{ (" + " ~ ".join(["question"] * 999) + ")|length }}",
        "{{ (" + " + ".join(["question"] * 150) + ")|length }}",
        "{{ question" + "|list|join('aaaaaaaaaaaaaaaaaaaaaaaa')" * 4 + " }}",
        "{{ question.split('a')|string|list|string|list|string|list|string }}",
        "{{ {" + ",".join(f"{n}: question" for n in range(300)) + "}|string }}",
    ],
)
def test_what_a_template_makes_is_bounded_at_each_step(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(Bad, match="too long"):
            filled(text, LONG)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{{ question ~ '!' ~ 1 }}", "Hi!1"),
        ("{{ ('a' ~ 'b')|upper ~ 'c' }}", "ABc"),
        ("{{ question|list|string }}", "['H', 'i']"),
        ("{{ [question, 2] + [3] }}", "['Hi', 2, 3]"),
        ("{{ question.split('i')[0] + 'o' }}", "Ho"),
        ("{{ shop }}", "{'name': 'x'}"),
        ("{% if question == 'Hi' %}{{ shop.name|default('y') }}{% endif %}", "x"),
    ],
)
def test_what_templates_usually_do_is_done(text: str, made: str) -> None:
    assert filled(text, {"question": "Hi", "shop": {"name": "x"}}) == made


@pytest.mark.parametrize(
    "text",
    [
        "{{ question.__class__.__mro__ }}",
        "{{ question.format(1) }}",
        "{{ ''.join(question) }}",
        "{{ question.replace('a', 'aa') }}",
        "{{ question|replace('a', 'aa') }}",
        "{{ 9**9**9**9 }}",
        "{{ '%999999999d' % 1 }}",
        "{% set x = question ~ question %}",
        "{% include '/etc/passwd' %}",
        "{% macro a() %}{{ a() }}{% endmacro %}",
        "{{ cycler(1) }}",
        "{{ question|attr('x') }}",
        "{{ question|join(question) }}",
        "{{ " + "(" * 5000,
        "{{ 1" + "+1" * 4000 + " }}",
        "{{ " + "1" * 9000 + " }}",
        "x" * 30_000,
    ],
)
def test_hostile_templates_are_refused_at_once(text: str) -> None:
    with clock.linear_time(), pytest.raises(Bad):
        check_template(text)
        filled(text, {"question": "a" * 100_000})
