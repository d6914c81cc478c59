"""AndroidControl (Li et al. 2024), and its curated files (AndroidControl-Curated, 2025).

The test steps are from the gold file that papers score with. Three test sets are in use: all 8,444
steps, the 7,708 that OS-Atlas reads, and the 10,161 of AgentCPM-GUI, which have 137 episodes of the
validation ids and so their own files. Those hold all steps outside of the training ids but the ones
that open an app, and a last step for every episode that says it is finished, as the authors'
`process_ac.py` writes them. Their boxes are all those of the accessibility tree; kept are those
that the rules look at: around the recorded point, and the five nearest to it.

The curated files have OS-Atlas' steps with points or boxes that were checked. Their rows lie out of
order and name no episode: they are put in the order of their pictures, and those of one task belong
together. Typed texts and names of apps are stored by their first word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from adapters.input_files import file_text
from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, decoded, decoded_text
from harness.benchmarks.picture_sets import reading
from harness.benchmarks.screen.aitw import Touched
from harness.benchmarks.screen.sets import ScreenSet, ScreenStep, declaration
from harness.errors import DataError
from parsers.actions import Action, Value
from parsers.declaration import Level
from parsers.scoring import within
from parsers.screen import DIRECTIONS, OPPOSITE, Edges, Past, Point, with_box
from parsers.screen.box_rules import nearest

CONVERTED = "test/android_control/*/*.json"
"""Where the authors' converter writes, a folder per episode."""
_WHAT = (
    "the steps of AgentCPM-GUI by its process_ac.py (docs/screen-steps.md); the gold of "
    "the test ids does not hold its 137 validation episodes"
)
_BY_NUMBER = {1: "wait", 3: "type", 5: "back", 6: "home", 10: "complete"}


class Converted(Touched, frozen=True, kw_only=True):
    """A step as the authors' converter writes it; its boxes are shares."""

    episode_id: int
    image_width: int
    image_height: int
    low_instruction: str = ""


def _converted(folder: Folder) -> Iterator[ScreenStep]:
    """Yield the steps of the authors' conversion. Raises `DataError`."""
    for file, _, step in folder.json(CONVERTED, _WHAT, Converted):
        where, size = f"{file.name}, step {step.step_id}", (step.image_width, step.image_height)
        with reading(f"{folder.root}/{where}"):
            action = _converted_action(step, size)
            boxes = [
                (x * size[0], y * size[1], to_x * size[0], to_y * size[1])
                for x, y, to_x, to_y in step.boxes()
            ]
        near, told = _kept(boxes, action.point, size), (step.instruction, step.low_instruction)
        made = _step(where, step.episode_id, step.step_id, *told, action, near)
        pictures = (*made.pictures, step.image_path.rpartition("/")[2])
        yield made._replace(pictures=pictures, size=size)


def _converted_action(step: Converted, size: tuple[int, int]) -> Action:
    if (action := step.untouched(_BY_NUMBER)) is not None:
        return action
    touch, lift = step.touches()
    return step.touched(size, tap=touch == lift)


def _step(
    where: str,
    episode: int,
    step: int,
    goal: str,
    instruction: str,
    action: Action,
    boxes: Sequence[Edges],
) -> ScreenStep:
    """Return a step of AndroidControl, with boxes of the accessibility tree."""
    return ScreenStep(
        where=where,
        episode=str(episode),
        step=step,
        pictures=(f"{episode}_{step}.png", f"{episode}/screenshot_{episode}_{step}.png"),
        goal=goal,
        instruction=instruction,
        actions=(action,),
        boxes={"a11y": tuple(boxes)},
    )


def _kept(boxes: Sequence[Edges], point: Point | None, size: tuple[int, int]) -> tuple[Edges, ...]:
    """The boxes that rules look at, in order: around the point, and the five nearest to it."""
    if point is None:
        return ()
    chosen = {*nearest(boxes, point, size)}
    return tuple(box for place, box in enumerate(boxes) if place in chosen or within(point, box))


