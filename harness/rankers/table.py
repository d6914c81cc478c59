"""Ranks in a parquet file: one row per step, its candidates best first.

Columns: `step_id` (`<annotation_id>_<action_uid>`), `ids`, and lists of the same length `ranks` (0
is best) and `scores` (higher is better); either may be null. The file's metadata name the origin of
the ranks, as JSON under `vlm_eval_ranks`. A look-up reads one row group; the last few are cached.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.benchmarks.parquet import column_names, opened, require, small_columns
from harness.benchmarks.parquet_writing import parquet_writer
from harness.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

METADATA = b"vlm_eval_ranks"
COLUMNS = ("step_id", "ids", "ranks", "scores")
STEPS_PER_GROUP = 64
_GROUPS_KEPT = 2
_VALUES_PER_CHECK = 4096


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table: a step's candidates, best first, with their ranks, scores or both."""

    step_id: str
    ids: Sequence[str]
    ranks: Sequence[int] | None = None
    scores: Sequence[float] | None = None


class RankTable:
    """A parquet file of ranks, indexed by step and read on demand.

    Raises:
        DataError: not a file of ranks, damaged, or with a step twice.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, tuple[int, int]] = {}
        self._groups: OrderedDict[int, pa.Table] = OrderedDict()
        with opened(path) as file:
            require(path, column_names(file), ("step_id", "ids"), "ranks (vlm-eval rank)")
            self._columns = [name for name in COLUMNS if name in column_names(file)]
            self.settings = _settings(file.schema_arrow.metadata)
            for group, offset, record in small_columns(file, ["step_id"]):
                if record["step_id"] in self._places:
                    raise DataError(f"{path} has step {record['step_id']} twice")
                self._places[record["step_id"]] = (group, offset)

    @property
    def ranker(self) -> str:
        """The ranker named in the file, or ""."""
        return str(self.settings.get("ranker") or "")

    def __contains__(self, step_id: object) -> bool:
        return step_id in self._places

    def __len__(self) -> int:
        return len(self._places)

    def steps(self) -> Sequence[str]:
        """Return the steps in file order."""
        return tuple(self._places)

    def entry(self, step_id: str) -> Entry:
        """Read the row of a step. Raises `KeyError`, or `DataError` for a damaged row."""
        group, offset = self._places[step_id]
        record: dict[str, Any] = self._group(group).slice(offset, 1).to_pylist()[0]
        for name in ("ranks", "scores"):
            if record.get(name) is not None and len(record[name]) != len(record["ids"]):
                raise DataError(f"{self.path}, step {step_id}: {name} and ids differ in length")
        return Entry(step_id, record["ids"], record.get("ranks"), record.get("scores"))

    def values(self, step_id: str) -> Mapping[str, float] | None:
        """Return a number per candidate, lower is better; None if the step is not in the file."""
        if step_id not in self._places:
            return None
        entry = self.entry(step_id)
        if entry.ranks is not None:
            return dict(zip(entry.ids, entry.ranks, strict=True))
        return {node_id: rank for rank, node_id in enumerate(entry.ids)}

    def _group(self, group: int) -> pa.Table:
        table = self._groups.get(group)
        if table is None:
            with opened(self.path) as file:
                table = file.read_row_group(group, columns=self._columns, use_threads=False)
            self._groups[group] = table
            while len(self._groups) > _GROUPS_KEPT:
                self._groups.popitem(last=False)
        self._groups.move_to_end(group)
        return table


class TableWriter:
    """Collects entries and writes them a row group at a time."""

    def __init__(self, writer: Any, schema: pa.Schema, steps_per_group: int) -> None:
        self._writer, self._schema, self._per_group = writer, schema, steps_per_group
        self._pending: list[Entry] = []
        self.count = 0

    def add(self, entry: Entry) -> None:
        """Add a step."""
        self._pending.append(entry)
        self.count += 1
        if len(self._pending) == self._per_group:
            self.flush()

    def flush(self) -> None:
        """Write the pending entries as a row group."""
        import pyarrow as pa

        if self._pending:
            columns = {name: [getattr(e, name) for e in self._pending] for name in COLUMNS}
            self._writer.write_table(pa.table(columns, schema=self._schema), self._per_group)
            self._pending.clear()


@contextmanager
def table_writer(
    path: Path,
    settings: Mapping[str, object],
    *,
    overwrite: bool = False,
    steps_per_group: int = STEPS_PER_GROUP,
) -> Iterator[TableWriter]:
    """Open a writer of ranks; `path` appears only once everything is written.

    Raises:
        DataError: `path` exists and `overwrite` is False, or it cannot be written.
    """
    import pyarrow as pa

    schema = pa.schema(
        [
            ("step_id", pa.string()),
            ("ids", pa.list_(pa.string())),
            ("ranks", pa.list_(pa.int32())),
            ("scores", pa.list_(pa.float32())),
        ],
        metadata={METADATA: json.dumps(dict(settings), ensure_ascii=False).encode()},
    )
    with parquet_writer(
        path, schema, overwrite=overwrite, values_per_check=_VALUES_PER_CHECK
    ) as writer:
        table = TableWriter(writer, schema, steps_per_group)
        yield table
        table.flush()


def _settings(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    try:
        settings = json.loads((metadata or {}).get(METADATA, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}
