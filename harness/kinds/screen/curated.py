"""AndroidControl-Curated (2025): OS-Atlas' steps with points or boxes that were checked.

Rows lie out of order and name no episode: they are put in the order of their pictures, and those
of one task belong together. Typed texts and names of apps are stored by their first word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, decoded
from harness.benchmarks.published import Rows
from harness.errors import DataError
from harness.kinds.screen.androidcontrol import COUNTS
from harness.kinds.screen.sets import Row, ScreenSet, declaration
from parsers.actions import Action
from parsers.declaration import Level
from parsers.screen import DIRECTIONS, OPPOSITE, Past, with_box

FILES = {
    "high-point": "android_control_high_point.json",
    "low-point": "android_control_low_point.json",
    "high-bbox": "android_control_high_bbox.json",
    "low-bbox": "android_control_low_bbox.json",
    "improved": "android_control_high_task-improved.json",
}
RULES = ("curated", "curated-point", "curated-bbox", "strict", "os-atlas", "gui-r1")
OF_POINTS = ("curated-point", "strict", "os-atlas", "gui-r1")
OF_BOXES = ("curated", "curated-bbox", "strict", "os-atlas", "gui-r1")
NO_TEXT = "no input text"
_NAMES = {
    "navigate_back": "back",
    "press_back": "back",
    "navigate_home": "home",
    "input_text": "type",
    "swipe": "scroll",
    **{name: name for name in ("click", "long_press", "scroll", "type", "open_app", "wait")},
}
_NUMBER = re.compile(r"image_(\d{1,6})\.\w+$")
_PAST = re.compile(r"Step \d+: *(.+)")


class Candidate(msgspec.Struct, frozen=True):
    """Another right action."""

    action_type: str
    action_bounds: list[float] = []


class Stored(msgspec.Struct, frozen=True):
    """A row; `gt_bbox` is a point, or a box where `gt_max_bbox` is not given."""

    image: str
    instruction: str
    gt_action: str
    gt_input_text: str = NO_TEXT
    history: str = ""
    gt_bbox: list[float] = []
    gt_max_bbox: list[float] = []
    revised_task: str | None = None
    revised_memory: str | None = None
    candidate_actions: list[Candidate] = []


def _read(folder: Folder, split: str) -> Rows:
    files = folder.files(f"**/{FILES[split]}", "the steps of the split")
    return Rows(list(_rows(files[0].path, low=split.startswith("low"))), files[:1])


def _rows(path: Path, *, low: bool) -> Iterator[Row]:
    numbered: dict[int, Stored] = {}
    for place, one in enumerate(decoded(path, list[Stored]), start=1):
        named = _NUMBER.search(one.image)
        if named is None or int(named[1]) in numbered:
            raise DataError(f"{path}, row {place}: {one.image} is no image_NUMBER, or there twice")
        numbered[int(named[1])] = one
    tasks: dict[str, int] = {}
    for number, one in sorted(numbered.items()):
        goal = one.revised_task or one.instruction
        task = number if low else tasks.setdefault(one.instruction, len(tasks) + 1)
        told = one.history if one.revised_memory is None else one.revised_memory
        try:
            actions = tuple(_actions(one))
        except ValueError as error:
            raise DataError(f"{path}, image {number}: {error}") from error
        yield Row(
            where=f"{path.name}, image {number}",
            episode=f"task-{task}",
            step=number,
            pictures=(one.image, one.image.rpartition("/")[2]),
            goal=goal,
            instruction=one.instruction if low else "",
            actions=actions,
            past=tuple(Past(Action(), sentence.strip()) for sentence in _PAST.findall(told)),
        )


def _actions(one: Stored) -> Iterator[Action]:
    text = "" if one.gt_input_text == NO_TEXT else f":{one.gt_input_text.lower()}"
    yield _action(one.gt_action + text, one.gt_max_bbox or one.gt_bbox)
    for other in one.candidate_actions:
        yield _action(other.action_type, other.action_bounds)


def _action(line: str, place: list[float]) -> Action:
    native, _, text = line.partition(":")
    name, text = _NAMES.get(native.strip(), ""), text.strip()
    if not name:
        raise ValueError(f"unknown action '{native}'")
    if name in ("click", "long_press"):
        if len(place) == 4:
            return with_box(Action(name), (place[0], place[1], place[2], place[3]))
        if len(place) != 2:
            raise ValueError(f"{place} is neither a point nor a box")
        return Action(name, point=(place[0], place[1]))
    if name == "scroll":
        if text not in DIRECTIONS:
            raise ValueError(f"'{text}' is none of {', '.join(DIRECTIONS)}")
        # `scroll` names the view, `swipe` the finger.
        return Action(name, arguments={"direction": OPPOSITE[text] if native == "swipe" else text})
    return Action(name, arguments={"text": text} if name in ("type", "open_app") else {})


BENCHMARK = ScreenSet(
    "androidcontrol-curated",
    splits=tuple(FILES),
    default_splits=("high-point",),
    sizes=tuple(SplitSize(name, 0, 7708) for name in FILES),
    read=_read,
    marks=tuple(FILES.values()),
    folders=("images", "", "benchmark_resource"),
    cells={name: COUNTS["os-atlas"] for name in FILES if name != "improved"},
    rules=RULES,
    judged={name: OF_POINTS if name.endswith("point") else OF_BOXES for name in FILES},
    headline={"high-point": "curated-point", "low-point": "curated-point"},
    declared=declaration(RULES, "curated", level=Level("episode", "task")),
)