GOLD = "android_control_test.jsonl"
INDEX = "ac_idx.txt"
RULES = (
    *("strict", "os-atlas", "gui-r1", "qwen-ac", "qwen-ac-any-swipe"),
    *("agentcpm-ac", "clawgui-ac"),
)
OF_TREES = ("strict", "os-atlas", "gui-r1", "agentcpm-ac")
"""Rules of a split whose boxes are those of the accessibility tree, not chosen by anybody."""
_BUTTONS = {"back": "back", "home": "home", "menu": "recents", "enter": "enter"}
_NAMES = ("click", "scroll", "type", "open_app", "wait", "back", "long_press", "complete")
COUNTS: Mapping[str, Mapping[tuple[str, ...], int]] = {
    split: {(name,): count for name, count in zip(_NAMES, counts, strict=False)}
    for split, counts in {
        "test": (5074, 1211, 632, 608, 567, 343, 9),
        "os-atlas": (4598, 1138, 569, 554, 527, 315, 7),
        "agentcpm": (5504, 1297, 685, 0, 623, 372, 0, 1680),
    }.items()
}
"""Number of right answers by action."""


class _Checked(msgspec.Struct, frozen=True):
    """The right answer of a step, in pixels."""

    action: str
    coordinate: tuple[float, float] | None = None
    candidate_bbox: list[tuple[float, float, float, float]] = []
    text: str | None = None
    button: str = ""
    direction: str = ""


class _Step(msgspec.Struct, frozen=True):
    """A step of an episode."""

    step_instruction: str
    check_options: _Checked


class _Episode(msgspec.Struct, frozen=True):
    """A line of the gold file."""

    goal: str
    episode_id: int
    steps: list[_Step]


def _read(folder: Folder, split: str) -> Iterable[ScreenStep]:
    if split == "agentcpm":
        return _converted(folder)
    folder.files(GOLD, "the gold of the test steps (docs/screen-steps.md)")
    rows = [
        _row(f"{GOLD}, line {line}", episode, number, step)
        for line, episode in decoded_text(folder.root / GOLD, _Episode)
        for number, step in enumerate(episode.steps)
    ]
    if split == "os-atlas":
        folder.files(INDEX, "the steps that OS-Atlas evaluates")
        kept = set(_indexed(folder.root / INDEX))
        if missing := sorted(kept - {(row.episode, row.step) for row in rows}):
            raise DataError(f"{folder.root}/{INDEX}: {GOLD} has no step {missing[0]}")
        rows = [row for row in rows if (row.episode, row.step) in kept]
    return rows


def _row(where: str, episode: _Episode, number: int, step: _Step) -> ScreenStep:
    with reading(f"{where}, step {number} of episode {episode.episode_id}"):
        action = _action(step.check_options)
    return _step(
        where,
        episode.episode_id,
        number,
        episode.goal,
        step.step_instruction,
        action,
        step.check_options.candidate_bbox,
    )


def _action(checked: _Checked) -> Action:
    name = checked.action
    arguments: dict[str, Value] = {}
    if name == "system_button":
        name = _BUTTONS.get(checked.button.strip().lower(), "")
    elif name == "swipe":
        name, arguments = "scroll", {"direction": checked.direction}
        if checked.direction not in DIRECTIONS:
            raise ValueError(f"'{checked.direction}' is none of {', '.join(DIRECTIONS)}")
    elif name in ("type", "open"):
        name = "open_app" if name == "open" else name
        arguments = {"text": checked.text or ""}
    if name not in _NAMES and name not in _BUTTONS.values():
        raise ValueError(f"unknown action '{checked.action}'")
    return Action(name, point=checked.coordinate, arguments=arguments)


def _indexed(path: Path) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(file_text(path).split(), start=1):
        parts = line.split("_")
        if len(parts) != 4 or not (parts[1] + parts[3]).isdigit():
            raise DataError(f"{path}, line {number}: not episode_NUMBER_screenshot_NUMBER: {line}")
        yield parts[1], int(parts[3])


