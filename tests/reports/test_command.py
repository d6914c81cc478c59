"""`vlm-eval report` as a user calls it."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.errors import UserError
from harness.runs import RunError
from reports.command import report
from tests.reports.runs import setup, step, worked, write


def _call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(report, [str(argument) for argument in arguments])


def test_writes_a_file(tmp_path: Path) -> None:
    out = tmp_path / "table.md"
    done = _call(write(tmp_path / "run", worked()), "--format", "markdown", "--out", out)
    assert (done.exit_code, done.output) == (0, "")
    assert out.read_text("utf-8").splitlines()[-1].startswith("> Contains test data")


def test_a_file_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    out = tmp_path / "nowhere" / "table.md"
    done = _call(write(tmp_path / "run", worked()), "--out", out)
    assert done.exit_code == 2
    assert "cannot write" in done.output


@pytest.mark.parametrize("arguments", [[], ["run", "--format", "pdf"], ["run", "--f1", "x"]])
def test_bad_input_exits_with_two(arguments: list[str]) -> None:
    assert _call(*arguments).exit_code == 2


def test_several_runs_are_shown_one_after_the_other(tmp_path: Path) -> None:
    first = write(tmp_path / "a", worked(), setup(model={"name": "m-1"}))
    second = write(tmp_path / "b", worked()[:3], setup(model={"name": "m-2"}), complete=False)
    done = _call(first, second)
    lines = done.output.splitlines()
    assert "differs: model: m-1 (a); m-2 (b)" in lines
    assert lines.index("a") < lines.index("b")
    assert "INCOMPLETE" in done.output


def test_published_rows_stand_apart(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    text = " ".join(_call("--published", run).output.split())
    assert "measured in another way (--details); seeact-2" in text
    assert "seeact-2" in _call("--published", "--details", run).output
    published = json.loads(_call("--published", run, "--json").output)["published"]
    assert published["alike"]["rows"] == []
    assert published["apart"]["rows"][0]["source"] == "seeact-2"


def test_one_table_formats_refuse_published_rows(tmp_path: Path) -> None:
    done = _call(write(tmp_path / "run", worked()), "--published", "--format", "csv")
    assert done.exit_code == 2
    assert "take json" in done.output


def test_a_corrupt_line_is_named_and_the_rest_kept(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked(), complete=False)
    path = run / "steps.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b'{"step_id": 5}\n', *lines[2:]]))
    done = _call(run)
    assert "LEFT OUT of run: steps.jsonl line 3 cannot be read" in done.output
    assert "83.3" in done.output


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html", "csv", "json"])
def test_every_format_carries_the_mark_of_an_interval_and_its_meaning(
    tmp_path: Path, form: str
) -> None:
    told = _call(write(tmp_path / "run", worked()), "--format", form).output
    plain = " ".join(told.split())
    assert "fewer than 30 tasks with a success" in plain
    assert "the Wilson interval leans on an assumed correlation" in plain
    assert "95 % Wilson intervals with tasks as clusters" in plain
    assert "Task SR: Clopper-Pearson." in plain
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
    assert by_site["task_success_method"] == "wilson"
    assert "for new tasks on these websites" in " ".join(_call(run).output.split())
    told = " ".join(_call(run, "--cluster", "website").output.split())
    assert "websites as clusters: for new websites" in told
    refused = _call(run, "--table", "cost", "--cluster", "website")
    assert refused.exit_code == 2 and "--cluster" in refused.output


def test_a_leaderboard_has_a_row_per_run_in_the_order_of_its_score(tmp_path: Path) -> None:
    # Step success is 5/6 for poor, whose C fails once, and 1 for good.
    poor = write(tmp_path / "poor", worked(), setup(model={"name": "m1"}))
    steps = [replace(one, scores=worked()[0].scores) if one.scores else one for one in worked()]
    good = write(tmp_path / "good", steps, setup(model={"name": "m2"}))
    done = _call(poor, good, "--compact")
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.output.splitlines() if " 3 " in line]
    assert [row[:4] for row in rows] == [["good", "m2", "3", "6"], ["poor", "m1", "3", "6"]]
    assert "100.0" in rows[0] and "83.3" in rows[1]
    assert "not ranked" not in done.output
    content = json.loads(_call(poor, good, "--compact", "--format", "json").output)
    assert [row["run"] for row in content["rows"]] == ["good", "poor"]
    # Runs that were not measured alike keep the order in which they are named.
    other = write(tmp_path / "other", steps, setup(model={"name": "m3"}, history=3))
    done = _call(poor, other, "--compact")
    assert "not ranked: the runs were not measured alike, but differ in history" in done.output
    rows = [line.split()[:2] for line in done.output.splitlines() if " 6 " in line]
    assert rows == [["poor", "m1"], ["other", "m3"]]


def test_a_leaderboard_pools_splits_and_leaves_unfinished_runs_in_place(tmp_path: Path) -> None:
    # Three more tasks, of two steps each, in another split.
    more = [step(task, n, True, split="test_task") for task in "XYZ" for n in range(2)]
    whole = write(tmp_path / "whole", [*worked(), *more], setup(dataset={"rows": 13}))
    done = _call(whole, "--compact")
    (row,) = [line.split() for line in done.output.splitlines() if line.startswith("whole ")]
    assert row[1:4] == ["model-1", "6", "12"]
    part = write(tmp_path / "part", worked()[:2], setup(), complete=False)
    done = _call(write(tmp_path / "run", worked()), part, "--compact")
    assert "not ranked: part is not finished; --common compares the steps that all have" in (
        " ".join(done.output.split())
    )
    names = [line.split()[0] for line in done.output.splitlines() if "model-1" in line]
    assert names == ["run", "part"]


def test_common_compares_the_steps_that_all_runs_have(tmp_path: Path) -> None:
    # The second run has A and B only, where the first succeeds in all four valid steps.
    first = write(tmp_path / "first", worked())
    second = write(tmp_path / "second", worked()[:5], setup(limit=2))
    alone, shared = _call(first, second), _call(first, second, "--common")
    assert " 83.3 " in _call(first, second, "--compact").output
    assert " 83.3 " not in _call(first, second, "--compact", "--common").output
    assert "differ in limit" in alone.output and "differ in limit" not in shared.output
    told = "on the 5 rows that all runs have an outcome for (of 7 in first, 5 in second)"
    assert told in " ".join(shared.output.split())
    rows = json.loads(_call(first, second, "--common", "--format", "json").output)["rows"]
    assert {row["steps"] for row in rows if row["line"] == "valid"} == {4}
    assert {row["task_success"] for row in rows if row["line"] == "valid"} == {1.0}


def test_a_task_that_is_shared_in_part_has_no_task_success(tmp_path: Path) -> None:
    first = write(tmp_path / "first", worked())
    second = write(tmp_path / "second", worked()[:1], setup(dataset={"rows": 7}), complete=False)
    rows = json.loads(_call(first, second, "--common", "--format", "json").output)["rows"]
    assert [row["task_success"] for row in rows] == [None] * 4
    assert {row["steps"] for row in rows} == {1}


def test_common_needs_a_shared_step_and_two_runs(tmp_path: Path) -> None:
    one, other = worked()[:2], worked()[2:]
    runs = [write(tmp_path / name, steps) for name, steps in (("a", one), ("b", other))]
    done = _call(*runs, "--common")
    assert isinstance(done.exception, RunError)
    assert "no step has an outcome in all of these runs" in str(done.exception)
    done = _call(runs[0], "--common")
    assert done.exit_code == 2 and "--common compares several runs" in done.output
    for option in ("--compact", "--common"):
        done = _call(*runs, option, "--table", "cost")
        assert done.exit_code == 2 and "for --table main" in done.output
    done = _call(*runs, "--compact", "--by", "website")
    assert done.exit_code == 2 and "--compact has a row per run" in done.output


def test_the_note_on_test_data_is_for_real_data(tmp_path: Path) -> None:
    real = write(tmp_path / "real", worked(), setup(benchmark="multimodal-mind2web"))
    made_up = write(tmp_path / "sample", worked(), setup(benchmark="sample"))
    lines = _call(real).output.splitlines()
    assert lines[-1].startswith("Contains test data") and "\n".join(lines).count("test data") == 1
    both = _call(real, made_up, "--published").output
    assert both.count("Contains test data") == 1
    for table in ("main", "status", "cost"):
        assert "test data" not in _call(made_up, "--table", table).output
    assert "note" not in json.loads(_call(made_up, "--format", "json").output)
    assert _call(made_up, "--format", "csv").output.startswith("# settings")


def test_a_key_that_a_run_does_not_have_is_one_line_with_those_that_it_has(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    error = _call(str(run), "--by", "colour").exception
    assert isinstance(error, UserError)
    assert str(error).startswith("run cannot be grouped by 'colour', only by split, website, ")
