"""A wrong convention of coordinates is said aloud: while a run goes on, and below its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import harness
from adapters import Request
from harness.benchmarks import benchmark
from harness.benchmarks.grounding.benchmark import FIRST_ITEMS, mistaken
from harness.runs import Unit
from parsers.grounding import GroundingDetail
from parsers.points import Convention
from parsers.records import Prediction, Status
from tests.harness.commands.tool import isolate
from tests.harness.session.test_grounding import Pointer

Items = list[Unit[GroundingDetail]]
ITEMS = 60


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate(monkeypatch, tmp_path)


def run(
    says: Callable[[tuple[float, float]], tuple[float, float]],
    coordinates: Convention,
    limit: int = ITEMS,
) -> harness.Run:
    """A run of a model that knows every place as shares of the picture, and writes `says` of it."""
    items: Items = list(benchmark("sample-grounding").open().entries)
    answers = iter(items)

    def told(request: Request) -> str:
        detail = next(answers).detail
        x, y = detail.gold.point or (0.0, 0.0)
        across, down = says((x / detail.size[0], y / detail.size[1]))
        return f"ELEMENT: {across:g}, {down:g}"

    return harness.evaluate(
        Pointer(told),
        benchmark="sample-grounding",
        protocol_option={"coordinates": coordinates, "form": "plain"},
        limit=limit,
        out="run",
        preflight=False,
        concurrency=1,
        progress="off",
    )


def below(made: harness.Run) -> str:
    return " ".join(made.table().footnotes)


def warnings(text: str) -> list[str]:
    return [line for line in text.splitlines() if "warning: " in line and "coordinates=" in line]


def test_fractions_that_are_taken_for_pixels_are_said_aloud(
    capfd: pytest.CaptureFixture[str],
) -> None:
    made = run(lambda share: share, "absolute")
    first, *more = warnings(capfd.readouterr().err)
    assert (
        f"{FIRST_ITEMS} of {FIRST_ITEMS} points are below 1: fractions? `coordinates=unit`" in first
    )
    assert more == []
    told = below(made)
    assert f"{ITEMS} of {ITEMS} points are below 1: fractions? `coordinates=unit`" in told
    assert "would be hits, not 0)" in told


@pytest.mark.parametrize(
    ("coordinates", "factor", "said"),
    [
        ("unit", 1000, "thousandths? `coordinates=per-mille`"),
        ("per-mille", 1, "fractions? `coordinates=unit`"),
        ("absolute", 1000, "thousandths? `coordinates=per-mille`"),
    ],
)
def test_other_conventions_are_named(
    capfd: pytest.CaptureFixture[str], coordinates: Convention, factor: float, said: str
) -> None:
    made = run(lambda share: (factor * share[0], factor * share[1]), coordinates)
    assert said in below(made)


@pytest.mark.parametrize(
    ("coordinates", "factor"), [("unit", 1), ("per-mille", 1000), ("per-999", 999)]
)
def test_right_conventions_are_not_doubted(
    capfd: pytest.CaptureFixture[str], coordinates: Convention, factor: float
) -> None:
    made = run(lambda share: (factor * share[0], factor * share[1]), coordinates)
    assert "`coordinates=" not in below(made) + capfd.readouterr().err


def test_a_few_items_say_nothing_and_one_odd_answer_does_not_hide_the_others() -> None:
    made = run(lambda share: share, "absolute")
    records = made.records()
    assert mistaken(records[: FIRST_ITEMS - 1], "absolute") == ""
    outside = Prediction(Status.OUT_OF_RANGE, parsed={"numbers_x": 700.0, "numbers_y": 3.0})
    odd = replace(records[0], prediction=outside)
    assert mistaken([odd, *records[1:40]], "absolute").startswith("39 of 40 points are below 1")
    assert mistaken(records, "unit") == ""
