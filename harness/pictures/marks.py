"""Place letter tags on a picture, one for each marked element (set-of-mark prompting).

SeeAct's image annotation (Zheng et al. 2024, section 3.2) draws a box around every candidate and a
white letter on black at the box's bottom left. Positions are computed here in whole pixels of the
sent picture and become part of its recipe: letters keep their size at any scale of the page, and
another placement gives another recipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.pictures.recipe import CELLS, TAG_HEIGHT, TAG_PADDING, Crop, Mark

if TYPE_CHECKING:
    from harness.page import Box

Area = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of a picture; right and bottom are exclusive."""

_GAP = 3
"""Pixels between a box and a tag outside it: the width of the box's line."""
_SLIGHT = 0.05
"""Share of a box that a tag may hide before a position farther from its bottom left is better."""


def place(wanted: Sequence[tuple[str, Box]], crop: Crop, size: tuple[int, int]) -> tuple[Mark, ...]:
    """Place a tag for every element that is visible in a crop.

    Tags lie inside the picture and do not overlap, unless the picture is too small for them all. A
    tag takes the position at the corners of its box that hides least of the marked elements; the
    first choice is below the bottom left, where SeeAct draws it. If all are taken (nested or equal
    boxes), it takes the nearest free position.

    Args:
        wanted: letter and box, in page pixels, of each element.
        crop: the shown part of the page.
        size: its width and height on the picture.

    Returns:
        A mark for each element with area inside the crop, in the given order.
    """
    visible = [
        (letter, page, shown)
        for letter, box in wanted
        if (page := _whole(box)) is not None and (shown := _shown(page, crop, size)) is not None
    ]
    boxes = [shown for _, _, shown in visible]
    taken: list[Area] = []
    marks: list[Mark] = []
    for letter, page, shown in visible:
        tag = _find(shown, tag_width(letter), boxes, taken, size)
        taken.append(tag)
        marks.append(Mark(letter, page, (tag[0], tag[1])))
    return tuple(marks)


def tag_width(letter: str) -> int:
    """Return the width of a tag in pixels; the height is `TAG_HEIGHT`."""
    return CELLS[min(len(letter), len(CELLS)) - 1] * len(letter) + 2 * TAG_PADDING


def _whole(box: Box) -> Crop | None:
    """Round a box to whole page pixels; None if no part of it can lie on a page."""
    if not (box.is_visible and abs(box.x) < 1e7 and abs(box.y) < 1e7):
        return None
    left, top = max(0, round(box.x)), max(0, round(box.y))
    right, bottom = round(min(box.right, 1e7)), round(min(box.bottom, 1e7))
    if box.right <= 0 or box.bottom <= 0:
        return None
    # An element smaller than a pixel is still a candidate.
    return (left, top, max(right, left + 1), max(bottom, top + 1))


def _shown(page: Crop, crop: Crop, size: tuple[int, int]) -> Area | None:
    left, top = max(page[0], crop[0]), max(page[1], crop[1])
    right, bottom = min(page[2], crop[2]), min(page[3], crop[3])
    if left >= right or top >= bottom:
        return None
    across, down = crop[2] - crop[0], crop[3] - crop[1]
    return (
        (left - crop[0]) * size[0] // across,
        (top - crop[1]) * size[1] // down,
        -((crop[0] - right) * size[0] // across),
        -((crop[1] - bottom) * size[1] // down),
    )


def _find(
    box: Area, width: int, boxes: Sequence[Area], taken: Sequence[Area], size: tuple[int, int]
) -> Area:
    room_x, room_y = max(0, size[0] - width), max(0, size[1] - TAG_HEIGHT)
    best: tuple[float, Area] | None = None
    for x, y in _corners(box, width):
        x, y = min(max(x, 0), room_x), min(max(y, 0), room_y)
        tag = (x, y, x + width, y + TAG_HEIGHT)
        if any(_overlap(tag, other) for other in taken):
            continue
        hidden = sum(_hidden(tag, other) for other in boxes)
        if best is None or hidden < best[0] - _SLIGHT:
            best = (hidden, tag)
    if best is not None:
        return best[1]
    # If there is any room, some is next to another tag or at an edge.
    x, y = min(max(box[0], 0), room_x), min(max(box[3] + _GAP, 0), room_y)
    columns = {x, 0, room_x, *(o[2] for o in taken), *(o[0] - width for o in taken)}
    rows = {y, 0, room_y, *(o[3] for o in taken), *(o[1] - TAG_HEIGHT for o in taken)}
    near = sorted(
        (abs(c - x) + abs(r - y), r, c) for c in columns for r in rows if _fits(c, r, size, width)
    )
    for _, r, c in near:
        tag = (c, r, c + width, r + TAG_HEIGHT)
        if not any(_overlap(tag, other) for other in taken):
            return tag
    return (x, y, x + width, y + TAG_HEIGHT)


def _fits(x: int, y: int, size: tuple[int, int], width: int) -> bool:
    return 0 <= x <= max(0, size[0] - width) and 0 <= y <= max(0, size[1] - TAG_HEIGHT)


def _corners(box: Area, width: int) -> Iterator[tuple[int, int]]:
    """Yield positions next to and inside a box, nearest to its bottom left first."""
    left, top, right, bottom = box
    below, above, inside = bottom + _GAP, top - _GAP - TAG_HEIGHT, bottom - TAG_HEIGHT
    yield left, below
    yield left - _GAP - width, inside  # next to it, on the left
    yield left, above
    yield right + _GAP, inside
    yield right - width, below
    yield right - width, above
    yield left, inside
    yield left, top
    yield right - width, inside
    yield right - width, top


def _hidden(tag: Area, box: Area) -> float:
    """Return the share of a box that a tag would hide."""
    return _overlap(tag, box) / ((box[2] - box[0]) * (box[3] - box[1]))


def _overlap(one: Area, other: Area) -> int:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across * down if across > 0 and down > 0 else 0
