"""The table against results computed by hand and against `parsers.averages`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.runs import RunError, open_run
from harness.session.summary import total_of
from harness.settings import Settings
from parsers import ELEMENT_ONLY, MIND2WEB, Average, Prediction, Status, mean_interval
from parsers.estimates import SD
from reports.formats import render
from reports.tables import columns, main_table
from tests.numbers import estimate
from tests.reports.runs import setup, step, worked, write

GROUP_KEYS: tuple[Any, ...] = ("split", "website", "domain", "subdomain", "operation")
AVERAGES: tuple[Average, ...] = ("macro", "micro")


def _lines(table: pd.DataFrame, group: str = "test_website") -> dict[str, Any]:
    chosen = table[table[table.attrs["key"]] == group]
    return {str(row["line"]): row for _, row in chosen.iterrows()}


def test_the_worked_example(tmp_path: Path) -> None:
    table = main_table(write(tmp_path / "run", worked()))
    lines = _lines(table)
    valid, strict = lines["valid"], lines["strict"]
    assert (valid["tasks"], valid["steps"], strict["steps"]) == (3, 6, 7)
    assert valid["step_success_micro"] == pytest.approx(5 / 6)
    assert valid["step_success_macro"] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert strict["step_success_micro"] == pytest.approx(5 / 7)
    assert strict["step_success_macro"] == pytest.approx((1 + 2 / 3 + 1 / 2) / 3)
    assert valid["task_success"] == pytest.approx(2 / 3)
    assert strict["task_success"] == pytest.approx(1 / 3)
    assert (valid["task_success_succeeded"], valid["task_success_total"]) == (2, 3)
    assert valid["headline"] and not strict["headline"]
    assert valid["few"]
    assert (valid["input_tokens"], valid["output_tokens"], valid["cost"]) == (600, 30, 1.5)


def test_the_table_has_the_documented_columns(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked())
    for key in GROUP_KEYS:
        table = main_table(run, key)
        found = [(name, str(kind)) for name, kind in table.dtypes.items()]
        assert found == [(column.name, column.kind) for column in columns(key, MIND2WEB)]


def test_repeats_agree_with_the_run_command(tmp_path: Path) -> None:
    steps = [*worked(), *(replace(record, repeat=1) for record in worked())]
    steps[0] = replace(step("A", 0, False), repeat=0)
    made = setup(repeats=2)
    run = write(tmp_path / "run", steps, made)
    found = total_of(open_run(run).records(), Settings(), MIND2WEB)
    row = _lines(main_table(run))["valid"]
    assert row["step_success_macro"] == estimate(found, "success", "macro").number
    assert row["repeat_sd"] == estimate(found, "success", SD).number
    assert row["steps"] == 12 and row["tasks"] == 3
    assert row["task_success"] == pytest.approx((1 / 3 + 2 / 3) / 2)
    success = mean_interval([1, 0, 1, 1, 0, 0], "AABBCC")
    assert success is not None
    assert row["task_success_low"] == pytest.approx(success.low)
    assert row["task_success_high"] == pytest.approx(success.high)
    assert row["task_success_few"]


def test_the_headline_follows_the_run_unless_told_otherwise(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked(), setup(invalid="fail"))
    assert _lines(main_table(run))["strict"]["headline"]
    assert _lines(main_table(run, invalid="exclude"))["valid"]["headline"]
    assert main_table(run, invalid="exclude").attrs["given"] == {"invalid": "exclude"}


def test_another_variant_decides_step_success_anew(tmp_path: Path) -> None:
    f1 = {"mind2web": 0.5, "mind2web-lc": 1.0, "cl100k-lc": 1.0}
    record = step("A", 0, True, f1=f1)
    assert record.scores is not None
    record = replace(record, scores={**record.scores, "success": 0.0})
    run = write(tmp_path / "run", [record], setup(dataset={"rows": 1}))
    assert _lines(main_table(run))["valid"]["step_success_macro"] == 0.0
    row = _lines(main_table(run, f1="mind2web-lc"))["valid"]
    assert (row["operation_f1_macro"], row["step_success_macro"]) == (1.0, 1.0)


def test_a_run_scored_by_exact_match_keeps_its_variant(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked(), setup(step_rule="exact"))
    main_table(run, f1="mind2web")
    with pytest.raises(RunError, match="step_rule exact"):
        main_table(run, f1="cl100k-lc")


def test_an_unknown_variant_on_record_is_an_error(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked(), setup(f1="bleu"))
    with pytest.raises(RunError, match="bleu"):
        main_table(run)


def test_rows_still_to_come_leave_no_task_success(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked()[:4], complete=False)
    table = main_table(run)
    row = _lines(table)["valid"]
    assert pd.isna(row["task_success"])
    assert not row["complete"]
    assert table.attrs["runs"][0]["unreached"] == 3


def test_rows_left_out_by_their_status_are_not_invalid(tmp_path: Path) -> None:
    # Of seven rows one is invalid; the refusal on top is left out.
    steps = [*worked(), step("D", 0, False, status=Status.REFUSAL)]
    run = write(tmp_path / "run", steps, setup(exclude_status=["refusal"]))
    table = main_table(run)
    assert set(table["invalid"]) == {1} and set(table["excluded"]) == {1}
    assert _lines(table)["strict"]["steps"] == 8
    shown = " ".join(render(table).split())
    assert "invalid rows: 1; left out by status: refusal 1; unreadable" in shown


def test_a_table_says_why_success_is_unknown(tmp_path: Path) -> None:
    only = Prediction.of(Status.ANSWERED, element="7", flags=(ELEMENT_ONLY,))
    asked = [step("A", place, True) for place in range(2)]
    bare = [replace(one, prediction=only) for one in asked]
    said = "n/a: only elements were asked for"
    assert said in render(main_table(write(tmp_path / "bare", bare)), "text")
    assert said not in render(main_table(write(tmp_path / "run", asked)), "text")
