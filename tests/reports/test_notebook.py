"""The notebook runs from top to bottom, and what is stored in it is what the sample gives."""

from __future__ import annotations

import ast
import base64
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.runs import ChoiceRecord, StepRecord, open_run
from parsers.records import Gold, Status
from reports import main_table, render
from reports.errors import errors_table
from reports.pictures import (
    CHOSEN,
    HEIGHT,
    TARGET,
    WIDTH,
    DataGone,
    Shown,
    as_jpeg,
    boxes_on_screenshot,
)
from tests.reports.runs import call, setup, step, worked, write

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "error_analysis.ipynb"
MODELS = ("lexical", "random")
MOST = 600_000
"""Bytes that the file may have with its outputs."""


def _cells() -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _execute() -> tuple[dict[str, Any], list[Any]]:
    """Run all cells; the names at the end, and the value of every cell that ends in one."""
    names: dict[str, Any] = {"__name__": "notebook"}
    values = []
    for cell in _cells():
        tree = ast.parse(_source(cell))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "notebook cell", "exec"), names)  # noqa: S102
        if isinstance(last, ast.Expr):
            code = compile(ast.Expression(last.value), "notebook cell", "eval")
            values.append(eval(code, names))  # noqa: S307
    return names, values


def _calls(records: list[StepRecord], text: str) -> list[Any]:
    return [call(record, text) for record in records if record.asked]


def _stored(kind: str) -> list[bytes]:
    """The stored pictures of a kind."""
    return [
        base64.b64decode("".join(output["data"][kind]))
        for cell in _cells()
        for output in cell["outputs"]
        if kind in output.get("data", {})
    ]


def _printed(source: str) -> str:
    """What the one cell with this in its source has printed."""
    [cell] = [cell for cell in _cells() if source in _source(cell)]
    streams = [output for output in cell["outputs"] if output["output_type"] == "stream"]
    return "".join("".join(output["text"]) for output in streams)


