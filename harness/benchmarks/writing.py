"""Parquet files that read with little memory, and that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

ROWS_PER_GROUP = 20
"""Rows of a row group: some 20 to 30 MB of this data, so that one row is found quickly."""

_VALUES_PER_CHECK = 8
"""Values after which the size of a page is looked at; pyarrow's 1,024 make pages of a gigabyte."""


@contextmanager
def parquet_writer(
    path: Path,
    schema: pa.Schema,
    *,
    compression: str | Mapping[str, str] = "zstd",
    overwrite: bool = False,
    values_per_check: int = _VALUES_PER_CHECK,
) -> Iterator[pq.ParquetWriter]:
    """A writer into a temporary file beside `path`, which takes its place when all went well.

    `values_per_check` is small for columns of large values and may be large for small ones.

    Raises:
        DataError: the place is taken, or cannot be written to.
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
            partial, schema, compression=compression, write_batch_size=values_per_check
        ) as writer:
            yield writer
        _settle(partial, path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(f"no space left to write {path}") from error
        raise
    finally:
        partial.unlink(missing_ok=True)


def _settle(partial: Path, path: Path) -> None:
    """Put the finished file in its place, with the permissions of any new file."""
    mask = os.umask(0)
    os.umask(mask)
    partial.chmod(0o666 & ~mask)
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(path)
