"""A run with a line that cannot be read is shown without it, and says so."""

from __future__ import annotations

from pathlib import Path

from reports.view.write import RunsPage
from tests.reports.runs import worked
from tests.reports.runs import write as run_at


def test_what_is_left_of_a_run_is_shown_and_the_line_is_named(tmp_path: Path) -> None:
    run = run_at(tmp_path / "run", worked())
    lines = (run / "steps.jsonl").read_bytes().splitlines(keepends=True)
    (run / "summary.json").unlink(missing_ok=True)
    (run / "steps.jsonl").write_bytes(b"".join([*lines[:2], b'{"broken": \n', *lines[2:]]))
    made = RunsPage([run], tmp_path / "page", pictures=False).write()
    assert made == "7 steps"
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    assert "steps.jsonl line 3 cannot be read" in page


def test_a_label_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    run = run_at(tmp_path / "run", worked())
    (run / "labels.jsonl").write_text("{bad\n", "utf-8")
    RunsPage([run], tmp_path / "page", pictures=False).write()
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    assert "labels.jsonl line 1 is not a label" in page


def test_signs_that_turn_a_line_around_are_not_in_the_document(tmp_path: Path) -> None:
    run = run_at(tmp_path / "run", worked(website="shop\u202eevil\x1b[31m\u2028<b>"))
    RunsPage([run], tmp_path / "page", pictures=False).write()
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    assert "shopevil[31m &lt;b&gt;" in page
    assert not set("\u202e\x1b\u2028") & set(page)
