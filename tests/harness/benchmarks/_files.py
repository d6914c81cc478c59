"""Synthetic data sets in Multimodal-Mind2Web's columns, for tests of anything that reads them.

    rows = task("t1", 3) + task("t2", 2)
    write(tmp_path / "test_task-00000-of-00001.parquet", rows, rows_per_group=2)

A page is a list of buttons; element `b<n>` is the n-th one, 40 px below the one before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

Record = dict[str, Any]


def shared_data(name: str) -> Path:
    """A file of the test data set that tests may be given; skips where there is none."""
    folder = os.environ.get("VLM_EVAL_TEST_DATA")
    if not folder:
        pytest.skip("VLM_EVAL_TEST_DATA is not set: no recorded data to test with")
    path = Path(folder) / name
    assert path.exists(), f"VLM_EVAL_TEST_DATA is set but {path} is missing"
    return path


@cache
def picture(width: int = 128, height: int = 400) -> bytes:
    """A small JPEG."""
    from PIL import Image

    target = BytesIO()
    Image.new("RGB", (width, height), (200, 220, 240)).save(target, "JPEG")
    return target.getvalue()


def page(buttons: int = 30) -> str:
    """A page with elements `root`, `body`, and `b0`, `b1`, ... each with a text of its own."""
    lines = [
        f'    <button backend_node_id="b{n}" type="button">\n'
        f'      <text backend_node_id="x{n}">Button {n}</text>\n    </button>'
        for n in range(buttons)
    ]
    inside = "\n".join(lines)
    return (
        '<html backend_node_id="root">\n  <body backend_node_id="body">\n'
        f"{inside}\n  </body>\n</html>"
    )


def candidate(node_id: str, tag: str = "button", *, positive: bool = False, **flags: bool) -> str:
    """An entry of a candidate column: JSON that holds JSON."""
    number = int(node_id[1:]) if node_id[1:].isdigit() else 0
    attributes = {
        "backend_node_id": node_id,
        "bounding_box_rect": f"10,{40 * number},100,30.5",
        "class": "plain",
        "data_pw_testid_buckeye_candidate": "1",
    }
    entry: Record = {"tag": tag, "attributes": json.dumps(attributes)}
    if positive:
        entry["is_original_target"] = flags.get("original", True)
        entry["is_top_level_target"] = flags.get("top_level", True)
    return json.dumps(entry | {"backend_node_id": node_id})


def row(task_id: str = "t1", index: int = 0, steps: int = 3, **changes: Any) -> Record:
    """A step; `op`, `original_op`, `value`, `positives` (ids), `negatives` (ids) and any column.

    Without changes: click button `b<index>` among thirty.
    """
    op = changes.pop("op", "CLICK")
    value = changes.pop("value", "" if op == "CLICK" else f"value {index}")
    positives: Sequence[str] = changes.pop("positives", [f"b{index}"])
    negatives: Sequence[str] = changes.pop(
        "negatives", ["root", "body", *(f"b{n}" for n in range(30) if f"b{n}" not in positives)]
    )
    actions = [f"[button]  Button {n} -> CLICK" for n in range(steps)]
    ending = f"{changes.get('original_op', op)}{': ' + value if value else ''}"
    actions[index : index + 1] = [f"[button]  Button {index} -> {ending}"]
    operation = {"original_op": changes.pop("original_op", op), "value": value, "op": op}
    record: Record = {
        "action_uid": f"{task_id}-{index}",
        "raw_html": page(),
        "cleaned_html": page(),
        "operation": json.dumps(operation),
        "pos_candidates": [
            candidate(i, positive=True, original=n == 0, top_level=n == len(positives) - 1)
            for n, i in enumerate(positives)
        ],
        "neg_candidates": [
            candidate(i, {"root": "html", "body": "body"}.get(i, "button")) for i in negatives
        ],
        "website": "shop",
        "domain": "Shopping",
        "subdomain": "General",
        "annotation_id": task_id,
        "confirmed_task": f"Press the buttons of {task_id}",
        "screenshot": {"bytes": picture(), "path": f"{task_id}-{index}.jpg"},
        "action_reprs": actions,
        "target_action_index": str(index),
        "target_action_reprs": actions[index] if index < len(actions) else "",
    }
    return record | changes


def task(task_id: str, steps: int, **changes: Any) -> list[Record]:
    """All steps of a task, in order."""
    return [row(task_id, index, steps, **changes) for index in range(steps)]


def write(
    path: Path, rows: Sequence[Record], *, rows_per_group: int = 100, without: Collection[str] = ()
) -> Path:
    """Write rows as one parquet file, leaving out some columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = pa.list_(pa.string())
    types = {
        "pos_candidates": texts,
        "neg_candidates": texts,
        "action_reprs": texts,
        "screenshot": pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
    }
    names = [name for name in row() if name not in without]
    schema = pa.schema(
        [(name, types.get(name, pa.string())) for name in names], metadata={"made": "for tests"}
    )
    kept = [{name: record[name] for name in names} for record in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(kept, schema), path, row_group_size=rows_per_group)
    return path
