"""The pictures of the page: screenshots, downscaled, and what models were sent of them.

A kind of units can have parts of its pictures cut in full resolution instead of what was sent
(`UnitPart.cuts`). A screenshot comes from the run's blobs where they hold it, else from its
benchmark. Each is written once, even if several units or runs share it. Pictures that environments
showed are among the blobs.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from adapters.conversation import Picture as Reference
from harness.runs import BLOBS, CallRecord, DataGone, Run, RunError, Unit
from harness.runs.pictures import made_again, sent_picture
from reports.view.parts import UnitPart, Window

WIDTH = 800
"""Largest width of a screenshot in pixels: a page of 1280 is readable next to a conversation."""
TALLEST = 12_000
"""Largest height in pixels; taller pages are scaled down further, with their boxes."""
QUALITY = 72
CUT_QUALITY = 88
"""Of parts in full resolution, where single pixels are looked at."""
NARROWEST = 0.75
"""A picture that was sent represents the screenshot if it shows the whole page at this share of the
width that the screenshot would have, or more."""


class UnitWithPictures(NamedTuple):
    """A unit whose pictures are needed.

    unit_id: the unit.
    digest: digest of its screenshot.
    sent: the pictures that the model was sent, or the parts to cut, by file name.
    """

    unit_id: str
    digest: str | None
    sent: dict[str, Reference | Window]

    @property
    def layers(self) -> dict[str, Window]:
        """The files that show a known part of the screenshot, with that part."""
        found = {}
        for name, source in self.sent.items():
            part = source if isinstance(source, tuple) else _part(source)
            if part is not None:
                found[name] = part
        return found


class PictureFile(NamedTuple):
    """A screenshot in `pictures/`.

    name: file name; None if there is no picture.
    width, height: in pixels.
    reason: why there is no picture.
    """

    name: str | None
    width: int
    height: int
    reason: str


_NONE = PictureFile(None, 0, 0, "")


def wanted_of(record: Unit[Any], shown: UnitPart, calls: Sequence[CallRecord]) -> UnitWithPictures:
    """Return the pictures of a unit, parts of its screenshot that its model looked at included."""
    digest, cuts = record.screenshot, shown.cuts
    results = (part for call in calls for one in call.messages for part in one.results)
    looked = (one for result in results for one in result.parts if isinstance(one, Reference))
    asked = {one.recipe for one in record.pictures}
    every = [one for one in looked if one.digest == digest and one.recipe not in asked]
    every += record.pictures if cuts is None else ()
    sent: dict[str, Reference | Window] = {
        one.name: of for of in every if (one := sent_picture(of))
    }
    if cuts is not None:
        sent |= {_cut_name(digest or record.unit_id, window): window for window in cuts}
    return UnitWithPictures(record.unit_id, digest, sent)


def _part(picture: Reference) -> Window | None:
    sent = sent_picture(picture)
    return sent.part if sent else None


def _cut_name(key: str, window: Window) -> str:
    return hashlib.sha256(f"{key} {window}".encode()).hexdigest()[:20] + ".jpg"


class PictureFolder:
    """The folder of pictures, written to once or, while a run goes on, again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.screenshots: dict[str, PictureFile] = {}
        """The screenshots of units by id."""
        self._by_digest: dict[str, PictureFile] = {}
        self._sent: set[str] = set()

    def lacks(self, wanted: UnitWithPictures) -> bool:
        """Return True if a picture of the unit has not been written."""
        known = self.screenshots.get(wanted.unit_id)
        return known is None or known.name is None or not self._sent.issuperset(wanted.sent)

    def write(
        self,
        run: Run,
        wanted: Iterable[UnitWithPictures],
        unit_done: Callable[[], None] = lambda: None,
    ) -> None:
        """Write the pictures of units, calling `unit_done` after each.

        A few pictures are in memory at a time: one thread reads while the others decode, shrink and
        encode, which Pillow does without holding up other threads.
        """
        missing = {}
        for one in wanted:
            known = self._by_digest.get(one.digest or "")
            if known is not None:
                self.screenshots[one.unit_id] = known
            if known is not None and self._sent.issuperset(one.sent):
                unit_done()
            else:
                missing[one.unit_id] = one
        workers = os.cpu_count() or 1
        running: deque[tuple[UnitWithPictures, Future[PictureFile]]] = deque()
        with ThreadPoolExecutor(workers) as pool:
            for unit_id, data in _screenshots(run, missing):
                one = missing[unit_id]
                if isinstance(data, DataGone):
                    self.screenshots.setdefault(unit_id, PictureFile(None, 0, 0, str(data)))
                    unit_done()
                    continue
                known = self._by_digest.get(one.digest or "")
                running.append((one, pool.submit(write_files, data, one, self.folder, known)))
                if len(running) > 2 * workers:
                    self._take(*running.popleft())
                    unit_done()
            for one, made in running:
                self._take(one, made)
                unit_done()

    def blobs(self, run: Run, digests: Iterable[str]) -> dict[str, list[Any]]:
        """Write the blobs of a run that are pictures: name, width and height by digest."""
        found = {}
        for digest in digests:
            picture = self._by_digest.get(digest)
            if picture is None and (data := _blob(run, digest)) is not None:
                picture = _shrunk(data, self.folder, digest, exact=True)
                self._by_digest[digest] = picture
            if picture is not None and picture.name is not None:
                found[digest] = [picture.name, picture.width, picture.height]
        return found

    def film(self, run: Run, record: Unit[Any], frames: Iterable[str]) -> None:
        """Take the first of the frames, digests of blobs that were written, for a unit's picture.

        The pictures that the model was sent are written, too.
        """
        first = (self._by_digest[one] for one in frames if one in self._by_digest)
        if (found := next((one for one in first if one.name), None)) is not None:
            self.screenshots.setdefault(record.unit_id, found)
        for reference in record.pictures:
            sent = sent_picture(reference)
            if sent is None or sent.name in self._sent:
                continue
            if (data := _blob(run, reference.digest)) is not None:
                write_files(
                    data, UnitWithPictures("", None, {sent.name: reference}), self.folder, _NONE
                )
                self._sent.add(sent.name)

    def _take(self, wanted: UnitWithPictures, made: Future[PictureFile]) -> None:
        picture = self.screenshots[wanted.unit_id] = made.result()
        self._sent |= wanted.sent.keys()
        if wanted.digest:
            self._by_digest[wanted.digest] = picture