def _numbers(table: str) -> list[list[str]]:
    """The numbers of every line under the head of a table."""
    body = table.partition("─\n")[2]
    return [found for line in body.splitlines() if (found := re.findall(r"\d+(?:\.\d+)?", line))]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `runs/lexical` and `runs/random`, made by the two commands of the notebook."""
    folder = tmp_path_factory.mktemp("sample")
    for model in MODELS:
        command = [sys.executable, "-m", "harness", "--model", model, "--benchmark", "sample"]
        command += ["--out", str(folder / "runs" / model)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
    return folder


def test_the_first_cell_names_the_commands() -> None:
    first = "".join(json.loads(NOTEBOOK.read_text("utf-8"))["cells"][0]["source"])
    for model in MODELS:
        assert f"vlm-eval --model {model} --benchmark sample --out runs/{model}" in first


def test_it_is_a_small_notebook_with_all_its_outputs() -> None:
    content = json.loads(NOTEBOOK.read_text("utf-8"))
    assert content["nbformat"] == 4
    assert NOTEBOOK.stat().st_size < MOST
    ids = [cell["id"] for cell in content["cells"]]
    assert len(set(ids)) == len(ids)
    assert 12 <= len(_cells()) <= 18
    for place, cell in enumerate(_cells(), 1):
        assert cell["execution_count"] == place
        assert cell["outputs"], f"cell {place} has no output"
        assert all(output["output_type"] != "error" for output in cell["outputs"])
        assert all(output.get("name", "stdout") == "stdout" for output in cell["outputs"])


def test_outputs_name_no_folder_of_a_machine() -> None:
    texts = [
        json.dumps({k: v for k, v in output.get("data", output).items() if "image" not in k})
        for cell in _cells()
        for output in cell["outputs"]
    ]
    assert not [text for text in texts if re.search(r"(?<![\w.<])/\w+/\w+|[A-Z]:\\\\", text)]


def test_stored_pictures_can_be_opened() -> None:
    plots, screenshots = _stored("image/png"), _stored("image/jpeg")
    assert len(plots) == 2
    assert len(screenshots) == 3
    for data in (*plots, *screenshots):
        with Image.open(io.BytesIO(data)) as image:
            assert image.width <= WIDTH
            assert len(image.convert("RGB").resize((64, 64)).getcolors(4096) or ()) > 5


def test_stored_tables_hold_the_numbers_of_the_sample(sample: Path) -> None:
    paths = [sample / "runs" / model for model in MODELS]
    own = _numbers(render(main_table(paths)))
    assert len(own) > len(paths)
    assert _numbers(_printed("print(render(main_table(")) == own
    stored = _printed("errors_table(runs.values())")
    for row in errors_table(paths).itertuples():
        assert re.search(rf"^ +{re.escape(str(row.title))} +{row.steps}\b", stored, re.M)


def test_every_cell_runs_on_the_sample(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sample)
    names, values = _execute()
    assert list(names["runs"]) == list(MODELS)
    assert [v.mime for v in values if isinstance(v, Shown)].count("image/jpeg") == 3


def test_of_the_project_only_public_packages_are_imported() -> None:
    modules = set()
    for cell in _cells():
        for node in ast.walk(ast.parse(_source(cell))):
            if isinstance(node, ast.ImportFrom):
                modules.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
    assert modules <= {"harness", "reports", "pandas", "matplotlib", "pathlib"}
    assert "reports" in modules


def test_every_cell_runs_on_small_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = worked()
    write(tmp_path / "runs" / "one", first, calls=_calls(first, "I would \x1b[2J click <b>A</b>"))
    second = [step("A", 0, False, status=Status.PARSE_ERROR), step("A", 1, True, settled=False)]
    second = [*second, *worked(repeat=1)]
    write(tmp_path / "runs" / "two", second, setup(repeats=2, distractors=5), complete=False)
    (tmp_path / "runs" / "something else").mkdir()
    monkeypatch.chdir(tmp_path)
    names, _ = _execute()
    assert names["failing"]["run"].tolist() == ["one", "two", "two"]
    assert "no_answer" in set(names["failing"]["error_class"])
    printed = capsys.readouterr().out
    assert "reply:  I would [2J click <b>A</b>" in printed
    assert "\x1b" not in printed
    assert "differs: distractors: 20 (one); 5 (two)" in printed
    assert "no screenshot: " in printed
    assert "no further class of failing steps" in printed


def test_every_cell_runs_when_nothing_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "runs" / "one", [step("A", 0, True)], setup(dataset={"rows": 1}))
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    _execute()
    assert "a comparison needs two different runs" in capsys.readouterr().out


def test_every_cell_runs_on_a_run_without_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "runs" / "one", [], complete=False)
    monkeypatch.chdir(tmp_path)
    names, values = _execute()
    assert len(names["failing"]) == 0
    assert not any(isinstance(value, Shown) for value in values)


def test_without_runs_it_begins_by_making_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = _source(_cells()[0])
    names: dict[str, Any] = {"__name__": "notebook"}
    exec(compile(source, "notebook cell", "exec"), names)  # noqa: S102
    assert list(names["runs"]) == list(MODELS)
    assert all(run.complete for run in names["runs"].values())


PAGE = (1280, 3000)
BOXES = ((40.0, 100.0, 200.0, 30.0), (40.0, 260.0, 200.0, 30.0), (600.0, 300.0, 80.0, 30.0))


def _pictured(monkeypatch: pytest.MonkeyPatch, folder: Path, **more: Any) -> Image.Image:
    """The drawing of a step on a white page: A is chosen, B is right, D is neither."""
    choices = tuple(
        ChoiceRecord(letter, id_, "a", "text", box, letter == "B")
        for letter, id_, box in zip("ABD", "879", more.pop("boxes", BOXES), strict=True)
    )
    values: dict[str, Any] = {"gold": Gold("CLICK", "", ("7",), (choices[1].box,), "7")}
    write(folder / "run", [step("A", 0, False, choices=choices, **{**values, **more})])
    run = open_run(folder / "run")
    buffer = io.BytesIO()
    Image.new("RGB", PAGE, "white").save(buffer, "PNG")
    monkeypatch.setattr(type(run), "screenshot", lambda self, step_id: buffer.getvalue())
    return boxes_on_screenshot(run, "A_0")


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def test_target_and_chosen_element_are_drawn_where_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    image = _pictured(monkeypatch, tmp_path)
    assert image.width <= WIDTH
    assert image.height <= HEIGHT
    scale = image.width / 960
    found = {image.getpixel((round(140 * scale), round(y * scale))) for y in range(250, 265)}
    assert _rgb(TARGET) in found
    colours = {colour for _, colour in image.getcolors(1 << 16) or ()}
    assert _rgb(CHOSEN) in colours


def test_elements_far_apart_are_scaled_and_none_at_all_show_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    far = ((40.0, 20.0, 200.0, 30.0), (900.0, 2950.0, 300.0, 60.0), None)
    assert _pictured(monkeypatch, tmp_path / "far", boxes=far).height == HEIGHT
    none = _pictured(monkeypatch, tmp_path / "none", boxes=(None, None, None))
    assert none.height == HEIGHT
    assert abs(none.width / none.height - PAGE[0] / PAGE[1]) < 0.01
    outside = ((5000.0, 9000.0, 10.0, 10.0), (-50.0, -70.0, 10.0, 10.0), None)
    assert _pictured(monkeypatch, tmp_path / "outside", boxes=outside).width > 0


def test_what_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = open_run(write(tmp_path / "run", [step("A", 0, False)]))
    with pytest.raises(DataGone, match="no step B_0"):
        boxes_on_screenshot(run, "B_0")
    monkeypatch.setattr(type(run), "screenshot", lambda self, step_id: b"no picture")
    with pytest.raises(DataGone, match="cannot be read"):
        boxes_on_screenshot(run, "A_0")


def test_a_shown_picture_has_one_form() -> None:
    shown = as_jpeg(Image.new("RGB", (8, 8)))
    assert shown._repr_mimebundle_(include=None, exclude=None) == {"image/jpeg": shown.data}
