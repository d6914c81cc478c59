"""Screenshots of pages that differ little share most of their bytes."""

from __future__ import annotations

from io import BytesIO

import pyarrow as pa
from PIL import Image, ImageDraw

from benchmarks.sample.trajectories import jpeg


def _png(image: Image.Image, words: str = "") -> bytes:
    copy = image.copy()
    ImageDraw.Draw(copy).text((40, 400), words, fill="black")
    out = BytesIO()
    copy.save(out, "PNG")
    return out.getvalue()


def test_a_change_in_one_place_costs_little_beside_the_picture_before() -> None:
    page = Image.effect_noise((640, 960), 60).convert("RGB")
    before, after = jpeg(_png(page)), jpeg(_png(page, "typed"))
    codec = pa.Codec("zstd", compression_level=19)
    alone, both = (len(codec.compress(data)) for data in (before, before + after))
    assert before != after
    assert both < 1.2 * alone
