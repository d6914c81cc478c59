"""Sets of several systems or sites: MMBench-GUI L2, VenusBench-GD and WebClick.

MMBench-GUI L2 (Wang et al. 2025) has six systems, with basic and advanced instructions; 354 of its
rows are from ScreenSpot-v2, so results on both are never pooled. VenusBench-GD (inclusionAI 2025)
has screens of 97 applications, with six tasks in two languages; a row of the refusal task, whose
box is four times -1, asks for something that is not there, and rows of the Chinese split are those
of the English one. WebClick (H Company 2025) has web pages as agents and people see them, calendars
among them; its pictures have no names, and equal ones are one picture.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.files import DataFile
from harness.benchmarks.folders import Folder, converted, decoded
from harness.benchmarks.parquet import opened, small_columns
from harness.errors import DataError
from harness.kinds.grounding.boxes import PICTURE, declaration
from harness.kinds.grounding.sets import GroundingSet, Row, Rows
from parsers.declaration import Group, Level
from parsers.grounding import Target


class MMBenchItem(msgspec.Struct, frozen=True):
    """A row: a box as `xyxy-unit`, written with -1 for 0."""

    image_path: str
    platform: str
    instruction: str
    bbox: tuple[float, float, float, float]
    data_type: str
    grounding_type: str
    image_size: tuple[int, int] | None = None


def _read_mmbench(folder: Folder, split: str) -> Rows:
    files = folder.files("L2_annotations.json", "the rows of mmbench-gui-l2")
    rows = [
        Row(
            where=f"{files[0].name}, row {number + 1}",
            unit_id=f"l2_{number}",
            picture=f"{one.platform}/{one.image_path}",
            instruction=one.instruction,
            box=[0.0 if edge == -1 else edge for edge in one.bbox],
            size=one.image_size,
            labels={
                "grounding_type": one.grounding_type,
                "platform": one.platform.removeprefix("os_"),
                "data_type": one.data_type,
            },
        )
        for number, one in enumerate(decoded(files[0].path, list[MMBenchItem]))
    ]
    return Rows(rows, "xyxy-unit", files)


MMBENCH_GUI = GroundingSet(
    "mmbench-gui-l2",
    sizes=(SplitSize("test", 1296, 3594),),
    published="2025",
    read=_read_mmbench,
    repo="OpenGVLab/MMBench-GUI",
    revision="e27757e3910e0d5995b811f916b509b4e34a4690",
    files=("L2_annotations.json", "MMBench-GUI-OfflineImages.zip"),
    folders=("offline_images", "MMBench-GUI-OfflineImages.zip"),
    cell_labels=("grounding_type",),
    cells={"test": {("basic",): 1787, ("advanced",): 1807}},
    caveats=("354 of the published rows are of ScreenSpot-v2: never pool both",),
    declared=declaration(
        groups=(
            Group("grounding_type", "basic or advanced instructions"),
            Group("platform", "the operating system, or the web"),
            Group("data_type", "whether the target is text or an icon"),
        ),
        cells=("grounding_type",),
        headline="cells",
    ),
)
_ABSENT = (-1, -1, -1, -1)
_RENAMED = {"reason_grounding": "reasoning_grounding", "refusal_spatial": "refusal_grounding"}
"""Tasks that the README and the files of the set name differently."""


class VenusItem(msgspec.Struct, frozen=True):
    """A row of `instruction/*.json`: a box as `xyxy-px`."""

    img_filename: str
    instruction: str
    bbox: tuple[float, float, float, float]
    instruction_zh: str = ""
    category: str = ""
    application: str = ""


def _read_venus(folder: Folder, split: str) -> Rows:
    files = folder.files("instruction/*.json", "the instructions of venusbench-gd")
    rows = [
        _venus_row(file, number, one, split)
        for file in files
        for number, one in enumerate(decoded(file.path, list[VenusItem]))
    ]
    return Rows(rows, "xyxy-px", files)


def _venus_row(file: DataFile, number: int, one: VenusItem, split: str) -> Row:
    where = f"{file.name}, row {number + 1}"
    task = _RENAMED.get(file.path.stem, file.path.stem)
    folders = PurePosixPath(one.img_filename.removeprefix("images/")).parent.parts
    application = one.application or "/".join(folders)
    if not application:
        raise DataError(f"{where}: {one.img_filename!r} is in no folder of an application")
    return Row(
        where=where,
        unit_id=f"{task}_{number}",
        picture=one.img_filename.removeprefix("images/"),
        instruction=one.instruction_zh if split == "cn" else one.instruction,
        box=Target("absent") if one.bbox == _ABSENT else one.bbox,
        parents={"application": application},
        labels={"category": _RENAMED.get(one.category, one.category) or task},
    )


VENUSBENCH_GD = GroundingSet(
    "venusbench-gd",
    splits=("en", "cn"),
    default_splits=("en",),
    sizes=(SplitSize("en", None, 6166), SplitSize("cn", None, 6166)),
    read=_read_venus,
    repo="inclusionAI/VenusBench-GD",
    files=("instruction/*.json",),
    declared=declaration(
        levels=(PICTURE, Level("application", shared=True)),
        clusters=("application", "picture"),
        groups=(Group("category", "the task"),),
        cells=("category",),
        absent=True,
        shared=True,
    ),
)


class WebClickItem(msgspec.Struct, frozen=True):
    """A row without its picture: a box as `xyxy-unit`."""

    instruction: str
    bbox: tuple[float, float, float, float]
    bucket: str


def _read_webclick(folder: Folder, split: str) -> Rows:
    files = folder.files("**/*.parquet", "the rows of webclick")
    rows: list[Row] = []
    for file in files:
        pictures = folder.parquet.facts(file.path)
        with opened(file.path) as table:
            records = small_columns(table, ["instruction", "bbox", "bucket"])
            for picture, (*_, record) in zip(pictures, records, strict=True):
                where = f"{file.name}, row {len(rows) + 1}"
                one = converted(record, WebClickItem, where)
                name = picture.digest[:16]
                folder.stored.setdefault(name, picture.cell)
                row = Row(
                    where=where,
                    unit_id=f"webclick_{len(rows)}",
                    picture=name,
                    instruction=one.instruction,
                    box=one.bbox,
                    size=picture.size,
                    labels={"bucket": one.bucket},
                )
                rows.append(row)
    return Rows(rows, "xyxy-unit", files)


WEBCLICK = GroundingSet(
    "webclick",
    sizes=(SplitSize("test", None, 1639),),
    read=_read_webclick,
    repo="Hcompany/WebClick",
    revision="9482a7d5aaa8f4cd5d28d9ed0c8e0c48d20b1e4a",
    files=("*.parquet",),
    declared=declaration(
        groups=(Group("bucket", "who used the page, or calendars"),), cells=("bucket",)
    ),
)
