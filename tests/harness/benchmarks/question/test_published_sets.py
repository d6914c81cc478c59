"""VisualWebBench, WebSRC and ScreenQA on made-up files: rows, prompts, scores, what is refused."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness
from adapters import Conversation, Text
from harness.benchmarks import Benchmark, benchmark
from harness.benchmarks.question.visualwebbench import WebBench
from harness.dialogue import Ask
from harness.errors import DataError
from harness.views import QuestionView
from parsers.question.webbench import CHOICES, TASKS
from reports.published.source import published_rows
from tests.harness.benchmarks.question.test_own import png
from tests.harness.commands.tool import isolate
from tests.numbers import row

PAGES = [f"a page of lamp {n} {{question}}" for n in range(8)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)


def table(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def webbench(**changed: Any) -> None:
    """Two questions of each task; `changed` replaces columns of all rows of a task."""
    for task in TASKS:
        more: dict[str, Any] = {"answer": "Add: now"}
        if task in CHOICES:
            more = {"answer": 2, "elem_desc": "a lamp", "instruction": "buy a lamp"}
        if task == "action_prediction":
            more["options"] = PAGES
        if task == "webqa":
            more = {"answer": ["12 lamps", "12"], "question": "How many?"}
        rows = [
            {
                "id": f"{n}",
                "task_type": task,
                "website": f"shop{n}",
                "image": {"bytes": png(), "path": None},
                "bbox": [0.1, 0.25, 0.5, 0.5],
                **more,
                **changed.get(task, {}),
            }
            for n in range(2)
        ]
        table(f"visualwebbench/{task}/test-00000-of-00001.parquet", rows)


def small(name: str) -> Any:
    """A set that takes any number of rows."""
    found: Any = benchmark(name)
    return replace(found, name=f"small-{name}", sizes=(), cells={})


def scores(model: str, bench: Benchmark, data: str, **settings: Any) -> dict[str, Any]:
    """The headline of every measure, and chance by `chance of NAME`."""
    settings = {"progress": "off", "out": Path(f"run-{model}-{bench.name}"), **settings}
    summary = harness.evaluate(model, benchmark=bench, data=Path(data), **settings).summary
    found: dict[str, Any] = {}
    for measure in bench.declared.of_units:
        if measure.averages:
            one = row(summary, measure.name, measure.averages[0])
            found |= {measure.name: one["number"], f"chance of {measure.name}": one.get("chance")}
    return found


def asked(protocol: WebBench, unit: Any) -> str:
    ask = next(protocol.dialogue(QuestionView(unit.unit_id, unit.detail.asked)))
    assert isinstance(ask, Ask) and isinstance(ask.conversation, Conversation)
    part = ask.conversation.messages[0].parts[-1]
    assert isinstance(part, Text)
    return part.text


def test_visualwebbench_the_oracle_is_right_and_chance_guesses_letters() -> None:
    webbench()
    found = scores("oracle", small("visualwebbench"), "visualwebbench")
    assert found["score"] == pytest.approx(1.0) and found["action_ground"] == 1.0
    assert all(found[task] == pytest.approx(1.0) for task in TASKS)
    assert found["chance of score"] == pytest.approx(3 / 8 / 7)


@pytest.mark.parametrize("options", ["lettered", "listed"])
@pytest.mark.parametrize("frames", ["published", "none"])
def test_visualwebbench_every_way_to_ask_can_be_answered(options: str, frames: str) -> None:
    webbench()
    settings = {"protocol_option": {"options": options, "frames": frames, "reader": "published"}}
    assert scores("oracle", small("visualwebbench"), "visualwebbench", **settings)[
        "score"
    ] == pytest.approx(1.0)


def test_visualwebbench_prompts_have_box_and_options() -> None:
    webbench()
    opened = small("visualwebbench").open(data=Path("visualwebbench"))
    assert len(opened) == 14 and opened.pictures(opened.entries[0]) == (png(),)
    units = {unit.unit_id: unit for unit in opened.entries}
    predicted, ocr = units["action_prediction_0"], units["element_ocr_0"]
    assert predicted.parents == {"website": "shop0"}
    lettered = asked(WebBench(), predicted)
    assert f"A. {PAGES[0]}\nB. {PAGES[1]}" in lettered and "[0.10, 0.25, 0.50, 0.50]" in lettered
    assert f"\n{PAGES!r}\n" in asked(WebBench(options="listed"), predicted)
    assert "0.25" not in asked(WebBench(box="drawn"), ocr) and "0.25" in asked(WebBench(), ocr)
    assert "How many?" in asked(WebBench(), units["webqa_1"])


@pytest.mark.parametrize(
    ("task", "changed", "reason"),
    [
        ("element_ground", {"answer": 8}, "row 1: the answer 8 is beyond 8 options"),
        ("element_ocr", {"bbox": [0.1]}, "bbox is not four numbers"),
        ("webqa", {"question": " "}, "a question of webqa without question"),
        ("heading_ocr", {"answer": 3}, "answer is neither a text nor a list of texts"),
        ("heading_ocr", {"task_type": "poems"}, "'poems' is no task of VisualWebBench"),
    ],
)
def test_visualwebbench_refuses_rows(task: str, changed: dict[str, Any], reason: str) -> None:
    webbench(**{task: changed})
    with pytest.raises(DataError, match=reason):
        small("visualwebbench").open(data=Path("visualwebbench"))


def test_other_counts_are_refused() -> None:
    webbench()
    whole: Any = benchmark("visualwebbench")
    with pytest.raises(DataError, match="14 questions where 1,536 are published"):
        whole.open(data=Path())
    with pytest.raises(DataError, match="2 questions of web_caption where 134 are published"):
        replace(whole, sizes=()).open(data=Path())


def test_websrc_has_base64_pictures_and_sites() -> None:
    image = base64.b64encode(png()).decode()
    rows = [
        {"domain": "auto", "page_id": "0300542", "question": "Price?", "answer": "the $12"},
        {"domain": "book", "page_id": "0100001", "question": "Size?", "answer": '190.7 "'},
    ]  # fmt: skip
    table("websrc/data/dev-00000-of-00001.parquet", [{**row, "image": image} for row in rows])
    bench = small("websrc")
    opened = bench.open(data=Path("websrc"))
    assert [dict(unit.parents) for unit in opened.entries] == [
        {"page": "au03-0300542", "website": "au03"},
        {"page": "bo01-0100001", "website": "bo01"},
    ]
    assert opened.pictures(opened.entries[1]) == (png(),)
    found = scores("oracle", bench, "websrc")
    assert (found["f1"], found["exact"], found["f1-sets"]) == (1.0, 1.0, 1.0)
    assert found["chance of f1"] == 0.0
    with pytest.raises(DataError, match="2 questions where 52,826 are published"):
        benchmark("websrc").open(data=Path("websrc"))


SCREENS = [
    {"image_id": 5, "question": "Mode?", "ground_truth": ["rest", "<no answer>"]},
    {"image_id": 5, "question": "Sign?", "ground_truth": ['"+"', 'top "+"']},
    {"image_id": 7, "question": "Who?", "ground_truth": ["<no answer>"]},
]


def test_screenqa_says_its_version_and_offers_the_marker() -> None:
    Path("screenqa-short/combined").mkdir(parents=True)
    Path("screenqa-short/test.json").write_text(json.dumps(SCREENS))
    for name in (5, 7):
        Path(f"screenqa-short/combined/{name}.jpg").write_bytes(png())
    bench = small("screenqa-short")
    opened = bench.open(data=Path("screenqa-short"), splits=["test"])
    assert [unit.parents["screen"] for unit in opened.entries] == ["5", "5", "7"]
    assert "write <no answer>" in opened.entries[0].detail.asked.prompt
    found = scores("oracle", bench, "screenqa-short", split=("test",))
    assert (found["f1"], found["exact"], found["f1-sets"]) == (1.0, 1.0, 1.0)
    with pytest.raises(DataError, match=r"has no validation\.json"):
        bench.open(data=Path("screenqa-short"), splits=["validation"])
    with pytest.raises(DataError, match="test is on no hub: give a folder"):
        bench.open(splits=["test"])
    with pytest.raises(DataError, match="3 questions where 8,419 are published"):
        benchmark("screenqa-short").open(data=Path(), splits=["test"])


def test_screenqa_complex_is_read_from_a_table() -> None:
    rows = [
        {
            "screen_id": "3",
            "question": "How many?",
            "ground_truth": ["12"],
            "image": {"bytes": png()},
        }
    ]
    table("screenqa-complex/data/test-00000-of-00001.parquet", rows)
    assert scores("oracle", small("screenqa-complex"), "screenqa-complex")["f1"] == 1.0


def test_published_figures_are_landmarks_where_measure_or_options_are_not_stated() -> None:
    rows = [row for row in published_rows() if row.scope.kind == "question"]
    paper = [row for row in rows if row.source == "visualwebbench-paper"]
    assert len(paper) == 23 and all(row.landmark == "options unstated" for row in paper)
    llava = next(row for row in paper if row.model == "LLaVA-1.6-7B").values
    rerun = next(row for row in rows if row.source == "visualwebbench-issue-7")
    assert llava["action_prediction"] == 0.306 and rerun.keys["options"] == "listed"
    assert rerun.values["action_prediction"] == pytest.approx(3 / 281, abs=1e-6)
    baselines = [row for row in rows if row.source == "websrc-baselines"]
    assert {row.keys["input"] for row in baselines} == {"html"}
