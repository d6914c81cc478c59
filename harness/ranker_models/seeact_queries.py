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
from pathlib import Path
from typing import Any

import msgspec

from adapters.decoding import decoder_of
from adapters.input_files import behind_mark
from harness.benchmarks.recorded import decode_operation
from harness.errors import DataError
from harness.parquet_writing import check_new, write_rows
from harness.rankers import PUBLISHED
from harness.rankers.files import RankedStep, write_ranks

_COLUMNS = (
    *("action_uid", "raw_html", "cleaned_html", "operation", "pos_candidates", "neg_candidates"),
    *("website", "domain", "subdomain", "annotation_id", "confirmed_task", "screenshot"),
    *("action_reprs", "target_action_index"),
)


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


def import_queries(
    files: Sequence[Path], out: Path, scores: Path | None = None, *, overwrite: bool = False
) -> tuple[int, int, int]:
    """Write the steps of query files to a parquet file and, optionally, their ranks to another.

    `files` are JSON lines, or folders that are searched for `queries.jsonl`. Returns the numbers of
    lines, of steps, and of steps with ranks. Raises `DataError` if a line cannot be read, two lines
    of a step differ, there are no ranks, or a file exists.
    """
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.string())
    types = dict.fromkeys(("pos_candidates", "neg_candidates", "action_reprs"), texts)
    types["screenshot"] = pa.struct([("bytes", pa.binary()), ("path", text)])
    schema = pa.schema([(name, types.get(name, text)) for name in _COLUMNS])
    for path in filter(None, (out, scores)):
        check_new(path, overwrite=overwrite)
    seen: dict[str, bytes] = {}
    ranked: list[RankedStep] = []
    lines = 0

    def records() -> Iterator[dict[str, object]]:
        nonlocal lines
        for where, query in _queries(files):
            lines += 1
            step_id = f"{query.annotation_id}_{query.action_uid}"
            # The lines of a step differ only in fields that are not read.
            content = hashlib.sha256(msgspec.json.encode(query)).digest()
            if step_id in seen:
                if seen[step_id] != content:
                    raise DataError(f"{where}: step {step_id} differs from its earlier lines")
                continue
            seen[step_id] = content
            if entry := _entry(step_id, query, where):
                ranked.append(entry)
            yield _record(query, where)
        if not seen:
            raise DataError(f"no queries in {', '.join(map(str, files))}")
        if scores:
            if not ranked:
                raise DataError("the queries have no ranks; omit --scores")
            settings = {"ranker": PUBLISHED, "files": [path.name for path in files]}
            write_ranks(scores, settings, ranked, overwrite=overwrite)

    write_rows(out, records(), schema, overwrite=overwrite)
    return lines, len(seen), len(ranked)


def _queries(files: Sequence[Path]) -> Iterator[tuple[str, _Query]]:
    for given in files:
        paths = sorted(given.rglob("queries.jsonl")) if given.is_dir() else [given]
        if not paths:
            raise DataError(f"no queries.jsonl in {given}")
        for path in paths:
            try:
                with behind_mark(path) as file:
                    for number, line in enumerate(file, start=1):
                        if line.strip():
                            where = f"{path}, line {number}"
                            yield where, _QUERY.decode(line)
            except OSError as error:
                raise DataError(f"{path} cannot be read: {error.strerror}") from error
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise DataError(f"{where} is not a SeeAct query: {error}") from error


def _record(query: _Query, where: str) -> dict[str, object]:
    decode_operation(query.operation, where)
    same = set(_COLUMNS).intersection(query.__struct_fields__)
    return {
        **{name: getattr(query, name) for name in same},
        "raw_html": query.cleaned_html,
        "operation": json.dumps(query.operation, ensure_ascii=False),
        "pos_candidates": [_candidate(c) for c in query.pos_candidates],
        "neg_candidates": [_candidate(c) for c in query.neg_candidates],
        "action_reprs": query.previous_actions,
        "target_action_index": str(len(query.previous_actions)),
    }


def _candidate(stored: _Candidate) -> str:
    names = ("tag", "attributes", "is_original_target", "is_top_level_target")
    kept = {name: value for name in names if (value := getattr(stored, name)) is not None}
    kept["backend_node_id"] = str(stored.backend_node_id)
    return json.dumps(kept, ensure_ascii=False)


def _entry(step_id: str, query: _Query, where: str) -> RankedStep | None:
    """Return the candidates by rank; None if they have no ranks."""
    known = {str(c.backend_node_id): c for c in (*query.pos_candidates, *query.neg_candidates)}
    if all(c.rank is None for c in known.values()):
        return None
    ranks: dict[str, int] = {}
    for node_id, candidate in known.items():
        if candidate.rank is None:
            raise DataError(f"{where}: candidate {node_id} has no rank, but others do")
        ranks[node_id] = candidate.rank
    ids = sorted(ranks, key=lambda node_id: ranks[node_id])
    scores = [score for node_id in ids if (score := known[node_id].score) is not None]
    whole = len(scores) == len(ids)
    return RankedStep(step_id, ids, [ranks[node_id] for node_id in ids], scores if whole else None)
