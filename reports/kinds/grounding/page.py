"""The page of a grounding item: the picture with target, answered box and point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import hypot

from parsers.grounding import EDGES, Point, Target
from reports.kinds.grounding.errors import GroundingRecord
from reports.view.parts import Box, Cell, Drawn, Line, Part, Score, UnitPage, Window

MARGIN = 160
"""Pixels that a cut shows around what it is about."""
BESIDE = ("distance", "distance_diagonals", "iou")
LARGEST = 800
"""Width and height, in pixels, that one cut may have; what is farther apart has a cut each."""


class GroundingPage(UnitPage):
    """Items with their whole picture small, and cut in full resolution around target and point."""

    pictured = True
    searched = "instruction, id"
    same = "gave the same point"

    def answer(self, record: GroundingRecord) -> str | None:
        """Return the point in whole pixels, or that there is none."""
        said = record.prediction
        if said is None:
            return None
        return _text(said.point) if said.point else str(said.status)

    def part(self, record: GroundingRecord) -> Part:
        """Return the marks on the picture, and the point against the target."""
        detail, said = record.detail, record.prediction
        point = said.point if said else None
        return Part(
            page=detail.size,
            boxes=list(_drawn(record)),
            point=point,
            focus=_focus(detail.gold, point),
            heads=("target", "answered"),
            lines=list(_lines(record)),
            scores=list(_scores(record)),
            actual=True,
        )

    def cuts(self, record: GroundingRecord) -> Sequence[Window]:
        """One cut around target and point, or one around each where they are far apart."""
        gold, point = record.detail.gold, record.prediction and record.prediction.point
        about = [] if gold.kind == "absent" else [gold.bounds]
        about += [(*point, *point)] if point else []
        if len(about) == 2:
            (a, b, c, d), (e, f, g, h) = about
            both = min(a, e), min(b, f), max(c, g), max(d, h)
            if max(both[2] - both[0], both[3] - both[1]) + 2 * MARGIN <= LARGEST:
                about = [both]
        return [_window(edges, record.detail.size) for edges in about]


def _window(edges: tuple[float, float, float, float], size: tuple[int, int]) -> Window:
    """Return a cut around some edges, no larger than `LARGEST` around their middle, in the
    picture."""
    left, right = _span(edges[0], edges[2], size[0])
    top, bottom = _span(edges[1], edges[3], size[1])
    return left, top, right, bottom


def _span(low: float, high: float, side: int) -> tuple[int, int]:
    middle, reach = (low + high) / 2, min((high - low) / 2 + MARGIN, LARGEST / 2)
    first = int(min(max(middle - reach, 0), side - 1))
    return first, max(first + 1, int(min(middle + reach + 1, side)))


def _drawn(record: GroundingRecord) -> Iterator[Drawn]:
    gold, said = record.detail.gold, record.prediction
    if gold.kind != "absent":
        corners = gold.corners if gold.kind == "polygon" else ()
        yield Drawn("target", _as_box(gold.bounds), "target", corners)
    edges = [said.parsed.get(name) for name in EDGES] if said else []
    numbers = [float(edge) for edge in edges if isinstance(edge, (int, float))]
    if len(numbers) == len(EDGES):
        left, top, right, bottom = numbers
        yield Drawn("chosen", _as_box((left, top, right, bottom)), "answered box")


def _as_box(edges: tuple[float, float, float, float]) -> Box:
    left, top, right, bottom = edges
    return left, top, right - left, bottom - top


def _focus(gold: Target, point: Point | None) -> Box | None:
    if gold.kind != "absent":
        return _as_box(gold.bounds)
    return (*point, 0.0, 0.0) if point else None


def _lines(record: GroundingRecord) -> Iterator[Line]:
    gold, said, scores = record.detail.gold, record.prediction, record.scores or {}
    answered = "–"
    if said:
        answered = _text(said.point) if said.point else str(said.status)
    right = bool(scores["hit"]) if scores.get("hit") is not None else None
    yield Line("point", (Cell(str(gold)), Cell(answered)), right)
    if gold.kind == "absent":
        return
    left, top, right_edge, bottom = gold.bounds
    across, down = right_edge - left, bottom - top
    size = f"{across:g} × {down:g} px, diagonal {hypot(across, down):,.0f} px"
    away, diagonals = scores.get("distance"), scores.get("distance_diagonals")
    distance = "–" if away is None else f"{away:,.1f} px"
    distance += f", {diagonals:.1f} diagonals" if diagonals else ""
    yield Line("size and distance", (Cell(size), Cell(distance)))
    if (iou := scores.get("iou")) is not None:
        yield Line("box", (Cell(""), Cell(f"IoU {iou:.2f}")))


def _scores(record: GroundingRecord) -> Iterator[Score]:
    """Return the scores of the item; the table has the distance."""
    for name, value in (record.scores or {}).items():
        if value is not None and name not in BESIDE:
            yield Score(name.replace("_", " "), value, binary=True)


def _text(point: Point) -> str:
    return f"{point[0]:,.1f}, {point[1]:,.1f}"
