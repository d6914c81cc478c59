"""ScreenSpot (Cheng et al. 2024, SeeClick) and ScreenSpot-v2 (Wu et al. 2024, OS-Atlas).

The same pictures of phones, desktops and web pages, on which v2 corrected instructions and boxes.
Version 1 is on the hub as parquet with shares, in SeeClick's own files with pixels. Version 2 is
also read in the form of ScreenSpot-Pro (`screenspot_*_v2_convert.json`), a common conversion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.files import DataFile
from harness.benchmarks.folders import Folder, converted, decoded
from harness.benchmarks.parquet import opened, small_columns
from harness.kinds.grounding.sets import screenspot_pro
from harness.kinds.grounding.sets.boxes import declaration
from harness.kinds.grounding.sets.opening import GroundingSet, Row, Rows
from parsers.declaration import Declaration, Group

PLATFORMS = ("mobile", "desktop", "web")
_SYSTEMS = {"ios": "mobile", "android": "mobile", "macos": "desktop", "windows": "desktop"}
_GROUPS = (
    Group("platform", "phones, desktops or web pages"),
    Group("data_type", "whether the target is text or an icon"),
)
_CELLS = tuple(group.name for group in _GROUPS)
BY_CELLS = declaration(groups=_GROUPS, cells=_CELLS, headline="cells")
BY_ROWS = declaration(groups=_GROUPS, cells=_CELLS)


class Stored(msgspec.Struct, frozen=True):
    """A row: a box as `xywh-px` in JSON, as `xyxy-unit` in parquet."""

    bbox: tuple[float, float, float, float]
    instruction: str
    data_type: str
    data_source: str = ""
    img_filename: str = ""
    file_name: str = ""


@dataclass(frozen=True)
class ScreenSpot(GroundingSet):
    """1,272 places on phones, desktops and web pages."""

    name: str = "screenspot"
    description: str = "ScreenSpot (Cheng et al. 2024): phones, desktops and web pages"
    splits: tuple[str, ...] = ("test",)
    default_splits: tuple[str, ...] = ("test",)
    sizes: tuple[SplitSize, ...] = (SplitSize("test", None, 1272),)
    declared: Declaration = BY_CELLS
    repo: str = "rootsautomation/ScreenSpot"
    files: tuple[str, ...] = ("*.parquet",)
    folders: tuple[str, ...] = ("screenspot_imgs", "screenspot_imgs.zip")
    cell_labels: tuple[str, ...] = _CELLS
    cells: Mapping[tuple[str, ...], int] = field(
        default_factory=lambda: _counts((273, 229), (194, 140), (230, 206))
    )
    version: str = ""

    def rows(self, folder: Folder, split: str) -> Rows:
        names = {platform: f"screenspot_{platform}{self.version}" for platform in PLATFORMS}
        if any(folder.root.glob(f"screenspot_*{self.version}_convert.json")):
            return self._converted(folder, names)
        if any(folder.root.rglob("*.parquet")):
            return self._parquet(folder)
        files = [
            file
            for platform, name in names.items()
            for file in folder.files(f"{name}.json", f"the rows on {platform} of {self.name}")
        ]
        rows = [
            _row(file, number, platform, one.img_filename, one)
            for platform, file in zip(names, files, strict=True)
            for number, one in enumerate(decoded(file.path, list[Stored]))
        ]
        return Rows(rows, "xywh-px", files)

    def _converted(self, folder: Folder, names: Mapping[str, str]) -> Rows:
        files, rows = [], []
        for platform, name in names.items():
            what = f"the rows on {platform} of {self.name}, as in ScreenSpot-Pro"
            for file in folder.files(f"{name}_convert.json", what):
                files.append(file)
                for one in decoded(file.path, list[screenspot_pro.Stored]):
                    labels = {"platform": platform, "data_type": str(one.ui_type)}
                    rows.append(screenspot_pro.row(file, one, one.instruction, labels))
        return Rows(rows, "xyxy-px", files)

    def _parquet(self, folder: Folder) -> Rows:
        files = folder.files("**/*.parquet", f"the rows of {self.name}")
        return Rows([row for file in files for row in _of_table(folder, file)], "xyxy-unit", files)


def _of_table(folder: Folder, file: DataFile) -> Iterator[Row]:
    numbers = Counter[str]()
    columns = ["file_name", "bbox", "instruction", "data_type", "data_source"]
    pictures = folder.parquet.facts(file.path)
    with opened(file.path) as table:
        for picture, (*_, record) in zip(pictures, small_columns(table, columns), strict=True):
            where = f"{file.name}, row {sum(numbers.values()) + 1}"
            one = converted(record, Stored, where)
            platform = _SYSTEMS.get(one.data_source, "web")
            folder.stored.setdefault(one.file_name, picture.cell)
            row = _row(file, numbers[platform], platform, one.file_name, one, picture.size)
            numbers[platform] += 1
            yield row


def _row(
    file: DataFile,
    number: int,
    platform: str,
    picture: str,
    one: Stored,
    size: tuple[int, int] | None = None,
) -> Row:
    stem = file.path.stem if file.path.suffix == ".json" else f"screenspot_{platform}"
    return Row(
        where=f"{file.name}, {platform} row {number + 1}",
        unit_id=f"{stem}_{number}",
        picture=picture,
        instruction=one.instruction,
        box=one.bbox,
        size=size,
        labels={"platform": platform, "data_type": one.data_type},
    )


def _counts(*of_platforms: tuple[int, int]) -> dict[tuple[str, ...], int]:
    return {
        (platform, kind): count
        for platform, counts in zip(PLATFORMS, of_platforms, strict=True)
        for kind, count in zip(("text", "icon"), counts, strict=True)
    }


BENCHMARK = ScreenSpot(published="2024")
V2 = ScreenSpot(
    published="2024",
    name="screenspot-v2",
    description="ScreenSpot-v2 (Wu et al. 2024): ScreenSpot with corrected instructions and boxes",
    sizes=(SplitSize("test", 730, 1272),),
    declared=BY_ROWS,
    repo="OS-Copilot/ScreenSpot-v2",
    revision="5efbb1f1b5463a575f2eb7bc30fe29e49c15f93c",
    files=(*(f"screenspot_{one}_v2.json" for one in PLATFORMS), "screenspotv2_image.zip"),
    folders=("screenspotv2_image", "screenspotv2_image.zip"),
    cells=_counts((290, 211), (194, 140), (234, 203)),
    version="_v2",
)
