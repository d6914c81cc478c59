"""The sheets of a page: one for the runs with the same declaration.

Error classes, labels and the agreement of runs, arranged for the page.

Runs agree on outcomes and on answers, over the units that both settled. Where the main measure is a
number, a unit counts for the run that has more of it, and runs agree on a unit where both have the
same.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

from harness.runs import Run
from harness.tables import Grid
from parsers import Declaration
from reports.errors import classes_of, classify_run
from reports.errors.labels import DEFAULT_LABELS, read_labels
from reports.load import notes_of
from reports.settings import settings_of
from reports.view.points import (
    PART,
    RIGHT,
    SCORED,
    WRONG,
    Points,
    UnitResult,
    as_rows,
    collect,
    terms,
)
from reports.view.tables import Summary, outer_keys, setting_text, side_by_side, summarise, verdicts


class ClassRow(NamedTuple):
    """A class with its count in every lane, each with a link to the units."""

    title: str
    meaning: str
    counts: list[tuple[int, str]]


SETTLED = {RIGHT, PART, WRONG, SCORED}


@dataclass(frozen=True, slots=True)
class Pair:
    """The agreement of two lanes.

    first, second: numbers of the lanes.
    both, only_first, only_second, neither: units that these got right. Where outcomes are numbers:
        `only_first` and `only_second` those where one has more, `both` the others.
    same: units with the same answer, or none in both.
    """

    first: int
    second: int
    both: int
    only_first: int
    only_second: int
    neither: int
    same: int

    @property
    def units(self) -> int:
        """Units that both settled."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def same_answer(self) -> float | None:
        """The share of units with the same answer in both."""
        return self.same / self.units if self.units else None


def _pair(points: Points, first: int, second: int) -> Pair:
    counts = {(one, other): 0 for one in (True, False) for other in (True, False)}
    same = 0
    for one, other in _settled(points, first, second):
        counts[_beside(one, other)] += 1
        same += one.answer == other.answer
    return Pair(
        first,
        second,
        both=counts[True, True],
        only_first=counts[True, False],
        only_second=counts[False, True],
        neither=counts[False, False],
        same=same,
    )


def _beside(one: UnitResult, other: UnitResult) -> tuple[bool, bool]:
    """Return True if each of two outcomes is right, or at least as high as the other."""
    if one.result == SCORED or other.result == SCORED:
        first, second = one.main or 0.0, other.main or 0.0
        return first >= second, second >= first
    return one.result == RIGHT, other.result == RIGHT


def _settled(points: Points, first: int, second: int) -> Iterator[tuple[UnitResult, UnitResult]]:
    for point in points.units.values():
        one, other = point.outcomes.get(first), point.outcomes.get(second)
        if one and other and one.result in SETTLED and other.result in SETTLED:
            yield one, other


@dataclass
class Sheet:
    """Runs with the same declaration.

    number: its place on the page.
    runs: by label.
    plots: those of its summary: the title of each and the name of its file.
    """

    number: int
    runs: Mapping[str, Run]
    summary: Summary
    points: Points
    plots: Sequence[tuple[str, str]] = ()

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
    def total(self) -> int:
        """The number of units."""
        return len(self.points.units)

    @property
    def parents(self) -> int:
        """The number of innermost parents."""
        return len({point.parents for point in self.points.units.values()})

    @cached_property
    def beside(self) -> list[Grid]:
        """The runs side by side, by split and by the outermost level of parents."""
        return [side_by_side(self.summary.grids[key]) for key in outer_keys(self.summary)]

    @cached_property
    def classes(self) -> list[ClassRow]:
        """The classes that occur, in order of precedence."""
        counts: Counter[tuple[int, str | None]] = Counter(
            (lane, outcome.error_class)
            for point in self.points.units.values()
            for lane, outcome in point.outcomes.items()
        )
        rows: list[ClassRow] = []
        for info in classes_of(self.runs.values()):
            name = str(info.error_class)
            cells = [
                (counts[lane, name], self.route(lane=lane, **{"class": name}))
                for lane in range(len(self.points.lanes))
            ]
            if any(count for count, _ in cells):
                rows.append(ClassRow(info.title, info.meaning, cells))
        return rows

    @cached_property
    def paired(self) -> list[str]:
        return verdicts(self.runs)

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every pair of lanes, the earlier one first."""
        return [_pair(self.points, a, b) for a, b in combinations(range(len(self.points.lanes)), 2)]

    @property
    def graded(self) -> bool:
        """True if the main measure has values other than 0 and 1."""
        return self.declared.main_of_units.name in self.points.graded

    @property
    def pair_heads(self) -> tuple[str, ...]:
        """Heads of the counts of a pair."""
        if not self.graded:
            return ("both right", "only the first", "only the second", "neither")
        return ("equal", "more in the first", "more in the second")

    def pair_cells(self, pair: Pair) -> list[tuple[int, str]]:
        """Return the counts of a pair, each with the address of its units."""
        counts = [("11", pair.both), ("10", pair.only_first), ("01", pair.only_second)]
        if not self.graded:
            counts.append(("00", pair.neither))
        between = f"{pair.first}.{pair.second}"
        return [(count, self.route(agree=f"{between}.{which}")) for which, count in counts]

    @property
    def label_problems(self) -> tuple[str, ...]:
        """A message per line of labels that cannot be read."""
        return tuple(
            f"LEFT OUT of {label}: {problem}"
            for label, run in self.runs.items()
            for problem in read_labels(run).problems
        )

    def route(self, **wanted: object) -> str:
        """Return the address of units in the list."""
        place = {"sheet": self.number} if self.number else {}
        return "#/steps?" + "&".join(f"{name}={value}" for name, value in (place | wanted).items())


def sheets_of(runs: Mapping[str, Run]) -> list[Sheet]:
    """Return the sheets of runs, in the order of their first runs. Raises `RunError`."""
    groups: list[tuple[Declaration, dict[str, Run]]] = []
    for label, run in runs.items():
        declared = run.manifest.declaration
        found = next((own for known, own in groups if known.is_like(declared)), None)
        if found is None:
            groups.append((declared, {label: run}))
        else:
            found[label] = run
    sheets = []
    for number, (_, own) in enumerate(groups):
        classes = {
            (label, one.unit_id, one.repeat): str(one.error_class)
            for label, run in own.items()
            for one in classify_run(run)
        }
        points = collect(own, classes)
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
    labels = {label: read_labels(run).labels for label, run in runs.items()}
    manifests = "".join(f"{run.manifest.created} {run.manifest.name}" for run in runs.values())
    return {
        "key": hashlib.sha256(manifests.encode("utf-8", "replace")).hexdigest()[:16],
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
        "classes": [[str(one.error_class), one.title] for one in classes_of(runs.values())],
        "defaults": list(points.declared.labels or DEFAULT_LABELS),
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
