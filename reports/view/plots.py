"""Plots of the summary as SVG, in a light and a dark version, with text as paths."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from harness.runs import Run
from harness.tables import clean
from harness.tables.grid import exact
from parsers import Declaration
from reports.grid import plain_records
from reports.names import name_of
from reports.settings import settings_of
from reports.view.parts import average_words, measure_words, title_of
from reports.view.tables import Summary

MOST_GROUPS = 40
LONGEST_LABEL = 26
_COLOURS = {
    "light": ("#2457c5", "#c2560c", "#1a7f5a", "#8b3fb0", "#a3263f", "#55606e"),
    "dark": ("#7aa5ff", "#ffa05c", "#5fd3a6", "#d29bf0", "#ff8fa3", "#aab4c2"),
}
_INK = {"light": "#1c2330", "dark": "#e6e9ef"}
_GRID = {"light": "#dfe3ea", "dark": "#343b48"}
_MARKERS = ("o", "s", "D", "^", "v", "P")


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


def rates_plot(table: pd.DataFrame, name: str, folder: Path) -> Plot:
    """Draw the main measure by group with 95 % intervals into `NAME-light.svg` and `NAME-dark.svg`.

    The table is one of `reports.tables`. At most `MOST_GROUPS` groups are drawn, those with
    the most units.
    """
    key, declared = table.attrs["key"], table.attrs["declared"]
    units, said = declared.units, measure_words(declared)
    title = f"{title_of(said)} by {key}"
    lines = table[table["headline"].astype(bool)]
    lines.attrs = {}  # pandas copies them for every row that is looked at
    sizes = lines.groupby(key, observed=True)[units].max().sort_values(ascending=False)
    groups = list(dict.fromkeys(g for g in lines[key] if g in set(sizes.index[:MOST_GROUPS])))
    runs = list(dict.fromkeys(lines["run"]))
    files = {}
    for theme in ("light", "dark"):
        files[theme] = f"{name}-{theme}.svg"
        _draw(lines, key, groups, runs, declared, theme, folder / files[theme])
    left_out = len(sizes) - len(groups)
    words = (
        f"{title_of(said)} by {key}, a mark per run with its 95 % interval; see the table below."
    )
    if left_out:
        title += f" ({len(groups)} with most {units}, {left_out} left out)"
    return Plot(title, files["light"], files["dark"], words)


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
    files = {}
    for theme in ("light", "dark"):
        files[theme] = f"{name}-{theme}.svg"
        _draw_curves(curves, declared, theme, folder / files[theme])
    said = title_of(measure_words(declared))
    words = "; ".join(
        f"{model}: "
        + ", ".join(
            f"{one.effort} {one.tokens:,.0f} tokens {100 * one.value:.1f} %" for one in rungs
        )
        for model, rungs in curves.items()
    )
    return Plot(f"{said} by effort", files["light"], files["dark"], f"{said} by effort. {words}.")


def _draw_curves(
    curves: Mapping[str, Sequence[Rung]], declared: Declaration, theme: str, path: Path
) -> None:
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for number, (model, rungs) in enumerate(curves.items()):
        colour = _COLOURS[theme][number % len(_COLOURS[theme])]
        places, values = [one.tokens for one in rungs], [100 * one.value for one in rungs]
        (line,) = axes.plot(places, values, f"-{_marker(number)}", color=colour, markersize=6)
        label = _short(model)
        line.set_label(label if not label.startswith("_") else " " + label)
        for one in rungs:
            if one.low is not None and one.high is not None:
                bounds = [100 * one.low, 100 * one.high]
                axes.plot([one.tokens] * 2, bounds, color=colour, linewidth=2, alpha=0.5)
            axes.annotate(
                _short(one.effort),
                (one.tokens, 100 * one.value),
                xytext=(6, 6),
                textcoords="offset points",
                fontsize=9,
                color=_INK[theme],
                parse_math=False,
            )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: exact(value))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", length=0)
    axes.margins(x=0.12)
    axes.set_ylim(bottom=0)
    average = average_words(declared.main_of_units.averages[0], declared)
    axes.set_xlabel(f"output tokens per {declared.unit}, thoughts included (logarithmic)")
    axes.set_ylabel(f"per cent ({average})", color=_INK[theme], fontsize=9)
    _dress(figure, axes, theme, legend=len(curves) > 1)
    axes.grid(axis="y", color=_GRID[theme], linewidth=0.8)
    _save(figure, path)


def _draw(
    lines: pd.DataFrame,
    key: str,
    groups: Sequence[str],
    runs: Sequence[str],
    declared: Declaration,
    theme: str,
    path: Path,
) -> None:
    height = 0.9 + len(groups) * max(0.34, 0.17 * len(runs))
    figure = Figure(figsize=(6.4, height + (0.3 if len(runs) > 1 else 0)), layout="constrained")
    axes = figure.subplots()
    average = declared.main_of_units.averages[0]
    name = f"{name_of(declared.main_of_units, declared)}_{average}"
    records = {(r["run"], r[key]): r for r in lines.to_dict("records")}
    for number, run in enumerate(runs):
        colour = _COLOURS[theme][number % len(_COLOURS[theme])]
        shift = (number - (len(runs) - 1) / 2) * min(0.22, 0.7 / len(runs))
        for place, group in enumerate(groups):
            _mark(axes, records.get((run, group)), name, place + shift, colour, number)
        label = _short(run)
        marker = _marker(number)
        (handle,) = axes.plot([], [], marker, color=colour, markersize=6)
        handle.set_label(label if not label.startswith("_") else " " + label)
    axes.set_yticks(range(len(groups)), [""] * len(groups))
    for tick, group in zip(axes.get_yticklabels(), groups, strict=True):
        tick.set_parse_math(False)
        tick.set_text(_short(group))
    axes.set_yticks(range(len(groups)), [_short(group) for group in groups], parse_math=False)
    axes.set_ylim(max(len(groups), 1) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    over = average_words(average, declared)
    axes.set_xlabel(f"{measure_words(declared)}, per cent ({over}, 95 % interval)")
    _dress(figure, axes, theme, legend=len(runs) > 1)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    with warnings.catch_warnings(), mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "v"}):
        warnings.simplefilter("ignore")  # glyphs missing from the font are drawn as boxes
        figure.savefig(path, format="svg", metadata={"Date": None})


def _mark(axes: Any, record: Any, name: str, place: float, colour: str, number: int) -> None:
    if record is None or pd.isna(record[name]):
        return
    value = 100 * record[name]
    if not pd.isna(record[f"{name}_low"]):
        bounds = [100 * record[f"{name}_{end}"] for end in ("low", "high")]
        axes.plot(bounds, [place, place], color=colour, linewidth=2, clip_on=False)
    axes.plot(
        [value],
        [place],
        _marker(number),
        color=colour,
        markersize=6,
        clip_on=False,
    )


def _marker(number: int) -> str:
    """Return the marker of a run, shifted whenever the colours repeat, so no two runs look
    alike."""
    return _MARKERS[(number + number // len(_COLOURS["light"])) % len(_MARKERS)]


def _dress(figure: Figure, axes: Any, theme: str, *, legend: bool) -> None:
    ink, grid = _INK[theme], _GRID[theme]
    figure.patch.set_alpha(0)
    axes.patch.set_alpha(0)
    axes.grid(axis="x", color=grid, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(grid)
    axes.tick_params(colors=ink, length=0, labelsize=9)
    axes.xaxis.label.set(color=ink, fontsize=9)
    if legend:
        shown = figure.legend(loc="outside upper left", ncols=2, frameon=False, labelcolor=ink)
        for text in shown.get_texts():
            text.set_parse_math(False)
            text.set_fontsize(9)


def _short(text: object) -> str:
    label = clean(text)
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
