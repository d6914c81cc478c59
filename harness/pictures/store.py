"""Pictures on demand: prepared ahead of need, once each, in child processes, in bounded memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from adapters.contract import EncodedPicture, PixelPicture
from adapters.conversation import Picture
from harness.pictures.recipe import Form, Recipe, libraries
from harness.pictures.source import AS_STORED, BUILT_IN, SIDE, PictureError, decode, grey, read_size

if TYPE_CHECKING:
    from adapters.processes import Pool

_ENTRY = f"{Path(__file__).with_name('imaging.py')}:serve"
_MOST_WORKERS = 8

Prepared = EncodedPicture | PixelPicture
Key = tuple[str, str, Form]
"""Identity of a prepared picture: digest of its source, recipe and form."""


@dataclass(slots=True)
class PictureStats:
    """Numbers of pictures since the store was made.

    prepared: pictures that a process has prepared.
    kept_bytes: size of the prepared pictures in memory.
    """

    prepared: int = 0
    kept_bytes: int = 0


@dataclass(slots=True)
class _Source:
    data: bytes
    name: str
    users: int = 1


class PictureStore:
    """The `PictureSource` of a run, for the pictures of its open steps.

    The session adds the encoded screenshot of a step (`add`), may have pictures prepared ahead of
    need (`prepare`), and discards the screenshot when the step is done (`discard`). Memory is
    bounded by the open steps and `cache_bytes`. Processes start with the first picture to prepare.
    Use the store from one event loop and close it before that loop ends, by `async with` or
    `close`.

    Pictures that a data set stores are added and discarded in the same way, and sent unchanged.
    `built_in_picture()` is always available.
    """

    def __init__(self, workers: int | None = None, cache_bytes: int = 256 * 1024 * 1024) -> None:
        """Prepare pictures in so many processes: `workers`, or one per processor but at most eight.

        At most `cache_bytes` of prepared pictures are kept; the least recently used go first.
        """
        self._workers = workers
        self._started: Pool | None = None
        self._limit = cache_bytes
        self._sources: dict[str, _Source] = {}
        self._kept: OrderedDict[Key, Prepared] = OrderedDict()
        self._running: dict[Key, asyncio.Future[Prepared]] = {}
        self._closed = False
        self.stats = PictureStats()

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the workers; empty until a picture has to be prepared."""
        return self._started.pids if self._started is not None else ()

    def add(self, digest: str, data: bytes, name: str = "") -> None:
        """Add the encoded screenshot or stored picture with this SHA-256.

        `name`: the step's, for error messages. Every step that uses a screenshot adds and discards
        it.
        """
        source = self._sources.get(digest)
        if source is None:
            self._sources[digest] = _Source(data, name)
        else:
            source.users += 1

    def discard(self, digest: str) -> None:
        """Release a screenshot and, with its last user, the pictures prepared from it."""
        source = self._sources.get(digest)
        if source is None:
            return
        source.users -= 1
        if source.users == 0:
            del self._sources[digest]
            for key in [key for key in self._kept if key[0] == digest]:
                self.stats.kept_bytes -= len(self._kept.pop(key).data)

    def prepare(self, picture: Picture, form: Form = "encoded") -> None:
        """Start preparing a picture, unless it is ready or being prepared.

        Failures of the work are raised by `encoded` or `pixels`. Raises `PictureError` if the work
        cannot be started.
        """
        if picture.recipe in (AS_STORED, BUILT_IN):
            return
        if (picture.digest, picture.recipe, form) not in self._kept:
            self._future(picture, form)

    async def encoded(self, picture: Picture) -> EncodedPicture:
        """Return the bytes of a picture; concurrent callers share the work.

        Raises `PictureError`, naming the step or the digest, if the screenshot is not known, does
        not decode, was planned with another version of the image library, or killed two workers.
        """
        data = self._as_is(picture)
        if data is not None:
            kind = read_size(data).media_type
            return EncodedPicture(data, kind, picture.width, picture.height)
        prepared = await self._get(picture, "encoded")
        assert isinstance(prepared, EncodedPicture)
        return prepared

    async def pixels(self, picture: Picture) -> PixelPicture:
        """Return the pixels of a picture, for models on this machine. Raises as `encoded`."""
        data = self._as_is(picture)
        if data is not None:
            return await asyncio.to_thread(decode, data)
        prepared = await self._get(picture, "pixels")
        assert isinstance(prepared, PixelPicture)
        return prepared

    def _as_is(self, picture: Picture) -> bytes | None:
        """Return the bytes of a picture that is sent unchanged; None for one to be prepared."""
        if picture.recipe == BUILT_IN:
            return grey(SIDE, SIDE)
        if picture.recipe != AS_STORED:
            return None
        source = self._sources.get(picture.digest)
        if source is None:
            raise self._error(picture.digest, "the stored picture is not in the picture store")
        return source.data

    async def _get(self, picture: Picture, form: Form) -> Prepared:
        key = picture.digest, picture.recipe, form
        ready = self._kept.get(key)
        if ready is not None:
            self._kept.move_to_end(key)
            return ready
        # Shielded: one caller that is cancelled must not cancel the work of the others.
        return await asyncio.shield(self._future(picture, form))

    def close(self) -> None:
        """End the workers and release everything. May be called twice."""
        self._closed = True
        if self._started is not None:
            self._started.close()
        self._kept.clear()
        self._sources.clear()
        self.stats.kept_bytes = 0

    async def __aenter__(self) -> PictureStore:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _future(self, picture: Picture, form: Form) -> asyncio.Future[Prepared]:
        key = picture.digest, picture.recipe, form
        running = self._running.get(key)
        if running is not None:
            return running
        recipe = self._checked(picture)
        loop = asyncio.get_running_loop()
        threads = self._pool.threads
        future = loop.run_in_executor(threads, self._work, picture, recipe, form)
        self._running[key] = future
        future.add_done_callback(lambda done: self._finish(key, done))
        return future

    @property
    def _pool(self) -> Pool:
        """The processes, which start for the first picture."""
        if self._started is None:
            from adapters.processes import Pool, available_cpus

            count = self._workers or min(_MOST_WORKERS, available_cpus())
            # If a process dies, its picture is tried once more in another.
            self._started = Pool(_ENTRY, count, name="pictures", attempts=2)
        return self._started

    def _checked(self, picture: Picture) -> Recipe:
        if self._closed:
            raise self._error(picture.digest, "the picture store is closed")
        if picture.digest not in self._sources:
            raise self._error(picture.digest, "the screenshot is not in the picture store")
        try:
            recipe = Recipe.parse(picture.recipe)
        except ValueError as error:
            raise self._error(picture.digest, str(error)) from None
        if (recipe.pillow, recipe.libjpeg) != libraries():
            have = " with libjpeg ".join(libraries())
            raise self._error(
                picture.digest,
                f"planned for Pillow {recipe.pillow} with libjpeg {recipe.libjpeg}, but Pillow "
                f"{have} is installed, which would give other bytes",
            )
        return recipe

    def _work(self, picture: Picture, recipe: Recipe, form: Form) -> Prepared:
        """Prepare a picture in a worker's thread; read the source as late as possible."""
        source = self._sources.get(picture.digest)
        if source is None:
            raise self._error(picture.digest, "the screenshot was discarded before it was prepared")
        fields = {**asdict(recipe), "marks": [tuple(mark) for mark in recipe.marks]}
        from adapters.processes import ChildEnded

        try:
            message = source.data, fields, form
            answer, media_type, failure = self._pool.ask(message)
        except ChildEnded as error:
            failure = f"preparing it ended two worker processes ({error})"
        if failure:
            raise self._error(picture.digest, failure, source.name)
        data = bytes(answer)
        if form == "pixels":
            return PixelPicture(data, *recipe.size)
        return EncodedPicture(data, media_type, *recipe.size)

    def _finish(self, key: Key, done: asyncio.Future[Prepared]) -> None:
        del self._running[key]
        if done.cancelled() or done.exception():  # Retrieved, or asyncio would warn about it.
            return
        picture = done.result()
        self.stats.prepared += 1
        if key[0] not in self._sources or len(picture.data) > self._limit:
            return
        self._kept[key] = picture
        self.stats.kept_bytes += len(picture.data)
        while self.stats.kept_bytes > self._limit:
            _, old = self._kept.popitem(last=False)
            self.stats.kept_bytes -= len(old.data)

    def _error(self, digest: str, reason: str, name: str = "") -> PictureError:
        source = self._sources.get(digest)
        where = name or (source.name if source else "")
        return PictureError(f"{where + ': ' if where else ''}screenshot {digest[:12]}: {reason}")
