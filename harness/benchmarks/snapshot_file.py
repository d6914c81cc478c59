"""Write a snapshot: prompts and choices as a run would send them, in rabbit's columns and ours.

The columns of rabbit's dataset card make the file useful to others. Those that begin with
`vlm_eval_` hold what a run needs to give the same results as on the original data. `cleaned_html`
is Multimodal-Mind2Web's own text; `raw_html` is null, because nothing reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.conversation import canonical_json
from harness.benchmarks.snapshots import OWN, SETTINGS
from harness.parquet_writing import ROWS_PER_GROUP, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from harness.page import Candidate
    from harness.records import Choice, Row

Message = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A step with everything that would be sent about it.

    A part of a message is `{"type": "text", "text": ...}` or
    `{"type": "image_url", "image_url": {"url": "data:..."}}`.
    """

    row: Row
    choices: tuple[Choice, ...]
    """In the order listed."""
    first: Sequence[Message]
    """Messages of round 1."""
    second: Sequence[Message]
    """Messages of round 2."""
    recipe: str = ""
    """Preparation of the pictures."""
    reply_prefix: str = ""


def write_snapshot(
    path: Path,
    rows: Iterable[SnapshotRow],
    settings: Mapping[str, object],
    *,
    rows_per_group: int = ROWS_PER_GROUP,
    overwrite: bool = False,
) -> int:
    """Write a snapshot, a row group at a time, and return its number of rows.

    `path` appears only once everything is written.

    Args:
        path: the parquet file.
        rows: consumed one by one.
        settings: how the snapshot was made, as JSON values; read back as `Dataset.settings`.
        rows_per_group: number of rows in memory at a time.
        overwrite: replace the file if it exists.

    Raises:
        DataError: the file exists or cannot be written.
        ValueError: a message does not fit the columns.
    """
    schema = _schema().with_metadata({SETTINGS: canonical_json(dict(settings)).encode()})
    return write_rows(
        path, map(_record, rows), schema, rows_per_group=rows_per_group, overwrite=overwrite
    )


def _record(prepared: SnapshotRow) -> dict[str, object]:
    row = prepared.row
    return {
        "task_id": row.parents["task"],
        "split": row.split,
        "step": row.position,
        "task_description": row.goal,
        "prompt_0": [_as_stored(message, "prompt_0") for message in prepared.first],
        "prompt_1": [_as_stored(message, "prompt_1") for message in prepared.second],
        "raw_html": None,
        "cleaned_html": row.detail.html,
        "candidates": [choice.text for choice in prepared.choices],
        "target_elements": _targets(row, prepared.choices),
        "target_op": row.detail.operation,
        "target_op_value": row.detail.value,
        "website": row.parents["website"],
        "domain": row.labels["domain"],
        "subdomain": row.labels["subdomain"],
        "is_valid": row.invalid is None,
        OWN + "action_uid": row.detail.action_uid,
        OWN + "total_steps": row.total,
        OWN + "history": list(row.detail.history),
        OWN + "choices": [_choice(choice) for choice in prepared.choices],
        OWN + "pos_candidates": [_encoded(c) for c in row.detail.positives],
        OWN + "neg_candidates": [_encoded(c) for c in row.detail.negatives],
        OWN + "problems": list(row.detail.problems),
        OWN + "recipe": prepared.recipe,
        OWN + "reply_prefix": prepared.reply_prefix,
    }


def _as_stored(message: Mapping[str, object], column: str) -> dict[str, object]:
    """Convert a message to the form of the column: a role, and parts that are texts or image URLs.

    Raises:
        ValueError: the message has keys or parts that the column cannot hold.
    """
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, Sequence) or set(message) != {"role", "content"}:
        raise ValueError(f"{column}: a message must have a role and content, nothing else")
    return {"role": message["role"], "content": [_part(part, column) for part in parts]}


def _part(part: object, column: str) -> dict[str, object]:
    if isinstance(part, Mapping):
        if set(part) == {"type", "text"}:
            return {"type": part["type"], "text": part["text"], "image_url": None}
        url: Any = part.get("image_url")
        fits = set(part) == {"type", "image_url"} and isinstance(url, Mapping)
        if fits and "url" in url and set(url) <= {"url", "detail"}:
            place = {"url": url["url"], "detail": url.get("detail")}
            return {"type": part["type"], "text": None, "image_url": place}
    raise ValueError(f"{column}: a part must be a text or a picture by URL")


def _targets(row: Row, choices: Sequence[Choice]) -> list[str]:
    """Write the acceptable elements: the text of a listed one, else tag and id as rabbit does."""
    texts = {choice.id: choice.text for choice in choices}
    return [texts.get(c.id, f"<{c.tag} bnid={c.id}></{c.tag}>") for c in row.detail.positives]


def _choice(choice: Choice) -> dict[str, object]:
    box = choice.box
    return {
        "letter": choice.letter,
        "id": choice.id,
        "tag": choice.tag,
        "box": [box.x, box.y, box.width, box.height] if box else None,
    }


def _encoded(candidate: Candidate) -> str:
    """Encode a candidate as Multimodal-Mind2Web does."""
    return json.dumps(
        {
            "tag": candidate.tag,
            "attributes": candidate.raw_attributes,
            "is_original_target": candidate.original_target,
            "is_top_level_target": candidate.top_level_target,
            "backend_node_id": candidate.id,
        },
        ensure_ascii=False,
    )


def _schema() -> pa.Schema:
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.string())
    picture = pa.struct([("url", text), ("detail", text)])
    part = pa.struct([("type", text), ("text", text), ("image_url", picture)])
    messages = pa.list_(pa.struct([("role", text), ("content", pa.list_(part))]))
    choice = pa.struct(
        [("letter", text), ("id", text), ("tag", text), ("box", pa.list_(pa.float64()))]
    )
    return pa.schema(
        [
            ("task_id", text),
            ("split", text),
            ("step", pa.int64()),
            ("task_description", text),
            ("prompt_0", messages),
            ("prompt_1", messages),
            ("raw_html", text),
            ("cleaned_html", text),
            ("candidates", texts),
            ("target_elements", texts),
            ("target_op", text),
            ("target_op_value", text),
            ("website", text),
            ("domain", text),
            ("subdomain", text),
            ("is_valid", pa.bool_()),
            (OWN + "action_uid", text),
            (OWN + "total_steps", pa.int64()),
            (OWN + "history", texts),
            (OWN + "choices", pa.list_(choice)),
            (OWN + "pos_candidates", texts),
            (OWN + "neg_candidates", texts),
            (OWN + "problems", texts),
            (OWN + "recipe", text),
            (OWN + "reply_prefix", text),
        ]
    )
