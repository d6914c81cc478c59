"""Ticks of plots have the numbers of their places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from harness.benchmarks import benchmark
from harness.tables.grid import exact
from reports.view import plots
from reports.view.figures import percent_axis


def number(label: str) -> float:
    return float(label.replace(",", "").replace("\N{MINUS SIGN}", "-"))


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("ends", [(0, 1), (0, 0.1), (0, 0.03), (0.2, 0.21), (-0.02, 0.075), (0, 9)])
def test_ticks_of_shares_are_exact(ends: tuple[float, float], axis: str) -> None:
    axes = Figure().subplots()
    getattr(axes, f"set_{axis}lim")(*ends)
    percent_axis(axes, axis)
    shown = getattr(axes, f"{axis}axis")
    places = shown.get_ticklocs()
    labels = [number(shown.get_major_formatter()(place)) for place in places]
    assert labels == pytest.approx([100 * place for place in places], abs=1e-6)
    assert len(set(labels)) == len(places)


def test_ticks_of_tokens_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Figure] = []
    monkeypatch.setattr(plots, "write", lambda figure, path: kept.append(figure))
    low = plots.Rung("a", "low", 0.4, 0.012, 0, 0.03)
    rungs = [low, plots.Rung("b", "high", 40, 0.02, 0, 0.04)]
    plots.effort_plot({"m": rungs}, benchmark("sample").declared, "effort", tmp_path)
    assert len(kept) == 2
    for figure in kept:
        [axes] = figure.axes
        places = axes.xaxis.get_ticklocs()
        assert [number(axes.xaxis.get_major_formatter()(one)) for one in places] == list(places)


@pytest.mark.parametrize("value", [0.0, -0.0, 2.5, 12.25, 0.1 + 0.2, 1e6, 1_234_567.5, -7.5])
def test_a_number_has_the_decimals_that_it_has(value: float) -> None:
    assert number(exact(value)) == pytest.approx(value, abs=1e-6)
    assert not exact(np.float64(value)).endswith((".", ".0"))
    assert exact(-0.0) == "0"
