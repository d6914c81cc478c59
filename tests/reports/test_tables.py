"""The table against results computed by hand and against `parsers.averages`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.runs import RunError, StepUnit, open_run
from harness.session.summary import total_of
from harness.settings import Settings
from harness.tables.results import POOLED
from parsers import (
    ELEMENT_ONLY,
    MIND2WEB,
    Average,
    Estimate,
    Prediction,
    Status,
    mean_interval,
    results,
)
from parsers.counting import Rule
from parsers.estimates import PARENTS, SD
from parsers.records import F1_VARIANTS
from reports.formats import render
from reports.tables import columns, main_table
from tests.numbers import estimate, results_by
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


def _varied() -> list[StepUnit]:
    """Steps of several splits, sites, operations and statuses, some invalid, some unsettled."""
    records = []
    for number in range(40):
        task, index = divmod(number, 3)
        right = None if number % 11 == 5 else number % 4 != 0
        gold = step("x", 0, True).detail.gold
        f1 = dict.fromkeys(F1_VARIANTS, 1.0 if right else (number % 5) / 5)
        records.append(
            step(
                f"T{task}",
                index,
                right,
                split="test_task" if task % 2 else "test_domain",
                website=f"w{task % 3}",
                domain=f"d{task % 2}",
                gold=replace(gold, operation=("CLICK", "TYPE", "SELECT")[number % 3]),
                f1=f1,
                settled=number % 17 != 7,
                status=Status.PARSE_ERROR if number % 4 == 0 else Status.ANSWERED,
            )
        )
    return records


def _check(row: Any, name: str, own: Estimate) -> None:
    assert row[name] == own.number
    if own.interval is None:
        assert pd.isna(row[f"{name}_low"]) and pd.isna(row[f"{name}_high"])
    else:
        bounds = own.interval.low, own.interval.high
        assert (row[f"{name}_low"], row[f"{name}_high"]) == bounds


@pytest.mark.parametrize("key", GROUP_KEYS)
@pytest.mark.parametrize("complete", [True, False])
def test_every_number_is_that_of_the_averages(tmp_path: Path, key: Any, complete: bool) -> None:
    made = setup(dataset={"rows": 40, "partial_tasks": {"T3": 4}})
    run = write(tmp_path / "run", _varied(), made, complete=complete)
    trials = [(record.repeat, record.scored()) for record in open_run(run).records()]
    table = main_table(run, key)
    groups = results_by(key, trials, MIND2WEB, lengths={"T3": 4})
    if key == "split":
        groups[POOLED] = results(trials, MIND2WEB, lengths={"T3": 4})
    assert list(dict.fromkeys(table[key])) == list(groups)
    for name, found in groups.items():
        for line, row in _lines(table, name).items():
            rule: Rule = "valid" if line == "valid" else "strict"
            for measure in ("element", "operation_f1", "success"):
                column = measure.replace("success", "step_success")
                for average in AVERAGES:
                    own = estimate(found, measure, average, rule)
                    _check(row, f"{column}_{average}", own)
            assert row["unsettled"] == found.counts.n_unsettled
            if found.counts.parse_failure_rate is not None:
                assert row["parse_failure_rate"] == found.counts.parse_failure_rate
            tasks = found.row("task_success", PARENTS, rule)
            if tasks is None:
                assert key == "operation" and pd.isna(row["task_success_total"])
                continue
            assert (row["task_success_complete"], row["task_success_total"]) == (
                tasks.complete,
                tasks.n,
            )
            value = row["task_success"]
            assert pd.isna(value) if tasks.number is None else value == tasks.number


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


def test_runs_are_never_pooled(tmp_path: Path) -> None:
    runs = [write(tmp_path / n, worked(), setup(distractors=d)) for n, d in (("a", 5), ("b", 20))]
    table = main_table(runs)
    assert table["run"].tolist() == ["a", "a", "b", "b"]
    assert POOLED not in table["split"].tolist()
    assert table.attrs["differences"] == {"distractors": {"a": 5, "b": 20}}


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be grouped by 'colour', only by split"):
        main_table(write(tmp_path / "run", worked()), "colour")


def test_a_table_says_why_success_is_unknown(tmp_path: Path) -> None:
    only = Prediction.of(Status.ANSWERED, element="7", flags=(ELEMENT_ONLY,))
    asked = [step("A", place, True) for place in range(2)]
    bare = [replace(one, prediction=only) for one in asked]
    said = "n/a: only elements were asked for"
    assert said in render(main_table(write(tmp_path / "bare", bare)), "text")
    assert said not in render(main_table(write(tmp_path / "run", asked)), "text")
