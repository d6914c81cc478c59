"""Android in the Zoo (Zhang et al. 2024): a part of Android in the Wild with described screens.

Its files name the finger in a scroll. Boxes are the elements that were found on a screen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.files import DataFile
from harness.benchmarks.folders import Folder, decoded
from harness.benchmarks.published import Rows
from harness.errors import DataError
from harness.kinds.screen.sets import Row, ScreenSet, declaration
from parsers.actions import Action, Value
from parsers.declaration import Group
from parsers.screen import DIRECTIONS, OPPOSITE, Edges, Point, finger_way

RULES = ("aitz", "aitz-coat", "strict", "agentcpm", "seeclick-aitw")
BY_NUMBER = {3: "type", 5: "back", 6: "home", 7: "enter", 10: "complete", 11: "impossible"}
_TOUCH = 4
_TAP = 0.04
"""Longest way of a finger that taps, as a share of the screen."""


class Touched(msgspec.Struct, frozen=True, kw_only=True):
    """A step; places are texts of shares, y first, and boxes a text of y, x, height and width.

    AgentCPM-GUI's converter writes this layout, too (`agentcpm`).
    """

    step_id: int
    instruction: str
    image_path: str
    result_action_type: int
    result_action_text: str = ""
    result_touch_yx: str = "[]"
    result_lift_yx: str = "[]"
    ui_positions: str = "[]"

    def untouched(self, names: Mapping[int, str]) -> Action | None:
        """Return an action without a place; None for a touch. Raises ValueError for neither."""
        number = self.result_action_type
        if number == _TOUCH:
            return None
        if number not in names:
            raise ValueError(f"unknown action type {number}")
        text: Mapping[str, Value] = {"text": self.result_action_text} if number == 3 else {}
        return Action(names[number], arguments=text)

    def touches(self) -> tuple[Point, Point]:
        """Return where the finger touched and left, as shares. Raises ValueError."""
        pairs = (_numbers(text, 2) for text in (self.result_touch_yx, self.result_lift_yx))
        touch, lift = ((x, y) for y, x in pairs)
        return touch, lift

    def boxes(self) -> Iterator[Edges]:
        """Yield the boxes, in the numbers of the file. Raises ValueError."""
        for one in json.loads(self.ui_positions):
            y, x, down, across = _numbers(one, 4)
            yield x, y, x + across, y + down


class Step(Touched, frozen=True, kw_only=True):
    """A step of Android in the Zoo; its boxes are pixels."""

    episode_id: str
    coat_action_desc: str = ""
    subset: str = ""


def _read(folder: Folder, split: str) -> Rows:
    files = folder.files("test/**/*.json", "the episodes of the test split")
    return Rows([row for file in files for row in _rows(folder, file)], files)


def _rows(folder: Folder, file: DataFile) -> Iterator[Row]:
    for step in sorted(decoded(file.path, list[Step]), key=lambda one: one.step_id):
        where = f"{file.name}, step {step.step_id}"
        size = folder.size(step.image_path)
        try:
            action, boxes = _action(step, size), tuple(step.boxes())
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
    if (action := step.untouched(BY_NUMBER)) is not None:
        return action
    touch, lift = step.touches()
    start, end = ((x * size[0], y * size[1]) for x, y in (touch, lift))
    words = step.coat_action_desc.lower().split()
    told = words[1].strip(".") if words[:1] == ["scroll"] and len(words) > 1 else ""
    near = (touch[0] - lift[0]) ** 2 + (touch[1] - lift[1]) ** 2 <= _TAP**2
    if words[:1] == ["click"] or (near and not told):
        return Action("click", point=start)
    way = OPPOSITE[told if told in DIRECTIONS else finger_way(touch, lift)]
    arguments: dict[str, Value] = {"direction": way, "to_x": end[0], "to_y": end[1]}
    return Action("scroll", point=start, arguments=arguments)


def _numbers(written: Any, count: int) -> Sequence[float]:
    numbers = json.loads(written) if isinstance(written, str) else written
    if (
        not isinstance(numbers, list)
        or len(numbers) != count
        or not all(type(one) in (int, float) for one in numbers)
    ):
        raise ValueError(f"{written!r} is not {count} numbers")
    return [float(one) for one in numbers]


BENCHMARK = ScreenSet(
    "aitz",
    published="2024",
    sizes=(SplitSize("test", 506, 4724),),
    read=_read,
    folders=("test", ""),
    rules=RULES,
    declared=declaration(RULES, "aitz", [Group("subset", "the part of the set")]),
    stored="finger",
    boxed=True,
)
