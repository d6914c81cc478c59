"""Predictions about grounding items, from a file: points or boxes, in the numbers that they say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from harness.benchmarks import Dataset
from harness.errors import UserError
from harness.kinds.prediction_file import Predictions, with_prediction
from harness.runs import Unit
from harness.tables import counted
from parsers.actions import Action
from parsers.grounding import CLICK, EDGES, GroundingDetail
from parsers.points import Convention, to_pixels
from parsers.records import Prediction, Status


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    item: str
    point: tuple[float, float] | None = None
    box: tuple[float, float, float, float] | None = None
    declined: bool = False
    coordinates: Convention = "absolute"


class GroundingPredictions(Predictions):
    """A point, a box, or that nothing fits; a line with none of these was not read.

    Pixels are those of the original picture. An item without a line counts as wrong.
    """

    line = _Line
    unit = "item"
    missing = "fail"

    def read(self, line: _Line, where: str) -> _Line:
        given = [line.point is not None, line.box is not None, line.declined]
        if sum(given) > 1:
            raise UserError(f"{where}: give one of point, box and declined")
        if not all(map(math.isfinite, (*(line.point or ()), *(line.box or ())))):
            raise UserError(f"{where}: a number is not finite")
        return line

    def records(
        self, lines: Mapping[str, _Line], units: Dataset[Any]
    ) -> Iterator[Unit[GroundingDetail]]:
        """Yield the records; items without a line stay open unless `unattempted` is `fail`."""
        missing = Prediction(Status.NO_REPLY) if self.settings.unattempted == "fail" else None
        for record in units.entries:
            line = lines.get(record.unit_id)
            predicted = missing if line is None else _prediction(line, record.detail.size)
            yield with_prediction(record, predicted)

    def notes(self, lines: Mapping[str, _Line]) -> Iterator[str]:
        small = sum(
            line.coordinates == "absolute" and all(0 <= number <= 1 for number in numbers)
            for line in lines.values()
            if (numbers := line.point or line.box) is not None
        )
        if small:
            yield (
                f"{counted(small, 'place')} in pixels lie within 0 to 1: shares of the picture "
                'have "coordinates": "unit" on their line'
            )


def _prediction(line: _Line, size: tuple[int, int]) -> Prediction:
    if line.declined:
        return Prediction(Status.NONE)
    point, edges = line.point, {}
    if line.box is not None:
        left, top, right, bottom = line.box
        point = (left + right) / 2, (top + bottom) / 2
        corners = [to_pixels(one, line.coordinates, size) for one in (line.box[:2], line.box[2:])]
        if corners[0] is not None and corners[1] is not None:
            edges = dict(zip(EDGES, (*corners[0], *corners[1]), strict=True))
    if point is None:
        return Prediction(Status.PARSE_ERROR)
    pixels = to_pixels(point, line.coordinates, size)
    if pixels is None:
        return Prediction(Status.OUT_OF_RANGE)
    return Prediction(Status.ANSWERED, Action(CLICK, point=pixels), parsed=edges)
