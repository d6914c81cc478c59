"""Plots of the analyses, one function each, from the frames that they return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from reports.analyses.units import choice_measure
from reports.names import name_of
from reports.view.figures import (
    CAP,
    COLOURS,
    DARK,
    GREY,
    LIGHT,
    LINES,
    MARKS,
    MIDDLE,
    error_bars,
    new_figure,
    percent_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from parsers import Declaration, Measure


def distractors(frame: pd.DataFrame) -> Figure:
    """Right choices and the main measure over the number of distractors, a curve per model."""
    import numpy as np

    declared: Declaration = frame.attrs["declared"]
    chosen, main = choice_measure(declared), declared.main_of_units

    figure, panels = new_figure(9, 3.9, 2)
    numbers = sorted(set(frame["distractors"]))
    models = list(dict.fromkeys(frame["model"]))
    for axes, measure in zip(panels, (chosen, main), strict=True):
        axes.set_xscale("function", functions=(np.log1p, np.expm1))
        for place, model in enumerate(models):
            curve = frame[frame["model"] == model]
            xs = curve["distractors"].astype(float) * (1 + 0.03 * (place - (len(models) - 1) / 2))
            style = place % len(MARKS)
            look = {"marker": MARKS[style], "linestyle": LINES[style], "color": COLOURS[style]}
            _points(axes, xs, curve, name_of(measure, declared), label=model, **look)
        if measure is chosen:
            chance = frame.groupby("distractors")["chance"].mean()
            at = chance.index.astype(float)
            axes.plot(at, chance, ":", color=GREY, marker=".", label="blind pick")
        axes.set_xticks(numbers, [str(number) for number in numbers])
        axes.minorticks_off()
        axes.set_xlabel("Distractors listed with the right element")
        axes.set_ylabel(_words(measure))
        axes.set_ylim(0, 1)
        percent_axis(axes)
    panels[0].legend(frameon=False)
    units, parents = declared.units, declared.innermost.many
    counts = [int(frame[name].iloc[0]) if len(frame) else 0 for name in (units, parents)]
    figure.suptitle(
        f"{counts[0]:,} {units} of {counts[1]:,} {parents}, macro over {parents}, 95 % intervals",
        fontsize=10,
    )
    return figure


def positions(frame: pd.DataFrame) -> Figure:
    """Share of picks by position against chance, and accuracy if the answer is there."""
    run, places = _first_run(frame)
    figure, (picked, right) = new_figure(max(5.5, 0.36 * len(places) + 1.2), 6, rows=2)
    xs = list(range(len(places)))
    picked.bar(xs, places["share"], color="#9db8d2", edgecolor=DARK, linewidth=0.8, label="picked")
    _points(picked, xs, places, "share", fmt="none", color=DARK, elinewidth=1)
    chance = [places["chance"].iloc[0] if len(places) else 0.0, *places["chance"]]
    edges = [-0.5, *(x + 0.5 for x in xs)]
    picked.step(edges, chance, color=LIGHT, linestyle="--", linewidth=1.8, label="chance")
    picked.set_ylabel("Share of picks (%)")
    picked.set_ylim(bottom=0)
    picked.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    _points(right, xs, places, "accuracy", fmt="s", color=DARK)
    declared: Declaration = frame.attrs["declared"]
    right.set_ylabel(f"{_words(choice_measure(declared))},\nright element there")
    right.set_ylim(0, 1.03)
    for axes in (picked, right):
        axes.set_xticks(xs, list(places["letter"]))
        axes.set_xlim(-0.7, len(xs) - 0.3)
        percent_axis(axes)
    right.set_xlabel("Place in the list")
    title = f"{run}: {int(places['picked'].sum()):,} picks, 95 % intervals by tasks"
    picked.set_title(title, fontsize=10, loc="left")
    return figure


def picture(frame: pd.DataFrame) -> Figure:
    """Differences in points, with intervals, by group of units."""
    declared: Declaration = frame.attrs["declared"]
    groups = list(dict.fromkeys(frame["group"]))
    figure, (axes,) = new_figure(7.5, 1.4 + 0.55 * max(1, len(groups)))
    counts = frame.drop_duplicates("group").set_index("group")[declared.units]
    heads = [measure.head for measure in declared.in_tables]
    colours = (DARK, MIDDLE, LIGHT, *COLOURS[3:])
    for place, metric in enumerate(heads):
        effects = frame[frame["metric"] == metric].set_index("group").reindex(groups).reset_index()
        axes.errorbar(
            effects["difference"],
            [y + 0.22 * (place - (len(heads) - 1) / 2) for y in range(len(groups))],
            xerr=error_bars(effects, "difference"),
            fmt=MARKS[place % len(MARKS)],
            color=colours[place % len(colours)],
            markersize=5,
            capsize=CAP,
            label=metric,
        )
    axes.axvline(0, color=GREY, linewidth=1)
    _lines(axes, [f"{group} (n = {int(counts[group]):,})" for group in groups])
    clusters = declared.level(declared.clusters[0]).many
    axes.set_xlabel(f"With the picture minus without it (points, 95 % intervals by {clusters})")
    percent_axis(axes, "x")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def independence(frame: pd.DataFrame) -> Figure:
    """Observed and expected success of parents by number of units."""
    declared: Declaration = frame.attrs["declared"]
    parents = declared.innermost.many
    run, of_run = _first_run(frame)
    bands = of_run[of_run["group"] != f"all {parents}"]
    figure, (axes,) = new_figure(7, 4.2)
    xs = list(range(len(bands)))
    _points(axes, xs, bands, "observed", fmt="o", color="black", markersize=7, label="observed")
    correlated = frame.attrs.get("correlation", {}).get(run) or 0.0
    expected = (
        ("one_rate", "independent, one rate"),
        *((f"by_{one.name}", f"independent, rate of the {one.one}") for one in declared.levels[1:]),
        ("correlated", f"correlated within {parents} ({correlated:.2f})"),
    )
    for place, (name, head) in enumerate(expected):
        if name == "correlated" and correlated <= 0:
            continue  # the same as one rate
        axes.plot(
            xs,
            bands[name],
            linestyle=LINES[place % len(LINES)],
            marker=MARKS[(place + 1) % len(MARKS)],
            markersize=4,
            color=COLOURS[place % len(COLOURS)],
            label=head,
        )
    sizes = [int(count) for count in bands[parents]]
    labels = [f"{group}\n({count:,})" for group, count in zip(bands["group"], sizes, strict=True)]
    axes.set_xticks(xs, labels)
    axes.set_xlabel(f"Valid {declared.units} of a {declared.innermost.one} (number of {parents})")
    measure = next(one for one in declared.of_parents if not declared.rank(one.over))
    axes.set_ylabel(_words(measure))
    axes.set_ylim(-0.02, 1.02)
    percent_axis(axes)
    axes.legend(frameon=False)
    axes.set_title(f"{run}, 95 % intervals", fontsize=10)
    return figure


def ceiling(frame: pd.DataFrame) -> Figure:
    """Upper bounds as bars, grouped by split."""
    names = frame["split"] if frame["run"].nunique() < 2 else frame["run"] + ", " + frame["split"]
    groups = list(dict.fromkeys(names))
    bounds = list(dict.fromkeys(frame["bound"]))
    figure, (axes,) = new_figure(8, 1.6 + 0.3 * max(2, len(groups) * len(bounds)))
    hatches = ("", "///", "...", "xx", "\\\\\\")
    height = 0.8 / max(1, len(groups))
    for place, group in enumerate(groups):
        shares = frame[names == group].set_index("bound").reindex(bounds)
        ys = [y + height * (place - (len(groups) - 1) / 2) for y in range(len(bounds))]
        axes.barh(
            ys,
            shares["steps_possible"],
            height * 0.9,
            xerr=error_bars(shares, "steps_possible"),
            color="#c9d8e6",
            edgecolor=DARK,
            hatch=hatches[place % len(hatches)],
            error_kw={"capsize": CAP, "elinewidth": 1},
            label=f"steps, {group}",
        )
        axes.plot(shares["tasks_possible"], ys, "D", color=LIGHT, markeredgecolor="black", zorder=3)
    axes.plot([], [], "D", color=LIGHT, markeredgecolor="black", label="tasks that can succeed")
    _lines(axes, bounds)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("Can succeed (%; steps: macro over tasks, 95 % intervals)")
    percent_axis(axes, "x")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def _words(measure: Measure) -> str:
    """Return a measure in words, for the label of an axis."""
    words = measure.meaning or measure.head
    return f"{words[:1].upper()}{words[1:]} (%)"


def _first_run(frame: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return the first run and its rows; "" for an empty frame."""
    run = str(frame["run"].iloc[0]) if len(frame) else ""
    return run, frame[frame["run"] == run]


def _points(axes: Axes, xs: Any, frame: pd.DataFrame, name: str, **look: Any) -> None:
    """Draw the values of a column with their intervals."""
    axes.errorbar(xs, frame[name], error_bars(frame, name), capsize=CAP, **look)


def _lines(axes: Axes, labels: list[str]) -> None:
    """Label the lines of a plot, the first one at the top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(max(1, len(labels)) - 0.5, -0.5)
