"""VenusBench-GD (inclusionAI 2025): screens of 97 applications, with six tasks in two languages.

A row of the refusal task, whose box is four times -1, asks for something that is not there. Rows of
the Chinese split are those of the English one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.files import DataFile
from harness.benchmarks.folders import Folder, decoded
from harness.errors import DataError
from harness.kinds.grounding.sets.boxes import PICTURE, declaration
from harness.kinds.grounding.sets.opening import GroundingSet, Row, Rows
from parsers.declaration import Declaration, Group, Level
from parsers.grounding import Target

ABSENT = (-1, -1, -1, -1)
RENAMED = {"reason_grounding": "reasoning_grounding", "refusal_spatial": "refusal_grounding"}
"""Tasks that the README and the files of the set name differently."""
DECLARED = declaration(
    levels=(PICTURE, Level("application", shared=True)),
    clusters=("application", "picture"),
    groups=(Group("category", "the task"),),
    cells=("category",),
    absent=True,
    shared=True,
)


class Stored(msgspec.Struct, frozen=True):
    """A row of `instruction/*.json`: a box as `xyxy-px`."""

    img_filename: str
    instruction: str
    bbox: tuple[float, float, float, float]
    instruction_zh: str = ""
    category: str = ""
    application: str = ""


@dataclass(frozen=True)
class VenusBench(GroundingSet):
    """6,166 instructions, from the hub or from a folder of the same files."""

    name: str = "venusbench-gd"
    description: str = "VenusBench-GD (2025): 97 applications, 6,166 instructions"
    splits: tuple[str, ...] = ("en", "cn")
    default_splits: tuple[str, ...] = ("en",)
    sizes: tuple[SplitSize, ...] = (SplitSize("en", None, 6166), SplitSize("cn", None, 6166))
    declared: Declaration = DECLARED
    repo: str = "inclusionAI/VenusBench-GD"
    files: tuple[str, ...] = ("instruction/*.json",)

    def rows(self, folder: Folder, split: str) -> Rows:
        files = folder.files("instruction/*.json", f"the instructions of {self.name}")
        rows = [
            _row(file, number, one, split)
            for file in files
            for number, one in enumerate(decoded(file.path, list[Stored]))
        ]
        return Rows(rows, "xyxy-px", files)


def _row(file: DataFile, number: int, one: Stored, split: str) -> Row:
    where = f"{file.name}, row {number + 1}"
    task = RENAMED.get(file.path.stem, file.path.stem)
    folders = PurePosixPath(one.img_filename.removeprefix("images/")).parent.parts
    application = one.application or "/".join(folders)
    if not application:
        raise DataError(f"{where}: {one.img_filename!r} is in no folder of an application")
    return Row(
        where=where,
        unit_id=f"{task}_{number}",
        picture=one.img_filename.removeprefix("images/"),
        instruction=one.instruction_zh if split == "cn" else one.instruction,
        box=Target("absent") if one.bbox == ABSENT else one.bbox,
        parents={"application": application},
        labels={"category": RENAMED.get(one.category, one.category) or task},
    )


BENCHMARK = VenusBench()
