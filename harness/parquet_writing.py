"""Write parquet files: atomically, and in row groups that take little memory to read."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import DataError
from harness.parquet import located

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_GROUP = 20
"""Rows per row group: 20 to 30 MB of this data, for reading a single row quickly."""

_VALUES_PER_CHECK = 8
"""Values between checks of the page size; pyarrow's 1,024 would make pages of a gigabyte."""


def write_rows(
    path: Path,
    rows: Iterable[Mapping[str, object]],
    schema: pa.Schema,
    *,
    rows_per_group: int = ROWS_PER_GROUP,
    overwrite: bool = False,
) -> int:
    """Write rows, which are consumed a row group at a time, and return their number.

    `path` appears only once everything is written. Raises `DataError` as `check_new`, and if `path`
    cannot be written to.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_new(path, overwrite=overwrite)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
        os.close(handle)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error
    partial, left, count = Path(name), iter(rows), 0
    try:
        with pq.ParquetWriter(
            located(partial), schema, compression="zstd", write_batch_size=_VALUES_PER_CHECK
        ) as writer:
            while some := list(islice(left, rows_per_group)):
                writer.write_table(pa.Table.from_pylist(some, schema), rows_per_group)
                count += len(some)
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
    return count


def check_new(path: Path, *, overwrite: bool = False) -> None:
    """Raise `DataError` for a folder, and for a file that exists and is not to be replaced."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file")
    if path.exists() and not overwrite:
        raise DataError(f"{path} exists; name another file, or remove it")
