"""Android in the Zoo (Zhang et al. 2024): a part of Android in the Wild with described screens.

Its files name the finger in a scroll. Boxes are the elements that were found on a screen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.files import DataFile
from harness.benchmarks.folders import Folder, decoded, set_folder
from harness.errors import DataError
from harness.kinds.screen.sets import Row, Rows, ScreenSet, declaration
from parsers.actions import Action, Value
from parsers.declaration import Declaration, Group
from parsers.screen import DIRECTIONS, OPPOSITE, Edges, Point, Side, finger_way

RULES = ("aitz", "aitz-coat", "strict", "agentcpm", "seeclick-aitw")
DECLARED = declaration(RULES, "aitz", [Group("subset", "the part of the set")])
_BY_NUMBER = {5: "back", 6: "home", 7: "enter", 10: "complete", 11: "impossible"}
_TAP = 0.04
"""Longest way of a finger that taps, as a share of the screen."""


class Step(msgspec.Struct, frozen=True):
    """A step; places are texts of shares, y first, and boxes a text of y, x, height and width."""

    episode_id: str
    step_id: int
    instruction: str
    image_path: str
    result_action_type: int
    result_action_text: str = ""
    result_touch_yx: str = "[]"
    result_lift_yx: str = "[]"
    ui_positions: str = "[]"
    coat_action_desc: str = ""
    subset: str = ""


@dataclass(frozen=True)
class AndroidInTheZoo(ScreenSet):
    """The test episodes of Android in the Zoo."""

    name: str = "aitz"
    description: str = "Android in the Zoo (Zhang et al. 2024): 4,724 steps on phones"
    splits: tuple[str, ...] = ("test",)
    default_splits: tuple[str, ...] = ("test",)
    sizes: tuple[SplitSize, ...] = (SplitSize("test", 506, 4724),)
    rules: tuple[str, ...] = RULES
    headline: Mapping[str, str] = field(default_factory=lambda: {"": "aitz"})
    stored: Side = "finger"
    boxed: bool = True
    declared: Declaration = DECLARED

    def holds(self, data: Path) -> bool:
        return set_folder(data, self.name) is not None

    def folder(self, data: Path | None) -> Folder:
        found = super().folder(data)
        return Folder(found.root, found.origin, ("test", ""))

    def rows(self, folder: Folder, split: str) -> Rows:
        files = folder.files("test/**/*.json", "the episodes of the test split")
        return Rows([row for file in files for row in _rows(folder, file)], files)


def _rows(folder: Folder, file: DataFile) -> Iterator[Row]:
    for step in sorted(decoded(file.path, list[Step]), key=lambda one: one.step_id):
        where = f"{file.name}, step {step.step_id}"
        size = folder.size(step.image_path)
        try:
            action, boxes = _action(step, size), tuple(_boxes(step.ui_positions))
        except (ValueError, TypeError, LookupError) as error:
            raise DataError(f"{folder.root}/{where}: {error}") from error
        yield Row(
            where=where,
            episode=step.episode_id,
            step=step.step_id,
            pictures=(step.image_path,),
            goal=step.instruction,
            instruction="",
            actions=(action,),
            boxes={"screen": boxes} if boxes else {},
            labels={"subset": step.subset or step.image_path.split("/")[0]},
            size=size,
        )


def _action(step: Step, size: tuple[int, int]) -> Action:
    number = step.result_action_type
    if number == 3:
        return Action("type", arguments={"text": step.result_action_text})
    if number in _BY_NUMBER:
        return Action(_BY_NUMBER[number])
    if number != 4:
        raise ValueError(f"unknown action type {number}")
    touch, lift = (_point(text) for text in (step.result_touch_yx, step.result_lift_yx))
    start, end = ((x * size[0], y * size[1]) for x, y in (touch, lift))
    words = step.coat_action_desc.lower().split()
    told = words[1].strip(".") if words[:1] == ["scroll"] and len(words) > 1 else ""
    near = (touch[0] - lift[0]) ** 2 + (touch[1] - lift[1]) ** 2 <= _TAP**2
    if words[:1] == ["click"] or (near and not told):
        return Action("click", point=start)
    way = OPPOSITE[told if told in DIRECTIONS else finger_way(touch, lift)]
    arguments: dict[str, Value] = {"direction": way, "to_x": end[0], "to_y": end[1]}
    return Action("scroll", point=start, arguments=arguments)


def _point(text: str) -> Point:
    y, x = _numbers(text, 2)
    return x, y


def _boxes(text: str) -> Iterator[Edges]:
    for one in json.loads(text):
        y, x, down, across = _numbers(one, 4)
        yield x, y, x + across, y + down


def _numbers(written: Any, count: int) -> Sequence[float]:
    numbers = json.loads(written) if isinstance(written, str) else written
    if (
        not isinstance(numbers, list)
        or len(numbers) != count
        or not all(type(one) in (int, float) for one in numbers)
    ):
        raise ValueError(f"{written!r} is not {count} numbers")
    return [float(one) for one in numbers]


BENCHMARK = AndroidInTheZoo(published="2024")
