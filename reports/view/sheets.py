"""The sheets of a page: one for the runs with the same declaration."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.runs import Run
from parsers import Declaration, Measure
from reports.load import notes_of
from reports.settings import settings_of
from reports.view.classes import (
    DEFAULT_LABELS,
    ClassRow,
    Pair,
    class_rows,
    class_titles,
    classes_of,
    label_problems,
    labels_of,
    matrix,
    pairs,
)
from reports.view.parts import main_of
from reports.view.plots import Plot
from reports.view.points import Lane, Points, as_rows, collect, terms
from reports.view.tables import (
    Shown,
    Summary,
    setting_text,
    shown_tables,
    side_by_side_tables,
    summarise,
    verdicts,
)


@dataclass
class Sheet:
    """Runs with the same declaration.

    number: its place on the page.
    runs: by label.
    shown: the number of units that the page shows of it.
    plots: those of its summary.
    """

    number: int
    runs: Mapping[str, Run]
    summary: Summary
    points: Points
    shown: int = 0
    plots: tuple[Plot, ...] = ()

    @property
    def declared(self) -> Declaration:
        """The declaration of the runs' benchmark."""
        return self.points.declared

    @property
    def name(self) -> str:
        """The title of the sheet: the benchmarks of its runs."""
        named = (str(run.manifest.config.get("benchmark") or "") for run in self.runs.values())
        return ", ".join(filter(None, dict.fromkeys(named))) or self.declared.units

    @property
    def labels(self) -> list[str]:
        return list(self.runs)

    @property
    def lanes(self) -> list[Lane]:
        return self.points.lanes

    @property
    def total(self) -> int:
        """The number of units."""
        return len(self.points.units)

    @property
    def parents(self) -> int:
        """The number of innermost parents."""
        return len({point.parents for point in self.points.units.values()})

    @property
    def first_key(self) -> str:
        """The first key of results."""
        return next(iter(self.summary.frames))

    @cached_property
    def tables(self) -> list[Shown]:
        return shown_tables(self.summary)

    @cached_property
    def beside(self) -> list[Shown]:
        return side_by_side_tables(self.summary)

    @cached_property
    def classes(self) -> list[ClassRow]:
        return class_rows(self.points, self.runs.values(), self.route)

    @cached_property
    def paired(self) -> list[str]:
        return verdicts(self.runs)

    @cached_property
    def pairs(self) -> list[Pair]:
        return pairs(self.points)

    @cached_property
    def matrix(self) -> list[list[float | None]]:
        return matrix(self.points)

    @property
    def main(self) -> Measure:
        """The main measure of units."""
        return main_of(self.declared)

    @property
    def pair_heads(self) -> tuple[str, ...]:
        """Heads of the counts of a pair."""
        if self.main.binary:
            return ("both right", "only the first", "only the second", "neither")
        return ("equal", "more in the first", "more in the second")

    def pair_cells(self, pair: Pair) -> list[tuple[int, str]]:
        """Return the counts of a pair, each with the address of its units."""
        counts = [("11", pair.both), ("10", pair.only_first), ("01", pair.only_second)]
        if self.main.binary:
            counts.append(("00", pair.neither))
        between = f"{pair.first}.{pair.second}"
        return [(count, self.route(agree=f"{between}.{which}")) for which, count in counts]

    @cached_property
    def label_problems(self) -> tuple[str, ...]:
        return label_problems(self.runs)

    def route(self, **wanted: object) -> str:
        """Return the address of units in the list."""
        place = {"sheet": self.number} if self.number else {}
        return "#/steps?" + "&".join(f"{name}={value}" for name, value in (place | wanted).items())


def sheets_of(runs: Mapping[str, Run]) -> list[Sheet]:
    """Return the sheets of runs, in the order of their first runs. Raises `RunError`."""
    groups: list[tuple[Declaration, dict[str, Run]]] = []
    for label, run in runs.items():
        declared = run.manifest.declaration
        found = next((own for known, own in groups if known == declared), None)
        if found is None:
            groups.append((declared, {label: run}))
        else:
            found[label] = run
    sheets = []
    for number, (_, own) in enumerate(groups):
        points = collect(own, {label: classes_of(run) for label, run in own.items()})
        sheets.append(Sheet(number, own, summarise(own), points))
    return sheets


def listed(sheet: Sheet, scripts: Mapping[str, int], pictures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the list of a sheet and the facts about its runs, as plain data."""
    return as_rows(sheet.points, scripts, pictures) | _about(sheet)


def _about(sheet: Sheet) -> dict[str, Any]:
    runs, points = sheet.runs, sheet.points
    settings = {
        label: [[name, setting_text(value)] for name, value in settings_of(run.manifest).items()]
        for label, run in runs.items()
    }
    labels = {label: labels_of(run) for label, run in runs.items()}
    manifests = "".join(f"{run.manifest.created} {run.manifest.name}" for run in runs.values())
    return {
        "key": hashlib.sha256(manifests.encode("utf-8", "replace")).hexdigest()[:16],
        "total": sheet.total,
        "shown": sheet.shown,
        "lanes": [
            {
                "label": lane.label,
                "run": lane.run,
                "name": runs[lane.run].name,
                "repeat": lane.repeat,
                "settings": settings[lane.run],
            }
            for lane in points.lanes
        ],
        "classes": class_titles(runs.values()),
        "defaults": list(DEFAULT_LABELS),
        "labels": [
            [number, one.step_id, one.label, one.note, one.who, one.when]
            for number, lane in enumerate(points.lanes)
            for one in labels[lane.run]
            if one.repeat == lane.repeat
        ],
        "note": notes_of(runs.values()),
        "name": sheet.name,
        "terms": terms(points),
    }
