"""ScreenSpot, ScreenSpot-v2 and ScreenSpot-Pro, WebClick and Showdown-clicks.

ScreenSpot (Cheng et al. 2024, SeeClick) and version 2 (Wu et al. 2024, OS-Atlas) have the same
pictures of phones, desktops and web pages, on which v2 corrected instructions and boxes. Version 1
is on the hub as parquet with shares, in SeeClick's own files with pixels. Version 2 is also read in
the form of ScreenSpot-Pro (`screenspot_*_v2_convert.json`), a common conversion.

ScreenSpot-Pro (Li et al. 2025) has professional software in full resolution, in two languages.
Every row has a separate picture, but those of an application look alike; therefore its 26
applications are the clusters. Rows of the Chinese split are those of the English one.

WebClick (H Company 2025) has web pages as agents and people see them, calendars among them; its
pictures have no names, and equal ones are one picture. Showdown-clicks (General Agents 2025) has
clicks of people at a Mac; where its file does not say which recording a row is from, each is its
own.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count
from types import MappingProxyType

import msgspec

from adapters.input_files import file_text
from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, converted
from harness.benchmarks.grounding.sets import (
    PICTURE,
    GroundingSet,
    Instruction,
    declaration,
    table_rows,
)
from harness.data_files import DataFile
from harness.errors import DataError
from parsers.declaration import Group, Level

PLATFORMS = ("mobile", "desktop", "web")
_SYSTEMS = {"ios": "mobile", "android": "mobile", "macos": "desktop", "windows": "desktop"}
_GROUPS = (
    Group("platform", "phones, desktops or web pages"),
    Group("data_type", "whether the target is text or an icon"),
)
_CELLS = tuple(group.name for group in _GROUPS)


class _Stored(msgspec.Struct, frozen=True):
    """A row: a box as `xywh-px` in JSON, as `xyxy-unit` in parquet."""

    bbox: tuple[float, float, float, float]
    instruction: str
    data_type: str
    data_source: str = ""
    img_filename: str = ""
    file_name: str = ""


class ProStored(msgspec.Struct, frozen=True):
    """A row of ScreenSpot-Pro's `annotations/*.json`: a box as `xyxy-px`."""

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


def _read(folder: Folder, split: str, *, version: str = "") -> Iterator[Instruction]:
    known_as = f"screenspot{version.replace('_', '-')}"
    is_converted = any(folder.root.glob(f"screenspot_*{version}_convert.json"))
    if not is_converted and any(folder.root.rglob("*.parquet")):
        for file in folder.files("**/*.parquet", f"the rows of {known_as}"):
            yield from _of_table(folder, file)
        return
    for platform in PLATFORMS:
        name, what = f"screenspot_{platform}{version}", f"the rows on {platform} of {known_as}"
        if is_converted:
            what += ", as in ScreenSpot-Pro"
            for file, _, pro in folder.json(f"{name}_convert.json", what, ProStored):
                labels = {"platform": platform, "data_type": str(pro.ui_type)}
                yield _pro_row(file, pro, pro.instruction, labels)
            continue
        for file, number, one in folder.json(f"{name}.json", what, _Stored):
            yield _row(file, number, platform, one.img_filename, one)


def _of_table(folder: Folder, file: DataFile) -> Iterator[Instruction]:
    numbers = Counter[str]()
    for where, picture, size, record in table_rows(folder, file):
        one = converted(record, _Stored, where)
        platform = _SYSTEMS.get(one.data_source, "web")
        folder.stored.setdefault(one.file_name, folder.stored[picture])
        yield _row(file, numbers[platform], platform, one.file_name, one, size)
        numbers[platform] += 1


def _row(
    file: DataFile,
    number: int,
    platform: str,
    picture: str,
    one: _Stored,
    size: tuple[int, int] | None = None,
) -> Instruction:
    stem = file.path.stem if file.path.suffix == ".json" else f"screenspot_{platform}"
    return Instruction(
        where=f"{file.name}, {platform} row {number + 1}",
        unit_id=f"{stem}_{number}",
        picture=picture,
        instruction=one.instruction,
        box=one.bbox,
        convention="xywh-px" if size is None else "xyxy-unit",
        size=size,
        labels={"platform": platform, "data_type": one.data_type},
    )


def _counts(*of_platforms: tuple[int, int]) -> dict[str, dict[tuple[str, ...], int]]:
    """Return the cells of the only split from the texts and icons of each platform."""
    cells: dict[tuple[str, ...], int] = {
        (platform, kind): known
        for platform, counts in zip(PLATFORMS, of_platforms, strict=True)
        for kind, known in zip(("text", "icon"), counts, strict=True)
    }
    return {"test": cells}


