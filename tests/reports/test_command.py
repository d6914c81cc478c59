"""`vlm-eval report` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.runs import RunError
from reports.command import report
from tests.reports.runs import setup, worked, write


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
