"""Error classes and labels from `reports.errors`, arranged for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from harness.runs import Run
from reports.errors import DEFAULT_LABELS, Label, classify_run, read_labels
from reports.errors import classes_of as all_classes
from reports.view.points import Classes, Points

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
