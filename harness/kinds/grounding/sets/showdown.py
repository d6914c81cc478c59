"""Showdown-clicks (General Agents 2025): clicks of people at a Mac, with instructions."""

from __future__ import annotations

import csv
from dataclasses import dataclass

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, converted
from harness.errors import DataError
from harness.kinds.grounding.sets.boxes import PICTURE, declaration
from harness.kinds.grounding.sets.opening import GroundingSet, Row, Rows
from parsers.declaration import Declaration, Level

DECLARED = declaration(
    levels=(PICTURE, Level("recording", shared=True)), clusters=("recording", "picture")
)
DEV = "showdown-clicks-dev"


class Stored(msgspec.Struct, frozen=True):
    """A row of `data.csv`: corners in pixels."""

    id: str
    image: str
    instruction: str
    x1: float
    y1: float
    x2: float
    y2: float
    width: int
    height: int
    recording_id: str = ""


@dataclass(frozen=True)
class Showdown(GroundingSet):
    """557 clicks. Where a file does not say which recording a row is from, each is its own."""

    name: str = "showdown-clicks"
    description: str = "Showdown-clicks (General Agents 2025): 557 clicks on a Mac"
    splits: tuple[str, ...] = ("dev",)
    default_splits: tuple[str, ...] = ("dev",)
    sizes: tuple[SplitSize, ...] = (SplitSize("dev", None, 557),)
    declared: Declaration = DECLARED
    repo: str = "generalagents/showdown-clicks"
    files: tuple[str, ...] = (f"{DEV}/data.csv",)
    folders: tuple[str, ...] = (DEV, "")

    def rows(self, folder: Folder, split: str) -> Rows:
        inner = f"{DEV}/data.csv"
        name = inner if (folder.root / inner).is_file() else "data.csv"
        (file,) = folder.files(name, f"the rows of {self.name}")
        try:
            with file.path.open(encoding="utf-8", newline="") as lines:
                records = list(csv.DictReader(lines))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{file.path} cannot be read: {error}") from error
        rows = []
        for number, record in enumerate(records, start=1):
            one = converted(record, Stored, f"{file.path}, row {number}")
            rows.append(
                Row(
                    where=f"{file.name}, row {number}",
                    unit_id=one.id,
                    picture=one.image,
                    instruction=one.instruction,
                    box=(one.x1, one.y1, one.x2, one.y2),
                    size=(one.width, one.height),
                    parents={"recording": one.recording_id or one.image},
                )
            )
        return Rows(rows, "xyxy-px", [file])


BENCHMARK = Showdown()
