"""The notebook runs from top to bottom and is stored without output."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from harness.runs import StepRecord
from parsers.records import Status
from tests.reports.runs import call, setup, step, worked, write

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "error_analysis.ipynb"


def _cells() -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def _execute() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "notebook"}
    for cell in _cells():
        exec(compile("".join(cell["source"]), "notebook cell", "exec"), names)  # noqa: S102
    return names


def _calls(records: list[StepRecord], text: str) -> list[Any]:
    return [call(record, text) for record in records if record.asked]


def test_no_output_is_stored() -> None:
    for cell in _cells():
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


def test_of_the_project_only_reports_is_imported() -> None:
    modules = set()
    for cell in _cells():
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.ImportFrom):
                modules.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
    assert not modules & {"adapters", "parsers", "harness"}
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
    names = _execute()
    assert names["by_reason"].loc["one", "answered: element"] == 1
    assert names["by_reason"].loc["two", "parse_error"] == 1
    printed = capsys.readouterr().out
    assert "reply: I would [2J click <b>A</b>" in printed
    assert "\x1b" not in printed
    assert "differs: distractors: 20 (one); 5 (two)" in printed


def test_every_cell_runs_when_nothing_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "runs" / "one", [step("A", 0, True)], setup(dataset={"rows": 1}))
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    _execute()


def test_every_cell_runs_on_a_run_without_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "runs" / "one", [], complete=False)
    monkeypatch.chdir(tmp_path)
    _execute()
