"""Plots of the analyses, one function each, from the frames that they return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from reports.analyses.units import choice_measure
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
    from matplotlib.figure import Figure

    from parsers import Declaration, Measure


def _said(measure: Measure) -> str:
    """Return a measure in words, for the label of an axis."""
    words = measure.meaning or measure.head
    return f"{words[:1].upper()}{words[1:]} (%)"


def distractors(frame: pd.DataFrame) -> Figure:
    """Right choices and the main measure over the number of distractors, a curve per model."""
    import numpy as np

    declared: Declaration = frame.attrs["declared"]
    chosen, main = choice_measure(declared), declared.main_of_units

    figure, panels = new_figure(9, 3.9, 2)
    numbers = sorted(set(frame["distractors"]))
    models = list(dict.fromkeys(frame["model"]))
    for axes, measure in zip(panels, (chosen, main), strict=True):
        metric = measure.result
        axes.set_xscale("function", functions=(np.log1p, np.expm1))
        for place, model in enumerate(models):
            curve = frame[frame["model"] == model]
            shift = 1 + 0.03 * (place - (len(models) - 1) / 2)
            style = place % len(MARKS)
            axes.errorbar(
                curve["distractors"].astype(float) * shift,
                curve[metric],
                error_bars(curve, metric),
                marker=MARKS[style],
                linestyle=LINES[style],
                color=COLOURS[style],
                capsize=CAP,
                label=model,
            )
        if measure is chosen:
            chance = frame.groupby("distractors")["chance"].mean()
            axes.plot(
                chance.index.astype(float), chance, ":", color=GREY, marker=".", label="blind pick"
            )
        axes.set_xticks(numbers, [str(number) for number in numbers])
        axes.minorticks_off()
        axes.set_xlabel("Distractors listed with the right element")
        axes.set_ylabel(_said(measure))
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
    runs = list(dict.fromkeys(frame["run"]))
    places = frame[frame["run"] == runs[0]] if runs else frame
    figure, panels = new_figure(max(5.5, 0.36 * len(places) + 1.2), 6, rows=2)
    xs = list(range(len(places)))
    panels[0].bar(
        xs, places["share"], color="#9db8d2", edgecolor=DARK, linewidth=0.8, label="picked"
    )
    panels[0].errorbar(
        xs,
        places["share"],
        error_bars(places, "share"),
        fmt="none",
        color=DARK,
        capsize=CAP,
        elinewidth=1,
    )
    panels[0].step(
        [-0.5, *(x + 0.5 for x in xs)],
        [places["chance"].iloc[0] if len(places) else 0.0, *places["chance"]],
        color=LIGHT,
        linestyle="--",
        linewidth=1.8,
        label="chance",
    )
    panels[0].set_ylabel("Share of picks (%)")
    panels[0].set_ylim(bottom=0)
    panels[0].legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    panels[1].errorbar(
        xs, places["accuracy"], error_bars(places, "accuracy"), fmt="s", color=DARK, capsize=CAP
    )
    declared: Declaration = frame.attrs["declared"]
    panels[1].set_ylabel(f"{_said(choice_measure(declared))},\nright element there")
    panels[1].set_ylim(0, 1.03)
    for axes in panels:
        axes.set_xticks(xs, list(places["letter"]))
        axes.set_xlim(-0.7, len(xs) - 0.3)
        percent_axis(axes)
    panels[1].set_xlabel("Place in the list")
    panels[0].set_title(
        f"{runs[0] if runs else ''}: {int(places['picked'].sum()):,} picks, "
        "95 % intervals by tasks",
        fontsize=10,
        loc="left",
    )
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
        mark, colour = MARKS[place % len(MARKS)], colours[place % len(colours)]
        effects = frame[frame["metric"] == metric].set_index("group").reindex(groups).reset_index()
        ys = [y + 0.22 * (place - (len(heads) - 1) / 2) for y in range(len(groups))]
        axes.errorbar(
            effects["difference"],
            ys,
            xerr=error_bars(effects, "difference"),
            fmt=mark,
            color=colour,
            markersize=5,
            capsize=CAP,
            label=metric,
        )
    axes.axvline(0, color=GREY, linewidth=1)
    axes.set_yticks(
        range(len(groups)), [f"{group} (n = {int(counts[group]):,})" for group in groups]
    )
    axes.set_ylim(max(1, len(groups)) - 0.5, -0.5)
    clusters = declared.level(declared.clusters[0]).many
    axes.set_xlabel(f"With the picture minus without it (points, 95 % intervals by {clusters})")
    percent_axis(axes, "x")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def independence(frame: pd.DataFrame) -> Figure:
    """Observed and expected success of parents by number of units."""
    declared: Declaration = frame.attrs["declared"]
    parents = declared.innermost.many
    runs = list(dict.fromkeys(frame["run"]))
    whole = f"all {parents}"
    bands = frame[(frame["run"] == runs[0]) & (frame["group"] != whole)] if runs else frame
    figure, (axes,) = new_figure(7, 4.2)
    xs = list(range(len(bands)))
    axes.errorbar(
        xs,
        bands["observed"],
        error_bars(bands, "observed"),
        fmt="o",
        color="black",
        markersize=7,
        capsize=CAP,
        label="observed",
    )
    correlated = frame.attrs.get("correlation", {}).get(runs[0] if runs else None) or 0.0
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
    axes.set_ylabel(_said(measure))
    axes.set_ylim(-0.02, 1.02)
    percent_axis(axes)
    axes.legend(frameon=False)
    axes.set_title(f"{runs[0] if runs else ''}, 95 % intervals", fontsize=10)
    return figure


def ceiling(frame: pd.DataFrame) -> Figure:
    """Upper bounds as bars, grouped by split."""
    names = frame["split"] if frame["run"].nunique() < 2 else frame["run"] + ", " + frame["split"]
    groups = list(dict.fromkeys(names))
    bounds = list(dict.fromkeys(frame["bound"]))
    rows = len(groups) * len(bounds)
    figure, (axes,) = new_figure(8, 1.6 + 0.3 * max(2, rows))
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
    axes.set_yticks(range(len(bounds)), bounds)
    axes.set_ylim(max(1, len(bounds)) - 0.5, -0.5)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("Can succeed (%; steps: macro over tasks, 95 % intervals)")
    percent_axis(axes, "x")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure
