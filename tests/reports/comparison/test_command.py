"""`vlm-eval compare` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.runs import RunError
from harness.tables import FORMATS, TEST_DATA_NOTE
from reports.comparison.command import compare
from reports.comparison.compare import compare_runs
from reports.statistics.paired import tasks_needed, tasks_needed_for_success
from tests.reports.runs import setup, step, worked, write


def _call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(compare, [str(argument) for argument in arguments])


def _runs(folder: Path, names: str = "ab", *, complete: bool = True) -> list[Path]:
    paths = []
    for name in names:
        steps = worked() if name == "a" else [*worked()[:6], step("C", 1, True)]
        made = setup(model={"name": f"m-{name}"})
        paths.append(write(folder / name, steps, made, complete=complete or name == "a"))
    return paths


def test_prints_a_comparison_as_text(tmp_path: Path) -> None:
    done = _call(*_runs(tmp_path))
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[-1] == TEST_DATA_NOTE
    assert "b against a (baseline)" in lines
    assert "  compared: model" in lines
    assert any("6 of 3 tasks (test_website 6); left out: 1 invalid" in line for line in lines)
    row = next(line for line in lines if line.startswith("  Step SR micro"))
    assert row.split()[3:6] == ["83.3", "100.0", "+16.7"]
    assert row.split()[-1] == "1/0"
    assert max(map(len, lines[:-1])) <= 100
    assert any(line.startswith("* fewer than 30 tasks differ") for line in lines)


def test_json_holds_everything(tmp_path: Path) -> None:
    content = json.loads(_call(*_runs(tmp_path, "abc"), "--format", "json").output)
    assert [one["run"] for one in content["comparisons"]] == ["b", "c"]
    assert content["correction"] == "holm"
    assert content["comparisons"][0]["left_out"]["invalid"] == 1
    assert content["runs"][0]["share"] == 1.0
    assert len(content["rows"]) == 14
    assert content["rows"][0]["p_mcnemar"] is not None


def test_an_unfinished_run_is_told_with_its_share(tmp_path: Path) -> None:
    done = _call(*_runs(tmp_path, complete=False))
    assert "INCOMPLETE: b has answered 6 of 6 rows, 100.0 %" in done.output


def test_options_reach_the_comparison(tmp_path: Path) -> None:
    a, b, c = _runs(tmp_path, "abc")
    done = _call(b, a, c, "--split", "test_website")
    assert "a against b (baseline)" in done.output
    assert "corrected for 2 comparisons (Holm)" in " ".join(done.output.split())
    done = _call(a, b, "--invalid", "fail", "--f1", "mind2web-lc")
    assert "given for this table: f1=mind2web-lc, invalid=fail" in done.output
    assert "left out: none" in done.output


def test_settings_must_be_allowed_to_vary(tmp_path: Path) -> None:
    a = write(tmp_path / "a", worked(), setup(model={"name": "x"}, seed=1))
    b = write(tmp_path / "b", worked(), setup(model={"name": "y"}, seed=2))
    refused = _call(a, b)
    assert isinstance(refused.exception, RunError)
    assert "--vary seed" in str(refused.exception)
    assert "compared: model, seed" in _call(a, b, "--vary", "seed").output


@pytest.mark.parametrize("arguments", [[], ["run"], ["a", "b", "--format", "pdf"]])
def test_bad_input_exits_with_two(arguments: list[str]) -> None:
    assert _call(*arguments).exit_code == 2


def test_a_planned_difference_replaces_the_observed_one(tmp_path: Path) -> None:
    steps = [step(f"t{n}", i, (n + i) % 3 > 0) for n in range(12) for i in range(3)]
    other = [step(f"t{n}", i, (n * i) % 4 > 0) for n in range(12) for i in range(3)]
    runs = [
        write(tmp_path / name, own, setup(model={"name": name}))
        for name, own in (("a", steps), ("b", other))
    ]
    plain, planned = compare_runs(runs), compare_runs(runs, planned=0.05)
    assert plain.planned is None
    for before, after in zip(plain.others[0].contrasts, planned.others[0].contrasts, strict=True):
        assert before.visible == after.visible
        if after.metric == "task_success":
            won = after.effect
            share = (won.better + won.worse) / won.total
            assert after.needed == tasks_needed_for_success(0.05, share)
        else:
            assert after.difference.deviation
            assert after.needed == tasks_needed(0.05, after.difference.deviation)
    for form in FORMATS:
        done = _call(*runs, "--difference", "5", "--format", form)
        told = '"planned_difference": 0.05' if form == "json" else "difference of 5 points"
        assert told in done.output
        assert "as small as this" not in done.output
    assert json.loads(_call(*runs, "--format", "json").output)["planned_difference"] is None


def test_the_primary_test_is_named(tmp_path: Path) -> None:
    runs = _runs(tmp_path)
    for form in FORMATS:
        told = " ".join(_call(*runs, "--format", form).output.split())
        assert "Primary test: the permutation test of Step SR macro" in told
    content = json.loads(_call(*runs, "--format", "json").output)
    wanted = {"metric": "step_success", "average": "macro", "test": "p_permutation"}
    assert content["primary"] == wanted
    (primary,) = (row for row in content["rows"] if row["primary"])
    assert (primary["metric"], primary["average"]) == ("step_success", "macro")


@pytest.mark.parametrize("points", ["0", "-5", "101", "nan", "much"])
def test_a_difference_that_cannot_be_planned_for(tmp_path: Path, points: str) -> None:
    done = _call(*_runs(tmp_path), "--difference", points)
    assert done.exit_code == 2 and "--difference" in done.output
    with pytest.raises(ValueError, match="planned difference"):
        compare_runs(_runs(tmp_path / "more"), planned=-0.05)
