"""The 10,161 steps of AndroidControl that AgentCPM-GUI evaluates (split `agentcpm`).

All steps outside of the training ids but those that open an app, and a last step for every episode
that says it is finished. They come from the authors' conversion, or from the TFRecords:

    python -m harness.benchmarks.screen.agentcpm TFRECORDS OUT

writes `agentcpm.jsonl` and `images/` into OUT. Boxes are all those of the accessibility tree; the
file keeps those that the rules look at: around the recorded point, and the five nearest to it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from adapters.decoding import convert_to, decode_json
from harness.benchmarks.folders import Folder, decoded, decoded_text
from harness.benchmarks.picture_sets import reading
from harness.benchmarks.screen.aitw import Touched
from harness.benchmarks.screen.sets import ScreenStep
from harness.benchmarks.screen.tfrecords import chunks, example, fields, records, signed
from harness.data_files import DataFile
from harness.errors import DataError, UserError
from harness.runs.files import built_aside
from parsers.actions import Action, Value
from parsers.scoring import within
from parsers.screen import OPPOSITE, Edges, Point, finger_way, from_object, to_object
from parsers.screen.box_rules import nearest

COMPACT = "agentcpm.jsonl"
CONVERTED = "test/android_control/*/*.json"
"""Where the authors' converter writes, a folder per episode."""
_NAMES = {
    **dict.fromkeys(("click", "long_press"), "click"),
    "scroll": "scroll",
    "input_text": "type",
    "wait": "wait",
    "navigate_back": "back",
    "navigate_home": "home",
}
Side = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
"""Pixels."""
_BY_NUMBER = {1: "wait", 3: "type", 5: "back", 6: "home", 10: "complete"}


class _Stored(msgspec.Struct, frozen=True):
    """A line of the compact file; the action has shares of the picture, boxes are pixels."""

    episode: int
    step: int
    goal: str
    instruction: str
    size: tuple[int, int]
    action: dict[str, Any]
    boxes: list[tuple[float, float, float, float]] = []


class Converted(Touched, frozen=True, kw_only=True):
    """A step as the authors' converter writes it; its boxes are shares."""

    episode_id: int
    image_width: int
    image_height: int
    low_instruction: str = ""


def rows(folder: Folder) -> Iterator[ScreenStep]:
    """Yield the steps of the compact file or of the authors' conversion. Raises `DataError`."""
    if not any(folder.root.glob(CONVERTED)) or (folder.root / COMPACT).is_file():
        yield from _compact(folder)
        return
    for file, _, step in folder.json(CONVERTED, "steps of AgentCPM-GUI", Converted):
        yield _converted(folder, file, step)


def _compact(folder: Folder) -> Iterator[ScreenStep]:
    what = (
        "the steps of AgentCPM-GUI: make it from the TFRecords (docs/screen-steps.md); the gold of "
        "the test ids does not hold its 137 validation episodes"
    )
    folder.files(COMPACT, what)
    for number, one in decoded_text(folder.root / COMPACT, _Stored):
        where = f"{COMPACT}, line {number}"
        with reading(f"{folder.root}/{where}"):
            action = from_object(one.action, one.size)
        made = row(where, one.episode, one.step, one.goal, one.instruction, action, one.boxes)
        yield made._replace(size=one.size)


def _converted(folder: Folder, file: DataFile, step: Converted) -> ScreenStep:
    where, size = f"{file.name}, step {step.step_id}", (step.image_width, step.image_height)
    with reading(f"{folder.root}/{where}"):
        action = _converted_action(step, size)
        boxes = [
            (x * size[0], y * size[1], to_x * size[0], to_y * size[1])
            for x, y, to_x, to_y in step.boxes()
        ]
    near, told = kept(boxes, action.point, size), (step.instruction, step.low_instruction)
    made = row(where, step.episode_id, step.step_id, *told, action, near)
    pictures = (*made.pictures, step.image_path.rpartition("/")[2])
    return made._replace(pictures=pictures, size=size)


def _converted_action(step: Converted, size: tuple[int, int]) -> Action:
    if (action := step.untouched(_BY_NUMBER)) is not None:
        return action
    touch, lift = step.touches()
    start, end = ((x * size[0], y * size[1]) for x, y in (touch, lift))
    if touch == lift:
        return Action("click", point=start)
    return _scroll(OPPOSITE[finger_way(touch, lift)], start, end)


def _scroll(way: str, start: Point, end: Point | None = None) -> Action:
    arguments: dict[str, Value] = {"direction": way}
    if end is not None and end != start:
        arguments |= {"to_x": end[0], "to_y": end[1]}
    return Action("scroll", point=start if "to_x" in arguments else None, arguments=arguments)


