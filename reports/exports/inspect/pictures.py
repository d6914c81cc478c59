"""The pictures of a log: made again as models were sent them, or a line in their place."""

from __future__ import annotations

import hashlib
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from adapters.contract import EncodedPicture
from adapters.conversation import Picture, placeholder
from harness.runs import BLOBS, DataGone, Run, RunError, Unit
from harness.runs.pictures import made_again
from harness.tables import clean
from reports.exports import ExportError
from reports.exports.inspect.talk import AS_IT_IS

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
"""The 57 characters of inspect_ai's ids; 22 make one."""
LENGTH = 22


def id_of(*parts: object) -> str:
    """Return an id in the form of inspect_ai's own, from anything whose text is always the same.

    >>> id_of("run", 1) == id_of("run", 1), len(id_of("run", 2)), id_of("run", 1) == id_of("run1")
    (True, 22, False)
    """
    content = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    number = int.from_bytes(hashlib.sha256(content).digest(), "big")
    found = ""
    for _ in range(LENGTH):
        number, rest = divmod(number, len(ALPHABET))
        found += ALPHABET[rest]
    return found


LIMIT = 1_000_000_000
"""Most bytes of pictures in a log, which is written from memory and has a picture once in each
sample that shows it."""
TYPES = ((b"\xff\xd8\xff", "jpeg"), (b"\x89PNG", "png"), (b"GIF8", "gif"), (b"RIFF", "webp"))
"""Media types by the first bytes of a file."""


class Pictures:
    """The pictures that the units of a run were shown."""

    def __init__(self, run: Run, records: Sequence[Unit[Any]]) -> None:
        """Make them.

        Raises:
            ExportError: they are too large together.
            RunError: the run cannot be read.
        """
        self._run = run
        self._made: dict[Picture, EncodedPicture] = {}
        self._gone: dict[Picture, str] = {}
        self._size = 0
        self._load(records)

    @property
    def missing(self) -> str:
        """Count the missing pictures, with the first reason; "" if all are there."""
        reason = next(iter(self._gone.values()), "")
        return f"{len(self._gone):,} pictures are missing: {reason}" if reason else ""

    def show(self, picture: Picture) -> EncodedPicture | str:
        """Return a picture, or a line in its place; why there is none may name folders of the
        user's."""
        if picture.recipe == AS_IT_IS and (found := _blob(self._run, picture.digest)):
            return _encoded(picture, found)
        return self._made.get(picture) or placeholder(picture)

    def _load(self, records: Sequence[Unit[Any]]) -> None:
        """Make the pictures, a few at a time: Pillow does not hold up other threads."""
        times = Counter(one for record in records for one in dict.fromkeys(record.pictures))
        wanted: dict[str, list[Picture]] = {}
        for picture in times:
            wanted.setdefault(picture.digest, []).append(picture)
        workers = os.cpu_count() or 1
        running: deque[tuple[Picture, Future[EncodedPicture | DataGone]]] = deque()
        with ThreadPoolExecutor(workers) as pool:
            for digest, data in _sources(self._run, records, wanted):
                for picture in wanted.pop(digest, ()):
                    running.append((picture, pool.submit(_made, picture, data)))
                while len(running) > 2 * workers:
                    self._take(*running.popleft(), times)
            for one in running:
                self._take(*one, times)
        for picture in (one for several in wanted.values() for one in several):
            self._gone[picture] = "the data has no such picture"

    def _take(
        self,
        picture: Picture,
        future: Future[EncodedPicture | DataGone],
        times: Counter[Picture],
    ) -> None:
        made = future.result()
        if isinstance(made, DataGone):
            self._gone[picture] = str(made)
            return
        self._made[picture] = made
        self._size += len(made.data) * times[picture]
        if self._size > LIMIT:
            raise ExportError(
                f"the pictures of {clean(self._run.name)} are more than {LIMIT / 1e6:,.0f} MB, and "
                "inspect_ai writes a log from memory: leave out --with-pictures (vlm-eval view "
                "shows any number of them)"
            )


def _sources(
    run: Run, records: Iterable[Unit[Any]], digests: Iterable[str]
) -> Iterator[tuple[str, bytes | DataGone]]:
    """Return the sources of pictures by digest: blobs of the run, or screenshots of its data."""
    left = set(digests)
    for digest in sorted(left) if (run.path / BLOBS).is_dir() else ():
        if (found := _blob(run, digest)) is not None:
            left.discard(digest)
            yield digest, found
    units = {one.screenshot: one.unit_id for one in records if one.screenshot in left}
    names = {unit_id: digest for digest, unit_id in units.items() if digest is not None}
    for unit_id, data in run.screenshots(names):
        yield names[unit_id], data


def _blob(run: Run, digest: str) -> bytes | None:
    try:
        return run.blobs.get(digest)
    except RunError:  # It is missing, damaged, or no digest.
        return None


def _made(picture: Picture, source: bytes | DataGone) -> EncodedPicture | DataGone:
    """Return a picture as sent, or the reason for its absence."""
    try:
        return (
            source
            if isinstance(source, DataGone)
            else _encoded(picture, made_again(picture, source))
        )
    except DataGone as gone:
        return gone


def _encoded(picture: Picture, data: bytes) -> EncodedPicture:
    kind = next((name for begin, name in TYPES if data.startswith(begin)), "jpeg")
    return EncodedPicture(data, f"image/{kind}", picture.width, picture.height)
