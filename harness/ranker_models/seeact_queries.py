"""Convert SeeAct's query files to steps in the columns of Multimodal-Mind2Web, and to ranks.

SeeAct (Zheng et al. 2024) publishes its queries as JSON lines: one line per batch of choices, each
with the whole step. The lines of a step are merged. They hold no screenshot of the page, only the
crops that were sent, and none of the later actions, so the steps have no picture, and their
`action_reprs` end before the step. Ranks and scores of the candidates go into a file of ranks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from adapters.decoding import decoder_of
from adapters.input_files import behind_mark
from harness.benchmarks.recorded import decode_operation
from harness.errors import DataError
from harness.parquet_writing import ROWS_PER_GROUP, parquet_writer
from harness.rankers import PUBLISHED
from harness.rankers.files import Entry, table_writer

if TYPE_CHECKING:
    import pyarrow as pa


class _Candidate(msgspec.Struct, gc=False):
    backend_node_id: str | int
    attributes: str
    tag: str = ""
    is_original_target: bool | None = None
    is_top_level_target: bool | None = None
    rank: int | None = None
    score: float | None = None


class _Query(msgspec.Struct, gc=False):
    annotation_id: str
    action_uid: str
    confirmed_task: str
    previous_actions: list[str]
    operation: dict[str, Any]
    pos_candidates: list[_Candidate]
    neg_candidates: list[_Candidate]
    cleaned_html: str
    website: str = ""
    domain: str = ""
    subdomain: str = ""


_QUERY = decoder_of(_Query)


@dataclass(frozen=True, slots=True)
class Imported:
    """Counts of an import: lines read, steps written, and steps whose candidates have ranks."""

    lines: int
    steps: int
    ranked: int


def import_queries(
    files: Sequence[Path], out: Path, scores: Path | None = None, *, overwrite: bool = False
) -> Imported:
    """Write the steps of query files to a parquet file and, optionally, their ranks to another.

    Args:
        files: JSON lines files, or folders that are searched for `queries.jsonl`.
        out: file of steps, for `--benchmark multimodal-mind2web --data`.
        scores: file of ranks and scores, for `--ranker`.
        overwrite: True if to replace existing files.

    Raises:
        DataError: a line cannot be read, two lines of a step differ, or there are no ranks.
    """
    import pyarrow as pa

    seen: dict[str, bytes] = {}
    lines = ranked = 0
    pending: list[dict[str, object]] = []
    schema = _schema()
    with ExitStack() as stack:
        writer = stack.enter_context(parquet_writer(out, schema, overwrite=overwrite))
        settings = {"ranker": PUBLISHED, "files": [path.name for path in files]}
        table = (
            stack.enter_context(table_writer(scores, settings, overwrite=overwrite))
            if scores
            else None
        )
        for where, query, digest in _queries(files):
            lines += 1
            step_id = f"{query.annotation_id}_{query.action_uid}"
            if step_id in seen:
                if seen[step_id] != digest:
                    raise DataError(f"{where}: step {step_id} differs from its earlier lines")
                continue
            seen[step_id] = digest
            pending.append(_record(query, where))
            entry = _entry(step_id, query, where)
            ranked += entry is not None
            if table is not None and entry is not None:
                table.add(entry)
            if len(pending) == ROWS_PER_GROUP:
                writer.write_table(pa.Table.from_pylist(pending, schema))
                pending.clear()
        if not seen:
            raise DataError(f"no queries in {', '.join(map(str, files))}")
        if table is not None and not ranked:
            raise DataError("the queries have no ranks; omit --scores")
        if pending:
            writer.write_table(pa.Table.from_pylist(pending, schema))
    return Imported(lines, len(seen), ranked)


def _queries(files: Sequence[Path]) -> Iterator[tuple[str, _Query, bytes]]:
    for path in _paths(files):
        try:
            with behind_mark(path) as file:
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        where = f"{path}, line {number}"
                        yield where, *_decoded(line, where)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error


def _paths(files: Sequence[Path]) -> list[Path]:
    paths: list[Path] = []
    for path in files:
        inside = sorted(path.rglob("queries.jsonl")) if path.is_dir() else [path]
        if not inside:
            raise DataError(f"no queries.jsonl in {path}")
        paths += inside
    return paths


def _decoded(line: bytes, where: str) -> tuple[_Query, bytes]:
    """Return a query, and a digest of the fields that all lines of its step share."""
    try:
        query = _QUERY.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{where} is not a SeeAct query: {error}") from error
    return query, hashlib.sha256(msgspec.json.encode(query)).digest()


def _record(query: _Query, where: str) -> dict[str, object]:
    decode_operation(query.operation, where)
    return {
        "action_uid": query.action_uid,
        "raw_html": query.cleaned_html,
        "cleaned_html": query.cleaned_html,
        "operation": json.dumps(query.operation, ensure_ascii=False),
        "pos_candidates": [_candidate(c) for c in query.pos_candidates],
        "neg_candidates": [_candidate(c) for c in query.neg_candidates],
        "website": query.website,
        "domain": query.domain,
        "subdomain": query.subdomain,
        "annotation_id": query.annotation_id,
        "confirmed_task": query.confirmed_task,
        "screenshot": None,
        "action_reprs": query.previous_actions,
        "target_action_index": str(len(query.previous_actions)),
    }


def _candidate(stored: _Candidate) -> str:
    record: dict[str, object] = {"tag": stored.tag, "attributes": stored.attributes}
    for name in ("is_original_target", "is_top_level_target"):
        if getattr(stored, name) is not None:
            record[name] = getattr(stored, name)
    return json.dumps(
        {**record, "backend_node_id": str(stored.backend_node_id)}, ensure_ascii=False
    )


def _entry(step_id: str, query: _Query, where: str) -> Entry | None:
    """Return the candidates by rank; None if they have no ranks."""
    known = {str(c.backend_node_id): c for c in (*query.pos_candidates, *query.neg_candidates)}
    if all(c.rank is None for c in known.values()):
        return None
    ranks: list[tuple[int, str]] = []
    for node_id, candidate in known.items():
        if candidate.rank is None:
            raise DataError(f"{where}: candidate {node_id} has no rank, but others do")
        ranks.append((candidate.rank, node_id))
    ranks.sort(key=lambda pair: pair[0])
    scores = [known[node_id].score for _, node_id in ranks]
    return Entry(
        step_id,
        [node_id for _, node_id in ranks],
        [rank for rank, _ in ranks],
        None if None in scores else [float(s) for s in scores if s is not None],
    )


def _schema() -> pa.Schema:
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.string())
    types = {
        "pos_candidates": texts,
        "neg_candidates": texts,
        "action_reprs": texts,
        "screenshot": pa.struct([("bytes", pa.binary()), ("path", text)]),
    }
    names = (
        "action_uid raw_html cleaned_html operation pos_candidates neg_candidates website domain "
        "subdomain annotation_id confirmed_task screenshot action_reprs target_action_index"
    )
    return pa.schema([(name, types.get(name, text)) for name in names.split()])
