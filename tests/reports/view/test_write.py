"""The folder: numbers equal to those of the raw lines, pictures, samples, bad input."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from lxml import html

from harness.tables import TEST_DATA_NOTE
from reports.view.command import view
from tests.reports.runs import worked, write
from tests.reports.view.pages import raw, sheets

SETTLED = ("right", "part", "wrong")


def _call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(view, [str(argument) for argument in arguments])


def _rows(folder: Path, caption: str) -> list[list[str]]:
    tree = html.fromstring((folder / "index.html").read_text("utf-8"))
    table = tree.xpath(f"//div[@aria-label='{caption}']/table")[0]
    return [
        [" ".join(cell.text_content().split()) for cell in row.xpath("th|td")]
        for row in table.xpath(".//tr")
    ]


def _macro(tasks: dict[str, list[dict[str, Any]]], name: str) -> float:
    """The mean over tasks of the mean over steps."""
    return statistics.fmean(
        statistics.fmean(float(scores[name]) for scores in own) for own in tasks.values()
    )


def test_rates_equal_those_recomputed_from_the_lines(folder: Path, runs: list[Path]) -> None:
    rows = _rows(folder, "Results by split, macro over tasks")
    for run, label in zip(runs, ("first", "<i>second</i>"), strict=True):
        start = rows.index([label])
        for split in ("test_task", "test_website"):
            tasks = defaultdict(list)
            for row in raw(run):
                if row["split"] == split and row["scores"]:
                    tasks[row["task_id"]].append(row["scores"])
            names = ("element", "operation_f1.mind2web", "success")
            means = [_macro(tasks, name) for name in names]
            shown = next(row for row in rows[start:] if row[0] == split)
            assert [int(cell) for cell in shown[1:3]] == [len(tasks), sum(map(len, tasks.values()))]
            assert [cell.split()[0] for cell in shown[3:6]] == [f"{100 * m:.1f}" for m in means]


def test_the_list_holds_every_step_with_its_outcome(folder: Path, runs: list[Path]) -> None:
    (listed,) = sheets(folder)
    words = listed["words"]
    shown = {row[0]: row[12] for row in listed["steps"]}
    for lane, run in enumerate(runs):
        rows = raw(run)
        assert len(rows) == len(shown)
        for row in rows:
            scores = row["scores"]
            want = "open"
            if scores:
                want = "right" if scores["success"] else "part" if scores["element"] else "wrong"
            assert words[shown[row["step_id"]][lane][0]] == want


def test_agreement_is_counted_over_steps_that_both_settled(folder: Path, runs: list[Path]) -> None:
    one, other = ({r["step_id"]: r["scores"] for r in raw(run) if r["scores"]} for run in runs)
    both = [(one[i]["success"], other[i]["success"]) for i in one.keys() & other.keys()]
    patterns = ((True, True), (True, False), (False, True), (False, False))
    want = [len(both), *(both.count(pattern) for pattern in patterns)]
    assert [int(cell) for cell in _rows(folder, "Right and wrong by pair")[1][1:-1]] == want


def test_classes_are_counted_as_they_are_classified(folder: Path, runs: list[Path]) -> None:
    rows = {row[0]: row[1:3] for row in _rows(folder, "How steps ended")[1:]}
    right = [sum(bool(r["scores"] and r["scores"]["success"]) for r in raw(run)) for run in runs]
    assert rows["success"] == [str(count) for count in right]
    assert rows["not answered"] == ["0", str(sum(not r["settled"] for r in raw(runs[1])))]


def test_an_unfinished_run_is_reported_with_its_share(folder: Path) -> None:
    text = html.fromstring((folder / "index.html").read_text("utf-8")).text_content()
    assert re.search(r"Unfinished: 10 of 12 rows done\s+\(83.3 %\)", text)


def test_the_document_has_nothing_inline_and_nothing_from_elsewhere(folder: Path) -> None:
    text = (folder / "index.html").read_text("utf-8")
    tree = html.fromstring(text)
    assert TEST_DATA_NOTE in tree.text_content()
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert all(script.get("src") and not script.text for script in tree.xpath("//script"))
    assert not tree.xpath("//style | //*[@style] | //@*[starts-with(name(), 'on')]")
    for link in tree.xpath("//@src | //@href | //@srcset"):
        assert re.match(r"(assets|data)/[\w-]+\.\w+$|#|data:,$", link), link


def test_every_script_of_data_carries_the_note(folder: Path) -> None:
    for file in (folder / "data").glob("*.js"):
        assert file.read_text("ascii").startswith("// Contains test data")


def test_the_command_writes_and_replaces_a_page(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    out = tmp_path / "out"
    done = _call(run, "--out", out, "--no-pictures")
    assert (done.exit_code, done.output) == (0, f"{out / 'index.html'}: 7 steps\n")
    again = _call(run, "--out", out, "--no-pictures")
    assert again.exit_code == 2
    assert "--overwrite replaces it" in again.output
    (out / "data" / "old.js").write_text("old")
    assert _call(run, "--out", out, "--no-pictures", "--overwrite").exit_code == 0
    assert not (out / "data" / "old.js").exists()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    done = _call(run, "--out", out, "--overwrite")
    assert done.exit_code == 2
    assert "holds no page" in done.output
    assert (out / "thesis.tex").read_text() == "years of work"
    assert _call(run, "--out", out / "thesis.tex").exit_code == 2


@pytest.mark.parametrize("arguments", [[], ["run", "--port", "x"], ["run", "--port", "80"]])
def test_bad_options_exit_with_two(arguments: list[str]) -> None:
    assert _call(*arguments).exit_code == 2


@pytest.mark.filterwarnings("error")
def test_a_run_without_a_step_has_a_page(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [], complete=False)
    done = _call(run, "--out", tmp_path / "page")
    assert done.exit_code == 0
    assert "0 steps" in done.output


def test_what_is_no_run_leaves_no_page_behind(tmp_path: Path) -> None:
    done = _call(tmp_path / "nothing", "--out", tmp_path / "out")
    assert done.exit_code == 2 or "nothing is not a run directory" in str(done.exception)
    assert not (tmp_path / "out").exists()
