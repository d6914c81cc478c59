"""Downscaled screenshots of the steps, each written once even if several steps share it."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from harness.runs import DataGone, Run

WIDTH = 800
"""Largest width in pixels: a page of 1280 stays readable beside its conversation."""
TALLEST = 12_000
"""Largest height in pixels; taller pages are scaled down further, with their boxes."""
QUALITY = 72


class Wanted(NamedTuple):
    """A step whose picture is needed.

    step_id: the step.
    source: location of its row in the data.
    digest: digest of its screenshot.
    """

    step_id: str
    source: str
    digest: str | None


class Picture(NamedTuple):
    """A file in `pictures/`.

    name: file name; None if there is no picture.
    width, height: in pixels.
    reason: why there is no picture.
    """

    name: str | None
    width: int
    height: int
    reason: str


def write_pictures(run: Run, wanted: Iterable[Wanted], folder: Path) -> dict[str, Picture]:
    """Write the pictures of steps and return them by step id.

    A few pictures are in memory at a time. Rows are read in the order of the data, so that each row
    group is read once.
    """
    made: dict[str, Picture] = {}
    by_digest: dict[str, Picture] = {}
    workers = min(4, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers) as pool:
        for batch in _batches(sorted(wanted, key=_place), 2 * workers):
            loaded = list(_load(run, batch, by_digest, made))
            sizes = pool.map(lambda item: _shrunk(item[1], folder, item[0]), loaded)
            for (one, _), picture in zip(loaded, sizes, strict=True):
                made[one.step_id] = picture
                if one.digest:
                    by_digest[one.digest] = picture
    return made


def _batches(wanted: Iterable[Wanted], size: int) -> Iterator[list[Wanted]]:
    rest = iter(wanted)
    while batch := list(islice(rest, size)):
        yield batch


def _load(
    run: Run, batch: Iterable[Wanted], by_digest: Mapping[str, Picture], made: dict[str, Picture]
) -> Iterator[tuple[Wanted, bytes]]:
    for one in batch:
        known = by_digest.get(one.digest or "")
        if known is not None:
            made[one.step_id] = known
            continue
        try:
            yield one, run.screenshot(one.step_id)
        except DataGone as gone:
            made[one.step_id] = Picture(None, 0, 0, str(gone))


def _shrunk(data: bytes, folder: Path, wanted: Wanted) -> Picture:
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.draft("RGB", (WIDTH, image.height * WIDTH // max(image.width, 1)))
            factor = min(1.0, WIDTH / image.width, TALLEST / image.height)
            size = max(1, round(image.width * factor)), max(1, round(image.height * factor))
            small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return Picture(None, 0, 0, f"the picture cannot be read: {error}")
    name = hashlib.sha256((wanted.digest or wanted.step_id).encode()).hexdigest()[:20] + ".jpg"
    small.save(folder / name, "JPEG", quality=QUALITY, optimize=True)
    return Picture(name, *size, "")


def _place(wanted: Wanted) -> tuple[str, int, str]:
    """Sort key for the order of the data: `.../test.parquet, row 12` by file and number.

    >>> _place(Wanted("s", "a.parquet, row 12", None))
    ('a.parquet, row ', 12, 's')
    """
    number = re.search(r"(\d+)\D*$", wanted.source)
    if number is None:
        return wanted.source, 0, wanted.step_id
    return wanted.source[: number.start()], int(number[1]), wanted.step_id
