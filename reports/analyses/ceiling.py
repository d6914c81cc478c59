"""Upper bounds on the scores of any model, given what it was shown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from harness.runs import Run, RunError, StepUnit
from harness.tables.results import POOLED
from parsers import Declaration
from reports.analyses.units import Parent, Parents, mean_words, one_declaration, rate, rate_fields
from reports.grid import Field, described
from reports.kind import suited
from reports.load import RunLike, open_runs
from reports.settings import about_runs

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

_CROP = re.compile(r";box=(\d+),(\d+),(\d+),(\d+);", re.ASCII)
FIELDS = (
    Field("run", "str", "text", "run", "the run"),
    Field("split", "str", "text", "split", "the split"),
    Field("bound", "str", "text", "limit", "what the bound follows from"),
    Field("tasks", "Int64", "count", "tasks", "tasks of the rows"),
    Field("steps", "Int64", "count", "rows", "rows that the bound is about"),
    *rate_fields("steps_possible", "of steps", "share of steps that can succeed"),
    Field("tasks_possible", "float64", "percent", "of tasks", "share of tasks that can succeed"),
)
INDEPENDENT = Field(
    "tasks_if_independent",
    "float64",
    "percent",
    "of tasks, if misses were independent",
    "task success if the ranker missed rows independently of each other; no bound",
)
LISTED = "a right element is listed"
INSIDE = "target wholly inside one picture"
TOUCHED = "target at least partly in a picture"
BOTH = "listed, and wholly inside one picture"
VALID = "rows that can be answered"
PIXEL = 1.0
"""Tolerance in pixels, because boxes have fractional coordinates."""


def ceilings(
    run: RunLike | Iterable[RunLike], recall: float | Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Return upper bounds by run and split, each as a share of steps and of tasks.

    The listed choices and the pictures are read from the run. Every row counts once,
    whatever the number of repeats. `recall` is the recall of a candidate ranker, as one number or
    by split; it adds a bound on step rates, and the task success that would follow if the ranker
    missed rows independently: misses crowd in some tasks, so more tasks than that can succeed.
    Raises `RunError` for runs that cannot be read, and `ValueError` for a recall
    outside 0 to 1.
    """
    opened, others = suited(open_runs(run), "ceiling")
    declared = one_declaration(opened)
    _check(recall)
    records: list[dict[str, Any]] = []
    notes = list(others)
    for label, one in opened.items():
        rows = _first_repeat(one)
        valid = [record for record in rows if record.invalid is None]
        groups: dict[str, list[StepUnit]] = {}
        for record in rows:
            groups.setdefault(record.split, []).append(record)
        if len(groups) > 1:
            groups[POOLED] = rows
        for split, split_rows in groups.items():
            records += _bounds(label, split, split_rows, recall, declared)
        notes += _notes(label, one, valid)
    return described(
        records,
        FIELDS if recall is None else (*FIELDS, INDEPENDENT),
        title="Upper bounds for any model, given what was shown",
        about=about_runs(opened),
        notes=(
            f"{mean_words(declared)} A {declared.innermost.one} can "
            "succeed if all its rows can. An element that no picture shows may still be found by "
            "the text of the choices: the picture bounds hold for a model that relies on what it "
            "sees.",
            *_recall_notes(recall),
            *notes,
        ),
        declared=declared,
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


def _first_repeat(run: Run) -> list[StepUnit]:
    first: dict[tuple[str, str], StepUnit] = {}
    for record in run.records():
        first.setdefault((record.split, record.unit_id), record)
    return list(first.values())


def _bounds(
    label: str,
    split: str,
    rows: Sequence[StepUnit],
    recall: float | Mapping[str, float] | None,
    declared: Declaration,
) -> Iterator[dict[str, Any]]:
    valid = [record for record in rows if record.invalid is None]
    head = {"run": label, "split": split}
    share = partial(_share, declared)
    yield {**head, **share(VALID, rows, [_has_answer(record) for record in rows])}
    listed = [record.detail.gold.shown is not None for record in valid]
    yield {**head, **share(LISTED, valid, listed)}
    if any(record.pictures for record in valid):
        seen = [_any(inside, record) for record in valid]
        partly = [_any(touches, record) for record in valid]
        both = [one and other for one, other in zip(listed, seen, strict=True)]
        yield {**head, **share(INSIDE, valid, seen)}
        yield {**head, **share(TOUCHED, valid, partly)}
        yield {**head, **share(BOTH, valid, both)}
    if recall is None:
        return
    each = [_recall(recall, record.split) for record in valid]
    if None not in each and valid:
        yield {
            **head,
            **_by_recall(declared, valid, [value for value in each if value is not None]),
        }


def _has_answer(record: StepUnit) -> bool:
    """Return True if an element is acceptable; some benchmarks keep failed rows without one."""
    gold = record.detail.gold
    return record.invalid is None and bool(gold.elements or gold.boxes)


def _share(
    declared: Declaration, bound: str, rows: Sequence[StepUnit], possible: Sequence[bool]
) -> dict[str, Any]:
    parents = Parents.of(rows, declared)
    whole: dict[Parent, bool] = {}
    for parent, can in zip(parents.each, possible, strict=True):
        whole[parent] = whole.get(parent, True) and can
    return {
        "bound": bound,
        "tasks": len(whole),
        "steps": len(rows),
        **rate("steps_possible", [float(can) for can in possible], parents),
        "tasks_possible": sum(whole.values()) / len(whole) if whole else None,
    }


def _by_recall(
    declared: Declaration, rows: Sequence[StepUnit], each: Sequence[float]
) -> dict[str, Any]:
    parents = Parents.of(rows, declared)
    whole: dict[Parent, float] = {}
    for parent, value in zip(parents.each, each, strict=True):
        whole[parent] = whole.get(parent, 1.0) * value
    values = rate("steps_possible", each, parents)
    shown = sorted({f"{100 * value:g} %" for value in each})
    return {
        "bound": f"ranker recall of {', '.join(shown)}",
        "tasks": len(whole),
        "steps": len(rows),
        # The recall is given, not estimated here, so it has no interval.
        **{name: values[name] for name in ("steps_possible", "steps_possible_micro")},
        "tasks_if_independent": math.fsum(whole.values()) / len(whole),
    }


def _recall_notes(recall: float | Mapping[str, float] | None) -> Iterator[str]:
    if recall is not None:
        yield (
            "With a ranker's recall, the share of tasks is what it would be if misses were "
            "independent. It is not a bound: if misses crowd in few tasks, more tasks can succeed."
        )


def _any(test: Any, record: StepUnit) -> bool:
    shown = crops(record)
    return any(test(target, crop) for target in targets(record) for crop in shown)


def _recall(recall: float | Mapping[str, float], split: str) -> float | None:
    return recall.get(split) if isinstance(recall, Mapping) else recall


def _check(recall: float | Mapping[str, float] | None) -> None:
    values = recall.values() if isinstance(recall, Mapping) else [recall]
    for value in values:
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"recall must lie between 0 and 1, got {value:g}")


def _notes(label: str, run: Run, valid: Sequence[StepUnit]) -> Iterator[str]:
    policy = run.manifest.config.get("image_policy")
    if not any(record.pictures for record in valid):
        yield f"{label} sent no picture (image policy {policy})."
        return
    yield f"{label} has the image policy {policy}."
    unknown = sum(not targets(record) for record in valid)
    if unknown:
        yield f"{label}: {unknown} targets have no box with an extent, and count as unseen."
