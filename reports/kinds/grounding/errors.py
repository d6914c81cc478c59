"""Classes of errors of grounding: what stands between an answer and its target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.runs import Run, Unit
from parsers import Declaration, Status
from parsers.grounding import GroundingDetail
from parsers.points import CONVENTIONS, Convention, from_pixels, to_pixels
from parsers.points.conventions import ALIKE
from reports.errors.classes import FAILED, SUCCESS, ClassInfo, general_classes
from reports.errors.classifying import UnitError, UnitErrors, by_outcome

GroundingRecord = Unit[GroundingDetail]

DECLINED, ABSENT, RANGE = "declined_present", "pointed_at_absent", "out_of_range"
SWAPPED, CONVENTION, NEAR, FAR = "swapped", "other_convention", "near", "far"
CLOSE = 1.0
"""Diagonals of the target within which a miss is near."""

_CLASSES = (
    ClassInfo(
        RANGE, "outside of the picture", "no answer", "the numbers name no point of the picture"
    ),
    ClassInfo(DECLINED, "declined a target", "wrong", "the model says that nothing fits"),
    ClassInfo(ABSENT, "pointed at nothing", "wrong", "the target is absent, and a point is given"),
    ClassInfo(NEAR, "near miss", "wrong", "within one diagonal of the target"),
    ClassInfo(SWAPPED, "x and y swapped", "wrong", "with x and y exchanged it would be a hit"),
    ClassInfo(
        CONVENTION,
        "another convention",
        "wrong",
        "the same numbers would be a hit by another convention of coordinates, which the detail "
        "names",
    ),
    ClassInfo(FAR, "elsewhere", "wrong", "more than one diagonal of the target away"),
)


class GroundingErrors(UnitErrors):
    """The general classes, with misses classified by the place of the point."""

    def classes(self, declared: Declaration) -> tuple[ClassInfo, ...]:
        """Return all classes, in order of precedence."""
        general = [one for one in general_classes(declared) if one.error_class != FAILED]
        return (*general, *_CLASSES)

    def classify(
        self, run: Run, records: Sequence[GroundingRecord], *, pages: bool = True
    ) -> Sequence[UnitError]:
        """Return the class of each record, from its line alone."""
        config = run.manifest.config
        return [_class(one, run.manifest.declaration, config) for one in records]


def _class(record: GroundingRecord, declared: Declaration, config: Mapping[str, Any]) -> UnitError:
    found, said = by_outcome(record, declared, config), record.prediction
    if said is None or not record.settled or record.invalid or found.error_class == SUCCESS:
        return found
    gold = record.detail.gold
    if said.status is Status.OUT_OF_RANGE:
        return replace(found, error_class=RANGE)
    if said.status is Status.NONE:
        return replace(found, error_class=DECLINED)
    if found.error_class != FAILED or said.point is None:
        return found
    if gold.kind == "absent":
        return replace(found, error_class=ABSENT)
    pixels, diagonals = (
        (record.scores or {}).get(name) for name in ("distance", "distance_diagonals")
    )
    distance = "" if pixels is None else f"{pixels:,.0f} px"
    if diagonals is not None:
        distance += f", {diagonals:.1f} diagonals"
    if diagonals is not None and diagonals <= CLOSE:
        return replace(found, error_class=NEAR, detail=distance)
    if mistaken := _other_reading(record, config):
        error_class, detail = mistaken
        return replace(found, error_class=error_class, detail=detail)
    return replace(found, error_class=FAR, detail=distance)


def _other_reading(record: GroundingRecord, config: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return another reading of the same numbers that would be a hit, if any."""
    gold, (width, height) = record.detail.gold, record.detail.size
    said = record.prediction
    assert said is not None and said.point is not None
    across, down = said.point[0] / width, said.point[1] / height
    if gold.holds((down * width, across * height)):
        return SWAPPED, "as shares of the picture"
    declared = str((config.get("protocol_options") or {}).get("coordinates") or "")
    if declared not in CONVENTIONS:
        return None
    used: Convention = next(one for one in CONVENTIONS if one == declared)
    sent = record.pictures[0] if record.pictures else None
    size = (sent.width, sent.height) if sent else (width, height)
    numbers = from_pixels((across * size[0], down * size[1]), used, size)
    for other in CONVENTIONS:
        if other == used or {other, used} == ALIKE:
            continue
        read = to_pixels(numbers, other, size)
        if read is not None and gold.holds((read[0] / size[0] * width, read[1] / size[1] * height)):
            return CONVENTION, f"{other}, not {used}"
    return None
