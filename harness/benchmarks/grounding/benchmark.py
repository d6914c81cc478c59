"""Grounding items as a run asks about them: whole pictures, chance, the form's rounding.

Predictions from a file are points or boxes, in the numbers that they say. A declared convention of
numbers is never changed: answers whose numbers fit another one are reported, with the setting to
change.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from adapters.conversation import Picture
from harness.benchmarks.contract import Benchmark
from harness.benchmarks.dataset import Dataset
from harness.benchmarks.prediction_file import Predictions
from harness.benchmarks.shows import Shows
from harness.errors import UserError
from harness.pictures import Recipe
from harness.policies import ItemPolicy, Secret
from harness.runs import Unit
from harness.settings import Settings
from harness.tables import counted
from harness.views import PlaceView
from parsers import Counts
from parsers.actions import Action
from parsers.grounding import CLICK, EDGES, GroundingDetail, Target
from parsers.points import CONVENTIONS, Convention, to_pixels
from parsers.points.spelling import ALIKE, MOST
from parsers.records import Prediction, Scores, Status
from parsers.reply_text import ENDED

GroundingRecord = Unit[GroundingDetail]
UNREAD = (Status.PARSE_ERROR, Status.NO_ELEMENT, Status.AMBIGUOUS, Status.EMPTY)


@dataclass(frozen=True)
class PlaceBenchmark(Benchmark):
    """Pictures, each shown whole with an instruction that means a place on it.

    Attributes:
        known: how many items may at most have each of the things that are refused (`outside`,
            `empty`; `unasked` where they are asked about), because the published files have them.
    """

    known: Mapping[str, int] = field(default_factory=dict, kw_only=True)

    View = PlaceView
    Detail = GroundingDetail
    protocol = "grounding"
    pictures = whole_pictures = True
    explained: ClassVar = {"hit": "the point lies in the target"}

    def check(self, units: Dataset[Any], shows: Shows) -> None:
        """Raise `UserError` for more items without an instruction than are published so."""
        blank = [unit.unit_id for unit in units.entries if not unit.detail.asked.strip()]
        if len(blank) > self.known.get("unasked", 0):
            raise UserError(
                f"{counted(len(blank), 'item')} of {self.name} (the first is {blank[0]}) have no "
                "instruction to ask about: complete the file, or leave them out"
            )

    def predictions(self, settings: Settings) -> GroundingPredictions:
        return GroundingPredictions(settings)

    def chance(self, units: Sequence[GroundingRecord]) -> Iterator[Scores]:
        return (expected(unit.detail) for unit in units)

    def footnotes(self, *, known: bool) -> Iterator[str]:
        ceiling = "the middle of every target, in the numbers of the form" if known else "unknown"
        yield f"chance: a random point, expected; ceiling: {ceiling}"

    def notes(self, units: Sequence[GroundingRecord], counts: Counts) -> Iterator[str]:
        shown: tuple[tuple[str, tuple[Status, ...]], ...] = (
            ("declined", (Status.NONE,)),
            ("unreadable", UNREAD),
            ("cut off", (Status.TRUNCATED,)),
            ("out of range", (Status.OUT_OF_RANGE,)),
            ("refused", tuple(ENDED.values())),
            ("no reply", (Status.NO_REPLY,)),
        )
        shares = []
        for name, statuses in shown:
            number = sum(counts.statuses.get(status, 0) for status in statuses)
            share = 100 * number / counts.n_settled if counts.n_settled else 0.0
            shares.append(f"{name} {number} ({share:.1f} %)")
        yield f"of {counts.n_settled} answers: {', '.join(shares)}"
        if absent := [unit for unit in units if unit.detail.gold.kind == "absent"]:
            right = sum(bool(unit.scores and unit.scores["hit"]) for unit in absent)
            yield (
                f"absent targets, which Present leaves out: {right} of {len(absent)} declined, as "
                "is right"
            )

    def mistake(self, units: Sequence[GroundingRecord], settings: Settings) -> str:
        used = dict(settings.protocol_option).get("coordinates")
        return mistaken(units, used) if used in CONVENTIONS else ""


def expected(detail: GroundingDetail) -> Scores:
    """Return the mean scores of a point drawn uniformly from the picture."""
    width, height = detail.size
    share = min(1.0, _visible(detail.gold, detail.size) / (width * height))
    other = "declined" if detail.gold.kind == "absent" else "present"
    return dict.fromkeys(("hit", other, *detail.classes), share)


def _visible(target: Target, size: tuple[int, int]) -> float:
    """Return the area of a target, of a box that within the picture; 0 where it is absent."""
    if target.kind != "box":
        return target.area
    left, top, right, bottom = target.bounds
    across = min(right, size[0]) - max(left, 0)
    down = min(bottom, size[1]) - max(top, 0)
    return max(0.0, across) * max(0.0, down)


def random_point(view: PlaceView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Return a uniformly random point; never declines. Hits as often as targets are large."""
    return _at(view, chance.random(), chance.random())


def centre(view: PlaceView, chance: random.Random, secret: Secret | None) -> Prediction:
    """Return the middle of the picture, where others put some replies that cannot be read."""
    return _at(view, 0.5, 0.5)


