"""Write parquet files: atomically, and in row groups that take little memory to read."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
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
) -> Iterator[pq.ParquetWriter]:
    """Open a writer to a temporary file next to `path`, which replaces `path` on success.

    Raises `DataError` as `check_new`, and if `path` cannot be written to.
    """
    import pyarrow.parquet as pq

    check_new(path, overwrite=overwrite)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
        os.close(handle)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error
    partial = Path(name)
    try:
        with pq.ParquetWriter(
            located(partial), schema, compression=compression, write_batch_size=_VALUES_PER_CHECK
        ) as writer:
            yield writer
        mask = os.umask(0)
        os.umask(mask)
        partial.chmod(0o666 & ~mask)  # As any newly created file.
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(f"no space left to write {path}") from error
        raise
    finally:
        partial.unlink(missing_ok=True)


def check_new(path: Path, *, overwrite: bool = False) -> None:
    """Raise `DataError` for a folder, and for a file that exists and is not to be replaced."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file")
    if path.exists() and not overwrite:
        raise DataError(f"{path} exists; name another file, or remove it")


def write_rows(
    path: Path,
    rows: Iterable[Mapping[str, object]],
    schema: pa.Schema,
    *,
    rows_per_group: int = ROWS_PER_GROUP,
    overwrite: bool = False,
) -> int:
    """Write rows, which are consumed a row group at a time, and return their number.

    `path` appears only once everything is written. Raises as `parquet_writer`.
    """
    import pyarrow as pa

    left, count = iter(rows), 0
    with parquet_writer(path, schema, overwrite=overwrite) as writer:
        while some := list(islice(left, rows_per_group)):
            writer.write_table(pa.Table.from_pylist(some, schema), rows_per_group)
            count += len(some)
    return count


def repack(data: Path, target: Path) -> Iterator[str]:
    """Rewrite a parquet file, or all in a folder, with the same rows, columns and metadata.

    Files keep their names and subfolders in `target`, a folder that is created if necessary.
    Yields a line about each file. Raises `DataError` if a file cannot be read, or exists in the
    target already.
    """
    if target.exists() and not target.is_dir():
        raise DataError(f"{target} is a file; name a folder")
    for file in local_files(data):
        yield _repack_file(file.path, target / file.name)


def _repack_file(source: Path, target: Path) -> str:
    import pyarrow as pa

    with opened(source) as file:
        schema, before, groups = file.schema_arrow, file.metadata, 0
        with parquet_writer(target, schema, compression=_compression(before)) as writer:
            # Reading one row at a time keeps memory low; the rows of a group are collected because
            # the writer starts a new group with every call.
            batches = file.iter_batches(batch_size=1, use_threads=False)
            while some := list(islice(batches, ROWS_PER_GROUP)):
                writer.write_table(pa.Table.from_batches(some, schema), ROWS_PER_GROUP)
                groups += 1
        sizes = [f"{path.stat().st_size / 1e6:,.0f} MB" for path in (source, target)]
        return (
            f"{source} -> {target}: {before.num_rows} rows, "
            f"{before.num_row_groups} row groups of {sizes[0]} -> {groups} of {sizes[1]}"
        )


def _compression(metadata: object) -> str:
    """Return the compression of the original file, judging by its first column."""
    if not getattr(metadata, "num_row_groups", 0):
        return "snappy"
    codec = str(metadata.row_group(0).column(0).compression)  # type: ignore[attr-defined]
    return "none" if codec == "UNCOMPRESSED" else codec.lower()
