"""GUI-Odyssey (Lu et al. 2024): tasks across apps on six devices, as its repository lays them out.

Two versions are in use, of 7,735 and 8,334 episodes; results on one are not results on the other.
The newer one has segmented boxes and step sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from harness.benchmarks.folders import Folder, decoded
from harness.benchmarks.picture_sets import reading
from harness.benchmarks.screen.sets import ScreenSet, ScreenStep, declaration
from harness.data_files import DataFile
from harness.errors import DataError
from parsers.actions import Action
from parsers.declaration import Group
from parsers.screen import Edges, finger_way, swipe

RULES = ("odyssey-ams", "strict", "os-atlas-odyssey", "agentcpm", "gui-r1")
_FIRST = {"random": (1_933, 29_426), "app": (1_139, 17_455)}
"""Episodes and steps of splits of the first version, as others have counted them."""
_KEYS = {"KEY_HOME": "home", "KEY_BACK": "back", "KEY_APPSELECT": "recents"}
_ENDS = {"COMPLETE": "complete", "INCOMPLETE": "impossible", "IMPOSSIBLE": "impossible"}
_POINTED = {"CLICK": "click", "LONG_PRESS": "long_press"}


class Device(msgspec.Struct, frozen=True):
    """`device_info`: the screen in pixels."""

    h: int
    w: int
    device_name: str = ""


class Goal(msgspec.Struct, frozen=True):
    """`task_info`."""

    instruction: str
    category: str = ""


class _Step(msgspec.Struct, frozen=True):
    """A step; numbers are thousandths."""

    screenshot: str
    action: str
    info: Any = ""
    low_level_instruction: str = ""
    sam2_bbox: list[float] | None = None


class _Episode(msgspec.Struct, frozen=True):
    """A file of `annotations/`."""

    episode_id: str
    device_info: Device
    task_info: Goal
    steps: list[_Step]


def _read(folder: Folder, split: str) -> list[ScreenStep]:
    (listed,) = folder.files(f"splits/{split}_split.json", "the episodes of the split")
    names = decoded(listed.path, dict[str, list[str]]).get("test")
    if not names:
        raise DataError(f"{listed.path} lists no episodes under test")
    rows: list[ScreenStep] = []
    for name in names:
        (file,) = folder.files(f"annotations/{Path(name).name}", "an episode of the split")
        rows += _rows(file)
        del folder.used[file.name]  # Thousands of files, which take long to read for their digests.
    _check_version(folder, split, len(names), rows)
    return rows


def _check_version(folder: Folder, split: str, episodes: int, rows: list[ScreenStep]) -> None:
    """Refuse other counts of the first version, which has no boxes; the second's are recorded."""
    known = _FIRST.get(split)
    if known and not any(row.boxes for row in rows) and (episodes, len(rows)) != known:
        raise DataError(
            f"{folder.root}: the {split} split has {episodes:,} episodes of {len(rows):,} steps, "
            f"and version 1 has {known[0]:,} of {known[1]:,}; are files missing?"
        )


def _rows(file: DataFile) -> Iterator[ScreenStep]:
    episode = decoded(file.path, _Episode)
    device = episode.device_info
    size = (device.w, device.h)
    for number, step in enumerate(episode.steps):
        where = f"{file.name}, step {number}"
        with reading(f"{file.path.parent.parent}/{where}"):
            action = _action(step, size)
            boxes = {"sam2": (_box(step.sam2_bbox, size),)} if step.sam2_bbox else {}
        yield ScreenStep(
            where=where,
            episode=episode.episode_id,
            step=number,
            pictures=(Path(step.screenshot).name,),
            goal=episode.task_info.instruction,
            instruction=step.low_level_instruction,
            actions=(action,),
            boxes=boxes,
            labels={"category": episode.task_info.category, "device": device.device_name},
            size=size,
        )


def _action(step: _Step, size: tuple[int, int]) -> Action:
    name, info = step.action, step.info
    if name in _POINTED:
        if isinstance(info, str):
            if info not in _KEYS:
                raise ValueError(f"'{info}' is no key of {name}")
            return Action(_KEYS[info])
        return Action(_POINTED[name], point=_point(info[0], size))
    if name == "SCROLL":
        start, end = _point(info[0], size), _point(info[1], size)
        # The authors' converter compares the thousandths.
        return swipe(start, end, finger_way(tuple(info[0][:2]), tuple(info[1][:2])))
    if name in ("TEXT", "TYPE"):
        return Action("type", arguments={"text": str(info)})
    if name not in _ENDS:
        raise ValueError(f"unknown action '{name}'")
    return Action(_ENDS[name])


def _point(numbers: Any, size: tuple[int, int]) -> tuple[float, float]:
    x, y = numbers[:2]
    if not all(isinstance(one, int | float) and 0 <= one <= 1000 for one in (x, y)):
        raise ValueError(f"{numbers} are not thousandths of the picture")
    return x * size[0] / 1000, y * size[1] / 1000


def _box(numbers: list[float], size: tuple[int, int]) -> Edges:
    return (*_point(numbers[:2], size), *_point(numbers[2:4], size))


BENCHMARK = ScreenSet(
    "gui-odyssey",
    splits=("random", "task", "device", "app"),
    default_splits=("random",),
    published="2024",
    read=_read,
    marks=("splits/*_split.json",),
    folders=("screenshots",),
    rules=RULES,
    declared=declaration(
        RULES,
        "odyssey-ams",
        [Group("category", "the category of the task"), Group("device", "the device")],
        cells=("category",),
    ),
    averaged={"random": ("category",)},
    stored="finger",
    boxed=True,
)
