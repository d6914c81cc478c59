"""Screenshots made for tests, the rule of a provider, and where the real page lies."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from adapters.contract import ImageRule


def encoded_page(width: int = 640, height: int = 2000, kind: str = "JPEG") -> bytes:
    """A page with lines and blocks, so that a resize has something to lose."""
    page = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(page)
    for y in range(0, height, 20):
        draw.line((0, y, width, y), fill=(y % 255, 90, 120))
        draw.text((10, y), f"line {y}", fill=(0, 0, 0))
    out = io.BytesIO()
    page.save(out, kind)
    return out.getvalue()


def _gpt_4o(width: int, height: int) -> tuple[int, int]:
    scale = min(1.0, 2048 / max(width, height))
    width, height = round(width * scale), round(height * scale)
    scale = min(1.0, 768 / min(width, height))
    return round(width * scale), round(height * scale)


GPT_4O = ImageRule(fit=_gpt_4o, tokens=lambda width, height: None, max_side=2048)
"""Into 2048 x 2048, then the short side to 768: what the high-detail models of 2024 do."""


def example(name: str) -> Path:
    """A file of the recorded SeeAct step; skips without test data, fails when it is incomplete."""
    root = os.environ.get("VLM_EVAL_TEST_DATA")
    if not root:
        pytest.skip("VLM_EVAL_TEST_DATA is not set")
    path = Path(root) / "seeact-example" / name
    assert path.exists(), f"test data without {path}"
    return path


def real_row() -> dict[str, Any]:
    """The recorded step as the data set stores it."""
    import pyarrow.parquet as pq

    (row,) = pq.read_table(example("multimodal_mind2web_row.parquet")).to_pylist()
    assert isinstance(row, dict)
    return row


def real_page() -> bytes:
    """The recorded full-page screenshot, 1280 x 7412."""
    data = real_row()["screenshot"]["bytes"]
    assert isinstance(data, bytes)
    return data


def real_boxes() -> dict[str, tuple[float, float, float, float]]:
    """Left, top, width and height of every candidate of the recorded step, by id."""
    row = real_row()
    boxes = {}
    for text in [*row["pos_candidates"], *row["neg_candidates"]]:
        candidate = json.loads(text)
        rect = json.loads(candidate["attributes"])["bounding_box_rect"]
        x, y, width, height = map(float, rect.split(","))
        boxes[candidate["backend_node_id"]] = (x, y, width, height)
    return boxes
