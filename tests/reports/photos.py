"""A benchmark of a kind of its own for tests of reports: photos in albums, found or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.runs import Unit
from parsers import Declaration, Group, Level, Measure, Prediction, Status
from tests.reports.runs import setup, write

PHOTOS = Declaration(
    (
        Measure("found", "Found", "the right photo"),
        Measure("close", "Close", "closeness"),
        Measure("solved", "Solved", "found and close", main=True, needs=("found", "close")),
        Measure("albums", "Albums", "whole albums", all_of="solved"),
    ),
    (Level("album"),),
    groups=(Group("split", "the split", whole="album"), Group("colour", "its main colour")),
    kind="photo",
)


def photo(album: str, place: int, scores: Any, **more: Any) -> Unit[dict[str, int]]:
    """A photo with these scores; one that was not asked for without any."""
    said = None if scores is None else Prediction(more.pop("status", Status.ANSWERED))
    values: dict[str, Any] = {
        "parents": {"album": album},
        "labels": {"colour": "red" if place % 2 else "blue"},
        "position": place,
        "total": 2,
        "asked": said is not None,
        "settled": said is not None,
        "prediction": said,
        "scores": scores,
        "detail": {"width": 640},
    }
    return Unit(
        kind="photo", unit_id=f"{album}-{place}", benchmark="photos", split="all", **values | more
    )


def photo_run(path: Path, photos: Sequence[Unit[Any]], **config: Any) -> Path:
    """A run with these photos, whose manifest declares them."""
    made = replace(setup(benchmark="photos", **config), declaration=PHOTOS)
    return write(path, photos, made, complete=False)
