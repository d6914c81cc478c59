"""Two measures more for recorded steps: one of some units only, one without an average."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import harness
from harness.benchmarks import BENCHMARKS
from harness.benchmarks.sample import Sample
from parsers import MIND2WEB, Declaration, Measure, Prediction
from parsers.records import Scores
from tests.extensions.made_up import known
from tests.harness.commands.tool import call, isolate
from tests.numbers import row

VALUE = Measure("value_right", "Value", "values as recorded")
LENGTH = Measure("letters", "Letters", "letters of the answer", averages=("quartiles",))


DECLARED = replace(MIND2WEB, measures=(*MIND2WEB.measures, VALUE, LENGTH))


@dataclass(frozen=True)
class Longer(Sample):
    name: str = "longer"
    declared: Declaration = DECLARED

    def score(self, prediction: Prediction, detail: Any) -> Scores:
        said, gold = prediction.value, detail.gold
        right = None if gold.operation == "CLICK" else float(said == gold.value)
        scores = super().score(prediction, detail)
        return {**scores, VALUE.name: right, LENGTH.name: float(len(said))}


def test_both_are_in_tables_frames_summaries_and_comparisons(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)
    known(monkeypatch, BENCHMARKS, "longer", Longer)
    asked = ("-b", "longer", "--split", "dev", "--limit", "2", "--progress", "off")
    for model in ("lexical", "oracle"):
        ran = call("run", "-m", model, *asked, "-o", model, "--details")
        assert ran.code == 0, ran.err
        assert "Letters (letters of the answer)" in ran.out
    frame = harness.open_run("oracle").steps()
    counted = frame[frame["settled"] & frame["invalid"].isna()]
    typed = counted["gold_operation"] != "CLICK"
    assert counted["value_right"].isna().equals(~typed) and counted["value_right"].dropna().all()
    summary = json.loads(Path("oracle/summary.json").read_text("utf-8"))
    assert row(summary, "value_right")["units"] == int(typed.sum())
    letters = row(summary, "letters", "quartiles")
    assert (letters["number"], letters["n"]) == (median(counted["letters"]), len(counted))
    (line,) = (
        one
        for one in json.loads(call("report", "oracle", "--format", "json").out)["rows"]
        if one["line"] == "valid"
    )
    assert line["letters_median"] == median(counted["letters"])
    compared = call("compare", "lexical", "oracle")
    assert compared.code == 0 and "Value macro" in compared.out and "Letters" not in compared.out
