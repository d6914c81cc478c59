"""Plots of the page as SVG, in a light and a dark version, with text as paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from harness.runs import Run
from harness.tables.grid import exact
from parsers import Declaration
from reports.grid import plain_records
from reports.names import name_of
from reports.settings import settings_of
from reports.view.figures import (
    Theme,
    legend,
    look,
    new_figure,
    percent_axis,
    results,
    short,
    write,
)
from reports.view.parts import average_words, measure_words, title_of
from reports.view.tables import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THEMES = {
    "light": Theme(
        ("#2457c5", "#c2560c", "#1a7f5a", "#8b3fb0", "#a3263f", "#55606e"), "#1c2330", "#dfe3ea"
    ),
    "dark": Theme(
        ("#7aa5ff", "#ffa05c", "#5fd3a6", "#d29bf0", "#ff8fa3", "#aab4c2"), "#e6e9ef", "#343b48"
    ),
}


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot.

    title: its heading.
    light, dark: file names of the two versions.
    words: text alternative.
    """

    title: str
    light: str
    dark: str
    words: str


def _plot(title: str, words: str, draw: Callable[[Theme], Figure], name: str, folder: Path) -> Plot:
    """Draw a plot into `NAME-light.svg` and `NAME-dark.svg`."""
    files = {theme: f"{name}-{theme}.svg" for theme in THEMES}
    for theme, file in files.items():
        figure = draw(THEMES[theme])
        figure.patch.set_alpha(0)
        for axes in figure.axes:
            axes.patch.set_alpha(0)
            axes.spines["bottom"].set_color(THEMES[theme].grid)
        write(figure, folder / file)
    return Plot(title, files["light"], files["dark"], words)


def rates_plot(table: pd.DataFrame, name: str, folder: Path) -> Plot:
    """Draw the main measure of a table of `reports.tables` by group."""
    main = table.attrs["declared"].main_of_units
    average, column = main.averages[0], name_of(main, table.attrs["declared"])
    title = f"{title_of(measure_words(table.attrs['declared']))} by {table.attrs['key']}"
    return _plot(
        title,
        f"{title}, a mark per run with its 95 % interval; see the table below.",
        lambda theme: results(table, average, only=f"{column}_{average}", theme=theme),
        *(name, folder),
    )


EFFORTS = ("effort", "thinking_budget")
"""Settings that say how much a model thinks."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One of these runs.

    effort: the value in which it differs.
    tokens: mean output tokens per answered unit, thoughts included.
    value, low, high: the main measure with its interval, shares; None without one.
    """

    run: str
    effort: str
    tokens: float
    value: float
    low: float | None
    high: float | None


def ladders(runs: Mapping[str, Run], summary: Summary) -> dict[str, list[Rung]]:
    """Group the runs by everything but their effort: two or more of a model, by tokens.

    The key is the model's name. Scores are those over all splits.
    """
    main = summary.declared.main_of_units
    name = f"{name_of(main, summary.declared)}_{main.averages[0]}"
    table = next(iter(summary.frames.values()))
    headlines = {one["run"]: one for one in plain_records(table) if one["headline"]}
    groups: dict[str, list[Rung]] = {}
    for label, run in runs.items():
        one = headlines.get(label)
        settings = settings_of(run.manifest)
        effort = next((settings[key] for key in EFFORTS if settings.get(key) is not None), None)
        if one is None or one.get(name) is None or not one["output_tokens"]:
            continue
        others = {k: v for k, v in settings.items() if k.rpartition(".")[2] not in EFFORTS}
        tokens = one["output_tokens"] / one[summary.declared.units]
        ends = (one.get(f"{name}_{end}") for end in ("low", "high"))
        rung = Rung(label, str(effort or "default"), tokens, one[name], *ends)
        groups.setdefault(repr(sorted(others.items())), []).append(rung)
    found: dict[str, list[Rung]] = {}
    for rungs in groups.values():
        if len({rung.effort for rung in rungs}) < 2:
            continue
        manifest = runs[rungs[0].run].manifest
        model = manifest.model_name
        label = model if model not in found else f"{model} ({rungs[0].run})"
        found[label] = sorted(rungs, key=lambda rung: rung.tokens)
    return found


def effort_plot(
    curves: Mapping[str, Sequence[Rung]], declared: Declaration, name: str, folder: Path
) -> Plot:
    """Draw the main measure over the tokens that runs took, a line for each model.

    The runs of a line differ in the model's effort only; see `ladders`.
    """
    title = f"{title_of(measure_words(declared))} by effort"
    words = "; ".join(
        f"{model}: "
        + ", ".join(
            f"{one.effort} {one.tokens:,.0f} tokens {100 * one.value:.1f} %" for one in rungs
        )
        for model, rungs in curves.items()
    )
    draw = partial(efforts_figure, curves, declared)
    return _plot(title, f"{title}. {words}.", draw, name, folder)


def efforts_figure(
    curves: Mapping[str, Sequence[Rung]], declared: Declaration, theme: Theme
) -> Figure:
    """Return the figure of `effort_plot`."""
    from matplotlib.ticker import NullFormatter

    figure, (axes,) = new_figure(6.4, 3.6)
    for number, rungs in enumerate(curves.values()):
        style = look(number, theme)
        axes.plot([one.tokens for one in rungs], [one.value for one in rungs], "-", **style)
        for one in rungs:
            if one.low is not None and one.high is not None:
                axes.plot(
                    [one.tokens] * 2,
                    [one.low, one.high],
                    color=style["color"],
                    linewidth=2,
                    alpha=0.5,
                )
            axes.annotate(
                short(one.effort),
                (one.tokens, one.value),
                xytext=(6, 6),
                textcoords="offset points",
                fontsize=9,
                color=theme.ink,
                parse_math=False,
            )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: exact(value))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", length=0)
    axes.tick_params(colors=theme.ink, labelsize=9)
    axes.margins(x=0.12)
    axes.set_ylim(bottom=0)
    axes.spines["left"].set_visible(False)
    average = average_words(declared.main_of_units.averages[0], declared)
    tokens = f"output tokens per {declared.unit}, thoughts included (logarithmic)"
    axes.set_xlabel(tokens, color=theme.ink, fontsize=9)
    axes.set_ylabel(f"per cent ({average})", color=theme.ink, fontsize=9)
    percent_axis(axes, grid=theme.grid)
    if len(curves) > 1:
        legend(
            figure, list(map(short, curves)), [look(at, theme) for at in range(len(curves))], theme
        )
    return figure
