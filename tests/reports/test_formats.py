"""Formats: read back, marked as test data, and harmless whatever the names hold."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from harness import tables
from harness.tables import FORMATS, TEST_DATA_NOTE, Format
from harness.tables.data import csv_cell
from reports import output
from reports.formats import render, results_grid
from reports.tables import main_table
from tests.reports.runs import setup, step, worked, write

HOSTILE = (
    '=HYPERLINK("http://evil")|<script>alert(1)</script>\x1b[2J\n\u202e'
    "$x_1$ \\input{a} & % # [l](u)"
)


@pytest.fixture
def table(tmp_path: Path) -> pd.DataFrame:
    return main_table(write(tmp_path / "run", worked()), details=True)


@pytest.fixture
def hostile(tmp_path: Path) -> pd.DataFrame:
    steps = [step("A", 0, True, website=HOSTILE), step("B", 0, False, website="+1")]
    run = write(tmp_path / "run", steps, setup(dataset={"rows": 2}, none=HOSTILE))
    return main_table(run, "website", details=True)


def test_the_command_offers_every_format() -> None:
    assert (*FORMATS, "parquet") == output.FORMATS


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_carries_note_and_settings(table: pd.DataFrame, form: Format) -> None:
    text = render(table, form)
    assert TEST_DATA_NOTE in text
    assert "distractors" in text
    assert text.endswith("\n")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_names_differences_and_unfinished_runs(tmp_path: Path, form: Format) -> None:
    runs = [
        write(tmp_path / "a", worked(), setup(distractors=5)),
        write(tmp_path / "b", worked()[:4], setup(distractors=20), complete=False),
    ]
    text = render(main_table(runs), form)
    if form == "json":
        content = json.loads(text)
        assert content["settings"]["differences"] == {"distractors": {"a": 5, "b": 20}}
        assert [run["complete"] for run in content["runs"]] == [True, False]
    elif form == "csv":
        assert "differs: distractors: 5 (a); 20 (b)" in text
        rows = list(csv.DictReader(line for line in text.splitlines() if line[0] != "#"))
        assert [row["complete"] for row in rows] == ["True", "True", "False", "False"]
        assert rows[2]["task_success"] == "" and rows[2]["task_success_total"] == "2"
    else:
        assert "differs: distractors: 5 (a); 20 (b)" in text
        assert "INCOMPLETE, 3 rows not reached" in text
        assert "n/a (1 of 2)" in text


def test_text_is_aligned_and_at_most_a_hundred_wide(table: pd.DataFrame) -> None:
    lines = render(table, "text").splitlines()
    assert lines[-1] == TEST_DATA_NOTE
    assert max(len(line) for line in lines[:-1]) <= 100
    head = next(line for line in lines if line.startswith("split"))
    values = next(line for line in lines if line.startswith("  test_website"))
    assert len(head) == len(values)
    assert values.split() == ["test_website", "3", "6", *["83.3"] * 3, "66.7", "(2/3)"]
    strict = next(line for line in lines if "invalid rows as 0" in line)
    assert strict.split()[4:] == ["3", "7", "72.2", "72.2", "72.2", "33.3", "(1/3)"]
    assert "tokens: 600 in, 30 out; cost: $1.5000" in " ".join(" ".join(lines).split())


def test_the_other_average(table: pd.DataFrame) -> None:
    strict = next(x for x in render(table, "text", "micro").splitlines() if "as 0" in x)
    assert strict.split()[6] == "71.4"


def test_the_second_line_is_left_out_where_no_row_is_invalid(tmp_path: Path) -> None:
    grid = results_grid(main_table(write(tmp_path / "run", [step("A", 0, True)])), "macro")
    assert [row.parent for row in grid.sections[0].rows] == [""]


def test_what_replaces_the_rules_of_the_run_is_told(tmp_path: Path) -> None:
    text = render(main_table(write(tmp_path / "run", worked()), invalid="fail", details=True))
    assert "given for this table: invalid=fail" in text
    assert "valid rows only" in text


def test_without_details_a_table_has_one_line_of_settings_and_one_of_each_group(
    tmp_path: Path,
) -> None:
    changed = {"limit": 12, "distractors": 5, "step_rule": "exact", "invalid": "fail", "repeats": 2}
    long = {"data_splits": "x" * 40, "protocol": "seeact-two-rounds", "f1": "cl100k-lc", **changed}
    for more in ({}, changed, long):
        run = write(tmp_path / str(len(more)), worked(), setup(**more))
        lines = render(main_table(run), "text").splitlines()
        (settings,) = [line for line in lines if line.startswith("settings: test")]
        place = lines.index(settings)
        assert settings.endswith(" (report --details: all)") and len(settings) <= 100
        assert lines[place + 1] == ""
        assert "limit=12" in settings or not more
        assert not [line for line in lines if "rows as 0" in line or "valid rows only" in line]


def test_programs_get_all_settings_and_both_lines(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked(), setup(none="last"))
    plain, detailed = main_table(run), main_table(run, details=True)
    for form in ("csv", "json"):
        assert render(plain, form) == render(detailed, form)
        assert "last" in render(plain, form)


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_a_footnote_of_several_tables_stands_once(tmp_path: Path, form: Format) -> None:
    one = results_grid(main_table(write(tmp_path / "run", worked())))
    first = replace(one, footnotes=("Common words.", "First."))
    text = tables.render([first, replace(one, footnotes=("Common words.", "Second."))], form)
    assert [text.count(words) for words in ("Common words.", "First.", "Second.")] == [1, 1, 1]
    assert text.index("First.") < text.index("Common words.")


def test_csv_reads_back(table: pd.DataFrame) -> None:
    lines = render(table, "csv").splitlines()
    assert lines[0] == f"# {TEST_DATA_NOTE}"
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert list(rows[0]) == list(table.columns)
    assert [row["line"] for row in rows] == ["valid", "strict"]
    assert float(rows[1]["step_success_micro"]) == table["step_success_micro"].iloc[1]
    assert rows[0]["repeat_sd"] == ""


def test_json_reads_back(table: pd.DataFrame) -> None:
    content = json.loads(render(table, "json"))
    assert content["note"] == TEST_DATA_NOTE
    assert content["settings"]["constants"]["distractors"] == 20
    assert [row["line"] for row in content["rows"]] == ["valid", "strict"]
    assert content["rows"][0]["task_success"] == pytest.approx(2 / 3)
    assert content["rows"][0]["repeat_sd"] is None
    assert content["runs"][0]["statuses"] == "answered 6"


def test_markdown_rows_have_as_many_cells_as_the_head(hostile: pd.DataFrame) -> None:
    rows = [x for x in render(hostile, "markdown").splitlines() if x.startswith("|")]
    cells = [row.replace("\\|", "").count("|") for row in rows]
    assert set(cells) == {9, 3}


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_lets_control_characters_through(hostile: pd.DataFrame, form: Format) -> None:
    text = render(hostile, form)
    assert not {c for c in text if c != "\n" and (ord(c) < 32 or c in "\x7f\u202e")}


def test_markdown_holds_no_html_and_no_links(hostile: pd.DataFrame) -> None:
    text = render(hostile, "markdown")
    assert "<" not in text
    assert "http://" not in text
    assert "\\[l\\](u)" in text


def test_latex_is_literal(hostile: pd.DataFrame) -> None:
    text = render(hostile, "latex")
    body = text[text.index(r"\begin{tabular}") :]
    assert r"\textbackslash{}input\{a\} \& \% \#" in body
    assert r"\$x\_1\$" in body
    assert r"\toprule" in body and r"\bottomrule" in body
    for line in text[: text.index(r"\begin{tabular}")].splitlines():
        assert line.startswith("%")
    ends = [x for x in body.splitlines() if x.endswith(r"\\") and "multicolumn" not in x]
    assert {x.replace(r"\&", "").count("&") for x in ends} == {6}


def test_csv_holds_no_formula(hostile: pd.DataFrame) -> None:
    lines = render(hostile, "csv").splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert {row["website"][0] for row in rows} == {"'"}


@pytest.mark.parametrize("text", ["=1", "+1", "@a", " =1", "\t=1", "\r=1", "＝1", "#x", "-1"])
def test_a_formula_is_disarmed(text: str) -> None:
    assert csv_cell(text).lstrip().startswith("'")


def test_settings_above_a_csv_hold_no_formula(tmp_path: Path) -> None:
    made = setup(protocol='x,=cmd(),y";@a')
    text = render(main_table(write(tmp_path / "run", worked(), made)), "csv")
    assert "protocol=x,'=cmd(),y\";'@a" in text


def test_an_unknown_format_is_refused(table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="pdf"):
        render(table, "pdf")


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_without_any_step_is_shown(tmp_path: Path, form: Format) -> None:
    text = render(main_table(write(tmp_path / "run", [], complete=False)), form)
    assert "run" in text


def test_pictures_that_show_the_answer_are_said_to(tmp_path: Path) -> None:
    peeking = write(tmp_path / "peek", worked(), setup(image_policy="oracle-target"))
    honest = write(tmp_path / "honest", worked(), setup(image_policy="full"))
    for runs, said in (([peeking], True), ([honest], False), ([peeking, honest], True)):
        assert ("upper bounds only" in render(main_table(runs), "text")) is said


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_task_success_over_repeats_says_what_it_is(tmp_path: Path, form: Format) -> None:
    steps = [record for repeat in (0, 1) for record in worked(repeat=repeat)]
    twice = main_table(write(tmp_path / "twice", steps, setup(repeats=2)))
    once = main_table(write(tmp_path / "once", worked()))
    note = "Task success over repeats: mean over tasks of the share of repeats"
    assert note in " ".join(render(twice, form).split())
    assert note not in render(once, form)
    part = main_table(write(tmp_path / "part", worked()[:-1], complete=False))
    assert note not in render(part, form)
