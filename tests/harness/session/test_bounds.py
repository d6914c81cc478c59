"""Chance and ceiling of a result: what always-click and the oracle get on the very rows of it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from harness.benchmarks import benchmark_of
from harness.benchmarks.step.benchmark import StepBenchmark
from harness.runs import StepUnit, open_run
from harness.runs.run import settings_of
from harness.session.summary import results_of
from harness.settings import Settings
from parsers import score
from parsers.records import Prediction, Status
from tests.harness.commands.tool import DEV, ONE_TASK, benchmark_options, call, summary
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
        (
            (*ONE_TASK, "--protocol", "seeact-choice", *RANKED, "--protocol-option", "shuffles=1"),
            False,
        ),
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