def _screenshots(
    run: Run, wanted: Mapping[str, UnitWithPictures]
) -> Iterator[tuple[str, bytes | DataGone]]:
    """Yield the encoded screenshots of units, or why there is none."""
    left = dict.fromkeys(wanted)
    if (run.path / BLOBS).is_dir():
        for one in wanted.values():
            if one.digest and (data := _blob(run, one.digest)) is not None:
                del left[one.unit_id]
                yield one.unit_id, data
    yield from run.screenshots(left)


def _blob(run: Run, digest: str) -> bytes | None:
    try:
        return run.blobs.get(digest)
    except RunError:  # It is missing, damaged, or no digest.
        return None


def write_files(
    data: bytes, wanted: UnitWithPictures, folder: Path, known: PictureFile | None
) -> PictureFile:
    """Write what was sent, and the screenshot unless one is `known` or was sent whole."""
    for name, source in wanted.sent.items():
        if isinstance(source, tuple):
            _cut(data, source, folder / name)
            continue
        try:
            if not (folder / name).exists():
                (folder / name).write_bytes(made_again(source, data))
        except DataGone:
            continue  # The page says that the file is missing.
        known = known or _as_screenshot(name, source, data)
    return known or _shrunk(data, folder, wanted.digest or wanted.unit_id)


def _as_screenshot(name: str, reference: Reference, data: bytes) -> PictureFile | None:
    """Return the picture that was sent, if it shows the whole page, plain and large enough."""
    sent = sent_picture(reference)
    if sent is None or sent.part is None or not sent.plain:
        return None
    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    if sent.part != (0, 0, width, height) or reference.height > TALLEST:
        return None
    if reference.width < NARROWEST * width * _factor(width, height):
        return None
    return PictureFile(name, reference.width, reference.height, "")


def _cut(data: bytes, window: Window, path: Path) -> None:
    """Write a part of a picture in full resolution; nothing if the picture cannot be read."""
    if path.exists():
        return
    with suppress(OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        with Image.open(io.BytesIO(data)) as image:
            part = image.convert("RGB").crop(window)
        part.save(path, "JPEG", quality=CUT_QUALITY)


def _factor(width: int, height: int) -> float:
    return min(1.0, WIDTH / width, TALLEST / height)


def _shrunk(data: bytes, folder: Path, key: str, *, exact: bool = False) -> PictureFile:
    """Write a picture no larger than the page shows; an `exact` one that is small without loss."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.draft("RGB", (WIDTH, image.height * WIDTH // max(image.width, 1)))
            factor = _factor(image.width, image.height)
            exact = exact and factor == 1
            size = max(1, round(image.width * factor)), max(1, round(image.height * factor))
            small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return PictureFile(None, 0, 0, f"the picture cannot be read: {error}")
    name = hashlib.sha256(key.encode()).hexdigest()[:20] + (".png" if exact else ".jpg")
    if exact:
        small.save(folder / name, "PNG")
    else:
        small.save(folder / name, "JPEG", quality=QUALITY)
    return PictureFile(name, *size, "")