def row(
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


def kept(boxes: Sequence[Edges], point: Point | None, size: tuple[int, int]) -> tuple[Edges, ...]:
    """The boxes that rules look at, in order: around the point, and the five nearest to it."""
    if point is None:
        return ()
    chosen = {*nearest(boxes, point, size)}
    return tuple(box for place, box in enumerate(boxes) if place in chosen or within(point, box))


def convert(source: Path, target: Path) -> int:
    """Write the compact file and the pictures of TFRecords; returns the number of steps.

    `source` holds `android_control*` and `splits.json`. Raises `DataError`.
    """
    folder = Folder(source, {})
    (listed,) = folder.files("splits.json", "the ids of the splits")
    train = set(decoded(listed.path, dict[str, list[int]]).get("train", ()))
    if not train:
        raise DataError(f"{listed.path} lists no ids under train")
    written: dict[tuple[int, int], bytes] = {}
    with built_aside(target) as made:
        (made / "images").mkdir()
        for file in folder.files("android_control*", "TFRecords of AndroidControl"):
            for number, data in enumerate(records(file.path), start=1):
                with reading(f"{file.path}, record {number}"):
                    read = convert_to(example(data), _Recorded)
                    if read.episode_id[0] not in train:
                        written |= _episode(read, made / "images")
        lines = [line for _, line in sorted(written.items())]
        (made / COMPACT).write_bytes(b"".join(line + b"\n" for line in lines))
    return len(lines)


class _Recorded(msgspec.Struct, frozen=True):
    """The features of an episode; lists of what every step has are as long as `screenshots`."""

    episode_id: tuple[int]
    goal: tuple[bytes]
    actions: list[bytes]
    step_instructions: list[bytes]
    screenshots: list[bytes]
    screenshot_widths: list[Side]
    screenshot_heights: list[Side]
    accessibility_trees: list[bytes]

    def __post_init__(self) -> None:
        steps = len(self.actions)
        for name, count in (
            ("screenshots", steps + 1),
            ("screenshot_widths", steps + 1),
            ("screenshot_heights", steps + 1),
            ("accessibility_trees", steps + 1),
            ("step_instructions", steps),
        ):
            if len(getattr(self, name)) != count:
                raise ValueError(f"{len(getattr(self, name))} {name} for {steps} actions")


class _Written(msgspec.Struct, frozen=True):
    """An action as JSON has it."""

    action_type: str
    x: float | None = None
    y: float | None = None
    direction: Literal["up", "down", "left", "right"] | None = None
    text: str = ""


def _episode(read: _Recorded, images: Path) -> dict[tuple[int, int], bytes]:
    (episode,) = read.episode_id
    actions = [decode_json(one, _Written) for one in read.actions]
    sentences = [*(one.decode() for one in read.step_instructions), "finish the task"]
    found = {}
    for step, written in enumerate([*actions, _Written("finish")]):
        size = read.screenshot_widths[step], read.screenshot_heights[step]
        action = _original(written, size)
        if action is None:
            continue
        line = _Stored(
            episode=episode,
            step=step,
            goal=read.goal[0].decode(),
            instruction=sentences[step],
            size=size,
            action=to_object(action, size),
            boxes=list(kept(list(_bounds(read.accessibility_trees[step])), action.point, size)),
        )
        (images / f"{episode}_{step}.png").write_bytes(read.screenshots[step])
        found[episode, step] = msgspec.json.encode(line)
    return found


def _original(written: _Written, size: tuple[int, int]) -> Action | None:
    """The action of a step; None for one that the split leaves out."""
    if written.action_type == "finish":
        return Action("complete")
    name = _NAMES.get(written.action_type)
    if name == "click":
        if written.x is None or written.y is None:
            raise ValueError(f"'{written.action_type}' without x and y")
        return Action(name, point=(written.x, written.y))
    if name == "scroll":
        if written.direction is None:
            raise ValueError("a scroll without a direction")
        return _scroll(written.direction, (size[0] / 2, size[1] / 2))
    if name == "type":
        return Action(name, arguments={"text": written.text})
    return Action(name) if name else None


def _bounds(forest: bytes) -> Iterator[Edges]:
    """The bounds of all windows and nodes of `AndroidAccessibilityForest` in `android_env`."""
    for window in chunks(forest, 1):
        yield from map(_rect, chunks(window, 1))
        for tree in chunks(window, 11):
            for node in chunks(tree, 1):
                yield from map(_rect, chunks(node, 2))


def _rect(data: bytes) -> Edges:
    sides = {number: value for number, value in fields(data) if isinstance(value, int)}
    left, top, right, bottom = (float(signed(sides.get(number, 0))) for number in (1, 2, 3, 4))
    return left, top, right, bottom


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert; return 0, or 2 with one line if something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m harness.benchmarks.screen.agentcpm")
    parser.add_argument("source", type=Path, help="folder of android_control* and splits.json")
    parser.add_argument("target", type=Path, help=f"folder for {COMPACT} and images/")
    chosen = parser.parse_args(arguments)
    try:
        print(f"{chosen.target / COMPACT}: {convert(chosen.source, chosen.target):,} steps")
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
