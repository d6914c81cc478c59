"""The screenshots of the recorded sample with their pages, and windows of them.

The samples of places and of questions are made from these windows, and shipped as lines about them.
What can be clicked in a window is listed under unambiguous names. Every choice is made by hash: the
lines are the same on every machine.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from harness.benchmarks.sample_windows import BLOCK_ROW, SIZE
from harness.page import Candidate, Page, decode_candidates
from harness.parquet import opened, small_columns
from harness.pictures import read_size

LEAST_PX, MOST_WORDS = 8, 8
"""Smallest side of an element that is asked about, and most words of its name."""

_LABELS = ("aria_label", "label", "alt", "title", "placeholder")
_ROLES = {
    "a": "link",
    "button": "button",
    "summary": "button",
    "select": "combobox",
    "textarea": "textbox",
    "input": "textbox",
}
_INPUTS = {"checkbox": "checkbox", "radio": "radio", "submit": "button", "button": "button"}
_KNOWN = frozenset((*_ROLES.values(), *_INPUTS.values(), "tab"))
_CLICKABLE = '\\"is_clickable\\": \\"true\\"'
_COLUMNS = [
    *("website", "cleaned_html", "pos_candidates", "neg_candidates", "screenshot"),
    *("annotation_id", "target_action_index", "operation"),
]

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""


class Clickable(NamedTuple):
    """An element: its role, its accessible name, and its box as left, top, right, bottom in px."""

    id: str
    role: str
    name: str
    box: Box

    def holds(self, other: Clickable) -> bool:
        """Return whether the other one's box lies inside."""
        mine, its = self.box, other.box
        return mine[0] <= its[0] and mine[1] <= its[1] and its[2] <= mine[2] and its[3] <= mine[3]


@dataclass(frozen=True, eq=False)
class View:
    """A distinct screenshot with its page.

    Attributes:
        id: site and beginning of the screenshot's digest.
        split, row: its place: the file, and the row in it from 1.
        height: of the screenshot, in pixels.
    """

    id: str
    website: str
    split: str
    row: int
    digest: str
    height: int
    html: str
    candidates: Sequence[str]

    @cached_property
    def root(self) -> Any:
        return etree.fromstring(self.html)

    @cached_property
    def words(self) -> str:
        """All words of the page, in small letters."""
        return text_of(self.root).casefold()

    @cached_property
    def boxes(self) -> Mapping[str, Box]:
        """Left, top, right, bottom of each visible element, by id, in pixels of the page."""
        return {
            one.id: (one.box.x, one.box.y, one.box.right, one.box.bottom)
            for one in decode_candidates(self.candidates)
            if one.box is not None and one.box.is_visible
        }

    @property
    def heading(self) -> str:
        return next(map(text_of, self.root.iter("h1")), "")

    @property
    def tops(self) -> range:
        """The rows of pixels at which windows begin."""
        return range(0, self.height - SIZE[1] + 1, BLOCK_ROW)

    def line(self, top: int) -> dict[str, Any]:
        """Return a line about the window that begins at `top` (`sample_windows.Window`)."""
        return {"split": self.split, "row": self.row, "top": top}

    def box(self, element: Any) -> Box | None:
        return self.boxes.get(element.get("backend_node_id", ""))

    def top(self, *boxes: Box) -> int | None:
        """Return the first row of a window that has all of the boxes, drawn by hash; None for
        none."""
        least = max(box[3] for box in boxes) - SIZE[1] if boxes else 0
        most = min(box[1] for box in boxes) if boxes else self.height
        rows = [row for row in self.tops if least <= row <= most]
        inside = all(box[0] >= 0 and box[2] <= SIZE[0] for box in boxes)
        return rows[hash_of(self.id, str(boxes)) % len(rows)] if rows and inside else None

    def clickables(self, top: int) -> list[Clickable]:
        """List elements wholly inside a window, with names that no other one there has.

        Boxes are from the top left corner of the window, whose first row of pixels is `top`.
        Elements that are smaller than `LEAST_PX` or have no name of `MOST_WORDS` words or less are
        left out.
        """
        there = list(_there(Page.parse(self.html), self.candidates, top))
        counts = Counter(one.name.casefold() for one in there)
        return [
            one
            for one in there
            if counts[one.name.casefold()] == 1
            and min(one.box[2] - one.box[0], one.box[3] - one.box[1]) >= LEAST_PX
            and one.box[0] >= 0
            and one.box[1] >= 0
            and one.box[2] <= SIZE[0]
            and one.box[3] <= SIZE[1]
        ]


