"""Plots of the analyses, one function each, from the frames that they return."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from reports.analyses.units import choice_measure
from reports.names import name_of
from reports.view.figures import COLOURS, GREY, LINES, MARKS, new_figure, percent_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from parsers import Declaration, Measure


class _Series(NamedTuple):
    """A column of a frame over places, with its intervals where the frame has them.

    rows: the frame, indexed by place.
    line: style of the line that joins the values, without marks where they have no interval; ""
        for marks alone.
    """

    label: str
    rows: pd.DataFrame
    column: str
    line: Any = ""


def distractors(frame: pd.DataFrame) -> Figure:
    """Right choices and the main measure over the number of distractors, a curve per model."""
    declared: Declaration = frame.attrs["declared"]
    chosen = choice_measure(declared)
    figure, panels = new_figure(9, 3.9, 2)
    curves = {str(model): rows for model, rows in frame.groupby("model", sort=False)}
    for axes, measure in zip(panels, (chosen, declared.main_of_units), strict=True):
        series = [
            _Series(model, rows.set_index("distractors"), name_of(measure, declared), line)
            for (model, rows), line in zip(curves.items(), cycle(LINES), strict=False)
        ]
        if measure is chosen:
            chance = frame.groupby("distractors")[["chance"]].mean()
            series.append(_Series("blind pick", chance, "chance", ":"))
        _draw(axes, sorted(set(frame["distractors"])), series)
        axes.set_xlabel("Distractors listed with the right element")
        axes.set_ylabel(_words(measure))
        axes.set_ylim(0, 1)
    panels[0].legend(frameon=False)
    units, parents = declared.units, declared.innermost.many
    counts = [int(frame[name].iloc[0]) if len(frame) else 0 for name in (units, parents)]
    title = f"{counts[0]:,} {units} of {counts[1]:,} {parents}, macro over {parents}"
    figure.suptitle(f"{title}, 95 % intervals", fontsize=10)
    return figure


def positions(frame: pd.DataFrame) -> Figure:
    """Share of picks by position against chance, and accuracy if the answer is there."""
    declared: Declaration = frame.attrs["declared"]
    run, rows = _first_run(frame)
    rows = rows.set_index("place")
    figure, (picked, right) = new_figure(max(5.5, 0.36 * len(rows) + 1.2), 6, rows=2)
    letters = list(rows["letter"])
    _draw(
        picked,
        list(rows.index),
        [_Series("picked", rows, "share"), _Series("chance", rows, "chance", "--")],
        letters,
    )
    picked.set_ylabel("Share of picks (%)")
    picked.set_ylim(bottom=0)
    picked.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    title = f"{run}: {int(rows['picked'].sum()):,} picks, 95 % intervals by tasks"
    figure.suptitle(title, fontsize=10)
    _draw(right, list(rows.index), [_Series("", rows, "accuracy")], letters)
    right.set_ylabel(f"{_words(choice_measure(declared))},\nright element there")
    right.set_ylim(0, 1.03)
    right.set_xlabel("Place in the list")
    return figure


def picture(frame: pd.DataFrame) -> Figure:
    """Differences in points, with intervals, by group of units."""
    declared: Declaration = frame.attrs["declared"]
    sizes = frame.drop_duplicates("group").set_index("group")[declared.units]
    figure, (axes,) = new_figure(7.5, 1.4 + 0.55 * max(1, len(sizes)))
    series = [
        _Series(one.head, frame[frame["metric"] == one.head].set_index("group"), "difference")
        for one in declared.in_tables
    ]
    names = [f"{group} (n = {int(size):,})" for group, size in sizes.items()]
    _draw(axes, list(sizes.index), series, names, sideways=True)
    axes.axvline(0, color=GREY, linewidth=1)
    clusters = declared.level(declared.clusters[0]).many
    axes.set_xlabel(f"With the picture minus without it (points, 95 % intervals by {clusters})")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def independence(frame: pd.DataFrame) -> Figure:
    """Observed and expected success of parents by number of units."""
    declared: Declaration = frame.attrs["declared"]
    inner = declared.innermost
    run, of_run = _first_run(frame)
    bands = of_run[of_run["group"] != f"all {inner.many}"].set_index("group")
    correlated = frame.attrs.get("correlation", {}).get(run) or 0.0
    above = [(one.name, one.one) for one in declared.levels[1:]]
    series = [
        _Series("observed", bands, "observed"),
        _Series("independent, one rate", bands, "one_rate", "-"),
        *(_Series(f"independent, rate of the {one}", bands, f"by_{n}", "--") for n, one in above),
    ]
    if correlated > 0:  # Else it is the same as one rate.
        label = f"correlated within {inner.many} ({correlated:.2f})"
        series.append(_Series(label, bands, "correlated", "-."))
    figure, (axes,) = new_figure(7, 4.2)
    sizes = bands[inner.many].items()
    _draw(axes, list(bands.index), series, [f"{group}\n({int(size):,})" for group, size in sizes])
    axes.set_xlabel(f"Valid {declared.units} of a {inner.one} (number of {inner.many})")
    axes.set_ylabel(_words(next(one for one in declared.of_parents if not declared.rank(one.over))))
    axes.set_ylim(-0.02, 1.02)
    axes.legend(frameon=False)
    axes.set_title(f"{run}, 95 % intervals", fontsize=10)
    return figure


def ceiling(frame: pd.DataFrame) -> Figure:
    """Upper bounds by split: of steps with their intervals, of tasks as marks alone."""
    names = frame["split"] if frame["run"].nunique() < 2 else frame["run"] + ", " + frame["split"]
    groups = {str(name): rows.set_index("bound") for name, rows in frame.groupby(names, sort=False)}
    bounds = list(dict.fromkeys(frame["bound"]))
    figure, (axes,) = new_figure(8, 1.6 + 0.3 * max(2, len(groups) * len(bounds)))
    series = [
        _Series(f"{what}, {name}", rows, f"{what}_possible")
        for name, rows in groups.items()
        for what in ("steps", "tasks")
    ]
    _draw(axes, bounds, series, sideways=True)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("Can succeed (%; steps: macro over tasks, 95 % intervals)")
    if series:
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def _draw(
    axes: Axes,
    places: list[Any],
    series: Sequence[_Series],
    names: Sequence[str] = (),
    *,
    sideways: bool = False,
) -> None:
    """Draw series over places, next to each other; `sideways` from the top."""
    at = range(len(places))
    for number, one in enumerate(series):
        rows = one.rows.reindex(places)
        shift = (0.15 if one.line else 0.5) * (number - (len(series) - 1) / 2) / len(series)
        ends: Any = None
        if f"{one.column}_low" in rows:
            low, high = rows[f"{one.column}_low"], rows[f"{one.column}_high"]
            ends = [(rows[one.column] - low).clip(lower=0), (high - rows[one.column]).clip(lower=0)]
        points, values = [place + shift for place in at], rows[one.column].astype("float64")
        axes.errorbar(
            *((values, points) if sideways else (points, values)),
            **{"xerr" if sideways else "yerr": ends},
            capsize=3,
            color=COLOURS[number % len(COLOURS)],
            marker="" if one.line and ends is None else MARKS[number % len(MARKS)],
            markersize=5,
            linestyle=one.line or "none",
            label=one.label,
        )
    shown = list(names) or [str(place) for place in places]
    if sideways:
        axes.set_yticks(at, shown)
        axes.set_ylim(max(1, len(shown)) - 0.5, -0.5)
    else:
        axes.set_xticks(at, shown)
    percent_axis(axes, "x" if sideways else "y")


def _words(measure: Measure) -> str:
    """Return a measure in words, for the label of an axis."""
    words = measure.meaning or measure.head
    return f"{words[:1].upper()}{words[1:]} (%)"


def _first_run(frame: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return the first run and its rows; "" for an empty frame."""
    run = str(frame["run"].iloc[0]) if len(frame) else ""
    return run, frame[frame["run"] == run]
