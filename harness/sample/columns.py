"""Rows in the columns of Multimodal-Mind2Web, and reading and writing files of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import TypedDict

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from harness.live.clean import clean
from harness.sample import candidates
from harness.sample.recorder import Recorded
from harness.sample.representations import representation

_ROWS_PER_GROUP = 8
_JPEG_QUALITY = 62


class Screenshot(TypedDict):
    """A picture as `datasets` stores it."""

    bytes: bytes | None
    path: str | None


class Row(TypedDict):
    """A step, with one key per column."""

    action_uid: str
    raw_html: str
    cleaned_html: str
    operation: str
    pos_candidates: list[str]
    neg_candidates: list[str]
    website: str
    domain: str
    subdomain: str
    annotation_id: str
    confirmed_task: str
    screenshot: Screenshot | None
    action_reprs: list[str]
    target_action_index: str
    target_action_reprs: str


def rows(steps: Iterable[Recorded]) -> list[Row]:
    """Convert steps to rows; each row has the representations of all steps of its task."""
    return [
        row for _, task in groupby(steps, key=lambda step: step.task) for row in _rows(list(task))
    ]


def _rows(steps: Sequence[Recorded]) -> list[Row]:
    reprs = [representation(step.target, step.action) for step in steps]
    return [_row(step, reprs) for step in steps]


def _row(step: Recorded, reprs: list[str]) -> Row:
    action, task = step.action, step.task
    accepted = candidates.positives(step.target)
    operation = {"original_op": action.op, "value": action.value, "op": action.gold}
    return Row(
        action_uid=task.action_uid(step.index),
        raw_html=step.raw_html,
        cleaned_html=clean(step.root),
        operation=json.dumps(operation, ensure_ascii=False),
        pos_candidates=[candidates.positive_json(node, step.target) for node in accepted],
        neg_candidates=[
            candidates.negative_json(node) for node in candidates.negatives(step.root, accepted)
        ],
        website=task.site.website,
        domain=task.site.domain,
        subdomain=task.site.subdomain,
        annotation_id=task.annotation_id,
        confirmed_task=task.goal,
        screenshot=_screenshot(step),
        action_reprs=reprs,
        target_action_index=str(step.index),
        target_action_reprs=reprs[step.index],
    )


def _screenshot(step: Recorded) -> Screenshot | None:
    match step.action.picture:
        case "missing":
            return None
        case "empty":
            return Screenshot(bytes=None, path=None)
        case _:
            name = f"{step.task.annotation_id}-{step.task.action_uid(step.index)}.jpg"
            return Screenshot(bytes=jpeg(step.screenshot), path=name)


def jpeg(png: bytes) -> bytes:
    """Encode a screenshot as JPEG.

    With a restart marker after each row of blocks and fixed code tables, equal rows of two pictures
    become equal bytes. Successive screenshots of a form differ in few rows, so the compression of
    the file stores the rest only once.
    """
    out = BytesIO()
    with Image.open(BytesIO(png)) as image:
        image.convert("RGB").save(
            out, "JPEG", quality=_JPEG_QUALITY, subsampling="4:2:0", restart_marker_rows=1
        )
    return out.getvalue()


def _string() -> dict[str, str]:
    return {"dtype": "string", "_type": "Value"}


def schema() -> pa.Schema:
    """The columns, their types, and the metadata that makes `datasets` decode the screenshot."""
    lists = ("pos_candidates", "neg_candidates", "action_reprs")
    fields: list[pa.Field] = []
    features: dict[str, object] = {}
    for name in Row.__annotations__:
        if name == "screenshot":
            fields.append(pa.field(name, pa.struct({"bytes": pa.binary(), "path": pa.string()})))
            features[name] = {"_type": "Image"}
        elif name in lists:
            fields.append(pa.field(name, pa.list_(pa.field("element", pa.string()))))
            features[name] = {"feature": _string(), "_type": "Sequence"}
        else:
            fields.append(pa.field(name, pa.string()))
            features[name] = _string()
    described = json.dumps({"info": {"features": features}})
    return pa.schema(fields, metadata={"huggingface": described})


def write(path: Path, content: Sequence[Row], rows_per_group: int = _ROWS_PER_GROUP) -> None:
    """Write a file in small row groups, so that a reader never holds many screenshots.

    Each column of a row group is one page, so that all its screenshots are compressed together.
    """
    table = pa.Table.from_pylist(list(content), schema=schema())
    pq.write_table(
        table,
        path,
        row_group_size=rows_per_group,
        compression="zstd",
        compression_level=19,
        use_dictionary=False,
        data_page_size=1 << 26,
        write_statistics=False,
    )


def read(path: Path, without: Sequence[str] = ()) -> list[Row]:
    """Read a file, leaving out some columns."""
    names = [name for name in Row.__annotations__ if name not in without]
    rows: list[Row] = pq.read_table(path, columns=names).to_pylist()
    return rows
