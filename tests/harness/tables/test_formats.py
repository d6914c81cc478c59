"""Grids in the other formats, and what every format has in common."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

from harness.tables import (
    FORMATS,
    TEST_DATA_NOTE,
    Cell,
    Data,
    Grid,
    Heading,
    Row,
    Section,
    render,
    rows_of,
)

HOSTILE = "</td><script>alert(1)</script>=1+1 \x1b[2J\u202e | & $x_1$ \\input{a} [l](u)"
SECTIONS = (
    Section((Row((HOSTILE, Cell("50.0", "[25.0, 75.0]"))),), "one"),
    Section((Row(("all", "1")), Row(("part", "2"), parent="all")), "two", ("above",), ("below",)),
)
COLUMNS = (Heading("name", "left"), Heading("rate"))


def _grid(section_head: str = "run") -> Grid:
    return Grid("A title", COLUMNS, SECTIONS, ("settings",), ("footnote",), section_head)


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in ("csv", "json")])
def test_every_format_for_readers_has_all_lines(form: str) -> None:
    text = render(_grid(), form)
    lines = ("A title", "settings", "one", "two", "above", "below", "footnote", "25.0, 75.0")
    for line in (TEST_DATA_NOTE, *lines):
        assert line in text.replace("\\", "").replace("{[}", "[").replace("{]}", "]")


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_lets_control_characters_through(form: str) -> None:
    text = render(_grid(), form)
    assert text.endswith("\n")
    assert not {c for c in text if c != "\n" and (ord(c) < 32 or c in "\x7f\u202e")}


@pytest.mark.parametrize("form", FORMATS)
def test_the_note_can_be_left_out(form: str) -> None:
    assert TEST_DATA_NOTE not in render(_grid(), form, note="")


def test_markdown_names_the_section_in_a_column_or_above_a_table() -> None:
    folded = render(_grid(), "markdown")
    assert "| run | name | rate |" in folded
    assert "| two | all, part | 2 |" in folded
    assert "| two | above; below |" in folded
    apart = render(_grid(""), "markdown")
    assert apart.count("| name | rate |") == 2
    assert apart.index("**two**") < apart.index("above") < apart.index("| all | 1 |")


def test_latex_indents_details_below_the_rows_of_a_run() -> None:
    lines = render(_grid(), "latex").splitlines()
    assert {r"\quad all & 1 \\", r"\quad \quad part & 2 \\"} <= set(lines)


def test_hostile_texts_are_literal_in_every_markup() -> None:
    text = render(_grid(), "markdown")
    assert "<" not in text and "\\[l\\](u)" in text
    text = render(_grid(), "latex")
    body = text[text.index(r"\begin{tabular}") :]
    assert r"\& \$x\_1\$ \textbackslash{}input\{a\} {[}l{]}(u)" in body


def test_html_holds_no_script() -> None:
    page = render(_grid(), "html")
    assert "<script" not in page
    assert 'http-equiv="Content-Security-Policy"' in page


def test_a_notebook_shows_the_table() -> None:
    shown = _grid()._repr_html_()
    assert "<table" in shown and "<html" not in shown
    assert str(_grid()) == render(_grid())


def test_formats_for_programs_hold_the_data() -> None:
    data = Data(("name", "share"), (("a", 0.5), ("=b", None)), {"key": 1}, ("a comment",))
    grid = Grid("", COLUMNS, SECTIONS, data=data)
    lines = render(grid, "csv").splitlines()
    assert lines[:2] == [f"# {TEST_DATA_NOTE}", "# a comment"]
    assert list(csv.reader(lines[2:])) == [["name", "share"], ["a", "0.5"], ["'=b", ""]]
    content = json.loads(render(grid, "json"))
    assert content["key"] == 1
    assert content["rows"] == [{"name": "a", "share": 0.5}, {"name": "=b", "share": None}]


def test_without_data_they_hold_the_texts() -> None:
    grid = Grid("", COLUMNS, rows_of([["a", Cell("1", "[0, 2]")]]))
    assert json.loads(render(grid, "json"))["rows"] == [{"name": "a", "rate": "1 [0, 2]"}]


def test_what_cannot_be_written_is_said() -> None:
    with pytest.raises(ValueError, match="unknown format 'pdf'"):
        render(_grid(), "pdf")
    with pytest.raises(ValueError, match="csv holds one table"):
        render([_grid(), _grid()], "csv")


def test_neither_pandas_nor_pyarrow_is_imported() -> None:
    code = "import sys, harness.tables; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "pyarrow", "numpy", "rich"} & set(done.stdout.split())
