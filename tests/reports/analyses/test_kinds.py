"""Analyses of choices on units that have none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.commands.main import run
from harness.runs import RunError
from reports.analyses.choices import ceilings, option_positions
from reports.analyses.independence import task_independence
from reports.analyses.paired import distractor_curve, picture_effect
from reports.kind import REPORTS, KindReports
from tests.reports.photos import photo, photo_run
from tests.reports.runs import worked, write


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return photo_run(tmp_path / "photos", [])


@pytest.mark.parametrize("analysis", [ceilings, distractor_curve, option_positions])
def test_an_analysis_of_choices_refuses_units_without_any(
    analysis: Callable[[Path], Any], photos: Path
) -> None:
    with pytest.raises(
        RunError, match=r"photos: no [a-z]+ for photos, only where there are choices"
    ):
        analysis(photos)


def test_the_command_says_so_in_a_line(photos: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["analyse", "positions", str(photos)])
    assert ended.value.code == 2
    told = "photos: no positions for photos, only where there are choices"
    assert told in capfd.readouterr().err


def test_other_runs_are_analysed_and_the_one_left_out_is_named(
    tmp_path: Path, photos: Path
) -> None:
    steps = write(tmp_path / "steps", worked())
    frame = option_positions([steps, photos])
    assert set(frame["run"]) == {"steps"}
    assert "photos: no positions for photos, only where there are choices" in frame.attrs["notes"]


def test_a_kind_brings_reports_of_its_own(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REPORTS, "photo", KindReports(analyses=("positions",)))
    assert option_positions(photos).empty


FOUND = {"found": 1.0, "close": 1.0, "solved": 1.0}
NEAR = {"found": 1.0, "close": 0.5, "solved": 0.0}
LOST = {"found": 0.0, "close": 0.0, "solved": 0.0}
SCORES = {"A": (FOUND, FOUND), "B": (FOUND, NEAR), "C": (LOST, LOST)}


def _photos(path: Path, **config: Any) -> Path:
    made = [
        photo(album, n, scores) for album, two in SCORES.items() for n, scores in enumerate(two)
    ]
    return photo_run(path, made, **config)


def test_whole_parents_are_compared_with_what_their_units_would_give(tmp_path: Path) -> None:
    frame = task_independence(_photos(tmp_path / "run"))
    whole = frame[frame["group"] == "all albums"].iloc[0]
    assert (whole["albums"], whole["photos"], whole["succeeded"]) == (3, 6, 1)
    assert whole["solved"] == 0.5 and whole["observed"] == pytest.approx(1 / 3)
    assert whole["one_rate"] == 0.25
    # Blue photos, the first of each album, succeed in two of three, red ones in one of three.
    assert whole["by_colour"] == pytest.approx(2 / 9)
    assert "by_website" not in frame and "tasks" not in frame


def test_the_effect_of_the_picture_is_told_in_the_words_of_the_benchmark(tmp_path: Path) -> None:
    seeing = _photos(tmp_path / "seeing", image_policy="full")
    blind = [photo(album, n, LOST) for album in SCORES for n in range(2)]
    frame = picture_effect(seeing, photo_run(tmp_path / "blind", blind, image_policy="none"))
    first = frame[frame["group"] == "all photos"].set_index("metric")
    assert list(first.index) == ["Found", "Close", "Solved"]
    assert first.loc["Found", "difference"] == pytest.approx(4 / 6)
    assert set(frame["group"]) == {"all photos", "red", "blue"}
    assert "Pixels" not in " ".join(frame.attrs["notes"])


def test_runs_with_different_measures_are_not_analysed_together(tmp_path: Path) -> None:
    steps = write(tmp_path / "steps", worked())
    with pytest.raises(RunError, match=r"benchmarks with different measures: .*Found"):
        task_independence([_photos(tmp_path / "run"), steps])