def views(file: Path) -> Iterator[tuple[View, Mapping[str, Any]]]:
    """Yield the view of each row of a file with the row; rows with one screenshot share a view."""
    seen: dict[str, View] = {}
    with opened(file) as table:
        for number, (*_, row) in enumerate(small_columns(table, _COLUMNS), start=1):
            data = (row["screenshot"] or {}).get("bytes")
            size = read_size(data) if data else None
            if size is None or size.height < SIZE[1]:
                continue
            if size.digest not in seen:
                seen[size.digest] = View(
                    f"{row['website']}-{size.digest[:8]}",
                    row["website"],
                    file.stem,
                    number,
                    size.digest,
                    size.height,
                    row["cleaned_html"],
                    (*row["pos_candidates"], *row["neg_candidates"]),
                )
            yield seen[size.digest], row


def _there(page: Page, candidates: Iterable[str], top: int) -> Iterator[Clickable]:
    """Named elements with a part in the window."""
    for one in decode_candidates(text for text in candidates if _CLICKABLE in text):
        box = one.box
        if box is None or not box.is_visible or box.bottom <= top or box.y >= top + SIZE[1]:
            continue
        named = _named(page, one)
        if named is not None:
            role, name = named
            yield Clickable(one.id, role, name, (box.x, box.y - top, box.right, box.bottom - top))


def _named(page: Page, one: Candidate) -> tuple[str, str] | None:
    attributes = one.attributes
    role = attributes.get("role") or _ROLES.get(one.tag, "")
    if one.tag == "input":
        role = _INPUTS.get(attributes.get("type", ""), role)
    if role not in _KNOWN:
        return None
    name = next(filter(None, (attributes.get(label, "").strip() for label in _LABELS)), "")
    if not name and one.tag == "input" and role == "button":
        name = attributes.get("value", "")
    elif not name and one.tag not in ("input", "select", "textarea"):
        name = page.text_of(one.id, MOST_WORDS + 1)
    return (role, name) if name and len(name.split()) <= MOST_WORDS else None


def outer(shown: Sequence[Clickable]) -> list[Clickable]:
    """Return the elements that hold no other one."""
    return [
        one for one in shown if not any(one.holds(other) for other in shown if other is not one)
    ]


def hash_of(*parts: str) -> int:
    """Return the number that decides what samples choose, the same on every machine."""
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8], "big")


def text_of(element: Any) -> str:
    """Return the text of an element on one line."""
    return " ".join("".join(element.itertext()).split())


def shares_of(box: Box, top: int) -> list[float]:
    """Return a box of a page as shares of the window that begins at `top`."""
    return [
        round((one - top * odd) / SIZE[odd], 3) for odd, one in zip((0, 1, 0, 1), box, strict=True)
    ]


def direction(one: Clickable, others: Sequence[Clickable]) -> str:
    """Return the direction of an element from its nearest neighbour; "" without one.

    >>> home = Clickable("1", "link", "Home", (0, 0, 40, 20))
    >>> direction(Clickable("2", "link", "Cart", (50, 0, 90, 20)), [home])
    'to the right of “Home”'
    """
    neighbours = [other for other in others if not (other.holds(one) or one.holds(other))]
    if not neighbours:
        return ""
    nearest = min(neighbours, key=lambda other: (*_away(one, other), other.id))
    across, down = (
        (one.box[side] + one.box[side + 2] - nearest.box[side] - nearest.box[side + 2]) / 2
        for side in (0, 1)
    )
    if abs(across) > abs(down):
        side = "to the right of" if across > 0 else "to the left of"
    else:
        side = "below" if down > 0 else "above"
    return f"{side} “{nearest.name}”"


def _away(one: Clickable, other: Clickable) -> tuple[float, float]:
    """Return the gap between two boxes, and the distance of their centres, squared."""
    gap = centres = 0.0
    for side in (0, 1):
        ahead, behind = other.box[side] - one.box[side + 2], one.box[side] - other.box[side + 2]
        gap += max(ahead, behind, 0.0) ** 2
        centres += (one.box[side] + one.box[side + 2] - other.box[side] - other.box[side + 2]) ** 2
    return gap, centres
