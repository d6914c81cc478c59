"""Rewrite parquet files with smaller row groups, which take less memory to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.benchmarks.files import local_files
from harness.benchmarks.parquet import ROWS_PER_GROUP, opened, parquet_writer
from harness.errors import DataError


@dataclass(frozen=True, slots=True)
class Repacked:
    """A rewritten file: its number of rows, and its row groups and bytes before and after."""

    source: Path
    target: Path
    rows: int
    groups: tuple[int, int]
    size: tuple[int, int]

    def __str__(self) -> str:
        before, after = (f"{size / 1e6:,.0f} MB" for size in self.size)
        return (
            f"{self.source} -> {self.target}: {self.rows} rows, "
            f"{self.groups[0]} row groups of {before} -> {self.groups[1]} of {after}"
        )


def repack(
    data: Path,
    target: Path,
    *,
    rows_per_group: int = ROWS_PER_GROUP,
    on_progress: Callable[[Repacked], None] = lambda _: None,
) -> list[Repacked]:
    """Rewrite a parquet file, or all in a folder, with the same rows, columns and metadata.

    Args:
        data: a file or a folder.
        target: a folder, created if necessary; files keep their names and subfolders.
        rows_per_group: rows per row group; the last group of a file may have fewer.
        on_progress: called after each file.

    Raises:
        DataError: a file cannot be read, or exists in the target already.
    """
    if rows_per_group < 1:
        raise DataError(f"a row group cannot have {rows_per_group} rows")
    if target.exists() and not target.is_dir():
        raise DataError(f"{target} is a file; name a folder")
    done = []
    for file in local_files(data):
        repacked = _repack_file(file.path, target / file.name, rows_per_group)
        on_progress(repacked)
        done.append(repacked)
    return done


def _repack_file(source: Path, target: Path, rows_per_group: int) -> Repacked:
    import pyarrow as pa

    with opened(source) as file:
        schema, groups = file.schema_arrow, file.metadata.num_row_groups
        compression = _compression(file.metadata)
        rows = written = 0
        pending: list[pa.RecordBatch] = []
        with parquet_writer(target, schema, compression=compression) as writer:
            # Reading one row at a time keeps memory low; the rows of a group are collected because
            # the writer starts a new group with every call.
            for batch in file.iter_batches(batch_size=1, use_threads=False):
                pending.append(batch)
                rows += 1
                if len(pending) == rows_per_group:
                    writer.write_table(pa.Table.from_batches(pending, schema), rows_per_group)
                    pending, written = [], written + 1
            if pending:
                writer.write_table(pa.Table.from_batches(pending, schema), rows_per_group)
                written += 1
    sizes = (source.stat().st_size, target.stat().st_size)
    return Repacked(source, target, rows, (groups, written), sizes)


def _compression(metadata: object) -> str:
    """Return the compression of the original file, judging by its first column."""
    if not getattr(metadata, "num_row_groups", 0):
        return "snappy"
    codec = str(metadata.row_group(0).column(0).compression)  # type: ignore[attr-defined]
    return "none" if codec == "UNCOMPRESSED" else codec.lower()
