"""Which steps a small page shows: all kinds of outcome, the same steps every time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from reports.view.points import Outcome, Point, Points


def sample(points: Points, count: int) -> list[str]:
    """At most `count` steps, in the order of the list.

    Steps are grouped by how they ended in every run; the groups are gone through in turns, each in
    an order given by a hash of the step, so that rare outcomes are there and no seed is needed.
    """
    groups: dict[tuple[object, ...], list[str]] = {}
    for point in points.steps.values():
        groups.setdefault(_kind(point, len(points.lanes)), []).append(point.step_id)
    queues = [sorted(own, key=_digest) for own in groups.values()]
    queues.sort(key=lambda own: (-len(own), own[0]))
    chosen: list[str] = []
    place = 0
    while len(chosen) < count and any(place < len(own) for own in queues):
        chosen += [own[place] for own in queues if place < len(own)][: count - len(chosen)]
        place += 1
    kept = set(chosen)
    return [step_id for step_id in points.steps if step_id in kept]


def _kind(point: Point, lanes: int) -> tuple[object, ...]:
    outcomes: Mapping[int, Outcome] = point.outcomes
    found = (outcomes.get(lane) for lane in range(lanes))
    return tuple(o and (o.result, o.status, o.error_class) for o in found)


def _digest(step_id: str) -> str:
    return hashlib.sha256(step_id.encode("utf-8", "surrogatepass")).hexdigest()
