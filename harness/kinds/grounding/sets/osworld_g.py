"""OSWorld-G (Xie et al. 2025, Jedi): a Linux desktop, with polygons and with nothing to find.

The refined split has the same items, asked about in other words, one of them in none. Items belong
to several classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, decoded
from harness.errors import DataError
from harness.kinds.grounding.sets.boxes import declaration, target_of
from harness.kinds.grounding.sets.opening import GroundingSet, Row, Rows
from parsers.declaration import Declaration, Group
from parsers.grounding import Target

COMMIT = "daa6bd8e0e629f0917ad2984df930bf0bd967540"
CLASSES = {
    "text_matching": "text_matching",
    "element_recognition": "element_recognition",
    "layout_understanding": "layout_understanding",
    "fine_grained_manipulation": "fine_grained",
    "refusal": "refusal",
}
"""The classes of `classification_result.json`, with the names of their measures."""
DECLARED = declaration(
    groups=(Group("target", "a box, a polygon or nothing"),),
    classes={
        "text_matching": "the class text matching (an item may be in several)",
        "element_recognition": "the class element recognition (an item may be in several)",
        "layout_understanding": "the class layout understanding (an item may be in several)",
        "fine_grained": "the class fine-grained manipulation (an item may be in several)",
        "refusal": "the class refusal, where declining is right",
    },
    absent=True,
    shared=True,
)
_FILES = {"original": "OSWorld-G.json", "refined": "OSWorld-G_refined.json"}


class Stored(msgspec.Struct, frozen=True):
    """A row: a box as `xywh-px`, or a polygon as x and y of its corners."""

    id: str
    image_path: str
    image_size: tuple[int, int]
    instruction: str
    box_type: Literal["bbox", "polygon", "refusal"]
    box_coordinates: list[float] = []


class Named(msgspec.Struct, frozen=True):
    id: str


class Classified(msgspec.Struct, frozen=True):
    """`classification_result.json`."""

    classified: dict[str, list[Named]]


@dataclass(frozen=True)
class OSWorldG(GroundingSet):
    """564 instructions for 251 pictures: 470 boxes, 40 polygons, 54 without a target."""

    name: str = "osworld-g"
    description: str = "OSWorld-G (Xie et al. 2025): a Linux desktop, with absent targets"
    splits: tuple[str, ...] = ("original", "refined")
    default_splits: tuple[str, ...] = ("original",)
    sizes: tuple[SplitSize, ...] = (
        SplitSize("original", 251, 564),
        SplitSize("refined", 251, 564),
    )
    declared: Declaration = DECLARED
    known: Mapping[str, int] = field(default_factory=lambda: {"unasked": 1})
    cell_labels: tuple[str, ...] = ("target",)
    cells: Mapping[tuple[str, ...], int] = field(
        default_factory=lambda: {("bbox",): 470, ("polygon",): 40, ("refusal",): 54}
    )
    elsewhere: str = (
        "clone https://github.com/xlang-ai/OSWorld-G "
        f"(commit {COMMIT[:8]}) and give its folder benchmark with --data"
    )

    def rows(self, folder: Folder, split: str) -> Rows:
        if lost := sorted(folder.root.glob("*_sspro_format.json")):
            raise DataError(
                f"{lost[0]} is OSWorld-G in the form of ScreenSpot-Pro, where its 40 polygons "
                f"and 54 refusals are lost: {self.elsewhere}"
            )
        files = folder.files(_FILES[split], f"the instructions of the split {split}")
        classes = folder.files("classification_result.json", f"the classes of {self.name}")
        found: dict[str, list[str]] = {}
        for name, members in decoded(classes[0].path, Classified).classified.items():
            if name not in CLASSES:
                raise DataError(f"{classes[0].path} has an unknown class '{name}'")
            for member in members:
                found.setdefault(member.id, []).append(CLASSES[name])
        rows = [
            Row(
                where=f"{files[0].name}, {one.id}",
                unit_id=one.id,
                picture=one.image_path,
                instruction=one.instruction,
                box=_target(one, f"{files[0].path}, {one.id}"),
                size=one.image_size,
                labels={"target": one.box_type},
                classes=tuple(sorted(found.get(one.id, ()))),
            )
            for one in decoded(files[0].path, list[Stored])
        ]
        return Rows(rows, "xywh-px", [*files, *classes])


def _target(one: Stored, where: str) -> Target:
    if one.box_type == "refusal":
        return Target("absent")
    try:
        if one.box_type == "bbox":
            return target_of(one.box_coordinates, "xywh-px", one.image_size)
        return Target("polygon", tuple(one.box_coordinates))
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error


BENCHMARK = OSWorldG(published="2025")
