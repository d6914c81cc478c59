"""Exported tables, read by pandas and as a spreadsheet would."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from reports.exports import export
from reports.tables import main_table
from tests.reports.exports.runs import made_up
from tests.reports.runs import setup, step, worked, write


def _results(out: Path) -> pd.DataFrame:
    return pd.read_csv(out / "results.csv", float_precision="round_trip")


def test_results_of_the_worked_example(tmp_path: Path) -> None:
    run = write(tmp_path / "r", worked())
    export([run], "csv", tmp_path)
    frame = _results(tmp_path).set_index(["measure", "average", "invalid"])
    success = frame.loc["step_success"]
    assert success.loc[("macro", "exclude"), "value"] == pytest.approx(5 / 6)
    assert success.loc[("micro", "fail"), "value"] == pytest.approx(5 / 7)
    assert success.loc[("macro", "fail"), "value"] == pytest.approx(13 / 18)
    assert success["n"].tolist() == [3, 6, 3, 7]
    assert success["over"].tolist() == ["tasks", "steps", "tasks", "steps"]
    assert success["headline"].tolist() == [True, True, False, False]
    tasks = frame.loc["task_success"]
    assert tasks["value"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert ((success["low"] <= success["value"]) & (success["value"] <= success["high"])).all()


def test_results_are_those_of_the_report(run: Path, tmp_path: Path) -> None:
    export([run], "csv", tmp_path)
    table = main_table(run)
    printed = {
        (str(row["split"]), str(row["line"]), name): row[name]
        for _, row in table.iterrows()
        for name in table.columns
    }
    checked = 0
    for _, row in _results(tmp_path).iterrows():
        line = "strict" if row["invalid"] == "fail" else "valid"
        average = row["average"]
        name = row["measure"] if pd.isna(average) else f"{row['measure']}_{average}"
        for column, end in (("value", ""), ("low", "_low"), ("high", "_high")):
            expected = printed[str(row["split"]), line, f"{name}{end}"]
            assert row[column] == expected or (pd.isna(row[column]) and pd.isna(expected))
            checked += 1
    assert checked >= 6 * len(table)


def test_numbers_on_a_part_of_a_split_say_so(tmp_path: Path) -> None:
    rows = [*worked(), *(step(task, 0, True, split="other") for task in "DEF")]
    part = write(tmp_path / "part", rows, setup(limit=3, dataset={"rows": 10}))
    export([part, write(tmp_path / "whole", worked())], "csv", tmp_path)
    told = {
        (str(row["run"]), str(row["split"])): str(row["part"])
        for _, row in _results(tmp_path).iterrows()
    }
    assert told.pop(("whole", "test_website")) == "nan"
    assert told.pop(("part", "test_website")).startswith("a part of")
    assert told.pop(("part", "other")).startswith("a part of")
    assert "other: a part of" in told.pop(("part", "all splits pooled"))
    assert not told


def test_steps_are_those_of_the_run_and_only_on_request(run: Path, tmp_path: Path) -> None:
    from harness.runs import open_run

    assert export([run], "csv", tmp_path / "plain").notes == ()
    assert sorted(path.name for path in (tmp_path / "plain").iterdir()) == [
        "results.csv",
        "runs.csv",
    ]
    export([run], "csv", tmp_path / "whole", with_steps=True)
    frame = pd.read_csv(tmp_path / "whole/steps.csv", float_precision="round_trip")
    expected = open_run(run).steps(texts=True)
    assert frame.columns.tolist() == expected.columns.tolist()
    assert len(frame) == len(expected) and (frame["run"] == run.name).all()


def test_equal_runs_give_equal_files(run: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        export([run], "csv", tmp_path / name, with_steps=True)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


@pytest.mark.parametrize("start", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "#x", "＝1"])
def test_no_text_is_evaluated_by_a_spreadsheet(tmp_path: Path, start: str) -> None:
    run = made_up(tmp_path / "r", name=f'{start}","=2', text=f"{start}\n=3")
    export([run], "csv", tmp_path, with_steps=True)
    for path in tmp_path.glob("*.csv"):
        text = path.read_text("utf-8")
        assert "\x1b" not in text and "\u202e" not in text
        for row in csv.reader(text.splitlines()):
            for cell in row:
                number = cell.lstrip("-").replace(".", "", 1).replace("e-", "", 1).isdigit()
                assert number or not cell.lstrip().startswith(tuple("=+-@#＝"))
        # Also where a program splits at other separators than commas.
        assert ",=" not in text and ";=" not in text and '"=' not in text


def test_runs_are_told_apart_by_their_settings(tmp_path: Path) -> None:
    from tests.reports.runs import setup

    one = write(tmp_path / "x/same", worked(), setup(distractors=5))
    other = write(tmp_path / "y/same", worked(), setup(distractors=50))
    export([one, other], "csv", tmp_path)
    frame = pd.read_csv(tmp_path / "runs.csv", float_precision="round_trip").set_index("run")
    assert frame["setting.distractors"].to_dict() == {str(one): 5, str(other): 50}
    assert set(_results(tmp_path)["run"]) == {str(one), str(other)}


def test_the_note_on_test_data_comes_with_its_texts(
    runs: Mapping[str, Path], tmp_path: Path
) -> None:
    (note,) = export([runs["verbatim"]], "csv", tmp_path, with_steps=True).notes
    assert "do not publish" in note
    shipped = export([runs["steps"]], "csv", tmp_path, with_steps=True, overwrite=True)
    assert shipped.notes == ()


@pytest.mark.parametrize("table", ["results", "runs", "steps"])
def test_parquet_has_the_same_rows_with_types(run: Path, tmp_path: Path, table: str) -> None:
    for form in ("csv", "parquet"):
        export([run], form, tmp_path, with_steps=True)
    found = pd.read_parquet(tmp_path / f"{table}.parquet")
    text = pd.read_csv(tmp_path / f"{table}.csv")
    assert len(found) == len(text) > 0 and list(found.columns) == list(text.columns)
    if table == "results":
        assert found["value"].dtype == float and found["headline"].dtype == bool
        assert found["value"].tolist() == pytest.approx(text["value"].tolist(), nan_ok=True)


def test_a_setting_of_several_types_is_text_in_parquet(tmp_path: Path) -> None:
    values: list[tuple[object, float]] = [(5, 1), ("many", 0.5), (True, 0)]
    runs = [
        write(tmp_path / f"r{n}", worked(), setup(top_k=mixed, temperature=number))
        for n, (mixed, number) in enumerate(values)
    ]
    export(runs, "parquet", tmp_path)
    frame = pd.read_parquet(tmp_path / "runs.parquet")
    assert frame["setting.top_k"].tolist() == ["5", "many", "True"]
    assert frame["setting.temperature"].tolist() == [1.0, 0.5, 0.0]
