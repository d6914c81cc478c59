"""The 10,161 steps of AndroidControl that AgentCPM-GUI evaluates (split `agentcpm`).

All steps outside of the training ids but those that open an app, and a last step for every episode
that says it is finished, as the authors' `process_ac.py` writes them. Boxes are all those of the
accessibility tree; kept are those that the rules look at: around the recorded point, and the five
nearest to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.benchmarks.folders import Folder
from harness.benchmarks.picture_sets import reading
from harness.benchmarks.screen.aitw import Touched
from harness.benchmarks.screen.sets import ScreenStep
from parsers.actions import Action, Value
from parsers.scoring import within
from parsers.screen import OPPOSITE, Edges, Point, finger_way
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


def rows(folder: Folder) -> Iterator[ScreenStep]:
    """Yield the steps of the authors' conversion. Raises `DataError`."""
    for file, _, step in folder.json(CONVERTED, _WHAT, Converted):
        where, size = f"{file.name}, step {step.step_id}", (step.image_width, step.image_height)
        with reading(f"{folder.root}/{where}"):
            action = _action(step, size)
            boxes = [
                (x * size[0], y * size[1], to_x * size[0], to_y * size[1])
                for x, y, to_x, to_y in step.boxes()
            ]
        near, told = kept(boxes, action.point, size), (step.instruction, step.low_instruction)
        made = row(where, step.episode_id, step.step_id, *told, action, near)
        pictures = (*made.pictures, step.image_path.rpartition("/")[2])
        yield made._replace(pictures=pictures, size=size)


def _action(step: Converted, size: tuple[int, int]) -> Action:
    if (action := step.untouched(_BY_NUMBER)) is not None:
        return action
    touch, lift = step.touches()
    start, end = ((x * size[0], y * size[1]) for x, y in (touch, lift))
    if touch == lift:
        return Action("click", point=start)
    way = OPPOSITE[finger_way(touch, lift)]
    arguments: dict[str, Value] = {"direction": way, "to_x": end[0], "to_y": end[1]}
    return Action("scroll", point=start, arguments=arguments)


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
