"""Scorers, adapters, protocols and reports of other packages that raise: a line each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import harness
from adapters import PictureSource, Reply, Request
from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, Benchmark, Items
from harness.dialogue import Dialogue
from harness.errors import ExtensionError
from harness.protocols import PROTOCOLS
from parsers import Declaration, Level, Measure, Prediction
from reports.kind import REPORTS, KindReports
from reports.view.parts import UnitPage, UnitPart
from tests.harness.commands.tool import call, isolate, last_lines, summary
from tests.numbers import counts
from tests.test_entry_points import Echo
from tests.test_made_up_kind import ReadTheSign, RoadSigns, SignDetail, SignView

BROKEN = ["sign-1"]


def is_even(prediction: Prediction, detail: SignDetail) -> float:
    if detail.asked in BROKEN:
        raise KeyError("an octagon\x1b[2J")
    return 1.0


DECLARED = Declaration((Measure("even", "Even", main=True),), levels=(Level("town"),), kind="sign")


@dataclass(frozen=True)
class Fragile(Benchmark):
    name: str = "fragile"
    declared: Declaration = DECLARED
    View = SignView
    Detail = SignDetail
    protocol = "read-the-sign"
    scorers: ClassVar = {"even": is_even}

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        return Items.of(
            self.unit(
                f"sign-{number}",
                SignDetail(f"sign-{number}", unit.detail.gold),
                parents={"town": "Ulm"},
            )
            for number, unit in enumerate(RoadSigns().open().entries)
        )


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)
    things: list[Any] = [(BENCHMARKS, Fragile), (PROTOCOLS, ReadTheSign)]
    for registry, thing in things:
        monkeypatch.setitem(registry._entries, thing.name, Entry("", thing))


def test_a_scorer_that_raises_settles_the_unit_and_score_repeats_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = call("run", "-m", "oracle", "-b", "fragile", "-o", "run")
    assert ran.code == 0
    where = "(tests.extensions.test_raising, is_even, line "
    said = [line for line in ran.err.splitlines() if "sign-1" in line]
    assert len(said) == 1 and "the scorer of fragile raised KeyError" in said[0]
    assert where in said[0] and "\x1b" not in ran.err and "Traceback" not in ran.err
    assert "not scored: 1 sign (1 scoring error)" in ran.out
    counted = counts(summary("run"))
    assert counted["invalid"] == {"scoring_error": 1} and counted["n_settled"] == 2
    line = next(one for one in last_lines("run") if one["error"])
    assert line["settled"] and line["scores"] is None and line["prediction"]["action"]
    assert "the scorer failed" in call("report", "run", "--table", "status").out
    assert call("run", "-m", "oracle", "-b", "fragile", "-o", "run").code == 0  # nothing to ask
    assert "1 scoring_error" in call("score", "run").out
    monkeypatch.setattr("tests.extensions.test_raising.BROKEN", [])
    mended = call("score", "run").out
    assert "rows: 3 valid, 0 invalid" in mended and "0 of 3 predictions read diff" in mended


def test_debug_prints_the_traceback_of_a_scorer() -> None:
    told = call("run", "-m", "oracle", "-b", "fragile", "-o", "run", "--debug")
    assert told.code == 0 and "Traceback" in told.err and "\x1b" not in told.err


class Broken(Echo):
    async def ask(self, request: Request, pictures: PictureSource) -> Reply:
        return Reply(json.loads("{")["text"])


def test_an_adapter_that_raises_names_unit_call_and_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(ExtensionError) as told:
        harness.evaluate(Broken("b"), benchmark="fragile", preflight=False, out="run")
    assert str(told.value).startswith("sign-")
    assert "call 'read': the adapter of" in str(told.value)
    assert "raised JSONDecodeError" in str(told.value)
    assert "(tests.extensions.test_raising, ask, line" in str(told.value)


@dataclass(frozen=True)
class Forgetful(ReadTheSign):
    name = "forgetful"

    def dialogue(self, view: SignView) -> Dialogue:
        raise LookupError("which sign?")
        yield

    def write(self, view: SignView, said: Prediction) -> Mapping[str, str]:
        return {}


class BlankPage(UnitPage):
    def part(self, record: Any, calls: Any) -> UnitPart:
        return UnitPart(heads=record.detail["no such thing"])


def test_protocols_and_pages_that_raise_are_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROTOCOLS._entries, "forgetful", Entry("", Forgetful))
    asked = ("run", "-m", "oracle", "-b", "fragile", "--protocol", "forgetful", "-o", "run")
    told = call(*asked)
    assert told.code == 2 and "Traceback" not in told.err
    assert "sign sign-0: the protocol raised LookupError: which sign? (tests.ext" in told.err
    assert call("run", "-m", "oracle", "-b", "fragile", "-o", "other").code == 0
    monkeypatch.setitem(REPORTS, "sign", KindReports(page=BlankPage()))
    told = call("view", "other", "-o", "page")
    assert told.code == 2 and "vlm-eval: the page of sign sign-0: TypeError" in told.err
    assert "(tests.extensions.test_raising, part, line" in told.complaint
    assert "Traceback" not in told.err and "--debug prints the traceback" in told.err
    assert "Traceback" in call("--debug", "view", "other", "-o", "again").err
