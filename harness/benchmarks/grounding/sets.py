"""Sets of pictures with instructions: boxes made targets, rows made items, and what is refused.

A set is declared by fields and has a function that reads its rows. Everything that can be wrong
with boxes, sizes, counts and pictures is found here, for the whole of its files. The meaning of a
box's numbers is fixed for each data set and never guessed from them: another convention makes
another target, and scores that look like those of a bad model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

from harness.benchmarks.folders import Folder
from harness.benchmarks.grounding.benchmark import PlaceBenchmark
from harness.benchmarks.picture_sets import PictureBenchmark
from harness.data_files import DataFile
from harness.errors import DataError
from harness.parquet import column_names, opened, small_columns
from harness.runs.records import Unit
from harness.tables import counted
from parsers.declaration import Average, Declaration, Group, Level, Measure
from parsers.grounding import KIND, POINTING, SCORERS, GroundingDetail, Target, measures
from parsers.records import Prediction, Scores

PICTURE = Level("picture", shared=True)
"""The picture of an item. The same one may be in several splits, with other instructions."""


def declaration(
    *,
    levels: Sequence[Level] = (PICTURE,),
    clusters: Sequence[str] = (),
    groups: Sequence[Group] = (),
    cells: Sequence[str] = (),
    headline: Average = "micro",
    classes: Mapping[str, str] = MappingProxyType({}),
    absent: bool = False,
    shared: bool = False,
) -> Declaration:
    """Return the declaration of a set.

    Args:
        levels: of parents, from the inside out.
        clusters: those that intervals can take as independent, the usual one first; the innermost
            level unless given.
        groups: breakdowns of the results, in addition to the split.
        cells: the groups whose combinations are the cells of the average `cells`; none without it.
        headline: the average that the authors of the set publish. The other one is shown, too.
        classes: classes that an item may have several of, each with its meaning. They are measures,
            since no group could tell results by them.
        absent: whether some instructions fit nothing on their picture.
        shared: whether splits ask about the same items in other words.
    """
    averages: tuple[Average, ...] = ("micro", "cells") if cells else ("micro",)
    averages = tuple(sorted(averages, key=lambda average: average != headline))
    of_classes = (
        Measure(name, name.replace("_", " "), f"hits in {meaning}", averages=("micro",))
        for name, meaning in classes.items()
    )
    return Declaration(
        measures=(*measures(averages, cells, absent=absent), *of_classes),
        levels=tuple(levels),
        groups=(Group("split", "the split", whole=levels[0].name), *groups),
        clusters=tuple(clusters),
        shared=shared,
        kind=KIND,
        unit="item",
        actions=POINTING,
    )


Convention = Literal["xyxy-px", "xywh-px", "xyxy-unit"]
"""`xyxy`: left, top, right, bottom; `xywh`: left, top, width, height. `px`: pixels of the original
picture; `unit`: shares of its width and height."""
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

Size = tuple[int, int]
SLACK_PX = 2
"""Pixels that a box may exceed its picture by: a border around it, or a number rounded up."""


def target_of(box: Sequence[float], convention: Convention, size: Size) -> Target:
    """Return the target that a stored box means on a picture of that size.

    >>> target_of((42, 1102, 197, 70), "xywh-px", (2560, 1440)).numbers
    (42, 1102, 239, 1172)
    >>> target_of((0.25, 0.5, 0.5, 1.0), "xyxy-unit", (1920, 1080)).numbers
    (480.0, 540.0, 960.0, 1080.0)

    Raises `ValueError` if it is not a box of that convention.
    """
    if len(box) != 4 or not all(map(math.isfinite, box)):
        raise ValueError(f"a box is four numbers, not {list(box)}")
    left, top, right, bottom = box
    width, height = size
    if convention == "xywh-px":
        if right < 0 or bottom < 0:
            raise ValueError(f"width and height of a box are no less than 0: {list(box)}")
        right, bottom = left + right, top + bottom
    elif convention == "xyxy-unit":
        left, top, right, bottom = left * width, top * height, right * width, bottom * height
    return Target("box", (left, top, right, bottom))


def points_of(corners: Sequence[float], convention: Convention, size: Size) -> tuple[float, ...]:
    """Return the corners of a polygon in pixels, where they are stored as pixels or as shares.

    >>> points_of((0, 0, 0.5, 0, 0.5, 0.1), "xyxy-unit", (100, 200))
    (0, 0, 50.0, 0, 50.0, 20.0)
    """
    if convention != "xyxy-unit":
        return tuple(corners)
    return tuple(number * size[place % 2] for place, number in enumerate(corners))


MEANING = {
    "outside": f"outside the picture by more than {SLACK_PX} px",
    "edge": f"outside the picture by {SLACK_PX} px or less",
    "empty": "without area",
    "corner": "around the point (0, 0), where replies end up that some harnesses cannot read",
    "twice": "asking what another one asks",
    "unasked": "without an instruction",
}
"""Explanations of findings about items."""


def findings(target: Target, size: Size) -> Iterator[str]:
    """Yield what is unusual about a target on a picture of that size, by the keys of `MEANING`."""
    if target.kind == "absent":
        return
    left, top, right, bottom = target.bounds
    over = max(-left, -top, right - size[0], bottom - size[1])
    if over > 0:
        yield "outside" if over > SLACK_PX else "edge"
    if _flat(target):
        yield "empty"
    elif left <= 0 <= right and top <= 0 <= bottom:
        yield "corner"


def _flat(target: Target) -> bool:
    """Return whether all corners lie on one line."""
    (left, top), *others = target.corners
    offsets = [(x - left, y - top) for x, y in others]
    across, down = next((one for one in offsets if any(one)), (0, 0))
    return all(x * down == y * across for x, y in offsets)


def as_shares(boxes: Iterable[Sequence[float]]) -> bool:
    """Return whether boxes that should be pixels all lie within 0 to 1: shares of the picture."""
    found = [box for box in boxes if box]
    return bool(found) and all(0 <= number <= 1 for box in found for number in box)


_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """A row of a set, as its files have it.

    where: file within the set's folder and row, for messages.
    unit_id: the same in all splits that ask about the same target in other words.
    picture: the name of its picture.
    box: four numbers of a convention, or the target itself.
    size: that of the picture, where the row has it.
    parents: groups that contain it, in addition to its picture.
    labels: values that results are grouped by.
    classes: those it belongs to, of several.
    """

    where: str
    unit_id: str
    picture: str
    instruction: str
    box: Sequence[float] | Target
    convention: Convention = "xyxy-px"
    size: Size | None = None
    parents: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()


def table_rows(folder: Folder, file: DataFile) -> Iterator[tuple[str, str, Size, dict[str, Any]]]:
    """Yield the place, the picture with its size, and the other columns of each row of a table.

    Pictures are named by their digest in `folder`. Raises `DataError`.
    """
    pictures = folder.parquet.facts(file.path)
    with opened(file.path) as table:
        names = [name for name in column_names(table) if name != folder.parquet.column]
        rows = zip(pictures, small_columns(table, names), strict=True)
        for number, (picture, (*_, record)) in enumerate(rows, start=1):
            name = picture.digest[:16]
            folder.stored.setdefault(name, picture.cell)
            yield f"{file.name}, row {number}", name, picture.size, record


@dataclass(frozen=True)
class GroundingSet(PictureBenchmark, PlaceBenchmark):
    """Pictures, each with instructions and the place that they refer to.

    Attributes:
        caveats: what else those who look at the data should know.
    """

    caveats: tuple[str, ...] = ()

    scorers: ClassVar = SCORERS

    def score(self, prediction: Prediction, detail: Any) -> Scores:
        """Return the hits of each class."""
        scores = dict(super().score(prediction, detail))
        for name in self.declared.scores:
            if name not in scores:
                scores[name] = scores["hit"] if name in detail.classes else None
        return scores

    def units(
        self, read: Mapping[str, Sequence[Instruction]], folder: Folder
    ) -> Iterator[tuple[Unit[Any], str]]:
        """Yield the items, with targets in pixels."""
        for split, rows in read.items():
            pixels = [row for row in rows if row.convention != "xyxy-unit"]
            if as_shares(r.box.numbers if isinstance(r.box, Target) else r.box for r in pixels):
                raise DataError(
                    f"{folder.root}: every box lies within 0 to 1, as shares of the picture "
                    f"would, and those of {self.name} are pixels ({pixels[0].convention})"
                )
            for row in rows:
                yield self._item(row, folder, split), row.picture

    def _item(self, row: Instruction, folder: Folder, split: str) -> Unit[Any]:
        size = row.size or folder.size(row.picture)
        if not (row.unit_id and min(size) > 0):
            content = f"id '{row.unit_id}', size {size}"
            raise DataError(f"{folder.root}/{row.where}: nothing to ask about ({content})")
        try:
            target = row.box
            if not isinstance(target, Target):
                target = target_of(target, row.convention, size)
        except ValueError as error:
            raise DataError(
                f"{folder.root}/{row.where}: {error}; boxes of {self.name} are {row.convention}"
            ) from error
        return self.unit(
            row.unit_id,
            GroundingDetail(asked=row.instruction, gold=target, size=size, classes=row.classes),
            split,
            parents={"picture": row.picture, **row.parents},
            labels=row.labels,
            goal=row.instruction,
            source=row.where,
        )

    def notices(
        self, read: Mapping[str, Sequence[Instruction]], units: Sequence[Unit[Any]], folder: Folder
    ) -> list[str]:
        """Return what published files have. Raises `DataError` for more than that."""
        notices = []
        for what, found in _unusual(units).items():
            if what not in ("outside", "empty", "unasked"):
                continue
            published = len(found) <= self.known.get(what, 0)
            if what == "unasked":
                # Predictions can be scored without; `check` stops those who ask.
                notices.append(_told(what, found) + (", as published" if published else ""))
                continue
            if not published:
                raise DataError(
                    f"{folder.root}: {_told(what, found)}; are boxes of {self.name} stored in "
                    "another convention there, or sizes of other pictures?"
                )
            notices.append(f"{_told(what, found)}, as in the published files")
        return notices

    def remarks(self, units: Sequence[Unit[Any]]) -> list[str]:
        """Return what is unusual, and the caveats; a missing instruction is a notice already."""
        unusual = _unusual(units).items()
        return [
            *(_told(what, found) for what, found in unusual if what != "unasked"),
            *self.caveats,
        ]


def _unusual(units: Sequence[Unit[Any]]) -> dict[str, list[str]]:
    """Return what is unusual about items, by the keys of `MEANING`, with what shows it."""
    unusual: dict[str, list[str]] = {}
    seen: dict[tuple[str, str, str], str] = {}
    for unit in units:
        detail = unit.detail
        target = f"{detail.gold} on {detail.size[0]}x{detail.size[1]}"
        found = [(what, target) for what in findings(detail.gold, detail.size)]
        asked = unit.split, unit.parents["picture"], detail.asked
        if not detail.asked.strip():
            found.append(("unasked", repr(detail.asked)))
        elif (first := seen.setdefault(asked, unit.unit_id)) != unit.unit_id:
            found.append(("twice", f"'{detail.asked}', as {first}"))
        for what, shown in found:
            unusual.setdefault(what, []).append(f"{unit.unit_id}: {shown}")
    return unusual


def _told(what: str, found: Sequence[str]) -> str:
    more = ", ..." if len(found) > _SHOWN else ""
    return f"{counted(len(found), 'item')} {MEANING[what]} ({', '.join(found[:_SHOWN])}{more})"
