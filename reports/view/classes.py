"""Error classes, labels and the agreement of runs, arranged for the page.

Runs agree on outcomes and on answers, over the units that both settled. Where the main measure is a
number, a unit counts for the run that has more of it, and runs agree on a unit where both have the
same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from harness.runs import Run
from reports.errors import DEFAULT_LABELS, Label, classify_run, read_labels
from reports.errors import classes_of as all_classes
from reports.view.points import PART, RIGHT, SCORED, WRONG, Classes, Outcome, Points

__all__ = ["DEFAULT_LABELS", "class_rows", "class_titles", "classes_of", "labels_of"]


def label_problems(runs: Mapping[str, Run]) -> tuple[str, ...]:
    """Return a message per line of labels that cannot be read."""
    return tuple(
        f"LEFT OUT of {label}: {problem}"
        for label, run in runs.items()
        for problem in read_labels(run).problems
    )


class ClassRow(NamedTuple):
    """A class with its count in every lane, each with a link to the units."""

    title: str
    meaning: str
    counts: list[tuple[int, str]]


def class_titles(runs: Iterable[Run]) -> list[list[str]]:
    """Return the name and the title of every class that units of the runs can have."""
    return [[str(info.error_class), info.title] for info in all_classes(runs)]


def classes_of(run: Run) -> Classes:
    """Return the class of every row of a run, by unit and repeat."""
    return {(one.unit_id, one.repeat): str(one.error_class) for one in classify_run(run)}


def labels_of(run: Run) -> tuple[Label, ...]:
    """Return the labels of a run, without lines that cannot be read."""
    return read_labels(run).labels


def class_rows(points: Points, runs: Iterable[Run], route: Callable[..., str]) -> list[ClassRow]:
    """Return the classes that occur, in order of precedence; `route` gives the address of a
    filter."""
    counts: Counter[tuple[int, str | None]] = Counter(
        (lane, outcome.error_class)
        for point in points.units.values()
        for lane, outcome in point.outcomes.items()
    )
    rows: list[ClassRow] = []
    lanes = range(len(points.lanes))
    for info in all_classes(runs):
        name = str(info.error_class)
        cells = [(counts[n, name], route(lane=n, **{"class": name})) for n in lanes]
        if any(count for count, _ in cells):
            rows.append(ClassRow(info.title, info.meaning, cells))
    return rows


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
    def agreement(self) -> float | None:
        """The share of units with the same outcome in both."""
        return (self.both + self.neither) / self.units if self.units else None

    @property
    def same_answer(self) -> float | None:
        """The share of units with the same answer in both."""
        return self.same / self.units if self.units else None


def pairs(points: Points) -> list[Pair]:
    """Return every pair of lanes, the earlier one first."""
    return [_pair(points, a, b) for a, b in combinations(range(len(points.lanes)), 2)]


def matrix(points: Points) -> list[list[float | None]]:
    """Agreement on outcomes above the diagonal, on answers below it."""
    size = len(points.lanes)
    cells: list[list[float | None]] = [[None] * size for _ in range(size)]
    for pair in pairs(points):
        cells[pair.first][pair.second] = pair.agreement
        cells[pair.second][pair.first] = pair.same_answer
    return cells


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


def _beside(one: Outcome, other: Outcome) -> tuple[bool, bool]:
    """Return True if each of two outcomes is right, or at least as high as the other."""
    if one.result == SCORED or other.result == SCORED:
        first, second = one.main or 0.0, other.main or 0.0
        return first >= second, second >= first
    return one.result == RIGHT, other.result == RIGHT


def _settled(points: Points, first: int, second: int) -> Iterator[tuple[Outcome, Outcome]]:
    for point in points.units.values():
        one, other = point.outcomes.get(first), point.outcomes.get(second)
        if one and other and one.result in SETTLED and other.result in SETTLED:
            yield one, other
