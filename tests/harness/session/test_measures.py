"""A benchmark's own measures: scored by its functions, averaged and printed as it declares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from adapters.registry import Entry
from harness.benchmarks import BENCHMARKS, Benchmark
from harness.benchmarks.contract import Scorer
from harness.benchmarks.dataset import Items
from harness.benchmarks.scoring import on_record, scorer_of
from harness.errors import DataError, UserError
from harness.runs import Manifest, Unit
from harness.session.report import result_grid
from harness.session.summary import results_of, summarise
from harness.settings import Settings, read_settings
from harness.tables import render
from parsers import MIND2WEB, READING, Declaration, Group, Level, Measure, Prediction, Status
from parsers.records import Gold
from tests import numbers
from tests.units import step_of

DECLARED = Declaration(
    measures=(
        Measure("hit", "Hit", "hits", main=True, averages=("cells", "micro"), cells=("form",)),
        Measure("nearness", "Near", "nearness", averages=("micro",)),
        Measure("pixels", "px", "distance in pixels", averages=("quartiles",)),
        Measure("all_hit", "All", "pictures without a miss", all_of="hit"),
    ),
    levels=(Level("picture"),),
    groups=(Group("split", whole="picture"), Group("form")),
    kind="item",
)


def settings(**more: Any) -> Settings:
    return replace(read_settings({"model": "m"}), benchmark="places", **more)


def scorer(settings: Settings, declared: Declaration) -> Scorer:
    return scorer_of(on_record(settings, declared), declared)


@dataclass(frozen=True)
class Places(Benchmark):
    name: str = "places"
    declared: Declaration = DECLARED

    kind = "item"
    protocol = "point"
    scorers: ClassVar[Mapping[str, Callable[[Prediction, Any], float | None]]] = {
        "hit": lambda prediction, detail: float(prediction.letter == detail),
        "nearness": lambda prediction, detail: None if prediction.letter is None else 0.5,
        "pixels": lambda prediction, detail: 1280.0,
    }

    def open(self, **_: Any) -> Items:
        raise NotImplementedError


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BENCHMARKS._entries, "places", Entry("places", Places))


def item(number: int, form: str, letter: str | None, picture: str) -> Unit[str]:
    status = Status.NONE if letter is None else Status.ANSWERED
    prediction = Prediction(status, letter=letter)
    return Unit(
        kind="item",
        unit_id=f"i{number}",
        benchmark="places",
        split="test",
        parents={"picture": picture},
        labels={"form": form},
        asked=True,
        settled=True,
        prediction=prediction,
        scores=scorer(settings(), DECLARED)(prediction, "A"),
        detail="A",
    )


def rows() -> list[Unit[str]]:
    return [
        item(0, "icon", "A", "p"),
        item(1, "text", "A", "p"),
        item(2, "text", None, "q"),
        item(3, "text", "B", "q"),
    ]


@pytest.mark.usefixtures("places")
def test_a_score_is_computed_by_the_function_of_its_name() -> None:
    (first, _, third, _) = rows()
    assert first.scores == {"hit": 1.0, "nearness": 0.5, "pixels": 1280.0}
    assert third.scores == {"hit": 0.0, "nearness": None, "pixels": 1280.0}


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("hits", 1.0, "does not declare: did you mean 'hit'?"),
        ("hit", float("nan"), "not finite"),
        ("pixels", float("inf"), "not finite"),
        ("nearness", 1.5, "lies between 0 and 1"),
    ],
)
def test_scores_that_are_not_as_declared_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: float, problem: str
) -> None:
    monkeypatch.setattr(Places, "scorers", {name: lambda prediction, detail: value})
    with pytest.raises(UserError, match=f"places scores {name}.*{problem.replace('?', '.')}"):
        scorer(settings(), DECLARED)(Prediction(Status.ANSWERED), "A")


def test_a_measure_that_is_only_counted_is_0_or_1(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = replace(DECLARED, measures=(DECLARED["hit"], Measure("cut", averages=())))
    monkeypatch.setattr(Places, "scorers", {"hit": lambda *_: 1.0, "cut": lambda *_: 0.5})
    score = scorer_of(Places(declared=declared), declared)
    with pytest.raises(UserError, match=r"scores cut .*: what has no averages is 0 or 1"):
        score(Prediction(Status.ANSWERED), "A")


@pytest.mark.usefixtures("places")
def test_a_measure_without_a_score_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Places, "scorers", {"hit": lambda prediction, detail: 1.0})
    with pytest.raises(UserError, match="places declares nearness and does not score it"):
        scorer(settings(), DECLARED)(Prediction(Status.ANSWERED), "A")


@pytest.mark.usefixtures("places")
def test_a_measure_that_came_later_is_not_scored_in_a_run_from_before() -> None:
    before = replace(DECLARED, measures=(DECLARED["hit"],))
    score = scorer_of(Places(), before)
    scores = score(Prediction(Status.ANSWERED, letter="A"), "A")
    assert scores == {"hit": 1.0}


def test_scoring_without_the_benchmarks_package_says_what_is_missing() -> None:
    with pytest.raises(DataError, match="the benchmark places, which is not installed"):
        scorer(settings(), DECLARED)


def test_recorded_steps_are_scored_without_their_benchmarks_package() -> None:
    detail = step_of(benchmark="gone", split="test", gold=Gold("CLICK", "", ("7",))).detail
    score = scorer(settings(), MIND2WEB)
    assert score(Prediction.of(Status.ANSWERED, element="7", operation="CLICK"), detail)["success"]


@pytest.mark.usefixtures("places")
def test_the_table_has_the_declared_columns_words_and_averages() -> None:
    found = results_of(rows(), settings(), Places())
    grid = result_grid(rows(), settings(), Places(), found, {})
    printed = " ".join(render(grid, width=120, note="").split())
    assert [column.head for column in grid.columns] == ["", "Hit", "Near", "All", "px"]
    labels = {str(row.cells[0]): row for section in grid.sections for row in section.rows}
    # By form: 1 of 1 icon, 1 of 3 texts. Pictures: p has two hits, q none.
    assert list(labels) == ["cells, form", "micro, 4 items"]
    numbers = {
        label: [next(iter(str(cell).split()), "") for cell in row.cells[1:]]
        for label, row in labels.items()
    }
    assert numbers["cells, form"] == [f"{100 * (1 + 1 / 3) / 2:.1f}", "", "50.0", "1,280"]
    assert numbers["micro, 4 items"] == ["50.0", "50.0", "", ""]
    assert "Median and [quartiles]: px (" in printed
    assert "cells: mean over form of each cell's mean" in printed
    assert "95 % Wilson intervals with pictures as clusters: for new pictures." in printed
    for word in ("chance", "element", "step", "task", "Op. F1", "website"):
        assert word not in printed


@pytest.mark.usefixtures("places")
def test_the_summary_is_told_in_the_declared_words() -> None:
    manifest = Manifest(
        schema=7, name="r", created="", config={}, declaration=DECLARED, reading=READING
    )
    found = results_of(rows(), settings(), Places())
    summary = summarise(rows(), settings(), Places(), manifest, found)
    assert numbers.counts(summary)["behind"]["valid"] == {"n_pictures": 2, "n_items": 4}
    assert numbers.number(summary, "hit", "cells") == pytest.approx(2 / 3)
    nearness = numbers.row(summary, "nearness", "micro")
    assert (nearness["number"], nearness["n"]) == (0.5, 3)
    assert nearness["high"] - nearness["low"] > 0.9  # two pictures
    assert numbers.row(summary, "all_hit", "parents")["won"] == 1
    names = {(one["measure"], one["average"]) for one in summary["estimates"]}
    assert names == {
        *(("hit", average) for average in ("cells", "micro")),
        *(("nearness", "micro"), ("pixels", "quartiles"), ("all_hit", "parents")),
    }
    pixels = numbers.row(summary, "pixels", "quartiles")
    assert [pixels[name] for name in ("number", "low", "high")] == [1280.0] * 3
    assert pixels["n"] == 4
    groups = [(one["group"], one["value"]) for one in summary["counts"]]
    assert groups == [("", ""), ("split", "test"), ("form", "icon"), ("form", "text")]
    text = {"group": "form", "value": "text"}
    assert numbers.number(summary, "hit", "micro", **text) == pytest.approx(1 / 3)
    within = [one["measure"] for one in summary["estimates"] if text.items() <= one.items()]
    assert within and "all_hit" not in within
    assert not any({"chance", "ceiling"} & one.keys() for one in summary["estimates"])
    assert set(summary["rows"]) == {"all", "asked"}
