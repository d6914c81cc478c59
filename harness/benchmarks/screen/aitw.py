"""Android in the Wild (Rawles et al. 2023), and Android in the Zoo (Zhang et al. 2024).

Of the first, the steps that SeeClick evaluates are read: five kinds of tasks, whose step rates are
averaged. How many steps the authors' file has is not published; the counts of the file that was
read are on record. The second is a part of it with described screens. Its files name the finger in
a scroll; boxes are the elements that were found on a screen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, decoded
from harness.benchmarks.picture_sets import reading
from harness.benchmarks.screen.sets import ScreenSet, ScreenStep, declaration
from parsers.actions import Action, Value
from parsers.declaration import Group
from parsers.screen import DIRECTIONS, Edges, Point, finger_way, swipe

FILE = "aitw_data_test.json"
WILD_RULES = ("seeclick-aitw", "strict", "agentcpm", "gui-r1")
_WILD_NUMBERS = {5: "back", 6: "home", 7: "enter", 10: "complete", 11: "impossible"}


class WildStep(msgspec.Struct, frozen=True):
    """A step of Android in the Wild.

    Places are shares, x first, and boxes y, x, height and width one after another.
    """

    img_filename: str
    goal: str
    action_type_id: int
    action_type_text: str = ""
    touch: tuple[float, float] | None = None
    lift: tuple[float, float] | None = None
    type_text: str = ""
    annot_position: list[float] = []


def _read_wild(folder: Folder, split: str) -> Iterator[ScreenStep]:
    (file,) = folder.files(FILE, "the test steps of SeeClick's agent tasks")
    tasks = decoded(file.path, dict[str, list[list[WildStep]]])
    for task, episodes in tasks.items():
        for place, episode in enumerate(episodes):
            for number, step in enumerate(episode):
                where = f"{FILE}, {task}, episode {place}, step {number}"
                name = f"{step.img_filename}.png"
                size = folder.size(name)
                with reading(f"{folder.root}/{where}"):
                    action, boxes = _wild_action(step, size), _wild_boxes(step, size)
                yield ScreenStep(
                    where=where,
                    episode=f"{task}-{place}",
                    step=number,
                    pictures=(name,),
                    goal=step.goal,
                    actions=(action,),
                    boxes={"screen": boxes},
                    labels={"task": task},
                    size=size,
                )


def _wild_action(step: WildStep, size: tuple[int, int]) -> Action:
    if step.action_type_id == 3:
        return Action("type", arguments={"text": step.type_text})
    if step.action_type_id in _WILD_NUMBERS:
        return Action(_WILD_NUMBERS[step.action_type_id])
    if step.action_type_id != 4:
        raise ValueError(f"unknown action type {step.action_type_id}")
    if step.action_type_text == "click":
        if step.touch is None:
            raise ValueError("a click without a place")
        return Action("click", point=(step.touch[0] * size[0], step.touch[1] * size[1]))
    way = step.action_type_text.removeprefix("scroll ")
    if way not in DIRECTIONS:
        raise ValueError(f"'{step.action_type_text}' is neither a click nor a scroll")
    arguments: dict[str, Value] = {"direction": way}
    return Action("scroll", arguments=arguments)


def _wild_boxes(step: WildStep, size: tuple[int, int]) -> tuple[Edges, ...]:
    width, height = size
    if len(step.annot_position) % 4:
        raise ValueError("boxes are four numbers each")
    return tuple(
        (x * width, y * height, (x + across) * width, (y + down) * height)
        for y, x, down, across in zip(*(iter(step.annot_position),) * 4, strict=True)
    )


WILD = ScreenSet(
    "aitw",
    published="2023",
    read=_read_wild,
    marks=(FILE,),
    folders=("aitw_images", "images"),
    rules=WILD_RULES,
    declared=declaration(
        WILD_RULES, "seeclick-aitw", [Group("task", "the kind of task")], cells=("task",)
    ),
    averaged={"test": ("task",)},
    boxed=True,
)


ZOO_RULES = ("aitz", "aitz-coat", "strict", "agentcpm", "seeclick-aitw")
_ZOO_NUMBERS = {3: "type", 5: "back", 6: "home", 7: "enter", 10: "complete", 11: "impossible"}
_TOUCH = 4
_TAP = 0.04
"""Longest way of a finger that taps, as a share of the screen."""


class Touched(msgspec.Struct, frozen=True, kw_only=True):
    """A step; places are texts of shares, y first, and boxes a text of y, x, height and width.

    AgentCPM-GUI's converter writes this layout, too (`androidcontrol`).
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

    def touched(self, size: tuple[int, int], *, tap: bool, told: str = "") -> Action:
        """Return a tap or a scroll; `told` is the way of the finger where the set says it."""
        touch, lift = self.touches()
        start, end = ((x * size[0], y * size[1]) for x, y in (touch, lift))
        if tap:
            return Action("click", point=start)
        return swipe(start, end, told or finger_way(touch, lift))

    def boxes(self) -> Iterator[Edges]:
        """Yield the boxes, in the numbers of the file. Raises ValueError."""
        for one in json.loads(self.ui_positions):
            y, x, down, across = _numbers(one, 4)
            yield x, y, x + across, y + down


class ZooStep(Touched, frozen=True, kw_only=True):
    """A step of Android in the Zoo; its boxes are pixels."""

    episode_id: str
    coat_action_desc: str = ""
    subset: str = ""


def _read_zoo(folder: Folder, split: str) -> Iterator[ScreenStep]:
    for file in folder.files("test/**/*.json", "the episodes of the test split"):
        for step in sorted(decoded(file.path, list[ZooStep]), key=lambda one: one.step_id):
            where = f"{file.name}, step {step.step_id}"
            size = folder.size(step.image_path)
            with reading(f"{folder.root}/{where}"):
                action, boxes = _zoo_action(step, size), tuple(step.boxes())
            yield ScreenStep(
                where=where,
                episode=step.episode_id,
                step=step.step_id,
                pictures=(step.image_path,),
                goal=step.instruction,
                actions=(action,),
                boxes={"screen": boxes},
                labels={"subset": step.subset or step.image_path.split("/")[0]},
                size=size,
            )


def _zoo_action(step: ZooStep, size: tuple[int, int]) -> Action:
    if (action := step.untouched(_ZOO_NUMBERS)) is not None:
        return action
    touch, lift = step.touches()
    words = step.coat_action_desc.lower().split()
    told = words[1].strip(".") if words[:1] == ["scroll"] and len(words) > 1 else ""
    near = (touch[0] - lift[0]) ** 2 + (touch[1] - lift[1]) ** 2 <= _TAP**2
    tap = words[:1] == ["click"] or (near and not told)
    return step.touched(size, tap=tap, told=told if told in DIRECTIONS else "")


def _numbers(written: Any, count: int) -> Sequence[float]:
    numbers = json.loads(written) if isinstance(written, str) else written
    if (
        not isinstance(numbers, list)
        or len(numbers) != count
        or not all(type(one) in (int, float) for one in numbers)
    ):
        raise ValueError(f"{written!r} is not {count} numbers")
    return [float(one) for one in numbers]


ZOO = ScreenSet(
    "aitz",
    published="2024",
    sizes=(SplitSize("test", 506, 4724),),
    read=_read_zoo,
    folders=("test", ""),
    rules=ZOO_RULES,
    declared=declaration(ZOO_RULES, "aitz", [Group("subset", "the part of the set")]),
    stored="finger",
    boxed=True,
)
