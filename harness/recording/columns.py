"""Build rows in the columns of Multimodal-Mind2Web; read and write files of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Literal, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from harness.live.clean import clean
from harness.live.nodes import Node
from harness.recording import candidates
from harness.recording.candidates import Target, representation

Op = Literal["CLICK", "TYPE", "SELECT", "HOVER", "ENTER"]

_ROWS_PER_GROUP = 8
_JPEG_QUALITY = 62
_SMALLEST = 19


class Screenshot(TypedDict):
    """A screenshot in the columns that `datasets` stores pictures in."""

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


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A task and its site; the fields are named like the columns."""

    annotation_id: str
    confirmed_task: str
    website: str
    domain: str = ""
    subdomain: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """An action, and the page before it.

    op: the operation as performed.
    value: the text that was typed, or the option that was selected.
    picture: the encoded screenshot; None if there is none.
    """

    action_uid: str
    op: Op
    value: str
    root: Node
    raw_html: str
    target: Target
    picture: bytes | None

    @property
    def words(self) -> str:
        """The action in words."""
        return representation(self.target, self.op, self.value)


def gold(op: Op) -> str:
    """Return the operation that benchmarks score: hovering and pressing Enter count as CLICK."""
    return op if op in ("TYPE", "SELECT") else "CLICK"


def rows(trajectory: Trajectory, steps: Sequence[Step]) -> list[Row]:
    """Build the rows of a trajectory; each has the representations of all its steps."""
    words = [step.words for step in steps]
    return [_row(trajectory, step, index, words) for index, step in enumerate(steps)]


def _row(trajectory: Trajectory, step: Step, index: int, words: list[str]) -> Row:
    accepted = candidates.positives(step.target)
    others = candidates.negatives(step.root, accepted)
    operation = {"original_op": step.op, "value": step.value, "op": gold(step.op)}
    name = f"{trajectory.annotation_id}-{step.action_uid}.jpg"
    return Row(
        action_uid=step.action_uid,
        raw_html=step.raw_html,
        cleaned_html=clean(step.root),
        operation=json.dumps(operation, ensure_ascii=False),
        pos_candidates=[candidates.positive_json(node, step.target) for node in accepted],
        neg_candidates=[candidates.negative_json(node) for node in others],
        website=trajectory.website,
        domain=trajectory.domain,
        subdomain=trajectory.subdomain,
        annotation_id=trajectory.annotation_id,
        confirmed_task=trajectory.confirmed_task,
        screenshot=Screenshot(bytes=step.picture, path=name) if step.picture else None,
        action_reprs=words,
        target_action_index=str(index),
        target_action_reprs=words[index],
    )


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
    """Build the columns' types, and the metadata that makes `datasets` decode the screenshot."""
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


def write(
    path: Path,
    content: Sequence[Row],
    rows_per_group: int = _ROWS_PER_GROUP,
    level: int = _SMALLEST,
) -> None:
    """Write a file in small row groups: a reader never has many screenshots in memory.

    Each column of a row group is one page, which compresses all its screenshots together, at a
    level of zstd.
    """
    table = pa.Table.from_pylist(list(content), schema=schema())
    pq.write_table(
        table,
        path.absolute(),  # pyarrow reads the "a" of "a:b/c" as the name of a file system
        row_group_size=rows_per_group,
        compression="zstd",
        compression_level=level,
        use_dictionary=False,
        data_page_size=1 << 26,
        write_statistics=False,
    )


def read(path: Path, without: Sequence[str] = ()) -> list[Row]:
    """Read a file, leaving out some columns."""
    names = [name for name in Row.__annotations__ if name not in without]
    rows: list[Row] = pq.read_table(path, columns=names).to_pylist()
    return rows
