"""The examples of docs/runs-in-pandas.md run; polars and DuckDB only where installed."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.runs import RunDirectory, open_run
from harness.session.summary import plain_row
from parsers import Estimate, Interval
from parsers.records import Choice
from tests.harness.runs.examples import SETUP, call, step, write

PAGE = Path(__file__).parents[3] / "docs" / "runs-in-pandas.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
OPTIONAL = ("polars", "duckdb")
(NUMBER,) = (
    json.loads(one) for one in re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.S)
)
"""The row of `summary.json` that the page shows."""


def _runs_here(example: str) -> bool:
    wanted = [name for name in OPTIONAL if f"import {name}" in example]
    return all(importlib.util.find_spec(name) for name in wanted)


def test_the_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    choices = tuple(Choice(letter, node, "a", "text") for letter, node in (("A", "6"), ("B", "7")))
    for name in ("oracle", "random"):
        steps = [step("a", choices=choices), step("b", choices=choices, invalid="no_positive")]
        path = write(tmp_path / "runs" / name, [call("a"), call("b")], steps)
        with RunDirectory.start(path, SETUP) as run:
            run.finish({"estimates": [NUMBER]}, complete=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in filter(_runs_here, EXAMPLES):
        exec(example, names)  # noqa: S102 (our own page)
    shown = capsys.readouterr().out
    assert "step success: 1.000 micro, 1.000 macro" in shown
    assert "I would click." in shown
    assert re.search(r"element +macro +0\.7487\d* +0\.5225\d* +0\.8902", shown)


def test_the_page_shows_and_explains_a_row_as_it_is() -> None:
    interval = Interval(0.1, 0.3, "wilson", 5, True)
    row = plain_row(Estimate("hit", "macro", "valid", 0.2, interval, 5, 9, chance=0.1, ceiling=1.0))
    assert list(NUMBER) == list(row)
    fields = {*row, "won", "complete"}
    heads = {name for line in PAGE.read_text("utf-8").splitlines() for name in _heads(line)}
    assert fields <= heads


def _heads(line: str) -> list[str]:
    """The names in the first cell of a line of a table."""
    return re.findall(r"`(\w+)`", line.split("|")[1]) if line.startswith("| ") else []


def test_the_page_names_every_column(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    columns = open_run(write(tmp_path / "run", (), [step("a")])).steps(texts=True).columns
    short = (name.removeprefix("operation_f1") for name in columns)
    missing = [name for name in short if name and f"`{name}`" not in page]
    assert missing == [".mind2web"] and "`operation_f1.mind2web`" in page
