"""GUIAct (Chen et al. 2024), its web pages: single steps, and records of several.

A step may hold several actions, which name elements of the page. Pictures are base64 texts in
parquet files, next to the elements of the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, ParquetPictures, RowAddress, converted
from harness.benchmarks.picture_sets import reading
from harness.benchmarks.screen.sets import ScreenSet, ScreenStep, by_episode, declaration
from harness.errors import DataError
from harness.parquet import column_names, opened, small_columns
from parsers.actions import Action, Value
from parsers.declaration import Level
from parsers.points.objects import places_in
from parsers.screen import Edges, several, with_box

RULES = ("guiact", "os-atlas-guiact", "strict", "gui-r1")
_INDEX = ("image_id", "uid", "__index_level_0__")
_STEP = re.compile(r"uid_record_(\w+)_step_(\d{1,4})$")
_PLAIN = {
    "enter": "enter",
    "copy": "copy",
    "copy_text": "copy",
    "go_back": "back",
    "go_home": "home",
    "task_complete": "complete",
    "task_impossible": "impossible",
}


class Rect(msgspec.Struct, frozen=True):
    """The rectangle of an element, in pixels."""

    x: float
    y: float
    width: float
    height: float


class _Element(msgspec.Struct, frozen=True):
    """An element of a page."""

    uid: int | str
    rect: Rect


class _Label(msgspec.Struct, frozen=True):
    """An action of a step; `absolute` places are pixels."""

    name: str
    text: str = ""
    element: dict[str, Any] = {}
    point: dict[str, Any] = {}
    scroll: dict[str, Any] = {}
    dual_point: dict[str, Any] = {}


class Size(msgspec.Struct, frozen=True):
    """The size of a picture."""

    width: int
    height: int


class _Stored(msgspec.Struct, frozen=True):
    """A row of the data file."""

    uid: str
    image_id: str
    image_size: Size
    question: str
    actions_label: list[_Label] | _Label


def _read(folder: Folder, split: str) -> list[ScreenStep]:
    assert isinstance(folder, _Pages)
    stored = list(folder.json(f"web-{split}_test_data.json", "the steps of the split", _Stored))
    for file in folder.files(f"web-{split}_test_images*.parquet", "the pages of the split"):
        folder.read_pages(file.path)
    folder.sizes.update(
        (one.image_id, (one.image_size.width, one.image_size.height)) for *_, one in stored
    )
    return by_episode(_row(folder, one, f"{file.name}, {one.uid}") for file, _, one in stored)


@dataclass(frozen=True)
class _Pages(Folder):
    """Pictures that are base64 texts, with the elements of each page."""

    elements: dict[str, list[_Element]] = field(default_factory=dict, compare=False)
    parquet: ParquetPictures = field(default_factory=lambda: ParquetPictures("base64"))

    def read_pages(self, path: Path) -> None:
        """Note where the pages of a file are, and what elements they have."""
        with opened(path) as file:
            names = column_names(file)
            index = next((name for name in _INDEX if name in names), None)
            if index is None or not {"base64", "elements"} <= set(names):
                raise DataError(f"{path} has no columns base64, elements and one of image ids")
            for group, offset, record in small_columns(file, [index, "elements"]):
                name, where = str(record[index]), f"{path}, page {record[index]}"
                listed = [converted(one, _Element, where) for one in record["elements"] or ()]
                self.elements[name] = listed
                self.stored[name] = RowAddress(path, group, offset)


def _row(folder: _Pages, one: _Stored, where: str) -> ScreenStep:
    if one.image_id not in folder.elements:
        raise DataError(f"{folder.root}/{where}: no page {one.image_id} in the parquet files")
    elements = folder.elements[one.image_id]
    numbered = _STEP.search(one.uid)
    labels = one.actions_label if isinstance(one.actions_label, list) else [one.actions_label]
    if not labels:
        raise DataError(f"{folder.root}/{where}: no actions")
    size = (one.image_size.width, one.image_size.height)
    with reading(f"{folder.root}/{where}"):
        action = several([_action(label, elements, size) for label in labels])
    single = one.uid.rpartition("_")[2]
    return ScreenStep(
        where=where,
        episode=numbered[1] if numbered else one.image_id,
        step=int(numbered[2]) if numbered else int(single) if single.isdigit() else 0,
        pictures=(one.image_id,),
        goal=one.question,
        actions=(action,),
        boxes={"page": tuple(map(_edges, elements))},
        size=size,
    )


def _edges(one: _Element) -> Edges:
    rect = one.rect
    return rect.x, rect.y, rect.x + rect.width, rect.y + rect.height


def _action(label: _Label, elements: list[_Element], size: tuple[int, int]) -> Action:
    name = label.name.lower()
    if name in _PLAIN:
        return Action(_PLAIN[name])
    text: dict[str, Value] = {"text": label.text}
    if name in ("input", "answer"):
        return Action("type" if name == "input" else name, arguments=text)
    if name in ("click", "hover", "select"):
        place = next(
            (n for n, one in enumerate(elements) if str(one.uid) == str(label.element["id"])), -1
        )
        left, top, right, bottom = _numbers(label.element["absolute"], 4)
        arguments = text if name == "select" else {}
        action = Action(name, str(place), arguments=arguments)
        return with_box(action, (left, top, right, bottom))
    if name == "tap":
        x, y = _numbers(label.point["related"], 2)
        return Action("click", point=(x * size[0], y * size[1]))
    if name == "scroll":
        amounts = label.scroll["absolute"]
        return Action(name, arguments={"direction": way_of(amounts["down"], amounts["right"])})
    if name in ("select_text", "swipe"):
        (x, y), (to_x, to_y) = (
            _numbers(label.dual_point["absolute"][end], 2) for end in ("from", "to")
        )
        moved: dict[str, Value] = {"to_x": to_x, "to_y": to_y}
        return Action("scroll" if name == "swipe" else name, point=(x, y), arguments=moved)
    raise ValueError(f"unknown action '{label.name}'")


def way_of(down: object, right: object) -> str:
    """The direction of amounts in pixels; none at all is up, as the authors' code has it.

    >>> way_of(400, 0), way_of("0", "0")
    ('down', 'up')
    """
    down, right = float(str(down)), float(str(right))
    if abs(right) > abs(down):
        return "right" if right > 0 else "left"
    return "down" if down > 0 else "up"


def _numbers(text: object, count: int) -> tuple[float, ...]:
    places, _ = places_in(str(text))
    if len(places) != 1 or len(places[0]) != count:
        raise ValueError(f"{text!r} is not {count} numbers")
    return tuple(places[0])


BENCHMARK = ScreenSet(
    "guiact-web",
    splits=("single", "multi"),
    default_splits=("single",),
    sizes=(SplitSize("single", 1434, 1500), SplitSize("multi", 195, 1519)),
    published="2024",
    read=_read,
    marks=("web-single_test_data.json", "web-multi_test_data.json"),
    folders=("",),
    folder_type=_Pages,
    rules=RULES,
    declared=declaration(RULES, "guiact"),
    # Single steps are not episodes: those of one screen belong together.
    level={"single": Level("episode", "screen")},
    boxed=True,
    script=True,
    device="browser",
)
