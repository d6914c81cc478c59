"""UI-Vision (Nayak et al. 2025): element grounding in three settings on 83 desktop applications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, decoded
from harness.kinds.grounding.sets.boxes import PICTURE, declaration
from harness.kinds.grounding.sets.opening import GroundingSet, Row, Rows
from parsers.declaration import Declaration, Group, Level

SETTINGS = ("basic", "functional", "spatial")
DECLARED = declaration(
    levels=(PICTURE, Level("application", shared=True)),
    clusters=("picture", "application"),
    groups=(
        Group("setting", "how targets are described"),
        Group("category", "the kind of application"),
    ),
    cells=("setting",),
    headline="cells",
)


class Stored(msgspec.Struct, frozen=True):
    """A row: a box as `xyxy-px`, whose corners may be the other way round."""

    image_path: str
    image_size: tuple[int, int]
    prompt_to_evaluate: str
    bbox: tuple[float, float, float, float]
    platform: str
    category: str = ""


@dataclass(frozen=True)
class UIVision(GroundingSet):
    """5,479 instructions for 1,181 pictures."""

    name: str = "ui-vision"
    description: str = "UI-Vision (Nayak et al. 2025): desktop applications, 5,479 places"
    splits: tuple[str, ...] = ("test",)
    default_splits: tuple[str, ...] = ("test",)
    sizes: tuple[SplitSize, ...] = (SplitSize("test", 1181, 5479),)
    declared: Declaration = DECLARED
    repo: str = "ServiceNow/ui-vision"
    files: tuple[str, ...] = tuple(
        f"annotations/element_grounding/element_grounding_{one}.json" for one in SETTINGS
    )
    cell_labels: tuple[str, ...] = ("setting",)
    cells: Mapping[tuple[str, ...], int] = field(
        default_factory=lambda: {("basic",): 1772, ("functional",): 1772, ("spatial",): 1935}
    )
    known: Mapping[str, int] = field(default_factory=lambda: {"outside": 77, "empty": 1})

    def rows(self, folder: Folder, split: str) -> Rows:
        inner = "annotations/element_grounding/"
        at = inner if (folder.root / inner).is_dir() else ""
        rows, files = [], []
        for setting in SETTINGS:
            name = f"{at}element_grounding_{setting}.json"
            (file,) = folder.files(name, f"the setting {setting} of {self.name}")
            files.append(file)
            for number, one in enumerate(decoded(file.path, list[Stored])):
                corners = one.bbox[:2], one.bbox[2:]
                rows.append(
                    Row(
                        where=f"{file.name}, row {number + 1}",
                        unit_id=f"{setting}_{number}",
                        picture=one.image_path,
                        instruction=one.prompt_to_evaluate,
                        box=(*map(min, *corners), *map(max, *corners)),
                        size=one.image_size,
                        parents={"application": one.platform},
                        labels={"setting": setting, "category": one.category},
                    )
                )
        return Rows(rows, "xyxy-px", files)


BENCHMARK = UIVision(published="2025")
