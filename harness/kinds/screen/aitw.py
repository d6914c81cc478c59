"""Android in the Wild (Rawles et al. 2023): the steps that SeeClick evaluates.

Five kinds of tasks, whose step rates are averaged. How many steps the authors' file has is not
published; the counts of the file that was read are on record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from harness.benchmarks.folders import Folder, decoded
from harness.benchmarks.published import Rows
from harness.errors import DataError
from harness.kinds.screen.sets import Row, ScreenSet, declaration
from parsers.actions import Action, Value
from parsers.declaration import Group
from parsers.screen import DIRECTIONS, Edges

FILE = "aitw_data_test.json"
RULES = ("seeclick-aitw", "strict", "agentcpm", "gui-r1")
_BY_NUMBER = {5: "back", 6: "home", 7: "enter", 10: "complete", 11: "impossible"}


class Step(msgspec.Struct, frozen=True):
    """A step; places are shares, x first, and boxes y, x, height and width one after another."""

    img_filename: str
    goal: str
    action_type_id: int
    action_type_text: str = ""
    touch: tuple[float, float] | None = None
    lift: tuple[float, float] | None = None
    type_text: str = ""
    annot_position: list[float] = []


def _read(folder: Folder, split: str) -> Rows:
    files = folder.files(FILE, "the test steps of SeeClick's agent tasks")
    tasks = decoded(files[0].path, dict[str, list[list[Step]]])
    return Rows(list(_rows(folder, tasks)), files)


def _rows(folder: Folder, tasks: Mapping[str, list[list[Step]]]) -> Iterator[Row]:
    for task, episodes in tasks.items():
        for place, episode in enumerate(episodes):
            for number, step in enumerate(episode):
                where = f"{FILE}, {task}, episode {place}, step {number}"
                name = f"{step.img_filename}.png"
                if len(step.annot_position) % 4:
                    raise DataError(f"{folder.root}/{where}: boxes are four numbers each")
                size = folder.size(name)
                yield Row(
                    where=where,
                    episode=f"{task}-{place}",
                    step=number,
                    pictures=(name,),
                    goal=step.goal,
                    instruction="",
                    actions=(_action(step, size, f"{folder.root}/{where}"),),
                    boxes=_boxes(step.annot_position, size),
                    labels={"task": task},
                    size=size,
                )


def _action(step: Step, size: tuple[int, int], where: str) -> Action:
    if step.action_type_id == 3:
        return Action("type", arguments={"text": step.type_text})
    if step.action_type_id in _BY_NUMBER:
        return Action(_BY_NUMBER[step.action_type_id])
    if step.action_type_id != 4:
        raise DataError(f"{where}: unknown action type {step.action_type_id}")
    if step.action_type_text == "click":
        if step.touch is None:
            raise DataError(f"{where}: a click without a place")
        return Action("click", point=(step.touch[0] * size[0], step.touch[1] * size[1]))
    way = step.action_type_text.removeprefix("scroll ")
    if way not in DIRECTIONS:
        raise DataError(f"{where}: '{step.action_type_text}' is neither a click nor a scroll")
    arguments: dict[str, Value] = {"direction": way}
    return Action("scroll", arguments=arguments)


def _boxes(numbers: list[float], size: tuple[int, int]) -> dict[str, tuple[Edges, ...]]:
    width, height = size
    found: tuple[Edges, ...] = tuple(
        (x * width, y * height, (x + across) * width, (y + down) * height)
        for y, x, down, across in zip(*(iter(numbers),) * 4, strict=True)
    )
    return {"screen": found} if found else {}


BENCHMARK = ScreenSet(
    "aitw",
    published="2023",
    read=_read,
    marks=(FILE,),
    folders=("aitw_images", "images"),
    rules=RULES,
    declared=declaration(
        RULES, "seeclick-aitw", [Group("task", "the kind of task")], cells=("task",)
    ),
    averaged={"test": ("task",)},
    boxed=True,
)
