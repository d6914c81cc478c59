"""The page of a step on a screen: the picture with boxes, both places, and the rules' verdicts."""

from __future__ import annotations

from collections.abc import Iterator

from parsers.screen import Edges, told
from parsers.screen.verdicts import NEAR
from reports.kinds.screen.errors import ScreenRecord
from reports.view.parts import Box, Cell, Drawn, Line, Part, Score, UnitPage


class ScreenPage(UnitPage):
    """Steps with their whole picture."""

    pictured = True
    searched = "task, sentence, id"
    same = "gave the same action"

    def answer(self, record: ScreenRecord) -> str | None:
        """Return the action in words, or that there is none."""
        said = record.prediction
        if said is None:
            return None
        return told(said.action) if said.action else str(said.status)

    def part(self, record: ScreenRecord) -> Part:
        """Return the marks on the picture, and the answer against the recorded action."""
        detail, said = record.detail, record.prediction
        return Part(
            page=detail.size,
            boxes=list(_drawn(record)),
            point=said.point if said else None,
            focus=_focus(record),
            heads=("recorded", "answered"),
            lines=list(_lines(record)),
            scores=[
                Score(name, value, binary=True)
                for name, value in (record.scores or {}).items()
                if value is not None and "." not in name
            ],
            actual=True,
        )


def _drawn(record: ScreenRecord) -> Iterator[Drawn]:
    gold, (width, height) = record.detail.gold, record.detail.size
    for origin, boxes in gold.boxes.items():
        yield from (Drawn("target", _as_box(box), f"{origin} box") for box in boxes)
    if gold.action.point is not None:
        x, y = gold.action.point
        reach = NEAR * max(width, height)
        around = _as_box((x - reach, y - reach, x + reach, y + reach))
        yield Drawn("target", around, "recorded place ± 4 %")


def _as_box(edges: Edges) -> Box:
    left, top, right, bottom = edges
    return left, top, right - left, bottom - top


def _focus(record: ScreenRecord) -> Box | None:
    point = record.detail.gold.action.point
    return None if point is None else (*point, 0.0, 0.0)


def _lines(record: ScreenRecord) -> Iterator[Line]:
    task, said = record.detail.asked, record.prediction
    answered = "–"
    if said:
        answered = told(said.action) if said.action else str(said.status)
    yield Line("action", (Cell(told(record.detail.gold.action)), Cell(answered)))
    if task.instruction:
        yield Line("sentence", (Cell(task.instruction), Cell("")))
