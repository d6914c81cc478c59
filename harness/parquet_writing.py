"""Write parquet files: atomically, and in row groups that take little memory to read."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.data_files import local_files
from harness.errors import DataError
from harness.parquet import located, opened

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ROWS_PER_GROUP = 20
"""Rows per row group: 20 to 30 MB of this data, for reading a single row quickly."""

_VALUES_PER_CHECK = 8
"""Values between checks of the page size; pyarrow's 1,024 would make pages of a gigabyte."""


@contextmanager
def parquet_writer(
    path: Path,
    schema: pa.Schema,
    *,
    compression: str | Mapping[str, str] = "zstd",
    overwrite: bool = False,
    values_per_check: int = _VALUES_PER_CHECK,
) -> Iterator[pq.ParquetWriter]:
    """Open a writer to a temporary file next to `path`, which replaces `path` on success.

    `values_per_check`, the number of values between checks of the page size, must be small for
    columns of large values.

    Raises:
        DataError: `path` exists already or cannot be written to.
    """
    import pyarrow.parquet as pq

    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file")
    if path.exists() and not overwrite:
        raise DataError(f"{path} exists; name another file, or remove it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
        os.close(handle)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error
    partial = Path(name)
    try:
        with pq.ParquetWriter(
            located(partial), schema, compression=compression, write_batch_size=values_per_check
        ) as writer:
            yield writer
        _move_into_place(partial, path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(f"no space left to write {path}") from error
        raise
    finally:
        partial.unlink(missing_ok=True)


def _move_into_place(partial: Path, path: Path) -> None:
    """Move the finished file to `path`, with the permissions of any newly created file."""
    mask = os.umask(0)
    os.umask(mask)
    partial.chmod(0o666 & ~mask)
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(path)


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
