"""`vlm-eval report` as a user calls it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.runs import RunError
from harness.tables import FEW_NOTE
from reports.command import report
from tests.reports.runs import setup, step, worked, write


def _call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(report, [str(argument) for argument in arguments])


def test_prints_a_table_as_text(tmp_path: Path) -> None:
    done = _call(write(tmp_path / "run", worked()))
    assert done.exit_code == 0
    assert "test_website" in done.output
    assert "83.3" in done.output


def test_groups_and_averages(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    done = _call(run, "--by", "website", "--average", "micro")
    assert [x.split()[0] for x in done.output.splitlines() if x.startswith("  shop-")] == [
        "shop-A",
        "shop-B",
        "shop-C",
    ]
    assert "micro: mean over steps" in done.output


def test_rules_can_be_replaced(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    done = _call(run, "--invalid", "fail", "--f1", "cl100k-lc", "--format", "json")
    content = json.loads(done.output)
    assert content["settings"]["given"] == {"f1": "cl100k-lc", "invalid": "fail"}
    assert [row["headline"] for row in content["rows"]] == [False, True]


def test_writes_a_file(tmp_path: Path) -> None:
    out = tmp_path / "table.md"
    done = _call(write(tmp_path / "run", worked()), "--format", "markdown", "--out", out)
    assert (done.exit_code, done.output) == (0, "")
    assert out.read_text("utf-8").startswith("> Contains test data")


def test_a_file_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    out = tmp_path / "nowhere" / "table.md"
    done = _call(write(tmp_path / "run", worked()), "--out", out)
    assert done.exit_code == 2
    assert "cannot write" in done.output


@pytest.mark.parametrize(
    "arguments", [[], ["run", "--by", "colour"], ["run", "--format", "pdf"], ["run", "--f1", "x"]]
)
def test_bad_input_exits_with_two(arguments: list[str]) -> None:
    assert _call(*arguments).exit_code == 2


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    done = _call(tmp_path / "nothing")
    assert isinstance(done.exception, RunError)
    assert "nothing is not a run directory" in str(done.exception)


def test_several_runs_are_shown_one_after_the_other(tmp_path: Path) -> None:
    first = write(tmp_path / "a", worked(), setup(model={"name": "m-1"}))
    second = write(tmp_path / "b", worked()[:3], setup(model={"name": "m-2"}), complete=False)
    done = _call(first, second)
    lines = done.output.splitlines()
    assert "differs: model.name: m-1 (a); m-2 (b)" in lines
    assert lines.index("a") < lines.index("b")
    assert "UNFINISHED" in done.output


@pytest.mark.parametrize("kind", ["status", "cost"])
def test_other_tables(tmp_path: Path, kind: str) -> None:
    run = write(tmp_path / "run", worked())
    done = _call(run, "--table", kind)
    assert done.exit_code == 0
    assert ("answered" if kind == "status" else "cached") in done.output
    for option in (("--by", "website"), ("--average", "micro")):
        assert _call(run, "--table", kind, *option).exit_code == 2


def test_parquet_needs_a_file(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    assert "--out" in _call(run, "--format", "parquet").output
    out = tmp_path / "table.parquet"
    assert _call(run, "--format", "parquet", "--out", out).exit_code == 0
    assert out.read_bytes()[:4] == b"PAR1"


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html", "json"])
def test_published_rows_stand_apart(tmp_path: Path, form: str) -> None:
    done = _call(write(tmp_path / "run", worked()), "--published", "--format", form)
    assert done.exit_code == 0
    assert "measured in another way" in done.output
    if form == "json":
        published = json.loads(done.output)["published"]
        assert published["alike"]["rows"] == []
        assert published["apart"]["rows"][0]["source"] == "seeact-2"


def test_one_table_formats_refuse_published_rows(tmp_path: Path) -> None:
    done = _call(write(tmp_path / "run", worked()), "--published", "--format", "csv")
    assert done.exit_code == 2
    assert "analyse published" in done.output


def test_a_corrupt_line_is_named_and_the_rest_kept(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked(), complete=False)
    path = run / "steps.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b'{"step_id": 5}\n', *lines[2:]]))
    done = _call(run)
    assert "LEFT OUT of run: steps.jsonl line 3 cannot be read" in done.output
    assert "83.3" in done.output


def test_a_damaged_table_is_named_and_the_lines_are_read(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    (run / "steps.parquet").write_bytes(b"PAR1 and nothing else")
    for form in ("text", "markdown", "csv", "latex", "json", "html"):
        done = _call(run, "--format", form)
        assert done.exit_code == 0, done.output
        assert "DAMAGED in run" in done.output
    text = _call(run).output
    assert text.count("DAMAGED in run: steps.parquet cannot be read") == 1
    assert "83.3" in text


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html", "csv", "json"])
def test_every_format_carries_the_mark_of_an_interval_and_its_meaning(
    tmp_path: Path, form: str
) -> None:
    told = _call(write(tmp_path / "run", worked()), "--format", form).output
    plain = " ".join(told.split())
    assert FEW_NOTE[2:] in plain
    assert "bootstrap-t (4,999 draws, seed 0)" in plain
    if form in ("csv", "json"):
        rows = (
            json.loads(told)["rows"]
            if form == "json"
            else list(csv.DictReader(line for line in told.splitlines() if line[0] != "#"))
        )
        for row in rows:
            for name in ("step_success_macro", "element_micro", "task_success"):
                exact = row[f"{name}_method"] == "clopper-pearson"
                assert str(row[f"{name}_few"]) == str(not exact)
            assert row["task_success_method"] == "clopper-pearson"
    else:
        assert "]*" in told.replace("\\", "").replace("{]}", "]")


def test_websites_are_a_second_level_of_clusters(tmp_path: Path) -> None:
    # Three tasks of a website are alike: for new websites they say no more than one does.
    steps = [
        step(f"t{site}-{task}", 0, site % 2 == 0, website=f"w{site}")
        for site in range(70)
        for task in range(3)
    ]
    run = write(tmp_path / "run", steps)
    one = write(tmp_path / "one", [step(f"t{site}", 0, site % 2 == 0) for site in range(70)])
    rows = {}
    for name, *more in ((run,), (run, "--cluster", "website"), (one,)):
        told = json.loads(_call(name, *more, "--format", "json").output)
        rows[name.name, *more[1:]] = told["rows"][0]
    by_site, by_task, wanted = rows["run", "website"], rows["run",], rows["one",]
    for metric in ("element_macro", "step_success_macro", "step_success_micro"):
        assert by_site[f"{metric}_low"] == pytest.approx(wanted[f"{metric}_low"])
        assert by_site[f"{metric}_high"] == pytest.approx(wanted[f"{metric}_high"])
        assert by_site[f"{metric}_low"] < by_task[f"{metric}_low"]
    assert by_task["task_success_method"] == "clopper-pearson"
    assert by_site["task_success_method"] == "cluster-t"
    assert "they are for new tasks on these websites" in " ".join(_call(run).output.split())
    told = " ".join(_call(run, "--cluster", "website").output.split())
    assert "websites as clusters: they are for new websites" in told
    refused = _call(run, "--table", "cost", "--cluster", "website")
    assert refused.exit_code == 2 and "--cluster" in refused.output
