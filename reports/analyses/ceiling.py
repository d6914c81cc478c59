"""Upper bounds on the scores of any model, given what it was shown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from operator import and_
from typing import Any

import pandas as pd

from harness.runs import Run, RunError, StepUnit
from harness.tables.results import POOLED
from parsers import Declaration
from reports.analyses.units import RUN, Analysed, Parent, mean_words, parents_of, rate, rate_fields
from reports.grid import Field
from reports.load import RunLike

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

_CROP = re.compile(r";box=(\d+),(\d+),(\d+),(\d+);", re.ASCII)
FIELDS = (
    RUN,
    Field("split", "str", "text", "split", "the split"),
    Field("bound", "str", "text", "limit", "what the bound follows from"),
    Field("tasks", "Int64", "count", "tasks", "tasks of the rows"),
    Field("steps", "Int64", "count", "rows", "rows that the bound is about"),
    *rate_fields("steps_possible", "of steps", "share of steps that can succeed"),
    Field("tasks_possible", "float64", "percent", "of tasks", "share of tasks that can succeed"),
)
LISTED = "a right element is listed"
INSIDE = "target wholly inside one picture"
TOUCHED = "target at least partly in a picture"
BOTH = "listed, and wholly inside one picture"
VALID = "rows that can be answered"
PIXEL = 1.0
"""Tolerance in pixels, because boxes have fractional coordinates."""


def ceilings(run: RunLike | Iterable[RunLike]) -> pd.DataFrame:
    """Return upper bounds by run and split, each as a share of steps and of tasks.

    The listed choices and the pictures are read from the run. Every row counts once, whatever the
    number of repeats. Raises `RunError` for runs that cannot be read.
    """
    analysed = Analysed(run, "ceiling")
    declared = analysed.declared
    records: list[dict[str, Any]] = []
    for label, one in analysed.runs.items():
        first: dict[tuple[str, str], StepUnit] = {}
        for record in one.records():
            first.setdefault((record.split, record.unit_id), record)
        groups: dict[str, list[StepUnit]] = {}
        for record in first.values():
            groups.setdefault(record.split, []).append(record)
        if len(groups) > 1:
            groups[POOLED] = list(first.values())
        for split, rows in groups.items():
            head = {"run": label, "split": split}
            records += (head | bound for bound in _bounds(rows, declared))
        valid = [record for record in first.values() if record.invalid is None]
        analysed.notes += _notes(label, one, valid)
    return analysed.frame(
        records,
        FIELDS,
        "Upper bounds for any model, given what was shown",
        f"{mean_words(declared)} A {declared.innermost.one} can succeed if all its rows can. An "
        "element that no picture shows may still be found by the text of the choices: the picture "
        "bounds hold for a model that relies on what it sees.",
        *analysed.notes,
    )


def crops(record: StepUnit) -> list[Box]:
    """Return the regions of the page that a step's pictures show. Raises `RunError` if unknown."""
    matches = [_CROP.search(picture.recipe) for picture in record.pictures]
    if None in matches:
        raise RunError(f"step {record.unit_id} has a picture with an unknown recipe")
    return [tuple(map(float, crop.groups())) for crop in matches if crop]  # type: ignore[misc]


def targets(record: StepUnit) -> list[Box]:
    """Return the boxes of the acceptable elements, without empty ones."""
    listed = [choice.box for choice in record.detail.right]
    known = [
        box for box in (*record.detail.gold.boxes, *listed) if box and box[2] > 0 and box[3] > 0
    ]
    return [(x, y, x + width, y + height) for x, y, width, height in known]


def inside(target: Box, crop: Box) -> bool:
    """Return True if a target lies wholly in a picture, give or take a pixel."""
    return (
        target[0] >= crop[0] - PIXEL
        and target[1] >= crop[1] - PIXEL
        and target[2] <= crop[2] + PIXEL
        and target[3] <= crop[3] + PIXEL
    )


def touches(target: Box, crop: Box) -> bool:
    """Return True if a target and a picture overlap in more than an edge."""
    across = min(target[2], crop[2]) - max(target[0], crop[0])
    along = min(target[3], crop[3]) - max(target[1], crop[1])
    return across > 0 and along > 0


def _bounds(rows: Sequence[StepUnit], declared: Declaration) -> Iterator[dict[str, Any]]:
    valid = [record for record in rows if record.invalid is None]
    yield _share(declared, VALID, rows, map(_has_answer, rows))
    listed = [record.detail.gold.shown is not None for record in valid]
    yield _share(declared, LISTED, valid, listed)
    if any(record.pictures for record in valid):
        seen = [_any(inside, record) for record in valid]
        yield _share(declared, INSIDE, valid, seen)
        yield _share(declared, TOUCHED, valid, [_any(touches, record) for record in valid])
        yield _share(declared, BOTH, valid, map(and_, listed, seen))


def _has_answer(record: StepUnit) -> bool:
    """Return True if an element is acceptable; some benchmarks keep failed rows without one."""
    gold = record.detail.gold
    return record.invalid is None and bool(gold.elements or gold.boxes)


def _share(
    declared: Declaration, bound: str, rows: Sequence[StepUnit], possible: Iterable[bool]
) -> dict[str, Any]:
    """Return the share of rows that can succeed, and of the tasks all of whose rows can."""
    each = list(map(float, possible))
    whole: dict[Parent, float] = {}
    for parent, value in zip(parents_of(rows, declared), each, strict=True):
        whole[parent] = whole.get(parent, 1.0) * value
    return {
        "bound": bound,
        "tasks": len(whole),
        "steps": len(rows),
        **rate("steps_possible", rows, each, declared),
        "tasks_possible": math.fsum(whole.values()) / len(whole) if whole else None,
    }


def _any(test: Any, record: StepUnit) -> bool:
    shown = crops(record)
    return any(test(target, crop) for target in targets(record) for crop in shown)


def _notes(label: str, run: Run, valid: Sequence[StepUnit]) -> Iterator[str]:
    policy = run.manifest.chosen.get("image_policy")
    if not any(record.pictures for record in valid):
        yield f"{label} sent no picture (image policy {policy})."
        return
    yield f"{label} has the image policy {policy}."
    unknown = sum(not targets(record) for record in valid)
    if unknown:
        yield f"{label}: {unknown} targets have no box with an extent, and count as unseen."