def _read_pro(folder: Folder, split: str) -> Iterator[Instruction]:
    what = "the annotations of screenspot-pro"
    for file, _, one in folder.json("annotations/*.json", what, ProStored):
        asked = one.instruction_cn if split == "cn" else one.instruction
        labels = {"group": one.group, "ui_type": str(one.ui_type), "platform": one.platform}
        yield _pro_row(file, one, asked, labels, {"application": one.application})


def _pro_row(
    file: DataFile,
    one: ProStored,
    instruction: str,
    labels: Mapping[str, str],
    parents: Mapping[str, str] = MappingProxyType({}),
) -> Instruction:
    return Instruction(
        where=f"{file.name}, {one.id}",
        unit_id=one.id,
        picture=one.img_filename,
        instruction=instruction,
        box=one.bbox,
        size=one.img_size,
        parents=parents,
        labels=labels,
    )


SCREENSPOT = GroundingSet(
    "screenspot",
    sizes=(SplitSize("test", None, 1272),),
    published="2024",
    read=_read,
    repo="rootsautomation/ScreenSpot",
    files=("*.parquet",),
    folders=("screenspot_imgs", "screenspot_imgs.zip"),
    declared=declaration(groups=_GROUPS, cells=_CELLS, headline="cells"),
    cell_labels=_CELLS,
    cells=_counts((273, 229), (194, 140), (230, 206)),
)
V2 = GroundingSet(
    "screenspot-v2",
    sizes=(SplitSize("test", 730, 1272),),
    published="2024",
    read=partial(_read, version="_v2"),
    repo="OS-Copilot/ScreenSpot-v2",
    revision="5efbb1f1b5463a575f2eb7bc30fe29e49c15f93c",
    files=(*(f"screenspot_{one}_v2.json" for one in PLATFORMS), "screenspotv2_image.zip"),
    folders=("screenspotv2_image", "screenspotv2_image.zip"),
    declared=declaration(groups=_GROUPS, cells=_CELLS),
    cell_labels=_CELLS,
    cells=_counts((290, 211), (194, 140), (234, 203)),
)
PRO = GroundingSet(
    "screenspot-pro",
    splits=("en", "cn"),
    default_splits=("en",),
    sizes=(SplitSize("en", 1581, 1581), SplitSize("cn", 1581, 1581)),
    published="2025",
    read=_read_pro,
    repo="likaixin/ScreenSpot-Pro",
    files=("annotations/*.json",),
    declared=declaration(
        levels=(PICTURE, Level("application", shared=True)),
        clusters=("application", "picture"),
        groups=(
            Group("group", "the kind of software"),
            Group("ui_type", "whether the target is text or an icon"),
            Group("platform", "the operating system"),
        ),
        cells=("group", "ui_type"),
        shared=True,
    ),
)


class WebClickItem(msgspec.Struct, frozen=True):
    """A row without its picture: a box as `xyxy-unit`."""

    instruction: str
    bbox: tuple[float, float, float, float]
    bucket: str


def _read_webclick(folder: Folder, split: str) -> Iterator[Instruction]:
    numbers = count()
    for file in folder.files("**/*.parquet", "the rows of webclick"):
        for where, picture, size, record in table_rows(folder, file):
            one = converted(record, WebClickItem, where)
            yield Instruction(
                where=where,
                unit_id=f"webclick_{next(numbers)}",
                picture=picture,
                instruction=one.instruction,
                box=one.bbox,
                convention="xyxy-unit",
                size=size,
                labels={"bucket": one.bucket},
            )


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
_DEV = "showdown-clicks-dev"


class Click(msgspec.Struct, frozen=True):
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


def _read_showdown(folder: Folder, split: str) -> Iterator[Instruction]:
    inner = f"{_DEV}/data.csv"
    name = inner if (folder.root / inner).is_file() else "data.csv"
    (file,) = folder.files(name, "the rows of showdown-clicks")
    try:
        records = list(csv.DictReader(io.StringIO(file_text(file.path), newline="")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{file.path} cannot be read: {error}") from error
    for number, record in enumerate(records, start=1):
        one = converted(record, Click, f"{file.path}, row {number}")
        yield Instruction(
            where=f"{file.name}, row {number}",
            unit_id=one.id,
            picture=one.image,
            instruction=one.instruction,
            box=(one.x1, one.y1, one.x2, one.y2),
            size=(one.width, one.height),
            parents={"recording": one.recording_id or one.image},
        )


SHOWDOWN = GroundingSet(
    "showdown-clicks",
    splits=("dev",),
    default_splits=("dev",),
    sizes=(SplitSize("dev", None, 557),),
    read=_read_showdown,
    repo="generalagents/showdown-clicks",
    files=(f"{_DEV}/data.csv",),
    folders=(_DEV, ""),
    declared=declaration(
        levels=(PICTURE, Level("recording", shared=True)), clusters=("recording", "picture")
    ),
)
