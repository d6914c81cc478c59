"""Analyses of choices on units that have none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.runs import RunError
from reports.analyses import ceilings, distractor_curve, option_positions
from reports.kinds import REPORTS, KindReports
from tests.reports.photos import photo_run
from tests.reports.runs import worked, write


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return photo_run(tmp_path / "photos", [])


@pytest.mark.parametrize("analysis", [ceilings, distractor_curve, option_positions])
def test_an_analysis_of_choices_refuses_units_without_any(
    analysis: Callable[[Path], Any], photos: Path
) -> None:
    with pytest.raises(
        RunError, match=r"photos: no [a-z]+ for photos, only for units with choices"
    ):
        analysis(photos)


def test_other_runs_are_analysed_and_the_one_left_out_is_named(
    tmp_path: Path, photos: Path
) -> None:
    steps = write(tmp_path / "steps", worked())
    frame = option_positions([steps, photos])
    assert set(frame["run"]) == {"steps"}
    assert "photos: no positions for photos, only for units with choices" in frame.attrs["notes"]


def test_a_kind_brings_reports_of_its_own(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(REPORTS, "_entries", dict(REPORTS._entries))
    REPORTS.add("photo", KindReports(analyses=("positions",)))
    assert option_positions(photos).empty
