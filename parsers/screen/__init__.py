"""Steps on screens: the actions, a step's right answers, and how both are written in a file.

Points are in pixels of the original picture, x to the right and y down. A scroll is named for where
the view goes: `down` shows what lies below, and the finger moves up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from parsers.actions import Action, ActionKind, ActionSpace, Argument, Value, mended

KIND = "screen-step"
Point = tuple[float, float]
Edges = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""
Side = Literal["content", "finger"]
"""Meaning of the direction of a scroll: where the view goes, or the finger."""
Device = Literal["phone", "computer", "browser"]
"""The device of a screen."""

DIRECTIONS = ("up", "down", "left", "right")
OPPOSITE = {"up": "down", "down": "up", "left": "right", "right": "left"}

_AT = Argument("at", "point", required=False)
_TEXT = Argument("text", "text", required=False, compared="folded")
_TO = tuple(
    Argument(name, "number", required=False, compared="ignored") for name in ("to_x", "to_y")
)
_SIDES = ("left", "top", "right", "bottom")
_BOX = tuple(Argument(name, "number", required=False, compared="ignored") for name in _SIDES)
BOXED = ("click", "long_press", "double_click", "right_click", "hover")
"""Actions at a place, which may be given as a box."""
_PLAIN = ("enter", "back", "home", "recents", "wait", "impossible", "copy")
_KEPT = frozenset({"to_x", "to_y", *_SIDES})
"""Arguments that files write otherwise: as the end of a gesture, or as a box."""
SEVERAL = "several"
_WORDS = ("key", "hotkey", "open_app", "answer", "call_user", "complete")

SCREEN = ActionSpace(
    "screen",
    (
        *(ActionKind(name, (_AT, *_BOX)) for name in BOXED),
        ActionKind("select", (_TEXT, _AT, *_BOX)),
        *(ActionKind(name, (_AT, *_TO)) for name in ("drag", "select_text")),
        ActionKind(
            "scroll", (Argument("direction", "choice", DIRECTIONS, required=False), _AT, *_TO)
        ),
        ActionKind(
            "type", (_TEXT, _AT, Argument("submit", "flag", required=False, compared="ignored"))
        ),
        *(ActionKind(name, (_TEXT,)) for name in _WORDS),
        *(ActionKind(name) for name in _PLAIN),
        ActionKind(SEVERAL, (Argument("actions", "text"),)),
    ),
)
"""Everything that can be done in a step. Of a gesture, `at` is where the finger goes down and
`to_x`, `to_y` where it goes up. A place that was given as a box has its edges, too. `several` has
a text of actions that are done one after the other (`several`, `parts`)."""

BUTTONS = ("back", "home", "enter", "recents")
BEYOND = (
    *("long_press", "open_app", "back", "home", "recents"),
    *("answer", "complete", "impossible"),
)
"""Actions that not every set has: a tool offers those of the set alone."""


@dataclass(frozen=True, slots=True)
class Past:
    """An earlier recorded step of the episode: its action and its step sentence."""

    action: Action
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A protocol's view of a step.

    goal: the task of the episode.
    instruction: this step's sentence; "" where none is recorded.
    size: width and height of the picture.
    before: the earlier steps, in order.
    stored: which side the set's own files name in a scroll.
    script: whether a step may hold several actions.
    device: what the screen belongs to.
    has: the actions of the set beyond those that every screen has (`BEYOND`), the same for all its
        steps.
    """

    goal: str
    instruction: str = ""
    size: tuple[int, int]
    stored: Side = "content"
    before: tuple[Past, ...] = ()
    script: bool = False
    device: Device = "phone"
    has: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The right answers of a step.

    actions: any of them is right; the first is the recorded one.
    boxes: candidate boxes of the target, in the order of the file, by origin (`a11y`, `sam2`).
    boxed: whether the set comes with boxes; rules that need them have no value elsewhere.
    stored: which side the set's own files name in a scroll.
    """

    actions: tuple[Action, ...]
    boxes: Mapping[str, tuple[Edges, ...]] = field(default_factory=dict)
    boxed: bool = False
    stored: Side = "content"

    @property
    def action(self) -> Action:
        """The action of the recording."""
        return self.actions[0]

    @property
    def all_boxes(self) -> tuple[Edges, ...]:
        """The boxes of every origin."""
        return tuple(box for boxes in self.boxes.values() for box in boxes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenDetail:
    """The part of a line that only a step on a screen has."""

    asked: Task
    gold: Answers

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture."""
        return self.asked.size


def gesture(action: Action) -> tuple[Point, Point] | None:
    """Where the finger goes down and up; None unless both are known."""
    to = action.arguments.get("to_x"), action.arguments.get("to_y")
    if action.point is None or not all(isinstance(one, int | float) for one in to):
        return None
    return action.point, (float(to[0] or 0), float(to[1] or 0))


def box_of(action: Action) -> Edges | None:
    """The box that an action was placed with; None for a point."""
    edges = [action.arguments.get(side) for side in _SIDES]
    if not all(isinstance(one, int | float) for one in edges):
        return None
    left, top, right, bottom = (float(one or 0) for one in edges)
    return left, top, right, bottom


def with_box(action: Action, box: Edges) -> Action:
    """Return an action that is placed with a box; its point is the middle."""
    middle = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    arguments = {**action.arguments, **dict(zip(_SIDES, box, strict=True))}
    return replace(action, point=middle, arguments=arguments)


def several(actions: Sequence[Action]) -> Action:
    """Return actions that are done one after the other as one; a single one unchanged.

    >>> parts(several([Action("back"), Action("click", point=(1.0, 2.0))]))[1].point
    (1.0, 2.0)
    """
    if len(actions) == 1:
        return actions[0]
    listed = [[one.name, one.element, one.point, dict(one.arguments)] for one in actions]
    text = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    return Action(SEVERAL, arguments={"actions": text})


