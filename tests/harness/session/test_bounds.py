"""Chance and ceiling of a result: what always-click and the oracle get on the very rows of it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from harness.benchmarks import benchmark_of
from harness.benchmarks import scoring as module
from harness.benchmarks.scoring import bounds_of
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.errors import UserError
from harness.runs import StepUnit, open_run
from harness.runs.finding import settings_of
from harness.session.summary import results_of
from harness.settings import Settings
from parsers import score
from parsers.records import Prediction, Status
from tests.harness.commands.tool import DEV, ONE_TASK, benchmark_options, call, summary, table
from tests.numbers import row

PER_MILLE = ("--protocol-option", "form=plain", "--protocol-option", "coordinates=per-mille")
RANKED = ("--ranker", "lexical")
TOP_TEN = benchmark_options("top_k=10", "missed=ask")
EXACT = benchmark_options("no_element_zeroes_operation=yes", "step_rule=exact")


@pytest.mark.parametrize(
    ("line", "below"),
    [
        ((*DEV, "--protocol", "seeact-attributes"), True),
        ((*DEV, "--protocol", "coordinates", *PER_MILLE, "--invalid", "fail"), True),
        ((*DEV, "--protocol", "mindact-choice", *RANKED, *TOP_TEN), True),
        ((*DEV, *EXACT), False),
        ((*ONE_TASK, "--protocol", "mindact-generate", *RANKED), False),
        ((*ONE_TASK, "--protocol", "seeact-choice", *RANKED, "--shuffles", "1"), False),
    ],
)
def test_the_ceiling_is_what_the_oracle_gets_under_protocol_and_rules(
    line: Sequence[str], below: bool
) -> None:
    for policy in ("oracle", "random"):
        assert call("--model", policy, *line, "--out", policy).code == 0
    rule = "strict" if summary("oracle")["rules"]["invalid"] == "fail" else "valid"
    for name in ("element", "operation_f1", "success"):
        ceiling = row(summary("random"), name, rule=rule)["ceiling"]
        assert ceiling == pytest.approx(row(summary("oracle"), name, rule=rule)["number"])
    assert (row(summary("random"), "success", rule=rule)["ceiling"] < 1) == below


def _records(*line: str) -> tuple[list[StepUnit], Settings]:
    assert call("--model", "random", *line, "--out", "a").code == 0
    run = open_run(Path("a"))
    return run.records(), settings_of(run)


def _over_tasks(values: Sequence[tuple[StepUnit, float]]) -> float:
    tasks: dict[str, list[float]] = defaultdict(list)
    for record, value in values:
        tasks[record.parents["task"]].append(value)
    return fmean(map(fmean, tasks.values()))


@pytest.mark.parametrize("joint", [False, True])
def test_chance_is_the_mean_over_all_choices_that_could_be_clicked(joint: bool) -> None:
    records, settings = _records(*DEV)
    options = {**dict(settings.benchmark_option), "wrong_element_zeroes_operation": joint}
    settings = replace(settings, benchmark_option=tuple(options.items()))
    source = benchmark_of(settings)
    assert isinstance(source, StepBenchmark)
    rules = source.rules
    found = results_of(records, settings, source)["", ""]
    asked = [record for record in records if record.invalid is None]
    clicks = {
        record.unit_id: [
            score(
                Prediction.of(Status.ANSWERED, c.letter, c.id, operation="CLICK"),
                record.detail.gold,
                rules,
            )
            for c in record.detail.choices
        ]
        for record in asked
    }
    for name, pick in (
        ("element", lambda s: s["element"]),
        ("operation_f1", lambda s: s["operation_f1.mind2web"]),
        ("success", lambda s: s["success"]),
    ):
        wanted = _over_tasks([(r, fmean(map(pick, clicks[r.unit_id]))) for r in asked])
        headline = found.row(name)
        assert headline is not None and math.isclose(headline.chance or 0.0, wanted)


def test_chance_ceiling_and_headline_are_of_the_same_rows() -> None:
    records, settings = _records(*DEV, "--protocol", "seeact-attributes")
    asked = [record for record in records if record.invalid is None]
    refused, open_ = asked[0], asked[10]
    assert refused.prediction is not None
    changed = {
        id(refused): replace(
            refused, prediction=replace(refused.prediction, status=Status.REFUSAL)
        ),
        id(open_): replace(open_, settled=False, scores=None, prediction=None),
    }
    mixed = [changed.get(id(record), record) for record in records]
    kept = [record for record in mixed if id(record) not in set(map(id, changed.values()))]

    def found(rows: Sequence[StepUnit], **rules: Any) -> Any:
        judged = replace(settings, **rules)
        whole = results_of(rows, judged, benchmark_of(judged))["", ""]
        headlines = {name: whole.row(name) for name in ("element", "operation_f1", "success")}
        chance = {name: one and one.chance for name, one in headlines.items()}
        ceiling = {name: one and one.ceiling for name, one in headlines.items()}
        return chance, ceiling, whole.counts.behind[whole.rules.headline][1]

    some = {"exclude_status": ("refusal",)}
    assert found(mixed, **some) == found(kept)
    # Counted as failed, rows stay in all three: excluded ones as zero, open ones as the oracle's.
    chance, ceiling, steps = found(mixed, **some, invalid="fail", unattempted="fail")
    assert steps == len(records)
    bounds = bounds_of(benchmark_of(settings), records, settings)
    assert bounds is not None and bounds.ceiling is not None
    best = bounds.ceiling
    wanted = _over_tasks(
        [
            (r, 0.0 if r.invalid or r is refused else best[0, "dev", r.unit_id]["element"] or 0.0)
            for r in records
        ]
    )
    assert math.isclose(ceiling["element"], wanted)
    assert chance["element"] < found(records)[0]["element"]


def test_the_table_says_what_chance_and_ceiling_are(monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("--model", "lexical", *DEV, "--protocol", "seeact-attributes", "--out", "a")
    told = table(call(*line, "--details").out)
    assert "chance: always-click, expected" in told
    ceiling = next(row for row in told.splitlines() if row.startswith("  ceiling "))
    assert ceiling.split()[1:] == ["90.3", "100.0", "90.3"]
    assert "ceiling: the oracle, under this protocol and these rules" in told

    def missing(*_: object, **options: object) -> object:
        raise UserError("unknown protocol")

    monkeypatch.setattr(module, "open_with", missing)
    told = str(open_run(Path("a")).table())
    row = next(row for row in told.splitlines() if row.startswith("  ceiling "))
    assert row.split()[1:] == ["n/a", "n/a", "n/a"]
    assert "ceiling: unknown" in told


def test_what_was_not_asked_for_has_neither_chance_nor_ceiling() -> None:
    assert call("--model", "random", *ONE_TASK, "--protocol", "classify", *RANKED, "--out", "a")
    for name in ("success", "operation_f1"):
        assert not {"chance", "ceiling"} & row(summary("a"), name).keys()
    assert {"chance", "ceiling"} <= row(summary("a"), "element").keys()
