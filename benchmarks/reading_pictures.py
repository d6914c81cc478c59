"""Speed of the policy `ocr` against a bare loop of rapidocr over the same pictures, in one process.

The pictures are those of the first items of the sample for grounding, each once. The policy reads
tiles in a process per processor; the bare loop gives rapidocr whole pictures on one thread, which
it shrinks. Then the policy reads the same pictures again from what it kept.

    python benchmarks/reading_pictures.py --pictures 8

Prints seconds of time and of processor per picture on both sides, their ratios, and the ratio of
reading again to reading.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Callable

from adapters.contract import EncodedPicture, PixelPicture
from adapters.conversation import Picture
from harness.benchmarks import open_benchmark
from harness.benchmarks.dataset import Items
from harness.ocr.reading import PARAMETERS, Eyes
from harness.pictures import read_size


class _Stored:
    """Pictures as they are stored, by digest."""

    def __init__(self, data: dict[str, bytes]) -> None:
        self._data = data

    async def encoded(self, picture: Picture) -> EncodedPicture:
        return EncodedPicture(self._data[picture.digest], "image/png", 0, 0)

    async def pixels(self, picture: Picture) -> PixelPicture:
        raise NotImplementedError


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds of time and of processor, those of ended children included."""

    def spent() -> float:
        who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        return sum(sum(resource.getrusage(one)[:2]) for one in who)

    begun, before = time.perf_counter(), spent()
    work()
    return time.perf_counter() - begun, spent() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pictures", type=int, default=8)
    count = parser.parse_args().pictures
    data: dict[str, bytes] = {}
    items = open_benchmark("sample-grounding", splits=("dev",))
    assert isinstance(items, Items)
    for unit in items.entries:
        for encoded in items.pictures(unit):
            data.setdefault(read_size(encoded).digest, encoded)
        if len(data) >= count:
            break
    pictures = [Picture(digest, "stored", 0, 0) for digest in data]

    def look() -> None:
        eyes = Eyes()
        try:
            asyncio.run(eyes.look(pictures, _Stored(data)))
        finally:
            eyes.close()

    def bare() -> None:
        from rapidocr import RapidOCR

        engine = RapidOCR(params=PARAMETERS)
        for encoded in data.values():
            engine(encoded)

    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        rows = {"ocr": _timed(look), "kept": _timed(look), "rapidocr": _timed(bare)}
    for name, (seconds, spent) in rows.items():
        print(f"{name:9} {seconds / count:7.2f} s a picture, {spent / count:7.2f} s of processor")
    ratios = [rows["ocr"][part] / rows["rapidocr"][part] for part in (0, 1)]
    print(f"ocr to rapidocr: {ratios[0]:.2f} in time, {ratios[1]:.2f} of processor")
    print(f"kept to read: {rows['kept'][0] / rows['ocr'][0]:.4f} in time")


if __name__ == "__main__":
    main()
