"""`vlm-eval report --plot`: the table of results as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reports.command import report
from reports.tables import main_table
from reports.view.figures import MOST_GROUPS, results
from tests.reports.exports.runs import made_up
from tests.reports.runs import setup, step, worked, write

STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF", ".PNG": b"\x89PNG"}


def _call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(report, [str(argument) for argument in arguments])


def _panels(figure: Any) -> dict[str, Any]:
    return {axes.get_title(loc="left"): axes for axes in figure.axes}


def _labels(figure: Any) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def _marks(axes: Any) -> list[float]:
    """The values of the marks of a panel, from the top."""
    marks = [line for line in axes.lines if len(line.get_xdata()) == 1]
    marks.sort(key=lambda line: line.get_ydata()[0])
    return [round(100 * float(line.get_xdata()[0]), 1) for line in marks]


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    wrong = [step(one.parents["task"], one.position, False) for one in worked()]
    first = write(tmp_path / "right", worked(), setup(model={"name": "m-1"}))
    return [first, write(tmp_path / "wrong", wrong, setup(model={"name": "m-2"}))]


@pytest.mark.parametrize("suffix", STARTS)
def test_the_ending_names_the_format(runs: list[Path], tmp_path: Path, suffix: str) -> None:
    plot = tmp_path / f"plot{suffix}"
    done = _call(*runs, "--plot", plot)
    assert done.exit_code == 0, done.output
    assert plot.read_bytes().startswith(STARTS[suffix])
    assert "Results by split" in done.output


@pytest.mark.parametrize("name", ["plot.gif", "plot", "plot.jpeg", ".png", "plot.png.txt"])
def test_other_endings_are_refused_in_one_line(runs: list[Path], name: str) -> None:
    done = _call(*runs, "--plot", runs[0] / name)
    assert done.exit_code == 2
    (line,) = [line for line in done.output.splitlines() if line.startswith("Error")]
    assert line.endswith(f"{runs[0] / name} should end in one of .png, .svg, .pdf")
    assert not (runs[0] / name).exists()


def test_a_file_that_cannot_be_written_is_bad_input(runs: list[Path], tmp_path: Path) -> None:
    done = _call(*runs, "--plot", tmp_path / "nowhere" / "plot.png")
    assert done.exit_code == 2 and "cannot write" in done.output


def test_other_tables_have_no_plot(runs: list[Path], tmp_path: Path) -> None:
    done = _call(*runs, "--table", "cost", "--plot", tmp_path / "plot.png")
    assert done.exit_code == 2 and "--plot and --details are for --table main" in done.output


def test_every_measure_has_a_panel_with_a_line_for_each_run(runs: list[Path]) -> None:
    figure = results(main_table(runs, "split"))
    panels = _panels(figure)
    assert list(panels) == [
        *("Ele. Acc, macro (%)", "Op. F1, macro (%)", "Step SR, macro (%)", "Task SR (%)"),
    ]
    steps = panels["Step SR, macro (%)"]
    assert _marks(steps) == [83.3, 0.0]
    assert _labels(figure) == ["right", "wrong"]
    low, high = (100 * end for end in steps.lines[0].get_xdata())
    assert 0 < low < 83.3 < high < 100


def test_groups_have_a_mark_for_each_run(runs: list[Path]) -> None:
    figure = results(main_table(runs, "website"), "micro")
    steps = _panels(figure)["Step SR, micro (%)"]
    assert _labels(figure) == ["shop-A", "shop-B", "shop-C"]
    assert _marks(steps) == [100, 0, 100, 0, 50, 0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["right", "wrong"]


def test_unfinished_runs_are_marked(tmp_path: Path) -> None:
    run = write(tmp_path / "half", worked()[:4], complete=False)
    assert _labels(results(main_table(run, "split"))) == ["half (INCOMPLETE)"]
    figure = results(main_table(run, "website"))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["half (INCOMPLETE)"]


def test_a_run_without_steps_is_drawn(tmp_path: Path) -> None:
    run = write(tmp_path / "empty", [], complete=False)
    assert _call(run, "--plot", tmp_path / "plot.svg").exit_code == 0


def test_of_many_groups_the_largest_are_drawn(tmp_path: Path) -> None:
    steps = [
        step(f"T{place:03}", index, True, total_steps=1 + place % 2)
        for place in range(MOST_GROUPS + 20)
        for index in range(1 + place % 2)
    ]
    figure = results(main_table(write(tmp_path / "run", steps), "website"))
    assert len(_labels(figure)) == MOST_GROUPS
    assert figure.get_supxlabel() == "95 % intervals; 40 groups with most steps, 20 left out"


def test_benchmarks_with_other_measures_have_their_own_panels(
    runs: list[Path], tmp_path: Path
) -> None:
    other = made_up(tmp_path / "other")
    figure = results(main_table([*runs, other], "split"))
    assert len(figure.axes) > 4
    assert _labels(figure) == ["right", "wrong"]
    assert _marks(_panels(figure)["All hit (%)"]) == [66.7, 66.7, 66.7]


@pytest.mark.parametrize("name", ["_run", "$x^$", "a" * 60])
def test_odd_names_are_drawn(runs: list[Path], tmp_path: Path, name: str) -> None:
    run = write(tmp_path / name, worked())
    plot = tmp_path / "plot.svg"
    done = _call(run, *runs, "--by", "website", "--plot", plot)
    assert done.exit_code == 0, done.output