def _at(view: PlaceView, across: float, down: float) -> Prediction:
    left, top, right, bottom = Recipe.parse(view.pictures[0].recipe).box
    point = left + across * (right - left), top + down * (bottom - top)
    return Prediction(Status.ANSWERED, Action(CLICK, point=point))


RANDOM = ItemPolicy("random", PlaceView, random_point)
CENTRE = ItemPolicy("centre", PlaceView, centre)


FIRST_ITEMS = 20
"""Items with a place before anything is said."""
FITS = 0.95
"""Share of answers that have to fit a convention."""
CONTRADICTED = 0.25
"""Share of answers outside of the declared convention, or of right answers outside of the other
one, that it takes for a mistake."""
MEANS: dict[Convention, str] = {
    "unit": "below 1: fractions",
    "per-mille": "between 0 and 1000: thousandths",
    "per-999": "between 0 and 999: thousandths",
    "absolute": "inside the picture: pixels",
}
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Answer:
    """The numbers of an answer, and of the right one, as the declared convention has them.

    right: None where the target is absent.
    """

    numbers: Point
    right: Point | None
    picture: Picture
    target: Target

    def inside(self, convention: Convention, numbers: Point) -> bool:
        size = self.picture.width, self.picture.height
        return to_pixels(numbers, convention, size) is not None

    def hits(self, convention: Convention) -> bool:
        """True if the answer, read by a convention, would be right."""
        pixels = to_pixels(self.numbers, convention, (self.picture.width, self.picture.height))
        return pixels is not None and self.target.holds(
            Recipe.parse(self.picture.recipe).to_page(*pixels)
        )


def mistaken(records: Sequence[Unit[GroundingDetail]], used: Convention) -> str:
    """Return which other convention nearly all answers fit, and how many hits it would give.

    "" for fewer than `FIRST_ITEMS` places, and where the numbers do not contradict the declared
    convention: pixels below 1000 are not a mistake if the right answers lie there, too.
    """
    answers = [answer for record in records if (answer := _answer(record, used)) is not None]
    if len(answers) < FIRST_ITEMS:
        return ""

    outside = _share([not one.inside(used, one.numbers) for one in answers])
    there = [(answer, answer.right) for answer in answers if answer.right is not None]
    now = sum(answer.hits(used) for answer in answers)
    found: list[tuple[int, Convention, int]] = []
    for other in CONVENTIONS:
        if other == used or {other, used} == ALIKE:
            continue
        fits = sum(answer.inside(other, answer.numbers) for answer in answers)
        hits = sum(answer.hits(other) for answer in answers)
        beyond = _share([not one.inside(other, right) for one, right in there])
        # Answers in one corner are all within it, which alone says nothing of what is right.
        better = hits > now or beyond > FITS
        contradicted = outside >= CONTRADICTED or (beyond >= CONTRADICTED and better)
        if fits >= FITS * len(answers) and contradicted:
            found.append((hits, other, fits))
    if not found:
        return ""
    hits, other, fits = max(found, key=lambda one: one[0])
    return (
        f"{fits} of {len(answers)} points are {MEANS[other]}? `coordinates={other}` ({hits} would "
        f"be hits, not {now})"
    )


def _share(holds: Sequence[bool]) -> float:
    return sum(holds) / len(holds) if holds else 0.0


def _answer(record: Unit[GroundingDetail], used: Convention) -> _Answer | None:
    said = record.prediction
    if said is None or len(record.pictures) != 1:
        return None
    picture, target = record.pictures[0], record.detail.gold
    numbers = _pair(said.parsed.get("numbers_x"), said.parsed.get("numbers_y"))
    if numbers is None:
        point = _pair(said.parsed.get("first_x"), said.parsed.get("first_y")) or said.point
        numbers = None if point is None else _numbers(point, used, picture)
    if numbers is None:
        return None
    right = None if target.point is None else _numbers(target.point, used, picture)
    return _Answer(numbers, right, picture, target)


def _pair(x: object, y: object) -> Point | None:
    if isinstance(x, int | float) and isinstance(y, int | float):
        return float(x), float(y)
    return None


def _numbers(point: Point, convention: Convention, picture: Picture) -> Point:
    """Return a point of the original in a model's numbers, not rounded."""
    x, y = Recipe.parse(picture.recipe).to_picture(*point)
    most = MOST[convention]
    if most is None:
        return x, y
    return x * most / picture.width, y * most / picture.height


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

    def predicted(self, line: _Line, detail: GroundingDetail) -> Prediction:
        if line.declined:
            return Prediction(Status.NONE)
        point, edges = line.point, {}
        if line.box is not None:
            left, top, right, bottom = line.box
            point = (left + right) / 2, (top + bottom) / 2
            corners = [
                to_pixels(one, line.coordinates, detail.size)
                for one in (line.box[:2], line.box[2:])
            ]
            if corners[0] is not None and corners[1] is not None:
                edges = dict(zip(EDGES, (*corners[0], *corners[1]), strict=True))
        if point is None:
            return Prediction(Status.PARSE_ERROR)
        pixels = to_pixels(point, line.coordinates, detail.size)
        if pixels is None:
            return Prediction(Status.OUT_OF_RANGE)
        return Prediction(Status.ANSWERED, Action(CLICK, point=pixels), parsed=edges)

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
