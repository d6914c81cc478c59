"""A report notices that the lines of a complete run and its summary do not agree."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.runs import open_run
from harness.runs.files import sealed
from reports.formats import render
from reports.tables import main_table
from tests.reports.exports.runs import KINDS, ran

Edit = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ("--model", "lexical", "--benchmark", "sample", "--limit", "3")
    return ran(tmp_path_factory.mktemp("runs") / "lexical", *options)


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "lexical"))


def _lines(run: Path, form: str = "text", **rules: Any) -> list[str]:
    text = render(main_table(run, **rules), form, width=400)
    return [line for line in text.splitlines() if "DISAGREES" in line or "DAMAGED" in line]


def _in_summary(run: Path, edit: Edit) -> None:
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    edit(summary)
    (run / "summary.json").write_text(json.dumps(summary), "utf-8")


def test_a_run_as_it_was_written_agrees(run: Path) -> None:
    assert _lines(run) == []
    assert main_table(run).attrs["disagreeing"] == []


def _of_summary(
    summary: dict[str, Any], measure: str, average: str, rule: str = "valid"
) -> dict[str, Any]:
    names = {"measure": measure, "average": average, "rule": rule, "group": ""}
    (row,) = [one for one in summary["estimates"] if names.items() <= one.items()]
    found: dict[str, Any] = row
    return found


def _value(summary: dict[str, Any]) -> None:
    _of_summary(summary, "success", "macro")["number"] = 0.987


def _interval(summary: dict[str, Any]) -> None:
    _of_summary(summary, "element", "micro", "strict")["high"] = 0.987


def _count(summary: dict[str, Any]) -> None:
    summary["counts"][0]["statuses"]["answered"] += 1


def _of_tasks(summary: dict[str, Any]) -> None:
    summary["estimates"].remove(_of_summary(summary, "task_success", "parents"))


def _won(summary: dict[str, Any]) -> None:
    _of_summary(summary, "task_success", "parents", "clean")["won"] += 1


def _clusters(summary: dict[str, Any]) -> None:
    _of_summary(summary, "success", "macro")["clusters"] += 1


def _tokens(summary: dict[str, Any]) -> None:
    summary["usage"]["output"] = 10**6


def _cost(summary: dict[str, Any]) -> None:
    summary["cost"] = 0.02


def _no_numbers(summary: dict[str, Any]) -> None:
    summary["estimates"] = ["all", "right"]


def _nothing(summary: dict[str, Any]) -> None:
    summary["estimates"] = summary["counts"] = None


def _huge(summary: dict[str, Any]) -> None:
    _of_summary(summary, "success", "macro")["number"] = 10**400
    summary["usage"]["input"] = 10**400


def _infinite(summary: dict[str, Any]) -> None:
    _of_summary(summary, "success", "macro")["number"] = "inf"


EDITS = [_value, _interval, _count, _of_tasks, _won, _clusters, _tokens, _cost]
EDITS += [_no_numbers, _nothing, _huge, _infinite]


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_summary_is_one_line(run: Path, edit: Edit) -> None:
    _in_summary(run, edit)
    (line,) = _lines(run)
    assert line.startswith("DISAGREES: lexical: summary.json has ")


def test_the_line_names_the_figure_and_both_values(run: Path) -> None:
    _in_summary(run, _value)
    (line,) = _lines(run)
    assert "has 0.987 as success (macro, valid).number, its lines give 0." in line


def test_changed_lines_are_one_line_and_their_scores_are_shown(run: Path) -> None:
    before = main_table(run)
    path = run / "steps.jsonl"
    records = open_run(run).records()
    wrong = [one for one in records if one.scores and not one.scores["success"]]
    scores = dict.fromkeys(wrong[0].scores or {}, 1.0)
    lines = [sealed(replace(one, scores=scores) if one in wrong else one) for one in records]
    path.write_bytes(b"".join(lines))
    after = main_table(run)
    assert after["step_success_macro"].max() == 1 > before["step_success_macro"].max()
    damaged, disagrees = sorted(_lines(run))
    assert damaged == (
        "DAMAGED in lexical: steps.parquet was made from other lines than steps.jsonl has; read "
        "from steps.jsonl instead"
    )
    assert disagrees.startswith("DISAGREES: lexical: summary.json has ")


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "latex", "json", "html"])
def test_every_format_has_the_line(run: Path, form: str) -> None:
    _in_summary(run, _value)
    assert any("DISAGREES: lexical" in line for line in _lines(run, form))


def test_rules_of_another_table_are_not_compared(run: Path) -> None:
    assert _lines(run, invalid="fail") == []
    assert _lines(run, f1="cl100k-lc") == []
    assert _lines(run, cluster="website") == []


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "made-up"])
def test_runs_of_every_kind_agree_as_they_were_written(kind: str, tmp_path: Path) -> None:
    assert _lines(KINDS[kind](tmp_path / "run")) == []
