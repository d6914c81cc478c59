"""Recorded steps of one's own: what columns mean, what may be left out, what is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.benchmarks import SimpleBenchmark, StepDataset, benchmark, open_steps
from harness.benchmarks.step_columns import COLUMNS
from harness.errors import DataError
from harness.page import Box, Page
from tests.harness.benchmarks._files import picture
from tests.harness.commands.tool import call

PAGE = (
    "<!doctype html><html><head><title>Shop</title></head><body onload='go()'>"
    "<form bid=f><input bid=q aria-label='Search for' style='color: red'>"
    "<button bid=go>Search &amp; go</button><input bid=t type=hidden></form>"
    "<a bid=home href=/>Home</a><div bid=d role=link>More</div><p bid=p>Text</p>"
    "<script>if (1 < 2) {}</script></body></html>"
)


def step(**changes: Any) -> dict[str, Any]:
    """A click on the button; `None` leaves a column out."""
    usual = {"task": "Find a lamp", "html": PAGE, "operation": "CLICK", "positives": ["go"]}
    return {key: value for key, value in (usual | changes).items() if value is not None}


def lines(path: Path, *records: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def opened(path: Path, **values: Any) -> StepDataset:
    return SimpleBenchmark(**{"id_attribute": "bid", **values}).open(data=path)


def test_four_columns_make_a_step(tmp_path: Path) -> None:
    (row,) = opened(lines(tmp_path / "steps.jsonl", step())).rows()
    assert (row.benchmark, row.split, row.goal, row.detail.operation) == (
        "steps",
        "local",
        "Find a lamp",
        "CLICK",
    )
    assert (row.position, row.total, row.detail.history, row.detail.value) == (0, 1, (), "")
    assert [c.id for c in row.detail.positives] == ["go"]
    assert [(c.id, c.tag) for c in row.detail.negatives] == [
        ("q", "input"),
        ("home", "a"),
        ("d", "div"),
    ]
    assert (row.detail.screenshot, row.invalid) == (None, "no_screenshot")
    assert row.source == f"{tmp_path / 'steps.jsonl'}, row 1"


def test_html_becomes_a_page_that_keeps_elements_texts_and_names(tmp_path: Path) -> None:
    (row,) = opened(lines(tmp_path / "steps.jsonl", step())).rows()
    page = Page.parse(row.detail.html)
    assert page.text_of("go") == "Search & go"
    assert page.role_of("q").labels == ("Search for",)
    assert [c.text for c in page.choices(["go", "home"])] == [
        "<button id=0>Search & go</button>",
        "<a id=1>Home</a>",
    ]
    assert not any(word in row.detail.html for word in ("script", "onload", "style", "Shop"))


def test_steps_of_a_task_count_in_file_order_and_tell_later_ones_what_was_done(
    tmp_path: Path,
) -> None:
    path = lines(
        tmp_path / "steps.jsonl",
        step(operation="TYPE", value="lamp", positives=["q"]),
        step(task="Go home", positives=["home"]),
        step(action="[button]  Search -> CLICK"),
        step(),
        step(history=["something else"]),
    )
    rows = list(opened(path).rows())
    assert [(row.goal, row.position, row.total) for row in rows] == [
        ("Find a lamp", 0, 4),
        ("Go home", 0, 1),
        ("Find a lamp", 1, 4),
        ("Find a lamp", 2, 4),
        ("Find a lamp", 3, 4),
    ]
    assert rows[3].detail.history == ("TYPE: lamp", "[button]  Search -> CLICK")
    assert rows[4].detail.history == ("something else",)
    assert len({row.unit_id for row in rows}) == 5
    assert opened(path).row(rows[2].unit_id).detail.history == ("TYPE: lamp",)


def test_ids_steps_and_splits_are_taken_as_given(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "steps.jsonl",
        step(task_id=7, step="2", action_id="x", split="dev", website="shop", domain="d"),
        step(task_id=7, step=0, split="test"),
    )
    first, second = opened(path).rows()
    assert (first.unit_id, first.position, first.split, first.parents["website"]) == (
        "7_x",
        2,
        "dev",
        "shop",
    )
    assert (second.unit_id, second.position) == ("7_0", 0)
    assert [e.unit_id for e in SimpleBenchmark().open(data=path, splits=["test"]).entries] == [
        "7_0"
    ]
    with pytest.raises(DataError, match="the data has no split 'tset'"):
        SimpleBenchmark().open(data=path, splits=["tset"])


def test_elements_may_have_boxes_and_candidates_may_be_listed_together(tmp_path: Path) -> None:
    offered = [
        {"id": "go", "box": [1, 2, 30, 4]},
        {"id": "q", "tag": "input", "attributes": {"name": "q"}},
        "home",
    ]
    apart = [{"id": "home", "box": {"x": 5, "y": 6, "width": 7, "height": 8}}]
    path = lines(tmp_path / "s.jsonl", step(candidates=offered), step(negatives=apart))
    together, split = opened(path).rows()
    assert together.detail.positives[0].box == Box(1, 2, 30, 4)
    assert [c.id for c in together.detail.negatives] == ["q", "home"]
    assert together.detail.negatives[0].attributes == {"name": "q"}
    assert [(c.id, c.box) for c in split.detail.negatives] == [("home", Box(5, 6, 7, 8))]
    assert together.detail.gold.original == "go"


def test_a_screenshot_is_a_file_a_data_url_or_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(picture())
    url = "data:image/jpeg;base64," + base64.b64encode(picture()).decode()
    path = lines(tmp_path / "s.jsonl", step(screenshot="a.jpg"), step(screenshot=url))
    assert [row.detail.screenshot for row in opened(path).rows()] == [picture(), picture()]
    table = pa.table(
        {
            "task": ["a", "b"],
            "html": [PAGE, PAGE],
            "operation": ["CLICK", "TYPE"],
            "value": [None, "x"],
            "positives": [["go"], ["q"]],
            "screenshot": [{"bytes": picture(), "path": None}, {"bytes": None, "path": "a.jpg"}],
        }
    )
    pq.write_table(table, tmp_path / "s.parquet")
    rows = list(opened(tmp_path / "s.parquet").rows())
    assert [row.detail.screenshot for row in rows] == [picture(), picture()]
    assert [(row.detail.operation, row.detail.value) for row in rows] == [
        ("CLICK", ""),
        ("TYPE", "x"),
    ]


SCHEMA = """
data = "recorded"
id_attribute = "bid"
[columns]
task = "goal"
html = "page.dom"
operation = "page.action"
positives = "targets"
[values]
website = "shop"
[operations]
tap = "click"
"""


def test_a_schema_file_maps_one_s_own_names(tmp_path: Path) -> None:
    (tmp_path / "recorded").mkdir()
    lines(
        tmp_path / "recorded" / "a.jsonl",
        {"goal": "Go", "page": {"dom": PAGE, "action": "tap"}, "targets": ["go"], "other": 1},
    )
    schema = tmp_path / "schema.toml"
    schema.write_text(SCHEMA)
    dataset = open_steps("steps", data=schema)
    (row,) = dataset.rows()
    assert (row.goal, row.detail.operation, row.parents["website"]) == ("Go", "CLICK", "shop")
    assert dataset.fingerprint["columns"] == {
        "names": {
            "task": "goal",
            "html": "page.dom",
            "operation": "page.action",
            "positives": "targets",
        },
        "values": {"website": "shop"},
        "operations": {"tap": "click"},
        "id_attribute": "bid",
    }


def test_a_package_names_its_data_and_columns_in_a_line(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", step(task=None, goal="Go"))
    shop = SimpleBenchmark("shop", data=path, columns={"task": "goal"}, screenshots=False)
    (row,) = shop.open().rows()
    assert (row.benchmark, row.goal, row.invalid) == ("shop", "Go", None)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (step(operation="PRESS"), "column 'operation' has op 'PRESS', not one of CLICK, TYPE"),
        (step(positives=None), "row 1: no 'positives'"),
        (step(task=""), "row 1: no 'task'"),
        (step(task=["a"]), r"'task' is \['a'\], not a text"),
        (step(step="first"), "column 'step' is 'first', not a step number"),
        (step(positives="go"), "'positives' is 'go', not a list or JSON"),
        (step(positives=[{"tag": "a"}]), "'positives' is {'tag': 'a'}, not an element: an id"),
        (
            step(positives=[{"id": 1, "box": [1, 2]}]),
            r"box \[1, 2\] is not \[x, y, width, height\]",
        ),
        (step(html="page.html"), "'html' is 'page.html', not a page or its file"),
        (step(screenshot="a.png"), "'screenshot' is 'a.png', not a picture or its file"),
        (step(negatives=[], candidates=[]), "give 'negatives' or 'candidates', not both"),
    ],
)
def test_a_broken_row_is_one_line_that_names_it(
    tmp_path: Path, record: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        list(opened(lines(tmp_path / "s.jsonl", record)).rows())
    assert str(caught.value).startswith(f"{tmp_path / 's.jsonl'}, row 1: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("s.jsonl", "{broken", "row 1: not a JSON object: JSON is malformed"),
        ("s.jsonl", "[1]", "row 1: not a JSON object: Expected `object`, got `array`"),
        ("s.jsonl", "\n", "no rows in"),
        ("s.csv", "task,html", r"s.csv is not a file that steps reads \(.jsonl or .parquet\)"),
        ("s.toml", "colums = {}", "unknown field `colums`"),
        ("s.toml", "[columns]\nhtlm = 'x'", "unknown column 'htlm'; did you mean 'html'?"),
        ("s.parquet", "x", "is not a parquet file"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        opened(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("column", ["html", "screenshot"])
@pytest.mark.parametrize("path", ["{root}/secret", "../secret", "a/../../secret"])
def test_paths_of_somebody_else_s_data_lead_to_no_other_files(
    tmp_path: Path, column: str, path: str
) -> None:
    (tmp_path / "secret").write_text("<p bid=go>secret</p>", encoding="utf-8")
    (tmp_path / "data" / "a").mkdir(parents=True)
    record = step(**{column: path.format(root=tmp_path)})
    with pytest.raises(DataError, match=f"row 1: '{column}' is .*, not a p"):
        list(opened(lines(tmp_path / "data" / "s.jsonl", record)).rows())


def test_an_address_on_the_hub_says_how_to_download_it() -> None:
    called = call("data", "check", "hf://datasets/me/shop")
    assert called.code == 2
    assert "hf download OWNER/NAME --repo-type dataset" in called.complaint


def test_without_data_the_message_says_what_to_give() -> None:
    with pytest.raises(DataError, match="steps needs --data PATH: JSON lines, parquet, or a sch"):
        benchmark("steps").open()


def test_check_tells_each_problem_once_with_its_rows_and_the_first(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(picture())
    (tmp_path / "b.jpg").write_bytes(b"no picture")
    (tmp_path / "schema.toml").write_text("id_attribute = 'bid'", encoding="utf-8")
    lines(
        tmp_path / "s.jsonl",
        step(screenshot="a.jpg"),
        step(operation="PRESS"),
        step(operation="PRESS", colour=1),
        step(positives=["nowhere"], screenshot="a.jpg"),
        step(screenshot="b.jpg"),
        step(operation="TYPE", screenshot="a.jpg", task_id="x", step=0),
        step(task_id="x", step=0),
    )
    with (tmp_path / "s.jsonl").open("a", encoding="utf-8") as file:
        file.write("{broken\n")
    called = call("data", "check", tmp_path / "schema.toml")
    assert called.code == 2
    where = f"(first: {tmp_path / 's.jsonl'}, row"
    assert called.out.splitlines() == [
        "error: 1 row: not a JSON object: JSON is malformed: object keys must be strings (byte 1) "
        f"{where} 8)",
        f"error: 1 row: 'task_id' and 'step' repeat an earlier row; only the first is read "
        f"{where} 7)",
        "error: 2 rows: column 'operation' has op 'PRESS', not one of CLICK, TYPE, SELECT "
        f"{where} 2)",
        f"error: 1 row: no positive is an element of the page {where} 4)",
        f"error: 1 row: the screenshot cannot be decoded {where} 5)",
        f"warning: 1 row: TYPE without a value {where} 6)",
        "warning: column 'colour' is not used",
        "local: 4 rows, 2 tasks; 3 CLICK, 1 TYPE, 4 valid",
        "8 rows, 6 with errors: a run would stop at the first of them (--benchmark-option "
        "skip_bad_rows=yes counts them as invalid)",
    ]


def test_check_of_a_table_without_a_required_column_says_which_may_be_meant(tmp_path: Path) -> None:
    table = {"task": ["t"], "htm": ["<p>"], "operation": ["CLICK"], "positives": [["1"]]}
    pq.write_table(pa.table(table), tmp_path / "s.parquet")
    called = call("data", "check", tmp_path / "s.parquet")
    assert called.code == 2
    assert "has no column 'html'" in called.out.splitlines()[0]
    assert "warning: column 'htm' is not used; did you mean 'html'?" in called.out.splitlines()


def test_check_of_sound_data_says_what_a_run_would_ask(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(picture())
    (tmp_path / "schema.toml").write_text("id_attribute = 'bid'", encoding="utf-8")
    lines(tmp_path / "s.jsonl", step(screenshot="a.jpg"), step(task="Other"))
    called = call("data", "check", tmp_path / "schema.toml")
    assert called.code == 0
    assert called.out.splitlines() == [
        "warning: 1 row: no screenshot: asked about only as text (lost_rows=yes) "
        f"(first: {tmp_path / 's.jsonl'}, row 2)",
        "local: 2 rows, 2 tasks; 2 CLICK, 1 no_screenshot, 1 valid",
        "2 rows, no errors: a run would ask about 1 step",
    ]


def test_one_s_own_steps_are_run_like_any_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jpg").write_bytes(picture())
    (tmp_path / "schema.toml").write_text("id_attribute = 'bid'", encoding="utf-8")
    lines(tmp_path / "s.jsonl", step(screenshot="a.jpg"), step(task="Other", screenshot="a.jpg"))
    line = ("--model", "oracle", "--benchmark", "steps", "--data", "schema.toml")
    called = call(*line, "--distractors", "2", "--out", "run")
    assert called.code == 0, called.err
    assert ": 2 steps of 2 tasks" in called.out and "not scored" not in called.out


def test_the_document_has_every_column() -> None:
    text = (Path(__file__).parents[3] / "docs" / "own-data.md").read_text(encoding="utf-8")
    for column in COLUMNS:
        assert f"| `{column.name}` | {column.type} |" in text


def test_data_without_a_benchmark_suggests_the_one_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines(Path("s.jsonl"), step())
    Path("schema.toml").write_text('data = "s.jsonl"', encoding="utf-8")
    for name in ("s.jsonl", "schema.toml"):
        called = call("run", "--model", "lexical", "--data", name)
        assert called.code == 2
        assert called.err.endswith("; to read it as another benchmark, add --benchmark steps\n")
    assert "--benchmark" not in call("run", "--model", "lexical", "--data", "no.jsonl").err
