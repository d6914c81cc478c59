"""Sets of several systems or applications: OSWorld-G, UI-Vision, MMBench-GUI L2 and VenusBench-GD.

OSWorld-G (Xie et al. 2025, Jedi) has a Linux desktop, with polygons and with nothing to find. Its
refined split has the same items, asked about in other words, one of them in none. Items belong to
several classes. UI-Vision (Nayak et al. 2025) has 83 applications, asked about in three ways.

MMBench-GUI L2 (Wang et al. 2025) has six systems, with basic and advanced instructions; 354 of its
rows are from ScreenSpot-v2, so results on both are never pooled. VenusBench-GD (inclusionAI 2025)
has screens of 97 applications, with six tasks in two languages; a row of the refusal task, whose
box is four times -1, asks for something that is not there, and rows of the Chinese split are those
of the English one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, decoded
from harness.benchmarks.grounding.sets import (
    PICTURE,
    GroundingSet,
    Instruction,
    declaration,
    target_of,
)
from harness.benchmarks.picture_sets import reading
from harness.errors import DataError
from parsers.declaration import Group, Level
from parsers.grounding import Target

_CLASSES = {
    "text_matching": "text_matching",
    "element_recognition": "element_recognition",
    "layout_understanding": "layout_understanding",
    "fine_grained_manipulation": "fine_grained",
    "refusal": "refusal",
}
"""The classes of `classification_result.json`, with the names of their measures."""
_FILES = {"original": "OSWorld-G.json", "refined": "OSWorld-G_refined.json"}
_ELSEWHERE = (
    "clone https://github.com/xlang-ai/OSWorld-G (commit daa6bd8e) and give its folder benchmark "
    "with --data"
)


class OSWorldItem(msgspec.Struct, frozen=True):
    """A row: a box as `xywh-px`, or a polygon as x and y of its corners."""

    id: str
    image_path: str
    image_size: tuple[int, int]
    instruction: str
    box_type: Literal["bbox", "polygon", "refusal"]
    box_coordinates: list[float] = []


class _Named(msgspec.Struct, frozen=True):
    id: str


class Classified(msgspec.Struct, frozen=True):
    """`classification_result.json`."""

    classified: dict[str, list[_Named]]


def _read_osworld(folder: Folder, split: str) -> Iterator[Instruction]:
    if lost := sorted(folder.root.glob("*_sspro_format.json")):
        raise DataError(
            f"{lost[0]} is OSWorld-G in the form of ScreenSpot-Pro, where its 40 polygons "
            f"and 54 refusals are lost: {_ELSEWHERE}"
        )
    rows = list(folder.json(_FILES[split], f"the instructions of the split {split}", OSWorldItem))
    classes = folder.files("classification_result.json", "the classes of osworld-g")
    found: dict[str, list[str]] = {}
    for name, members in decoded(classes[0].path, Classified).classified.items():
        if name not in _CLASSES:
            raise DataError(f"{classes[0].path} has an unknown class '{name}'")
        for member in members:
            found.setdefault(member.id, []).append(_CLASSES[name])
    for file, _, one in rows:
        yield Instruction(
            where=f"{file.name}, {one.id}",
            unit_id=one.id,
            picture=one.image_path,
            instruction=one.instruction,
            box=_target(one, f"{file.path}, {one.id}"),
            convention="xywh-px",
            size=one.image_size,
            labels={"target": one.box_type},
            classes=tuple(sorted(found.get(one.id, ()))),
        )


def _target(one: OSWorldItem, where: str) -> Target:
    if one.box_type == "refusal":
        return Target("absent")
    with reading(where):
        if one.box_type == "bbox":
            return target_of(one.box_coordinates, "xywh-px", one.image_size)
        return Target("polygon", tuple(one.box_coordinates))


OSWORLD_G = GroundingSet(
    "osworld-g",
    splits=("original", "refined"),
    default_splits=("original",),
    sizes=(SplitSize("original", 251, 564), SplitSize("refined", 251, 564)),
    published="2025",
    read=_read_osworld,
    elsewhere=_ELSEWHERE,
    declared=declaration(
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
    ),
    known={"unasked": 1},
    cell_labels=("target",),
    cells={"original": {("bbox",): 470, ("polygon",): 40, ("refusal",): 54}},
)
SETTINGS = ("basic", "functional", "spatial")
_ELEMENTS = "annotations/element_grounding/"


class UIVisionItem(msgspec.Struct, frozen=True):
    """A row: a box as `xyxy-px`, whose corners may be the other way round."""

    image_path: str
    image_size: tuple[int, int]
    prompt_to_evaluate: str
    bbox: tuple[float, float, float, float]
    platform: str
    category: str = ""


def _read_ui_vision(folder: Folder, split: str) -> Iterator[Instruction]:
    at = _ELEMENTS if (folder.root / _ELEMENTS).is_dir() else ""
    for setting in SETTINGS:
        name, what = f"{at}element_grounding_{setting}.json", f"the setting {setting} of ui-vision"
        for file, number, one in folder.json(name, what, UIVisionItem):
            corners = one.bbox[:2], one.bbox[2:]
            yield Instruction(
                where=f"{file.name}, row {number + 1}",
                unit_id=f"{setting}_{number}",
                picture=one.image_path,
                instruction=one.prompt_to_evaluate,
                box=(*map(min, *corners), *map(max, *corners)),
                size=one.image_size,
                parents={"application": one.platform},
                labels={"setting": setting, "category": one.category},
            )


UI_VISION = GroundingSet(
    "ui-vision",
    sizes=(SplitSize("test", 1181, 5479),),
    published="2025",
    read=_read_ui_vision,
    repo="ServiceNow/ui-vision",
    files=tuple(f"{_ELEMENTS}element_grounding_{one}.json" for one in SETTINGS),
    declared=declaration(
        levels=(PICTURE, Level("application", shared=True)),
        clusters=("picture", "application"),
        groups=(
            Group("setting", "how targets are described"),
            Group("category", "the kind of application"),
        ),
        cells=("setting",),
        headline="cells",
    ),
    cell_labels=("setting",),
    cells={"test": {("basic",): 1772, ("functional",): 1772, ("spatial",): 1935}},
    known={"outside": 77, "empty": 1},
)


class MMBenchItem(msgspec.Struct, frozen=True):
    """A row: a box as `xyxy-unit`, written with -1 for 0."""

    image_path: str
    platform: str
    instruction: str
    bbox: tuple[float, float, float, float]
    data_type: str
    grounding_type: str
    image_size: tuple[int, int] | None = None


def _read_mmbench(folder: Folder, split: str) -> Iterator[Instruction]:
    what = "the rows of mmbench-gui-l2"
    for file, number, one in folder.json("L2_annotations.json", what, MMBenchItem):
        yield Instruction(
            where=f"{file.name}, row {number + 1}",
            unit_id=f"l2_{number}",
            picture=f"{one.platform}/{one.image_path}",
            instruction=one.instruction,
            box=[0.0 if edge == -1 else edge for edge in one.bbox],
            convention="xyxy-unit",
            size=one.image_size,
            labels={
                "grounding_type": one.grounding_type,
                "platform": one.platform.removeprefix("os_"),
                "data_type": one.data_type,
            },
        )


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


def _read_venus(folder: Folder, split: str) -> Iterator[Instruction]:
    what = "the instructions of venusbench-gd"
    for file, number, one in folder.json("instruction/*.json", what, VenusItem):
        where, picture = f"{file.name}, row {number + 1}", one.img_filename.removeprefix("images/")
        task = _RENAMED.get(file.path.stem, file.path.stem)
        application = one.application or "/".join(PurePosixPath(picture).parent.parts)
        if not application:
            raise DataError(f"{where}: {one.img_filename!r} is in no folder of an application")
        yield Instruction(
            where=where,
            unit_id=f"{task}_{number}",
            picture=picture,
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
