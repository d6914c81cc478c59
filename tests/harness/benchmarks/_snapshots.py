"""Synthetic rows in the columns of rabbit's data set card, without any column of ours."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.harness.benchmarks._files import picture

URL = "data:image/jpeg;base64," + base64.b64encode(picture()).decode()
SERIES = "data/test-{:05}-of-{:05}.parquet"


def element(node_id: int) -> str:
    return f"<button bnid={node_id} type=submit><text bnid={node_id + 1}>Go</text></button>"


def stored(task_id: str = "t", step: int = 0, **changes: Any) -> dict[str, Any]:
    text = {"type": "text", "text": "What next?", "image_url": None}
    shown = {"type": "image_url", "text": None, "image_url": {"url": URL}}
    return {
        "task_id": task_id,
        "split": "test_task",
        "step": step,
        "task_description": "Go somewhere",
        "prompt_0": [
            {"role": "system", "content": [text]},
            {"role": "user", "content": [text, shown]},
        ],
        "prompt_1": [{"role": "user", "content": [{"type": "text", "text": "Which one?"}]}],
        "raw_html": "<!doctype html>",
        "cleaned_html": '<html bnid="1"><body></body></html>',
        "candidates": [element(10), element(20), element(30)],
        "target_elements": [element(20), element(40)],
        "target_op": "CLICK",
        "target_op_value": "",
        "website": "shop",
        "domain": "Shopping",
        "subdomain": "General",
        "is_valid": True,
    } | changes


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path
