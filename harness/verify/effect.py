"""The effect of a deployment on the score of a set, from the set's annotations, without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from statistics import median_high
from typing import Any

from adapters.picture_tokens import Rule
from harness.benchmarks import Dataset
from harness.errors import UserError
from harness.verify.declared import Declared
from harness.verify.sight import SCALES
from harness.verify.words import Check
from parsers.grounding import GroundingDetail, Point

Size = tuple[int, int]
Pointer = Callable[[Point, Size], Point]
"""From the point that is meant, and the picture's size, to the point that the run reads, in
pixels of the picture."""


def targets_of(name: str, opened: Dataset[Any]) -> list[GroundingDetail]:
    """Return the places of a set that can be pointed at. Raises `UserError` for a set of others."""
    details = [unit.detail for unit in opened.entries]
    found = [one for one in details if isinstance(one, GroundingDetail) and one.gold.point]
    if not found:
        raise UserError(f"--benchmark {name} has no places to point at; name a grounding set")
    return found


def exposure(
    targets: Sequence[GroundingDetail], seen: Rule, reading_px: float | None = None
) -> dict[str, float | None]:
    """Return how small the targets are as the model sees them: pixels and shares in percent.

    `reading_px` is the height of which the model reads half.
    """
    sides = []
    for one in targets:
        (width, height), (left, top, right, bottom) = one.size, one.gold.bounds
        shown = seen(width, height).size
        scale = min(shown[0] / width, shown[1] / height)
        sides.append(min(right - left, bottom - top) * scale)

    def under(most: float) -> float:
        return round(100 * sum(side < most for side in sides) / len(sides), 1)

    return {
        "median_px": round(median_high(sides), 1),
        "under_9_px": under(9),
        "under_14_px": under(14),
        "under_reading_px": None if reading_px is None else under(reading_px),
    }


def ceiling(targets: Sequence[GroundingDetail], pointer: Pointer) -> float:
    """Return the score, in percent, of a pointer that always means the middle of the target."""
    hits = [one.gold.holds(pointer(one.gold.point, one.size)) for one in targets if one.gold.point]
    return round(100 * sum(hits) / len(hits), 1)


def misread(
    written: str,
    read: str,
    *,
    seen: Rule | None = None,
    assumed: Rule | None = None,
    swapped: bool = False,
    shift: tuple[float, float] = (0.0, 0.0),
) -> Pointer:
    """Return where a run reads a model's numbers.

    Args:
        written, read: units of the numbers, as the model means them and as the run reads them.
        seen: the picture as it is taken, whose pixels the model means; None for the picture itself.
        assumed: what the run takes to become of it, whose pixels the run reads.
        swapped: True if y is written before x.
        shift: by how much the model misses, in x and y, as shares of the longer side.
    """

    def whole(unit: str, rule: Rule | None, size: Size) -> Point:
        scale = SCALES[unit]
        if scale is not None:
            return scale, scale
        return rule(*size).size if rule else size

    def pointer(point: Point, size: Size) -> Point:
        meant, taken = whole(written, seen, size), whole(read, assumed, size)
        numbers = [part / size[axis] * meant[axis] for axis, part in enumerate(point)]
        numbers = numbers[::-1] if swapped else numbers
        x, y = (n / taken[i] * size[i] + shift[i] * max(size) for i, n in enumerate(numbers))
        return x, y

    return pointer


def effect_of(
    benchmark: str, targets: Sequence[GroundingDetail], declared: Declared, checks: Sequence[Check]
) -> dict[str, Any]:
    """Return what the findings do to the score of a set; None where they do not tell."""
    found = {check.name: check.found for check in checks}
    sizes, points, ladder = (found.get(name) for name in ("sizes", "points", "ladder"))
    seen, assumed = sizes.seen if sizes else None, declared.rule
    read, score = declared.coordinates or "per-mille", None
    written = points.measured.get("numbers") if points else None
    if written is None and read == "absolute" and sizes and "limit" in sizes.measured:
        # Even where nobody saw it point: pixels of another size are not read right.
        written = read
    # Numbers that are shares mean the same whatever is seen.
    if written and ("absolute" not in (written, read) or (seen and assumed)):
        detail = points.detail if points else ""
        swapped = isinstance(detail, list) and detail[1] is True
        missed = re.match(r"shifted in ([xy]) by (-?[\d.]+) %", str(detail))
        far = float(missed[2]) / 100 if missed else 0.0
        shift = (far, 0.0) if missed and missed[1] == "x" else (0.0, far)
        pointer = misread(written, read, seen=seen, assumed=assumed, swapped=swapped, shift=shift)
        score = ceiling(targets, pointer)
    reading = ladder.measured.get("reading_px") if ladder else None
    return {
        "benchmark": benchmark,
        "items": len(targets),
        "ceiling": score,
        **(exposure(targets, seen, reading) if seen else {"under_14_px": None}),
        "as_published": exposure(targets, assumed)["under_14_px"] if assumed else None,
    }
