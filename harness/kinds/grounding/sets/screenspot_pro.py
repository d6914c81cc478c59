"""ScreenSpot-Pro (Li et al. 2025): professional software in full resolution, in two languages.

Every row has a separate picture, but those of an application look alike; therefore its 26
applications are the clusters. Rows of the Chinese split are those of the English one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.files import DataFile
from harness.benchmarks.folders import Folder, decoded
from harness.kinds.grounding.sets.boxes import PICTURE, declaration
from harness.kinds.grounding.sets.opening import GroundingSet, Row, Rows
from parsers.declaration import Declaration, Group, Level

DECLARED = declaration(
    levels=(PICTURE, Level("application", shared=True)),
    clusters=("application", "picture"),
    groups=(
        Group("group", "the kind of software"),
        Group("ui_type", "whether the target is text or an icon"),
        Group("platform", "the operating system"),
    ),
    cells=("group", "ui_type"),
    shared=True,
)


class Stored(msgspec.Struct, frozen=True):
    """A row of `annotations/*.json`: a box as `xyxy-px`."""

    id: str
    img_filename: str
    bbox: tuple[float, float, float, float]
    instruction: str
    application: str
    platform: str
    group: str
    ui_type: str | list[str]
    instruction_cn: str = ""
    img_size: tuple[int, int] | None = None


@dataclass(frozen=True)
class ScreenSpotPro(GroundingSet):
    """1,581 pictures of 26 applications, from the hub or from a folder of the same files."""

    name: str = "screenspot-pro"
    description: str = "ScreenSpot-Pro (Li et al. 2025): professional software, 1,581 pictures"
    splits: tuple[str, ...] = ("en", "cn")
    default_splits: tuple[str, ...] = ("en",)
    sizes: tuple[SplitSize, ...] = (SplitSize("en", 1581, 1581), SplitSize("cn", 1581, 1581))
    declared: Declaration = DECLARED
    repo: str = "likaixin/ScreenSpot-Pro"
    files: tuple[str, ...] = ("annotations/*.json",)

    def rows(self, folder: Folder, split: str) -> Rows:
        files = folder.files("annotations/*.json", f"the annotations of {self.name}")
        rows = [
            row(
                file,
                one,
                one.instruction_cn if split == "cn" else one.instruction,
                {"group": one.group, "ui_type": str(one.ui_type), "platform": one.platform},
                {"application": one.application},
            )
            for file in files
            for one in decoded(file.path, list[Stored])
        ]
        return Rows(rows, "xyxy-px", files)


def row(
    file: DataFile,
    one: Stored,
    instruction: str,
    labels: Mapping[str, str],
    parents: Mapping[str, str] = MappingProxyType({}),
) -> Row:
    """Return a row in this form, which other sets were converted to as well."""
    return Row(
        where=f"{file.name}, {one.id}",
        unit_id=one.id,
        picture=one.img_filename,
        instruction=instruction,
        box=one.bbox,
        size=one.img_size,
        parents=parents,
        labels=labels,
    )


BENCHMARK = ScreenSpotPro(published="2025")
