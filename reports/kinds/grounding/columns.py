"""The columns that frames have for grounding: picture, target, point and how far apart they are."""

from __future__ import annotations

from typing import Any

from harness.runs import Unit
from parsers.grounding import GroundingDetail
from reports.frames.units import Getter, KindColumns, predicted, unit_column

GroundingRecord = Unit[GroundingDetail]


def _size(place: int) -> Getter:
    return lambda record: record.detail.size[place]


def _score(name: str) -> Getter:
    """Return a score that is on the line of a unit but not averaged."""
    return lambda record: (record.scores or {}).get(name) if record.settled else None


def _point(place: int) -> Getter:
    return predicted(lambda said: said.point[place] if said.point else None)


def _area(record: GroundingRecord) -> float | None:
    gold = record.detail.gold
    return None if gold.kind == "absent" else gold.area


def _given(record: GroundingRecord) -> Any:
    return record.detail.gold.kind


GROUNDING_COLUMNS = KindColumns(
    detail=(
        unit_column("picture_width", "Int64", "in pixels", _size(0)),
        unit_column("picture_height", "Int64", "in pixels", _size(1)),
        unit_column("target_kind", "category", "box, polygon or absent", _given),
        unit_column("target_area", "float64", "in square pixels; missing if absent", _area),
        unit_column("place", "str", "the target in pixels", lambda record: str(record.detail.gold)),
    ),
    outcome=(
        unit_column("point_x", "float64", "the point, in pixels of the original", _point(0)),
        unit_column("point_y", "float64", "its height from the top", _point(1)),
        unit_column("distance", "float64", "pixels to the target, 0 inside", _score("distance")),
        unit_column(
            "distance_diagonals",
            "float64",
            "the same in diagonals of the target",
            _score("distance_diagonals"),
        ),
        unit_column("iou", "float64", "overlap of a box that was given", _score("iou")),
    ),
    texts=(
        unit_column("instruction", "str", "what was asked", lambda record: record.detail.asked),
    ),
    digest=("place", "target"),
)
