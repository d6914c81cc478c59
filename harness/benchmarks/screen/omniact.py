"""OmniACT (Kapoor et al. 2024): scripts of `pyautogui` for tasks on screens of computers.

There are no episodes: tasks on one screen belong together. Scripts are read line by line, and never
run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

import msgspec

from adapters.decoding import decode_json
from harness.benchmarks.folders import Folder, decoded
from harness.benchmarks.picture_sets import reading
from harness.benchmarks.screen.sets import ScreenSet, ScreenStep, declaration
from harness.errors import DataError
from parsers.actions import Action, Value
from parsers.declaration import Group, Level
from parsers.screen import Edges, several, with_box

RULES = (
    *("omniact", "omniact-mended", "os-atlas-omniact", "os-atlas-omniact-mended"),
    *("strict", "gui-r1"),
)
PUBLISHED = (2_020, 2_021)
"""The test tasks by the card of the data, and by the paper."""
_LINE = re.compile(r"\s*pyautogui\.(\w+)\((.*)\)\s*$")
_ARGUMENT = re.compile(r"\s*(?:\w+\s*=\s*)?(?:\"([^\"]*)\"|'([^']*)'|(-?\d+(?:\.\d+)?))\s*(?:,|$)")
_POINTED = {
    "click": "click",
    "rightclick": "right_click",
    "doubleclick": "double_click",
    "moveto": "hover",
    "dragto": "drag",
}


class _Task(msgspec.Struct, frozen=True):
    """The files of a task, relative to the folder of the set."""

    task: str
    image: str
    box: str


class _Box(msgspec.Struct, frozen=True):
    """The corners of a box in pixels."""

    top_left: tuple[float, float]
    bottom_right: tuple[float, float]


def read(folder: Folder, split: str, counts: Collection[int] = PUBLISHED) -> list[ScreenStep]:
    """Return the tasks of a split. Raises `DataError`, also for a number not in `counts`."""
    files = folder.files(f"{split}.json", "the tasks of the split")
    tasks = decoded(files[0].path, dict[str, _Task])
    if counts and len(tasks) not in counts:
        known = " or ".join(f"{count:,}" for count in counts)
        raise DataError(
            f"{files[0].path} has {len(tasks):,} tasks where {known} are published; is the file "
            "changed?"
        )
    return sorted(_rows(folder, tasks), key=lambda row: (row.episode, row.step))


def _rows(folder: Folder, tasks: Mapping[str, _Task]) -> Iterator[ScreenStep]:
    for place, (key, task) in enumerate(tasks.items()):
        where = f"test.json, task {key}"
        text = folder.picture(task.task).decode("utf-8", errors="replace")
        first, *lines = text.strip().splitlines() or [""]
        try:
            listed = decode_json(folder.picture(task.box), dict[str, _Box])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise DataError(f"{folder.root}/{task.box}: {error}") from error
        boxes = [(*one.top_left, *one.bottom_right) for one in listed.values()]
        script = [line for line in lines if line.strip().lower().startswith("pyautogui")]
        with reading(f"{folder.root}/{where}"):
            actions = [_action(line, boxes) for line in script]
        if not actions:
            raise DataError(f"{folder.root}/{where}: {task.task} has no line of pyautogui")
        yield ScreenStep(
            where=where,
            episode=task.image.removesuffix(".png"),
            step=int(key) if key.isdigit() else place,
            pictures=(task.image,),
            goal=first.removeprefix("Task:").strip(),
            actions=(several(actions),),
            boxes={"given": tuple(boxes)},
            labels={"platform": "web" if "/web/" in f"/{task.image}" else "desktop"},
            past=(),
        )


def _action(line: str, boxes: list[Edges]) -> Action:
    """Read a line of a script.

    >>> str(_action('pyautogui.hotkey("ctrl", "a")', []))
    "hotkey(text='ctrl+a')"
    """
    read = _LINE.match(line)
    if read is None:
        raise ValueError(f"{line.strip()!r} is not a call of pyautogui")
    name, arguments = read[1].lower(), list(_arguments(read[2]))
    numbers = [float(one) for one in arguments if not isinstance(one, str)]
    texts = [one for one in arguments if isinstance(one, str)]
    if name in _POINTED and len(numbers) >= 2:
        point = numbers[0], numbers[1]
        action = Action(_POINTED[name], point=point)
        around = (box for box in boxes if _middle(box) == point)
        box = next(around, None)
        return action if box is None or action.name == "drag" else with_box(action, box)
    told: dict[str, Value] = {"text": "+".join(texts)}
    if name in ("press", "hotkey", "write", "typewrite") and texts:
        kinds = {"press": "key", "hotkey": "hotkey"}
        return Action(kinds.get(name, "type"), arguments=told)
    if name in ("scroll", "vscroll", "hscroll") and numbers:
        ways = ("left", "right") if name == "hscroll" else ("down", "up")
        return Action("scroll", arguments={"direction": ways[numbers[0] > 0]})
    raise ValueError(f"unknown line {line.strip()!r}")


def _middle(box: Edges) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _arguments(text: str) -> Iterator[str | float]:
    position = 0
    while position < len(text.rstrip()):
        found = _ARGUMENT.match(text, position)
        if found is None:
            raise ValueError(f"{text!r} are not plain arguments")
        position = found.end()
        yield float(found[3]) if found[3] else found[1] or found[2] or ""


BENCHMARK = ScreenSet(
    "omniact",
    published="2024",
    read=read,
    marks=("data/tasks", "data/metadata"),
    folders=("",),
    rules=RULES,
    declared=declaration(
        RULES, "omniact", [Group("platform", "web or desktop")], Level("episode", "screen")
    ),
    boxed=True,
    script=True,
)
