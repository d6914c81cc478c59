"""The screenshots of the recorded sample with their pages, and windows of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree

from harness.benchmarks.folders import Cell
from harness.benchmarks.parquet import opened, small_columns
from harness.kinds.grounding.clickables import BLOCK_ROW, hash_of
from harness.page import decode_candidates
from harness.pictures import read_size

SIZE = (1280, 720)
"""Width and height of a window."""
_COLUMNS = [
    *("website", "cleaned_html", "pos_candidates", "neg_candidates", "screenshot"),
    *("annotation_id", "target_action_index", "operation"),
]

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels of the page."""


@dataclass(frozen=True, eq=False)
class View:
    """A distinct screenshot with its page.

    Attributes:
        id: site and beginning of the screenshot's digest.
        where: file and row.
        height: of the screenshot, in pixels.
        words: all words of the page, in small letters.
        boxes: left, top, right, bottom of each visible element, by id.
    """

    id: str
    website: str
    where: str
    cell: Cell
    height: int
    root: Any
    words: str
    boxes: Mapping[str, Box]
    candidates: Sequence[str]

    @property
    def heading(self) -> str:
        return next(map(text_of, self.root.iter("h1")), "")

    def box(self, element: Any) -> Box | None:
        return self.boxes.get(element.get("backend_node_id", ""))

    def top(self, *boxes: Box) -> int | None:
        """Return the first row of a window that has all of the boxes, drawn by hash; None for
        none."""
        last = (self.height - SIZE[1]) // BLOCK_ROW
        least = max(box[3] for box in boxes) - SIZE[1] if boxes else 0
        most = min(box[1] for box in boxes) if boxes else self.height
        rows = [n * BLOCK_ROW for n in range(last + 1) if least <= n * BLOCK_ROW <= most]
        inside = all(box[0] >= 0 and box[2] <= SIZE[0] for box in boxes)
        return rows[hash_of(self.id, str(boxes)) % len(rows)] if rows and inside else None


def text_of(element: Any) -> str:
    """Return the text of an element on one line."""
    return " ".join("".join(element.itertext()).split())


def shares_of(box: Box, top: int) -> list[float]:
    """Return a box of a page as shares of the window that begins at `top`."""
    return [
        round((one - top * odd) / SIZE[odd], 3) for odd, one in zip((0, 1, 0, 1), box, strict=True)
    ]


def views(file: Path) -> Iterator[tuple[View, Mapping[str, Any]]]:
    """Yield the view of each row of a file with the row; rows with one screenshot share a view."""
    seen: dict[str, View] = {}
    with opened(file) as table:
        for number, (group, offset, row) in enumerate(small_columns(table, _COLUMNS), start=1):
            data = (row["screenshot"] or {}).get("bytes")
            size = read_size(data) if data else None
            if size is None or size.height < SIZE[1]:
                continue
            if size.digest not in seen:
                root = etree.fromstring(row["cleaned_html"])
                candidates = (*row["pos_candidates"], *row["neg_candidates"])
                seen[size.digest] = View(
                    f"{row['website']}-{size.digest[:8]}",
                    row["website"],
                    f"{file.name}, row {number}",
                    Cell(file, group, offset),
                    size.height,
                    root,
                    text_of(root).casefold(),
                    {
                        one.id: (one.box.x, one.box.y, one.box.right, one.box.bottom)
                        for one in decode_candidates(candidates)
                        if one.box is not None and one.box.is_visible
                    },
                    candidates,
                )
            yield seen[size.digest], row
