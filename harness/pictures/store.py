"""Pictures on demand: prepared ahead of need, once per step, in processes, in bounded memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from types import TracebackType

from adapters.contract import EncodedPicture, PixelPicture
from adapters.conversation import Picture
from adapters.processes import available_cpus
from harness.pictures import unprepared
from harness.pictures.header import PictureError
from harness.pictures.recipe import Form, Recipe, libraries
from harness.pictures.workers import Workers

Prepared = EncodedPicture | PixelPicture
Key = tuple[str, str, Form]
"""Digest of the source, recipe and form: what identifies a prepared picture."""


@dataclass(slots=True)
class PictureStats:
    """Counts since the store was made, in pictures; `kept_bytes` is what is held now.

    `prepared` were worked on; `reused` were asked for and lay ready; `shared` were asked for while
    they were being worked on; `evicted` had to leave for others; `failed` could not be prepared.
    """

    prepared: int = 0
    reused: int = 0
    shared: int = 0
    evicted: int = 0
    failed: int = 0
    kept_bytes: int = 0


@dataclass(slots=True)
class _Source:
    data: bytes
    name: str
    users: int = 1


class PictureStore:
    """The one `PictureSource` of a run, over the pictures of the steps in flight.

    The session gives it the encoded screenshot of a step (`add`), may ask for pictures ahead of
    need (`prepare`), and takes the screenshot back when the step is done (`discard`): what waits
    its turn holds no bytes, so memory is bounded by the steps in flight and `cache_bytes`. No
    process is started before the first picture has to be prepared. To be used from one event loop,
    and closed before that loop ends; `async with` does.

    Pictures that a data set stores are added and discarded in the same way and sent as they are;
    so is `built_in_picture()`, which is always there.
    """

    def __init__(self, workers: int | None = None, cache_bytes: int = 256 * 1024 * 1024) -> None:
        """Prepare in `workers` processes (None: one per processor, at most 8).

        At most `cache_bytes` of prepared pictures are kept; those used longest ago leave first.
        """
        self._count = workers or min(8, available_cpus())
        self._limit = cache_bytes
        self._workers: Workers | None = None
        self._sources: dict[str, _Source] = {}
        self._kept: OrderedDict[Key, Prepared] = OrderedDict()
        self._running: dict[Key, asyncio.Future[Prepared]] = {}
        self._closed = False
        self.stats = PictureStats()

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """The ids of the preparing processes; empty until a picture is needed."""
        return self._workers.pids if self._workers else ()

    def add(self, digest: str, data: bytes, name: str = "") -> None:
        """Hold the screenshot or stored picture with this SHA-256, encoded.

        `name` (the step) is for error messages. Steps that share a screenshot each add it, and each
        discard it.
        """
        held = self._sources.get(digest)
        if held is None:
            self._sources[digest] = _Source(data, name)
        else:
            held.users += 1

    def discard(self, digest: str) -> None:
        """Let a screenshot go, and with its last user the pictures prepared from it."""
        held = self._sources.get(digest)
        if held is None:
            return
        held.users -= 1
        if held.users == 0:
            del self._sources[digest]
            for key in [key for key in self._kept if key[0] == digest]:
                self.stats.kept_bytes -= len(self._kept.pop(key).data)

    def prepare(self, picture: Picture, form: Form = "encoded") -> None:
        """Start preparing, unless the picture is ready or under way. What fails is told later.

        Raises `PictureError` as `encoded` does when the picture cannot even be started.
        """
        if picture.recipe in (unprepared.AS_STORED, unprepared.BUILT_IN):
            return
        if (picture.digest, picture.recipe, form) not in self._kept:
            self._future(picture, form)

    async def encoded(self, picture: Picture) -> EncodedPicture:
        """The bytes of a picture; the same work is never done twice at a time.

        Raises `PictureError`, naming the step or the digest, when the screenshot is not held, does
        not decode, was planned with another version of the image library, or ended two processes.
        """
        data = self._as_is(picture)
        if data is not None:
            return unprepared.encoded(picture, data)
        prepared = await self._get(picture, "encoded")
        assert isinstance(prepared, EncodedPicture)
        return prepared

    async def pixels(self, picture: Picture) -> PixelPicture:
        """The same picture before it is encoded, for models on this machine. Raises the same."""
        data = self._as_is(picture)
        if data is not None:
            return await asyncio.to_thread(unprepared.decode, data)
        prepared = await self._get(picture, "pixels")
        assert isinstance(prepared, PixelPicture)
        return prepared

    def _as_is(self, picture: Picture) -> bytes | None:
        """The bytes of a picture that is sent as it is; None for one to be prepared."""
        if picture.recipe == unprepared.BUILT_IN:
            return unprepared.built_in_bytes()
        if picture.recipe != unprepared.AS_STORED:
            return None
        held = self._sources.get(picture.digest)
        if held is None:
            raise self._error(picture.digest, "the stored picture is not at hand")
        return held.data

    async def _get(self, picture: Picture, form: Form) -> Prepared:
        key = picture.digest, picture.recipe, form
        ready = self._kept.get(key)
        if ready is not None:
            self._kept.move_to_end(key)
            self.stats.reused += 1
            return ready
        if key in self._running:
            self.stats.shared += 1
        # Shielded: one caller that gives up must not take the picture from the others.
        return await asyncio.shield(self._future(picture, form))

    def close(self) -> None:
        """End the preparing processes and let everything go. May be called twice."""
        self._closed = True
        if self._workers is not None:
            self._workers.close()
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
        if self._workers is None:
            self._workers = Workers(self._count)
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._workers.threads, self._work, picture, recipe, form)
        self._running[key] = future
        future.add_done_callback(lambda done: self._finish(key, done))
        return future

    def _checked(self, picture: Picture) -> Recipe:
        if self._closed:
            raise self._error(picture.digest, "the preparation of pictures has ended")
        if picture.digest not in self._sources:
            raise self._error(picture.digest, "the screenshot is not at hand")
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
        """Runs on a thread of the workers; the source is looked up as late as possible."""
        source, workers = self._sources.get(picture.digest), self._workers
        if source is None or workers is None:
            raise self._error(picture.digest, "the screenshot was let go before it was prepared")
        try:
            data, media_type = workers.prepare(source.data, recipe, form)
        except PictureError as error:
            raise self._error(picture.digest, str(error), source.name) from None
        if form == "pixels":
            return PixelPicture(data, *recipe.size)
        return EncodedPicture(data, media_type, *recipe.size)

    def _finish(self, key: Key, done: asyncio.Future[Prepared]) -> None:
        del self._running[key]
        if done.cancelled():
            return
        if done.exception() is not None:  # looked at, so that nobody is warned about it
            self.stats.failed += 1
            return
        self.stats.prepared += 1
        picture = done.result()
        if key[0] not in self._sources or len(picture.data) > self._limit:
            return
        self._kept[key] = picture
        self.stats.kept_bytes += len(picture.data)
        while self.stats.kept_bytes > self._limit:
            _, old = self._kept.popitem(last=False)
            self.stats.kept_bytes -= len(old.data)
            self.stats.evicted += 1

    def _error(self, digest: str, reason: str, name: str = "") -> PictureError:
        held = self._sources.get(digest)
        where = name or (held.name if held else "")
        return PictureError(f"{where + ': ' if where else ''}screenshot {digest[:12]}: {reason}")
