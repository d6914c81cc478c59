"""Boxes as data sets store them, made targets in pixels, and what is wrong with them.

The meaning of a box's numbers is fixed for each data set and never guessed from them: another
convention makes another target, and scores that look like those of a bad model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from parsers.declaration import Average, Declaration, Group, Level, Measure
from parsers.grounding import KIND, POINTING, Target, measures

PICTURE = Level("picture", shared=True)
"""The picture of an item. The same one may be in several splits, with other instructions."""


def declaration(
    *,
    levels: Sequence[Level] = (PICTURE,),
    clusters: Sequence[str] = (),
    groups: Sequence[Group] = (),
    cells: Sequence[str] = (),
    headline: Average = "micro",
    classes: Mapping[str, str] = MappingProxyType({}),
    absent: bool = False,
    shared: bool = False,
) -> Declaration:
    """Return the declaration of a set.

    Args:
        levels: of parents, from the inside out.
        clusters: those that intervals can take as independent, the usual one first; the innermost
            level unless given.
        groups: breakdowns of the results, in addition to the split.
        cells: the groups whose combinations are the cells of the average `cells`; none without it.
        headline: the average that the authors of the set publish. The other one is shown, too.
        classes: classes that an item may have several of, each with its meaning. They are measures,
            since no group could tell results by them.
        absent: whether some instructions fit nothing on their picture.
        shared: whether splits ask about the same items in other words.
    """
    averages: tuple[Average, ...] = ("micro", "cells") if cells else ("micro",)
    averages = tuple(sorted(averages, key=lambda average: average != headline))
    of_classes = (
        Measure(
            name, name.replace("_", " "), f"hits in {meaning}", averages=("micro",), partial=True
        )
        for name, meaning in classes.items()
    )
    return Declaration(
        measures=(*measures(averages, cells, absent=absent), *of_classes),
        levels=tuple(levels),
        groups=(Group("split", "the split", whole=levels[0].name), *groups),
        clusters=tuple(clusters),
        shared=shared,
        kind=KIND,
        unit="item",
        actions=POINTING,
    )


Convention = Literal["xyxy-px", "xywh-px", "xyxy-unit"]
"""`xyxy`: left, top, right, bottom; `xywh`: left, top, width, height. `px`: pixels of the original
picture; `unit`: shares of its width and height."""
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

Size = tuple[int, int]
SLACK_PX = 2
"""Pixels that a box may exceed its picture by: a border around it, or a number rounded up."""


def target_of(box: Sequence[float], convention: Convention, size: Size) -> Target:
    """Return the target that a stored box means on a picture of that size.

    >>> target_of((42, 1102, 197, 70), "xywh-px", (2560, 1440)).numbers
    (42, 1102, 239, 1172)
    >>> target_of((0.25, 0.5, 0.5, 1.0), "xyxy-unit", (1920, 1080)).numbers
    (480.0, 540.0, 960.0, 1080.0)

    Raises `ValueError` if it is not a box of that convention.
    """
    if len(box) != 4 or not all(map(math.isfinite, box)):
        raise ValueError(f"a box is four numbers, not {list(box)}")
    left, top, right, bottom = box
    width, height = size
    if convention == "xywh-px":
        if right < 0 or bottom < 0:
            raise ValueError(f"width and height of a box are no less than 0: {list(box)}")
        right, bottom = left + right, top + bottom
    elif convention == "xyxy-unit":
        left, top, right, bottom = left * width, top * height, right * width, bottom * height
    return Target("box", (left, top, right, bottom))


def points_of(corners: Sequence[float], convention: Convention, size: Size) -> tuple[float, ...]:
    """Return the corners of a polygon in pixels, where they are stored as pixels or as shares.

    >>> points_of((0, 0, 0.5, 0, 0.5, 0.1), "xyxy-unit", (100, 200))
    (0, 0, 50.0, 0, 50.0, 20.0)
    """
    if convention != "xyxy-unit":
        return tuple(corners)
    return tuple(number * size[place % 2] for place, number in enumerate(corners))


class Finding(NamedTuple):
    """Something unusual about an item.

    what: a key of `MEANING`.
    unit_id: the item.
    numbers: target and picture size, for messages.
    """

    what: str
    unit_id: str
    numbers: str


MEANING = {
    "outside": f"outside the picture by more than {SLACK_PX} px",
    "edge": f"outside the picture by {SLACK_PX} px or less",
    "empty": "without area",
    "corner": "around the point (0, 0), where replies end up that some harnesses cannot read",
    "twice": "asking what another one asks",
    "unasked": "without an instruction",
}
"""Explanations of findings about items."""


def findings(unit_id: str, target: Target, size: Size) -> Iterable[Finding]:
    """List unusual facts about a target on a picture of that size."""
    if target.kind == "absent":
        return
    left, top, right, bottom = target.bounds
    numbers = f"{target} on {size[0]}x{size[1]}"
    over = max(-left, -top, right - size[0], bottom - size[1])
    if over > 0:
        yield Finding("outside" if over > SLACK_PX else "edge", unit_id, numbers)
    if _flat(target):
        yield Finding("empty", unit_id, numbers)
    elif left <= 0 <= right and top <= 0 <= bottom:
        yield Finding("corner", unit_id, numbers)


def _flat(target: Target) -> bool:
    """Return whether all corners lie on one line."""
    (left, top), *others = target.corners
    offsets = [(x - left, y - top) for x, y in others]
    across, down = next((one for one in offsets if any(one)), (0, 0))
    return all(x * down == y * across for x, y in offsets)


def as_shares(boxes: Iterable[Sequence[float]]) -> bool:
    """Return whether boxes that should be pixels all lie within 0 to 1: shares of the picture."""
    found = [box for box in boxes if box]
    return bool(found) and all(0 <= number <= 1 for box in found for number in box)
