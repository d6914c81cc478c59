"""Read the text of pictures with rapidocr, in child processes, each once.

The models are part of rapidocr's package: nothing is downloaded.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from adapters.contract import Fatal, PictureSource
from adapters.conversation import Picture
from adapters.decoding import decoder_of
from adapters.digests import cache_folder, write_cached
from adapters.processes import ChildEnded, Pool, available_cpus
from adapters.registry import install
from harness.errors import UserError
from harness.pictures import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adapters.processes.child import Receive, Send


Found = tuple[str, float, float, float, float]
"""A line of text with its left, top, right and bottom, in pixels."""

TILE = 2_000, 1_000
"""Widest and tallest part that is read at once, in pixels: rapidocr shrinks what is larger."""
OVERLAP = 100
"""Pixels that tiles share, so each line is whole in one of them."""
SURE = 0.5
"""Least confidence of a line."""
PARAMETERS = {
    "Global.log_level": "critical",
    "Global.use_cls": False,
    # Each process reads on one thread: the pool has one process per processor.
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


@cache
def edition() -> str:
    """Return what the lines of a picture depend on, as a short hash: rapidocr and the settings."""
    text = f"{version('rapidocr')} {TILE} {OVERLAP} {SURE} {PARAMETERS}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def serve(receive: Receive, send: Send) -> None:
    """Read one encoded picture after the other.

    The answer to a picture is its lines, each a text with left, top, right and bottom in pixels,
    and ""; or () and the reason why it cannot be read.
    """
    from rapidocr import RapidOCR

    engine = RapidOCR(params=PARAMETERS)
    while True:
        try:
            answer = lines(engine, receive()), ""
        except EOFError:
            return
        except Exception as error:  # whatever it is, it must not end the process
            answer = (), str(error) or type(error).__name__
        send(answer)


def lines(engine: Any, data: bytes) -> tuple[Found, ...]:
    """Return the lines of a picture from top to bottom, tile by tile."""
    import numpy as np

    from harness.pictures.imaging import decoded

    pixels = np.asarray(decoded(data))[:, :, ::-1]  # rapidocr takes BGR
    found: list[Found] = []
    for left, top in _corners(pixels.shape[1], pixels.shape[0]):
        read = engine(pixels[top : top + TILE[1], left : left + TILE[0]])
        if read.boxes is None:
            continue
        for text, corners, score in zip(read.txts, read.boxes, read.scores, strict=True):
            if score >= SURE:
                x, y = corners[:, 0] + left, corners[:, 1] + top
                line = text, float(x.min()), float(y.min()), float(x.max()), float(y.max())
                _add(found, line)
    return tuple(sorted(found, key=lambda line: (line[2], line[1])))


def _corners(width: int, height: int) -> Iterator[tuple[int, int]]:
    for top in range(0, max(1, height - OVERLAP), TILE[1] - OVERLAP):
        for left in range(0, max(1, width - OVERLAP), TILE[0] - OVERLAP):
            yield left, top


def _add(found: list[Found], line: Found) -> None:
    """Add a line, unless another tile has more of it."""
    for number, other in enumerate(found):
        across = min(line[3], other[3]) - max(line[1], other[1])
        down = min(line[4], other[4]) - max(line[2], other[2])
        smaller = min(_area(line), _area(other))
        if across > 0 and down > 0 and across * down > smaller / 2:
            if _area(line) > _area(other):
                found[number] = line
            return
    found.append(line)


def _area(line: Found) -> float:
    return (line[3] - line[1]) * (line[4] - line[2])


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
        except ValueError:  # It is sent as it is stored.
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
