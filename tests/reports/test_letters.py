"""Chosen letters against chance."""

from __future__ import annotations

from pathlib import Path

from parsers import Status
from reports.analyses.positions import LETTERS, chosen_letters
from reports.frames.steps import steps_frame
from reports.frames.units import schema
from tests.reports.runs import step, worked, write


def test_chance_is_one_in_the_number_of_choices(tmp_path: Path) -> None:
    found = chosen_letters(steps_frame(write(tmp_path / "run", worked())))
    assert {name: str(kind) for name, kind in found.dtypes.items()} == schema(LETTERS)
    assert found["letter"].tolist() == ["A", "B"]
    assert found["chosen"].tolist() == [1, 5]
    assert found["chance"].tolist() == [3.0, 3.0]


def test_the_letter_of_none_takes_no_place(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [step("A", 0, True, none_letter="A")])
    assert chosen_letters(steps_frame(run))["letter"].tolist() == ["B", "C"]


def test_only_steps_with_an_element_count(tmp_path: Path) -> None:
    run = write(tmp_path / "run", [step("A", 0, False, status=Status.NONE)])
    assert chosen_letters(steps_frame(run)).empty