BENCHMARK = ScreenSet(
    "androidcontrol",
    splits=("test", "os-atlas", "agentcpm"),
    sizes=(
        SplitSize("test", 1543, 8444),
        SplitSize("os-atlas", 1412, 7708),
        SplitSize("agentcpm", 1680, 10161),
    ),
    published="2024",
    read=_read,
    marks=(GOLD, CONVERTED),
    cells=COUNTS,
    rules=RULES,
    judged={"agentcpm": OF_TREES},
    headline={"os-atlas": "os-atlas", "agentcpm": "agentcpm-ac"},
    declared=declaration(RULES, "qwen-ac"),
    boxed=True,
)


FILES = {
    "high-point": "android_control_high_point.json",
    "low-point": "android_control_low_point.json",
    "high-bbox": "android_control_high_bbox.json",
    "low-bbox": "android_control_low_bbox.json",
    "improved": "android_control_high_task-improved.json",
}
CURATED_RULES = ("curated", "curated-point", "curated-bbox", "strict", "os-atlas", "gui-r1")
OF_POINTS = ("curated-point", "strict", "os-atlas", "gui-r1")
OF_BOXES = ("curated", "curated-bbox", "strict", "os-atlas", "gui-r1")
NO_TEXT = "no input text"
_CURATED_NAMES = {
    "navigate_back": "back",
    "press_back": "back",
    "navigate_home": "home",
    "input_text": "type",
    "swipe": "scroll",
    **{name: name for name in ("click", "long_press", "scroll", "type", "open_app", "wait")},
}
_NUMBER = re.compile(r"image_(\d{1,6})\.\w+$")
_PAST = re.compile(r"Step \d+: *(.+)")


class _Candidate(msgspec.Struct, frozen=True):
    """Another right action."""

    action_type: str
    action_bounds: list[float] = []


class CuratedRow(msgspec.Struct, frozen=True):
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
    candidate_actions: list[_Candidate] = []


def _read_curated(folder: Folder, split: str) -> Iterator[ScreenStep]:
    path, low = folder.files(f"**/{FILES[split]}", "the steps of the split")[0].path, "low" in split
    numbered: dict[int, CuratedRow] = {}
    for place, one in enumerate(decoded(path, list[CuratedRow]), start=1):
        named = _NUMBER.search(one.image)
        if named is None or int(named[1]) in numbered:
            raise DataError(f"{path}, row {place}: {one.image} is no image_NUMBER, or there twice")
        numbered[int(named[1])] = one
    tasks: dict[str, int] = {}
    for number, one in sorted(numbered.items()):
        goal = one.revised_task or one.instruction
        task = number if low else tasks.setdefault(one.instruction, len(tasks) + 1)
        told = one.history if one.revised_memory is None else one.revised_memory
        with reading(f"{path}, image {number}"):
            actions = tuple(_curated_actions(one))
        yield ScreenStep(
            where=f"{path.name}, image {number}",
            episode=f"task-{task}",
            step=number,
            pictures=(one.image, one.image.rpartition("/")[2]),
            goal=goal,
            instruction=one.instruction if low else "",
            actions=actions,
            past=tuple(Past(Action(), sentence.strip()) for sentence in _PAST.findall(told)),
        )


def _curated_actions(one: CuratedRow) -> Iterator[Action]:
    text = "" if one.gt_input_text == NO_TEXT else f":{one.gt_input_text.lower()}"
    yield _curated_action(one.gt_action + text, one.gt_max_bbox or one.gt_bbox)
    for other in one.candidate_actions:
        yield _curated_action(other.action_type, other.action_bounds)


def _curated_action(line: str, place: list[float]) -> Action:
    native, _, text = line.partition(":")
    name, text = _CURATED_NAMES.get(native.strip(), ""), text.strip()
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


CURATED = ScreenSet(
    "androidcontrol-curated",
    splits=tuple(FILES),
    default_splits=("high-point",),
    sizes=tuple(SplitSize(name, 0, 7708) for name in FILES),
    read=_read_curated,
    marks=tuple(FILES.values()),
    folders=("images", "", "benchmark_resource"),
    cells={name: COUNTS["os-atlas"] for name in FILES if name != "improved"},
    rules=CURATED_RULES,
    judged={name: OF_POINTS if name.endswith("point") else OF_BOXES for name in FILES},
    headline={"high-point": "curated-point", "low-point": "curated-point"},
    declared=declaration(CURATED_RULES, "curated", level=Level("episode", "task")),
)
