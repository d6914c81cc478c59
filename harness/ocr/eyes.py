"""Texts on the pictures of a unit, in pixels of its page."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

import msgspec

from adapters.contract import Fatal, PictureSource
from adapters.conversation import Picture
from adapters.decoding import decoder_of
from adapters.digests import cache_folder, write_cached
from adapters.processes import ChildEnded, Pool, available_cpus
from adapters.registry import install
from harness.errors import UserError
from harness.ocr.reading import Found, edition
from harness.pictures import Recipe

_ENTRY = "harness.ocr.reading:serve"
_MOST_READERS = 8
_KEPT = 10_000
_KEPT_AS = decoder_of(list[Found])
_TO_KEEP = msgspec.json.Encoder()


class TextLine(NamedTuple):
    """A line of text and its edges in pixels of the page."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


class Eyes:
    """Reads pictures in child processes, each once, and keeps what it read in the cache folder."""

    def __init__(self) -> None:
        self._pool: Pool | None = None
        self._read: dict[tuple[str, str], asyncio.Future[tuple[TextLine, ...]]] = {}

    def check(self) -> None:
        """Raise `UserError` if the library that reads is missing."""
        if find_spec("rapidocr") is None or find_spec("onnxruntime") is None:
            raise UserError(f"policy 'ocr' needs rapidocr and onnxruntime: {install('ocr')}")

    async def look(
        self, pictures: Sequence[Picture], source: PictureSource
    ) -> tuple[TextLine, ...]:
        """Return the lines of the pictures. Raises `Fatal` for none, and what `source` raises."""
        if not pictures:
            raise Fatal(
                "policy 'ocr' reads pictures, and this call shows none: take another protocol or "
                "--image-policy"
            )
        read = await asyncio.gather(*(self._lines(one, source) for one in pictures))
        return tuple(line for lines in read for line in lines)

    async def _lines(self, picture: Picture, source: PictureSource) -> tuple[TextLine, ...]:
        key = picture.digest, picture.recipe
        if key not in self._read:
            if len(self._read) >= _KEPT:
                del self._read[next(iter(self._read))]
            self._read[key] = asyncio.ensure_future(self._reading(picture, source))
        return await asyncio.shield(self._read[key])

    async def _reading(self, picture: Picture, source: PictureSource) -> tuple[TextLine, ...]:
        data = (await source.encoded(picture)).data
        kept = cache_folder() / "ocr" / edition() / f"{hashlib.sha256(data).hexdigest()}.json"
        try:
            found = _KEPT_AS.decode(kept.read_bytes())
        except (OSError, msgspec.DecodeError):
            found = await self._read_anew(picture, data)
            write_cached(kept, _TO_KEEP.encode(found))
        try:
            place = Recipe.parse(picture.recipe).to_page
        except ValueError:  # It is sent unchanged.
            return tuple(TextLine(*line) for line in found)
        return tuple(
            TextLine(text, *place(left, top), *place(right, bottom))
            for text, left, top, right, bottom in found
        )

    async def _read_anew(self, picture: Picture, data: bytes) -> list[Found]:
        if self._pool is None:
            count = min(_MOST_READERS, available_cpus())
            self._pool = Pool(_ENTRY, count, name="ocr", attempts=2)
        pool = self._pool
        try:
            found, failure = await asyncio.get_running_loop().run_in_executor(
                pool.threads, pool.ask, data
            )
        except ChildEnded as error:
            raise Fatal(f"policy 'ocr': the process that reads pictures ended: {error}") from None
        if failure:
            raise Fatal(f"policy 'ocr' cannot read picture {picture.digest[:12]}: {failure}")
        return list(found)

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        self._read.clear()
