"""Places in the list: counts by hand, and a test that knows tasks."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from harness.runs import StepUnit
from parsers import MIND2WEB, Prediction, Status
from parsers.records import F1_VARIANTS, Choice
from reports.analyses.choices import Pick, option_positions, pick_of, place_test
from reports.formats import render
from tests.reports.runs import setup, step, worked, write
from tests.units import changed, step_scores


def _step(task: str, index: int, right: int, chosen: int | None, size: int = 3) -> StepUnit:
    record = step(task, index, chosen == right)
    letters = "ABCDEFGH"
    choices = tuple(Choice(letters[place], str(place), "a", "x") for place in range(size))
    said = (
        Prediction.of(Status.NONE)
        if chosen is None
        else Prediction.of(Status.ANSWERED, letters[chosen], str(chosen), None, "CLICK", "")
    )
    hit = chosen == right
    scores = step_scores(hit, dict.fromkeys(F1_VARIANTS, 1.0), True, hit)
    gold = replace(record.detail.gold, elements=(str(right),), shown=str(right))
    return changed(record, choices=choices, prediction=said, scores=scores, gold=gold)


def test_places_are_counted(tmp_path: Path) -> None:
    steps = [
        _step("A", 0, 0, 0),
        _step("A", 1, 1, 0),
        _step("B", 0, 1, 1),
        _step("B", 1, 2, None),
        _step("C", 0, 2, 0),
    ]
    frame = option_positions(write(tmp_path / "run", steps, setup(dataset={"rows": 5})))
    assert frame["letter"].tolist() == ["A", "B", "C"]
    assert frame["picked"].tolist() == [3, 1, 0]
    assert frame["share"].tolist() == pytest.approx([3 / 4, 1 / 4, 0])
    assert frame["chance"].tolist() == pytest.approx([1 / 3] * 3)
    assert frame["wrong"].tolist() == [2, 0, 0]
    # One wrong pick could have gone to A or C, the other to A or B.
    assert frame["wrong_chance"].tolist() == pytest.approx([1.0, 0.5, 0.5])
    assert frame["right_there"].tolist() == [1, 2, 2]
    assert frame["accuracy"].tolist() == [1.0, 0.5, 0.0]


def test_the_statistic_of_independent_steps() -> None:
    picks = [Pick(("s", str(n)), place, None, 4) for n, place in enumerate([0] * 9 + [1, 2, 3])]
    found = place_test(picks, False)
    assert found is not None
    assert found.statistic == pytest.approx((36 + 4 + 4 + 4) / 3)
    assert (found.freedom, found.picks, found.least_expected) == (3, 12, 3.0)
    x = found.statistic
    tail = math.erfc(math.sqrt(x / 2)) + math.sqrt(2 * x / math.pi) * math.exp(-x / 2)
    assert found.p_independent == pytest.approx(tail)  # chi-square with three degrees of freedom


def test_picks_that_repeat_within_tasks_weigh_less() -> None:
    tasks = [(f"T{task}", place) for task, place in enumerate([0, 0, 0, 1, 2, 0, 1, 3] * 5)]
    once = [Pick(("s", name), place, None, 4) for name, place in tasks]
    copied = [pick for pick in once for _ in range(6)]
    single, many = place_test(once, False), place_test(copied, False)
    assert single is not None and many is not None
    assert single.p is not None and single.design is not None
    assert many.statistic == pytest.approx(6 * single.statistic)
    assert many.p_independent < 1e-6 < single.p
    assert many.design == pytest.approx(6 * single.design, rel=0.2)
    assert many.p == pytest.approx(single.p, abs=0.05)


def test_wrong_picks_cannot_fall_on_the_right_place() -> None:
    assert Pick(("s", "t"), 0, 1, 3).chance(True) == [0.5, 0.0, 0.5]
    assert Pick(("s", "t"), 0, None, 2).chance(True) == [0.5, 0.5]
    assert place_test([Pick(("s", "t"), 0, 1, 2)], True) is None
    assert place_test([], False) is None


TASK = MIND2WEB.innermost


def test_only_answers_from_the_list_are_picks() -> None:
    assert pick_of(_step("A", 0, 0, None), TASK) is None
    chosen = _step("A", 0, 0, 1)
    assert pick_of(chosen, TASK) == Pick(("test_website", "A"), 1, 0, 3)
    said = Prediction.of(Status.ANSWERED, "Q", "9", None, "CLICK", "")
    assert pick_of(replace(chosen, prediction=said), TASK) is None


def test_small_samples_are_told(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [_step("A", 0, 0, 0), _step("B", 0, 1, 0), _step("C", 0, 1, 1)])
    text = render(option_positions(run))
    assert "expected counts below 5" in text
    assert "fewer than 30 tasks" in text
    assert "1 wrong picks among 3" in text


def test_picks_of_one_task_have_no_p_value(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [_step("A", n, n, 0) for n in range(3)])
    frame = option_positions(run)
    found = frame.attrs["tests"]["run"]["all"]
    assert (found["design"], found["p"]) == (None, None)
    assert "p unknown with one cluster" in render(frame)
    assert json.loads(render(frame, "json"))["rows"]


@pytest.mark.parametrize("source", ["ranker", "all"])
def test_lists_that_were_not_drawn_show_nothing(tmp_path: Path, source: str) -> None:
    ranked = write(tmp_path / "ranked", worked(), setup(candidates=source))
    shown = option_positions(ranked)
    assert len(shown) == 0
    assert any("nothing to show" in note for note in shown.attrs["notes"])


def test_choices_without_letters_show_nothing(tmp_path: Path) -> None:
    bare = [
        changed(
            record,
            none_letter=None,
            choices=tuple(replace(choice, letter="") for choice in record.detail.choices),
            prediction=replace(record.prediction, letter="") if record.prediction else None,
        )
        for record in worked()
    ]
    run = write(tmp_path / "grouped", bare)
    shown = option_positions(run)
    assert len(shown) == 0
    assert any("lettered in groups" in note for note in shown.attrs["notes"])
