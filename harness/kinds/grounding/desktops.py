"""Desktops: OSWorld-G, UI-Vision and Showdown-clicks.

OSWorld-G (Xie et al. 2025, Jedi) has a Linux desktop, with polygons and with nothing to find. Its
refined split has the same items, asked about in other words, one of them in none. Items belong to
several classes. UI-Vision (Nayak et al. 2025) has 83 applications, asked about in three ways.
Showdown-clicks (General Agents 2025) has clicks of people at a Mac; where its file does not say
which recording a row is from, each is its own.
"""

from __future__ import annotations

import csv
from typing import Literal

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, converted, decoded
from harness.errors import DataError
from harness.kinds.grounding.boxes import PICTURE, declaration, target_of
from harness.kinds.grounding.sets import GroundingSet, Row, Rows
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


class Named(msgspec.Struct, frozen=True):
    id: str


class Classified(msgspec.Struct, frozen=True):
    """`classification_result.json`."""

    classified: dict[str, list[Named]]


def _read_osworld(folder: Folder, split: str) -> Rows:
    if lost := sorted(folder.root.glob("*_sspro_format.json")):
        raise DataError(
            f"{lost[0]} is OSWorld-G in the form of ScreenSpot-Pro, where its 40 polygons "
            f"and 54 refusals are lost: {_ELSEWHERE}"
        )
    files = folder.files(_FILES[split], f"the instructions of the split {split}")
    classes = folder.files("classification_result.json", "the classes of osworld-g")
    found: dict[str, list[str]] = {}
    for name, members in decoded(classes[0].path, Classified).classified.items():
        if name not in _CLASSES:
            raise DataError(f"{classes[0].path} has an unknown class '{name}'")
        for member in members:
            found.setdefault(member.id, []).append(_CLASSES[name])
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
        for one in decoded(files[0].path, list[OSWorldItem])
    ]
    return Rows(rows, "xywh-px", [*files, *classes])


def _target(one: OSWorldItem, where: str) -> Target:
    if one.box_type == "refusal":
        return Target("absent")
    try:
        if one.box_type == "bbox":
            return target_of(one.box_coordinates, "xywh-px", one.image_size)
        return Target("polygon", tuple(one.box_coordinates))
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error


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


def _read_ui_vision(folder: Folder, split: str) -> Rows:
    at = _ELEMENTS if (folder.root / _ELEMENTS).is_dir() else ""
    rows, files = [], []
    for setting in SETTINGS:
        name = f"{at}element_grounding_{setting}.json"
        (file,) = folder.files(name, f"the setting {setting} of ui-vision")
        files.append(file)
        for number, one in enumerate(decoded(file.path, list[UIVisionItem])):
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


def _read_showdown(folder: Folder, split: str) -> Rows:
    inner = f"{_DEV}/data.csv"
    name = inner if (folder.root / inner).is_file() else "data.csv"
    (file,) = folder.files(name, "the rows of showdown-clicks")
    try:
        with file.path.open(encoding="utf-8", newline="") as lines:
            records = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{file.path} cannot be read: {error}") from error
    rows = []
    for number, record in enumerate(records, start=1):
        one = converted(record, Click, f"{file.path}, row {number}")
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
