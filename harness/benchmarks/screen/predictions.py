"""Predictions about steps on screens, from a file: actions, or replies of a family of models."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from harness.benchmarks.prediction_file import Predictions
from harness.errors import UserError, suggestion
from parsers.points import Convention, to_pixels
from parsers.records import Prediction, Status
from parsers.screen import Point, ScreenDetail, Side, from_object, placed, told
from parsers.screen.families import FAMILIES
from parsers.screen.reading import read_action

SLACK = 0.05


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """`step` is the id; `action` has shares of the picture, unless `points` says pixels."""

    step: str
    action: dict[str, Any] | None = None
    points: Literal["unit", "px"] = "unit"
    reply: str | None = None
    family: str = ""
    coordinates: Convention | None = None
    scroll: Side | None = None
    sent: tuple[int, int] | None = None


def _share(point: Point) -> Point | None:
    """A place in shares, with a little room around the picture."""
    return point if all(-SLACK <= one <= 1 + SLACK for one in point) else None


class ScreenPredictions(Predictions):
    """An action, or a reply with its family; a line with neither was not read.

    A step without a line counts as wrong.
    """

    line = _Line
    unit = "step"
    missing = "fail"

    def read(self, line: _Line, where: str) -> _Line:
        if line.action is not None and line.reply is not None:
            raise UserError(f"{where}: give one of action and reply")
        if line.reply is not None:
            if line.family not in FAMILIES:
                raise UserError(
                    f"{where}: family '{line.family}'; {suggestion(line.family, FAMILIES)}"
                )
            if FAMILIES[line.family].scroll is None and line.scroll is None:
                raise UserError(
                    f"{where}: {line.family} has not published what its scrolls name; add "
                    '"scroll": "content" or "finger"'
                )
        if line.action is not None:
            try:
                action = from_object(line.action, (1, 1))
            except ValueError as error:
                raise UserError(f"{where}: {error}") from error
            if line.points == "unit" and placed(action, _share) is None:
                raise UserError(
                    f"{where}: {told(action)} lies outside of the picture: places are shares of "
                    'its sides, unless the line has "points": "px"'
                )
        return line

    def predicted(self, line: _Line, detail: ScreenDetail) -> Prediction:
        if line.action is not None:
            size = detail.size if line.points == "unit" else (1, 1)
            return Prediction(Status.ANSWERED, from_object(line.action, size))
        if line.reply is None:
            return Prediction(Status.PARSE_ERROR)
        family = FAMILIES[line.family]
        side = family.side(line.scroll, detail.gold.stored)
        answer = read_action(line.reply, family, side=side, script=detail.asked.script)
        if answer.action is None:
            return Prediction(answer.status, flags=answer.flags)
        size, sent = detail.size, line.sent or detail.size
        convention = line.coordinates or family.coordinates

        def pixels(point: Point) -> Point | None:
            found = to_pixels(point, convention, sent)
            return found and (found[0] * size[0] / sent[0], found[1] * size[1] / sent[1])

        action = placed(answer.action, pixels)
        return Prediction(answer.status if action else Status.OUT_OF_RANGE, action, answer.flags)
