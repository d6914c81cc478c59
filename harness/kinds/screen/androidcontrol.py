"""AndroidControl (Li et al. 2024): the test steps, from the gold file that papers score with.

Three test sets are in use: all 8,444 steps, the 7,708 that OS-Atlas reads, and the 10,161 of
AgentCPM-GUI, which have 137 episodes of the validation ids and so a file of their own (`agentcpm`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from harness.benchmarks.contract import SplitSize
from harness.benchmarks.folders import Folder, decoded, decoded_text
from harness.benchmarks.published import Rows
from harness.errors import DataError
from harness.kinds.screen import agentcpm
from harness.kinds.screen.sets import Row, ScreenSet, declaration
from parsers.actions import Action, Value
from parsers.screen import DIRECTIONS

GOLD = ("gold.jsonl", "android_control_test.jsonl", "android_control_test.json")
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
"""How often each action is right."""


class Checked(msgspec.Struct, frozen=True):
    """The right answer of a step, in pixels."""

    action: str
    coordinate: tuple[float, float] | None = None
    candidate_bbox: list[tuple[float, float, float, float]] = []
    text: str | None = None
    button: str = ""
    direction: str = ""


class Step(msgspec.Struct, frozen=True):
    """A step of an episode."""

    step_instruction: str
    check_options: Checked


class Episode(msgspec.Struct, frozen=True):
    """A line of the gold file."""

    goal: str
    episode_id: int
    steps: list[Step]


class Inner(msgspec.Struct, frozen=True):
    """The episode of an entry of `android_control_test.json`."""

    episode_id: int
    goal: str
    step_instructions: list[str]


class Entry(msgspec.Struct, frozen=True):
    """An entry of `android_control_test.json`."""

    width: int
    height: int
    episode: Inner
    step_check_pams: list[Checked]


def _read(folder: Folder, split: str) -> Rows:
    if split == "agentcpm":
        return Rows(*agentcpm.rows(folder))
    name = next((one for one in GOLD if (folder.root / one).is_file()), GOLD[0])
    files = folder.files(name, "the gold of the test steps (docs/screen-data.md)")
    rows = list(_rows(folder, name))
    if split == "os-atlas":
        files += folder.files(INDEX, "the steps that OS-Atlas evaluates")
        kept = set(_indexed(folder.root / INDEX))
        if missing := sorted(kept - {(row.episode, row.step) for row in rows}):
            raise DataError(f"{folder.root}/{INDEX}: {name} has no step {missing[0]}")
        rows = [row for row in rows if (row.episode, row.step) in kept]
    return Rows(rows, files)


def _rows(folder: Folder, name: str) -> Iterator[Row]:
    path = folder.root / name
    if name.endswith(".jsonl"):
        for line, one in decoded_text(path, Episode):
            for step, told in enumerate(one.steps):
                where = f"{name}, line {line}"
                yield _row(where, one, step, told.step_instruction, told.check_options)
        return
    for entry in decoded(path, list[Entry]):
        inner, size = entry.episode, (entry.width, entry.height)
        if len(inner.step_instructions) != len(entry.step_check_pams):
            raise DataError(
                f"{path}: episode {inner.episode_id} has {len(inner.step_instructions)} sentences "
                f"for {len(entry.step_check_pams)} steps"
            )
        pairs = zip(inner.step_instructions, entry.step_check_pams, strict=True)
        for step, (sentence, checked) in enumerate(pairs):
            yield _row(name, inner, step, sentence, checked)._replace(size=size)


def _row(where: str, episode: Episode | Inner, step: int, sentence: str, checked: Checked) -> Row:
    action = _action(checked, f"{where}, step {step} of episode {episode.episode_id}")
    boxes = tuple(checked.candidate_bbox)
    return agentcpm.row(where, episode.episode_id, step, episode.goal, sentence, action, boxes)


def _action(checked: Checked, where: str) -> Action:
    name = checked.action
    arguments: dict[str, Value] = {}
    if name == "system_button":
        name = _BUTTONS.get(checked.button.strip().lower(), "")
    elif name == "swipe":
        name, arguments = "scroll", {"direction": checked.direction}
        if checked.direction not in DIRECTIONS:
            raise DataError(f"{where}: '{checked.direction}' is none of {', '.join(DIRECTIONS)}")
    elif name in ("type", "open"):
        name = "open_app" if name == "open" else name
        arguments = {"text": checked.text or ""}
    if name not in _NAMES and name not in _BUTTONS.values():
        raise DataError(f"{where}: unknown action '{checked.action}'")
    return Action(name, point=checked.coordinate, arguments=arguments)


def _indexed(path: Path) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(path.read_text("utf-8").split(), start=1):
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
    marks=(*GOLD[1:], agentcpm.COMPACT),
    cells=COUNTS,
    rules=RULES,
    judged={"agentcpm": OF_TREES},
    headline={"os-atlas": "os-atlas", "agentcpm": "agentcpm-ac"},
    declared=declaration(RULES, "qwen-ac"),
    boxed=True,
)
