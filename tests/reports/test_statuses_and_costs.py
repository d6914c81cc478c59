"""Tables of statuses and of what steps took, against numbers worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from adapters.conversation import Usage
from harness.runs import CallRecord, RunError, StepUnit
from parsers import ELEMENT_ONLY, Prediction, Status
from reports.analyses.choices import ceilings, option_positions
from reports.analyses.independence import task_independence
from reports.analyses.paired import distractor_curve
from reports.errors.table import errors_table
from reports.errors.table import render as render_errors
from reports.formats import render
from reports.spending import cost_table
from reports.statuses import kind_of, status_table
from tests.reports.runs import call, setup, step, worked, write


def test_statuses_are_counted_with_what_they_scored(tmp_path: Path) -> None:
    steps = [
        step("A", 0, True),
        step("A", 1, False),
        step("B", 0, False, status=Status.NONE),
        step("C", 0, False, status=Status.REFUSAL),
        step("C", 1, None),
        step("C", 2, True, settled=False),
    ]
    table = status_table(write(tmp_path / "run", steps, complete=False)).set_index("status")
    assert table.index.tolist() == [
        "answered",
        "none",
        "refusal",
        "unanswered",
        "invalid: no_positive",
    ]
    assert table["steps"].tolist() == [2, 1, 1, 1, 1]
    assert table["share"].tolist()[:3] == [0.5, 0.25, 0.25]
    assert table["share"].isna().tolist() == [False, False, False, True, True]
    assert table.loc["answered", "step_success"] == 0.5
    assert table.loc["none", "tasks"] == 1
    assert table.loc["refusal", "kind"] == "refused"
    row = table.to_dict("index")["none"]
    assert 0 <= row["share_low"] <= 0.25 <= row["share_high"]


def test_where_only_elements_were_asked_for_nothing_else_is_scored(tmp_path: Path) -> None:
    only = Prediction.of(Status.ANSWERED, element="7", flags=(ELEMENT_ONLY,))
    steps = [replace(step("A", place, True), prediction=only) for place in range(2)]
    run = write(tmp_path / "run", steps)
    row = status_table(run).set_index("status").loc["answered"]
    assert row["element"] == 1.0
    assert row[["operation_f1", "step_success"]].isna().all()
    with pytest.raises(RunError, match="only elements were asked for"):
        task_independence(run)


def test_every_status_has_a_kind() -> None:
    assert all(kind_of(status) != "other" for status in Status)


def _timed(record: StepUnit, seconds: float, *, cached: bool = False) -> CallRecord:
    made = call(record, "B")
    return replace(made, from_cache=cached, reply=replace(made.reply, latency_s=seconds))


def test_costs_are_means_per_settled_step(tmp_path: Path) -> None:
    steps = worked()
    steps[0] = replace(steps[0], cost=1.25, usage=Usage(400, cached=100, output=35))
    asked = [record for record in steps if record.asked]
    calls = [_timed(record, float(place + 1)) for place, record in enumerate(asked)]
    row = cost_table(write(tmp_path / "run", steps, calls=calls)).iloc[0]
    assert row["steps"] == 6 and row["calls_per_step"] == 1.0
    assert row["input_tokens"] == pytest.approx((400 + 5 * 100) / 6)
    assert row["cached_tokens"] == pytest.approx(100 / 6)
    assert row["output_tokens"] == pytest.approx((35 + 5 * 5) / 6)
    assert row["cost"] == pytest.approx(1.25 + 5 * 0.25)
    assert row["cost_per_step"] == pytest.approx(2.5 / 6)
    assert row["cost_per_success"] == pytest.approx(2.5 / 5)
    assert (row["timed"], row["latency_median"], row["latency_p90"]) == (6, 3.5, 6.0)
    assert row["latency_max"] == 6.0


def test_replies_from_the_cache_are_work_and_are_not_billed(tmp_path: Path) -> None:
    # Three steps of two calls at $0.003: the first asks both, the second takes one from the cache,
    # the third both. Billed are 0.006 + 0.003 + 0; the work of each is worth 0.006.
    steps, calls = [], []
    for index, cached in enumerate((0, 1, 2)):
        one = replace(step("A", index, index > 0, total_steps=3), cost=0.003 * (2 - cached))
        names = [f"{one.unit_id}/0/round-{number}" for number in (1, 2)]
        steps.append(replace(one, calls=tuple(names)))
        for number, name in enumerate(names, 1):
            reused = number > 2 - cached
            made = replace(call(one, "B"), id=name, place=f"round-{number}", from_cache=reused)
            calls.append(
                replace(made, cost=0.0, price=0.003) if reused else replace(made, cost=0.003)
            )
    run = write(tmp_path / "run", steps, setup(dataset={"rows": 3}), calls=calls)
    row = cost_table(run).iloc[0]
    assert row["price_per_step"] == pytest.approx(0.006)
    assert row["price"] == pytest.approx(0.018)
    assert row["price_per_success"] == pytest.approx(0.018 / 2)
    assert row["cost"] == pytest.approx(0.009)
    assert row["cost_per_step"] == pytest.approx(0.003)
    head = render(cost_table(run))
    assert "$ work" in head and "$ billed" in head
    # Only replies from the cache have a price beside their cost.
    lines = [json.loads(line) for line in (run / "calls.jsonl").read_text().splitlines()]
    assert ["price" in line for line in lines] == [line["from_cache"] for line in lines]


def test_replies_from_the_cache_are_not_among_those_that_a_tier_served(tmp_path: Path) -> None:
    steps = [step("A", index, True) for index in range(3)]
    calls = [_timed(record, 1.0, cached=record is steps[0]) for record in steps]
    served = [
        replace(one, cost=0.0 if one.from_cache else 0.25, reply=replace(one.reply, tier="flex"))
        for one in calls
    ]
    table = render(cost_table(write(tmp_path / "run", steps, setup(), calls=served)))
    assert "by the tier that served, as billed: flex: 2 calls, $0.5000" in " ".join(table.split())


def test_a_step_is_priced_if_all_its_calls_are(tmp_path: Path) -> None:
    one = replace(step("A", 0, True), cost=None)
    names = [f"{one.unit_id}/0/round-{number}" for number in (1, 2)]
    one = replace(one, calls=tuple(names))
    calls = [
        replace(call(one, "B"), id=name, place=name[-7:], cost=cost)
        for name, cost in zip(names, (0.003, None), strict=True)
    ]
    made = setup(dataset={"rows": 1})
    table = cost_table(write(tmp_path / "run", [one], made, calls=calls))
    assert table[["cost", "cost_per_step", "price", "price_per_step"]].isna().all(axis=None)
    assert "known price" in render(table)
    # What a cached reply would have cost is unknown.
    calls = [replace(one, cost=0.0, from_cache=True) for one in calls]
    row = cost_table(write(tmp_path / "old", [replace(one, cost=0.0)], made, calls=calls)).iloc[0]
    assert row["cost"] == 0 and pd.isna(row["price"])


def test_latency_of_cached_and_partly_recorded_steps_does_not_count(tmp_path: Path) -> None:
    first, second, third = (step("A", index, True) for index in range(3))
    third = replace(third, calls=(*third.calls, "another"))
    calls = [_timed(first, 2.0), _timed(second, 9.0, cached=True), _timed(third, 9.0)]
    made = setup(dataset={"rows": 3})
    table = cost_table(write(tmp_path / "run", [first, second, third], made, calls=calls))
    assert (table["timed"].iloc[0], table["latency_max"].iloc[0]) == (1, 2.0)
    assert "the timed steps only in run" in render(table)


def test_a_run_without_any_step_has_empty_tables(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [], complete=False)
    assert status_table(run).empty
    assert cost_table(run)["steps"].tolist() == [0]


def test_every_table_of_an_unfinished_run_says_its_share(tmp_path: Path) -> None:
    run = write(tmp_path / "run", worked()[:4], complete=False)
    tables = (status_table(run), cost_table(run), option_positions(run), ceilings(run))
    for table in (*tables, task_independence(run), distractor_curve(run)):
        assert "INCOMPLETE: 4 of 7 steps of run" in render(table)
    shown = render_errors(errors_table(run, pages=False))
    assert "INCOMPLETE: 4 of 7 steps of run" in shown
    assert "INCOMPLETE" not in render(status_table(write(tmp_path / "whole", worked())))


def test_tables_that_pass_over_the_rules_of_a_run_say_so(tmp_path: Path) -> None:
    said = "rates here are of answered valid rows"
    rules: tuple[dict[str, Any], ...] = ({"invalid": "fail"}, {"exclude_status": ["refusal"]})
    for name, rule in enumerate(rules):
        run = write(tmp_path / f"run{name}", worked(), setup(**rule))
        assert said in render(status_table(run)) and said in render(distractor_curve(run))
    assert said not in render(status_table(write(tmp_path / "plain", worked())))


def test_a_model_that_nobody_bills_is_not_priced(tmp_path: Path) -> None:
    steps = [
        replace(step("A", place, True), cost=0.0, usage=Usage(100, output=9)) for place in (0, 1)
    ]
    made = [replace(call(record, "B"), cost=0.0) for record in steps]
    run = write(tmp_path / "run", steps, calls=made)
    printed = render(cost_table(run))
    assert "Not priced: run" in printed and "0.0000" not in printed


def test_a_price_of_nothing_that_was_given_is_a_price(tmp_path: Path) -> None:
    steps = [replace(step("A", 0, True), cost=0.0, usage=Usage(100, output=9))]
    made = [replace(call(record, "B"), cost=0.0) for record in steps]
    run = write(tmp_path / "run", steps, calls=made)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["sessions"][0]["settings"]["prices"] = "prices.toml"
    (run / "manifest.json").write_text(json.dumps(manifest))
    printed = render(cost_table(run))
    assert "Not priced" not in printed and "0.0000" in printed
