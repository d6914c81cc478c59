"""A row per model and a column per benchmark, each with its own average, worked by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.runs import RunDirectory, RunError, Unit
from parsers import Declaration, Group, Level, Measure, Status
from parsers.actions import Action
from parsers.declaration import Average
from parsers.records import Prediction
from reports.board import board
from reports.command import report
from reports.tables import leaderboard, main_table
from tests.reports.runs import setup

# Ten rows in a cell of web, two in one of phone: 9 of 10 and 0 of 2 are 9/12 over rows, 45 % over
# cells.
ROWS = {"web": "1111111110", "phone": "00"}


def _declared(*averages: Average) -> Declaration:
    cells = ("platform",) if "cells" in averages else ()
    return Declaration(
        (Measure("hit", "Hit", "points inside", main=True, averages=averages, cells=cells),),
        (Level("picture"), Level("application", shared=True)),
        (Group("split", "the split", whole="picture"), Group("platform", "the platform")),
        ("application", "picture"),
        kind="made-up-item",
        unit="item",
    )


OVER_CELLS, OVER_ROWS = _declared("cells", "micro"), _declared("micro")


def _unit(benchmark: str, split: str, number: int, platform: str, hit: float) -> Unit[Any]:
    return Unit(
        kind="made-up-item",
        unit_id=f"{split}-{number}",
        benchmark=benchmark,
        split=split,
        parents={"picture": f"p{number}", "application": f"a{number % 5}"},
        labels={"platform": platform},
        position=0,
        total=1,
        goal="Point.",
        asked=True,
        settled=True,
        prediction=Prediction(Status.ANSWERED, Action("point", point=(1.0, 2.0))),
        scores={"hit": hit},
        detail={},
    )


def run(
    path: Path,
    benchmark: str,
    declared: Declaration,
    model: str,
    *,
    splits: Mapping[str, Mapping[str, str]] | None = None,
    **config: Any,
) -> Path:
    """A run of these outcomes by split and platform."""
    made = replace(
        setup(benchmark=benchmark, model={"name": model}, dataset={"rows": 12}, **config),
        declaration=declared,
    )
    with RunDirectory.start(path, made) as directory:
        for split, by_platform in (splits or {"test": ROWS}).items():
            outcomes = [(p, float(one)) for p, all_ in by_platform.items() for one in all_]
            for number, (platform, hit) in enumerate(outcomes):
                directory.append_step(_unit(benchmark, split, number, platform, hit))
        directory.finish({}, complete=True)
    return path


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    better = {"web": "1111111111", "phone": "10"}
    return [
        run(tmp_path / "a-one", "one", OVER_CELLS, "a"),
        run(tmp_path / "a-two", "two", OVER_ROWS, "a"),
        run(tmp_path / "b-one", "one", OVER_CELLS, "b", splits={"test": better}),
    ]


def test_every_column_has_the_average_of_its_own_benchmark(runs: list[Path]) -> None:
    table = leaderboard(main_table(runs))
    assert table["model"].tolist() == ["a", "b"]
    assert table["one"].tolist() == pytest.approx([0.45, 0.75])
    assert table["two"].iloc[0] == 0.75 and table["two"].isna().tolist() == [False, True]
    assert table["runs"].tolist() == ["a-one, a-two", "b-one"]
    over_rows = board(main_table(runs), "micro")
    assert over_rows["one"].tolist() == pytest.approx([0.75, 11 / 12])
    # Five applications are few clusters, so that every interval is marked.
    assert table["one_few"].tolist() == [True, True]
    low, high = table["one_low"].iloc[0], table["one_high"].iloc[0]
    assert low < 0.45 < high


def _call(*arguments: object) -> str:
    done = CliRunner().invoke(report, [str(one) for one in arguments])
    assert done.exception is None, done.output
    return done.output


def test_report_over_several_benchmarks_ends_with_the_leaderboard(runs: list[Path]) -> None:
    text = _call(*runs)
    lines = text.splitlines()
    (head,) = [line.split() for line in lines if line.startswith("model ")]
    assert head == ["model", "one", "two"]
    rows = [line for line in lines if line.startswith(("a  ", "b  "))]
    assert [row.split()[1] for row in rows] == ["45.0", "75.0"]
    alone = " ".join(_call(*runs, "--compact").split())
    assert "one: Hit, cells: mean over platform of each cell's mean." in alone
    assert "two: Hit, micro: mean over items." in alone
    assert "fewer than 30 applications" in alone
    content = json.loads(_call(*runs, "--compact", "--format", "json"))
    assert [row["model"] for row in content["rows"]] == ["a", "b"]
    assert content["rows"][0]["two_high"] > 0.75
    # Tables of one benchmark stay as they are.
    assert "model " not in _call(runs[0], runs[2])


def test_both_averages_of_a_measure_over_cells_stand_side_by_side(runs: list[Path]) -> None:
    (head,) = [line for line in _call(runs[0]).splitlines() if line.startswith("split")]
    assert head.split() == ["split", "pictures", "items", "Hit", "cells", "Hit", "micro"]
    (row,) = [line for line in _call(runs[0]).splitlines() if line.startswith("  test")]
    assert row.split()[:3] == ["test", "12", "12"]
    assert "45.0" in row and "75.0" in row
    assert row.index("45.0") < row.index("75.0")
    # The one that is asked for comes first; the authors' own where a benchmark does not have it.
    for average, heads in (("micro", "Hit micro Hit cells"), ("cells", "Hit cells Hit micro")):
        assert heads in " ".join(_call(runs[0], "--average", average).split())
    assert "Hit cells" not in _call(runs[1], "--average", "cells")
    assert "Hit cells" not in _call(runs[1])


def test_runs_of_a_model_that_were_asked_differently_have_rows_of_their_own(tmp_path: Path) -> None:
    made = [
        run(tmp_path / "a", "one", OVER_CELLS, "m", zoom="none"),
        run(tmp_path / "b", "one", OVER_CELLS, "m", zoom="crop"),
        run(tmp_path / "c", "two", OVER_ROWS, "m", zoom="none"),
        run(tmp_path / "d", "two", OVER_ROWS, "m", zoom="crop"),
        run(tmp_path / "e", "two", OVER_ROWS, "m", zoom="crop"),
    ]
    table = board(main_table(made))
    assert dict(zip(table["model"], table["runs"], strict=True)) == {
        "m (zoom=none)": "a, c",
        "m (zoom=crop)": "b, d",
        "m (zoom=crop) (e)": "e",
    }


def test_a_benchmark_with_several_splits_has_a_column_for_each(tmp_path: Path) -> None:
    both = {"original": {"web": "10"}, "refined": {"web": "11"}}
    made = [
        run(tmp_path / "a", "one", OVER_ROWS, "m", splits=both),
        run(tmp_path / "b", "two", OVER_ROWS, "m"),
    ]
    table = board(main_table(made))
    assert table[["one original", "one refined", "two"]].iloc[0].tolist() == [0.5, 1.0, 0.75]


def test_figures_that_were_not_measured_alike_say_so_by_column(tmp_path: Path) -> None:
    made = [
        run(tmp_path / "a", "one", OVER_ROWS, "m"),
        run(tmp_path / "b", "one", OVER_ROWS, "n", repeats=3),
        run(tmp_path / "c", "two", OVER_ROWS, "n", repeats=3),
    ]
    text = " ".join(_call(*made, "--compact").split())
    assert "one: not ranked: the runs were not measured alike, but differ in repeats" in text
    assert "two: not ranked" not in text


def test_keys_are_crossed_by_naming_them_with_commas(tmp_path: Path) -> None:
    made = run(tmp_path / "a", "one", OVER_CELLS, "m", splits={"s": ROWS, "t": {"web": "10"}})
    table = main_table(made, "platform,split")
    of_groups = table[table["headline"]].set_index("platform,split")
    assert of_groups["items"].to_dict() == {"phone, s": 2, "web, s": 10, "web, t": 2}
    assert of_groups["hit_micro"].tolist() == [0.0, 0.9, 0.5]
    with pytest.raises(RunError, match="by 'colour', only by split, platform"):
        main_table(made, "platform,colour")
