"""Shared code of all grounding sets: files to rows, rows to items, and the checks in between.

A set is declared by fields and has a function that reads its rows. Everything that can be wrong
with boxes, sizes, counts and pictures is found here, for the whole of its files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from harness.benchmarks.folders import Folder
from harness.benchmarks.published import PublishedSet
from harness.errors import DataError
from harness.kinds.grounding.boxes import (
    MEANING,
    Convention,
    Finding,
    Size,
    as_shares,
    findings,
    target_of,
)
from harness.runs.records import Unit
from harness.settings import Settings
from harness.tables import counted
from parsers.grounding import SCORERS, GroundingDetail, Target
from parsers.records import Prediction, Scores

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a set, as its files have it.

    where: file within the set's folder and row, for messages.
    unit_id: the same in all splits that ask about the same target in other words.
    picture: the name of its picture.
    box: four numbers in the set's convention, or the target itself.
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
    size: Size | None = None
    parents: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()


class Rows(NamedTuple):
    """The rows of a split, the convention of their boxes, and the files that they are from."""

    rows: Sequence[Row]
    convention: Convention
    files: Sequence[Any]


@dataclass(frozen=True)
class GroundingSet(PublishedSet):
    """Pictures, each with instructions and the place that they refer to.

    Attributes:
        known: how many items may at most have each of the things that are refused (`outside`,
            `empty`; `unasked` where they are asked about), because the published files have them.
        caveats: what else those who look at the data should know.
    """

    known: Mapping[str, int] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()

    protocol = "grounding"
    scorers: ClassVar = SCORERS

    def score(self, prediction: Prediction, detail: Any, settings: Settings) -> Scores:
        """Return the hits of each class."""
        scores = dict(super().score(prediction, detail, settings))
        for name in self.declared.scores:
            if name not in scores:
                scores[name] = scores["hit"] if name in detail.classes else None
        return scores

    def units(self, read: Mapping[str, Rows], folder: Folder) -> Iterator[tuple[Unit[Any], str]]:
        """Yield the items, with targets in pixels."""
        for split, found in read.items():
            stored = [r.box.numbers if isinstance(r.box, Target) else r.box for r in found.rows]
            if found.convention != "xyxy-unit" and as_shares(stored):
                raise DataError(
                    f"{folder.root}: every box lies within 0 to 1, as shares of the picture "
                    f"would, and those of {self.name} are pixels ({found.convention})"
                )
            for row in found.rows:
                yield self._item(row, found.convention, folder, split), row.picture

    def _item(self, row: Row, convention: Convention, folder: Folder, split: str) -> Unit[Any]:
        size = row.size or folder.size(row.picture)
        if not (row.unit_id and min(size) > 0):
            content = f"id '{row.unit_id}', size {size}"
            raise DataError(f"{folder.root}/{row.where}: nothing to ask about ({content})")
        try:
            target = row.box
            if not isinstance(target, Target):
                target = target_of(target, convention, size)
        except ValueError as error:
            raise DataError(
                f"{folder.root}/{row.where}: {error}; boxes of {self.name} are {convention}"
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
        self, read: Mapping[str, Rows], units: Sequence[Unit[Any]], folder: Folder
    ) -> list[str]:
        """Return what published files have. Raises `DataError` for more than that."""
        notices = []
        for what, found in _unusual(units).items():
            if what not in ("outside", "empty", "unasked"):
                continue
            published = len(found) <= self.known.get(what, 0)
            if what == "unasked":
                # Predictions can be scored without; those who ask are stopped (`GroundingItems`).
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


def _unusual(units: Sequence[Unit[Any]]) -> dict[str, list[Finding]]:
    """Return what is unusual about items, by the keys of `MEANING`."""
    unusual: dict[str, list[Finding]] = {}
    seen: dict[tuple[str, str, str], str] = {}
    for unit in units:
        detail = unit.detail
        found = list(findings(unit.unit_id, detail.gold, detail.size))
        asked = unit.split, unit.parents["picture"], detail.asked
        if not detail.asked.strip():
            found.append(Finding("unasked", unit.unit_id, repr(detail.asked)))
        elif (first := seen.setdefault(asked, unit.unit_id)) != unit.unit_id:
            found.append(Finding("twice", unit.unit_id, f"'{detail.asked}', as {first}"))
        for one in found:
            unusual.setdefault(one.what, []).append(one)
    return unusual


def _told(what: str, found: Sequence[Finding]) -> str:
    shown = ", ".join(f"{one.unit_id}: {one.numbers}" for one in found[:_SHOWN])
    more = ", ..." if len(found) > _SHOWN else ""
    return f"{counted(len(found), 'item')} {MEANING[what]} ({shown}{more})"