def parts(action: Action) -> tuple[Action, ...]:
    """The actions that an action consists of, as `several` has written them."""
    if action.name != SEVERAL:
        return (action,)
    return tuple(
        Action(name, element, None if point is None else (point[0], point[1]), arguments)
        for name, element, point, arguments in json.loads(str(action.arguments["actions"]))
    )


def told(action: Action) -> str:
    """An action in one line for people, several with arrows between.

    >>> told(several([Action("back"), Action("home")]))
    'back() → home()'
    """
    return " → ".join(str(gist(one)) for one in parts(action))


def gist(action: Action) -> Action:
    """An action without the edges of boxes and the ends of gestures; a scroll is a direction."""
    kept = {name: value for name, value in action.arguments.items() if name not in _KEPT}
    return replace(action, point=None if action.name == "scroll" else action.point, arguments=kept)


def placed(action: Action, to: Callable[[Point], Point | None]) -> Action | None:
    """Convert the places of an action; None if one of them has no counterpart."""
    if action.name == SEVERAL:
        there = [placed(one, to) for one in parts(action)]
        found = [one for one in there if one is not None]
        return several(found) if len(found) == len(there) else None
    if (box := box_of(action)) is not None:
        corner, end = to((box[0], box[1])), to((box[2], box[3]))
        return None if corner is None or end is None else with_box(action, (*corner, *end))
    point, arguments = action.point, dict(action.arguments)
    if point is not None and (point := to(point)) is None:
        return None
    to_x, to_y = arguments.get("to_x"), arguments.get("to_y")
    if isinstance(to_x, int | float) and isinstance(to_y, int | float):
        if (end := to((to_x, to_y))) is None:
            return None
        arguments["to_x"], arguments["to_y"] = end
    return replace(action, point=point, arguments=arguments)


def finger_way(start: Point, end: Point) -> str:
    """The main axis of a movement; the vertical one of two equal ones.

    >>> finger_way((0, 0), (0.2, -0.3)), finger_way((0, 0), (1, 0.5))
    ('up', 'right')
    """
    across, down = end[0] - start[0], end[1] - start[1]
    if abs(across) > abs(down):
        return "right" if across > 0 else "left"
    return "down" if down > 0 else "up"


def way_of(action: Action) -> str:
    """The direction of a scroll: the one named, else that of its gesture; "" for neither."""
    moved = gesture(action)
    named = action.arguments.get("direction")
    return str(named or (OPPOSITE[finger_way(*moved)] if moved else ""))


def swipe(start: Point, end: Point, finger: str) -> Action:
    """A scroll by a gesture from one place to another; `finger` is the way of the finger."""
    arguments: dict[str, Value] = {"direction": OPPOSITE[finger], "to_x": end[0], "to_y": end[1]}
    return Action("scroll", point=start, arguments=arguments)


def text_of(action: Action) -> str | None:
    """The text of an action; None where it has none."""
    text = action.arguments.get("text")
    return text if isinstance(text, str) else None


def from_object(written: Mapping[str, Any], size: tuple[float, float]) -> Action:
    """Read an action of own data or of a prediction file, as docs/screen-steps.md has it.

    Points are shares of a picture of `size`; (1, 1) keeps the numbers unchanged.

    Raises ValueError, with what is wrong, for anything else.
    """
    name = written.get("type")
    if not isinstance(name, str) or name not in SCREEN:
        known = ", ".join(kind.name for kind in SCREEN.actions)
        raise ValueError(f"an action has a type of {known}, not {name!r}")
    space = SCREEN[name]
    if name == SEVERAL:
        return _several(written, size)
    arguments: dict[str, Value] = {}
    box: Edges | None = None
    point: Point | None = None
    for key, value in written.items():
        if key == "type" or value is None:
            continue
        if key in ("at", "from"):
            if not space.places:
                raise ValueError(f"{name} has no place: leave out {key}")
            point = _point(value, key, size)
        elif key == "to":
            if "to_x" not in space.values:
                raise ValueError(f"{name} has no end: leave out to")
            arguments["to_x"], arguments["to_y"] = _point(value, key, size)
        elif key == "box" and "left" in space.values:
            if not isinstance(value, Sequence) or len(value) != 4:
                raise ValueError(f"box is left, top, right and bottom, not {value!r}")
            box = (*_point(value[:2], key, size), *_point(value[2:], key, size))
        elif (
            key not in space.values
            or key in ("to_x", "to_y", *_SIDES)
            or not space.values[key].takes(value)
        ):
            raise ValueError(f"{name} cannot have {key} = {value!r}")
        else:
            arguments[key] = mended(value) if isinstance(value, str) else value
    action = Action(name, point=point, arguments=arguments)
    return action if box is None else with_box(action, box)


def _several(written: Mapping[str, Any], size: tuple[float, float]) -> Action:
    listed = written.get("actions")
    if set(written) != {"type", "actions"} or not isinstance(listed, list) or not listed:
        raise ValueError(f"{SEVERAL} has a list of actions, and nothing else")
    if not all(isinstance(one, dict) and one.get("type") != SEVERAL for one in listed):
        raise ValueError(f"the actions of {SEVERAL} are single ones")
    return several([from_object(one, size) for one in listed])


def _point(value: object, key: str, size: tuple[float, float]) -> Point:
    if (
        not isinstance(value, Sequence)
        or len(value) != 2
        or not all(type(one) in (int, float) and math.isfinite(one) for one in value)
    ):
        raise ValueError(f"{key} is two numbers, x and y, not {value!r}")
    return float(value[0]) * size[0], float(value[1]) * size[1]
