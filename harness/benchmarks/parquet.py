"""Parquet files, read and written with little memory, and their faults in one line each.

Rows of these data sets weigh a megabyte. pyarrow's defaults fetch ahead and decode whole row
groups; here one row is decoded at a time from a memory-mapped file, so that what is held is the
decompressed page of each column and a row. Files that are written appear whole or not at all.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Record = dict[str, Any]

ROWS_PER_GROUP = 20
"""Rows of a row group: some 20 to 30 MB of this data, so that one row is found quickly."""

_VALUES_PER_CHECK = 8
"""Values after which the size of a page is looked at; pyarrow's 1,024 make pages of a gigabyte."""

_MAGIC = b"PAR1"
_LFS = b"version https://git-lfs"


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """A parquet file, closed at the end; whatever pyarrow finds wrong with it is a `DataError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    _check(path)
    try:
        with pq.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's own error, such as a full disk, says nothing about this file
        # Arrow's messages run over several lines, the first of which says what is wrong.
        reason = (str(error).splitlines() or ["no reason given"])[0]
        raise DataError(f"{path} is damaged: {reason}") from error


def column_names(file: pq.ParquetFile) -> list[str]:
    """The names of a file's columns, a struct counting as one."""
    return list(file.schema_arrow.names)


def require(path: Path, present: Collection[str], needed: Iterable[str], what: str) -> None:
    """Raise a `DataError` that names the columns a file lacks. `what` says what it should be."""
    missing = [name for name in needed if name not in present]
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        word = "column" if len(missing) == 1 else "columns"
        raise DataError(f"{path} has no {word} {names}; is it a file of {what}?")


def group_sizes(file: pq.ParquetFile, columns: Collection[str]) -> list[int]:
    """The decompressed bytes of each row group, counting only the given columns."""
    sizes = []
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        chunks = (group.column(i) for i in range(group.num_columns))
        sizes.append(
            sum(c.total_uncompressed_size for c in chunks if _covers(columns, c.path_in_schema))
        )
    return sizes


def small_columns(
    file: pq.ParquetFile, columns: Sequence[str]
) -> Iterator[tuple[int, int, Record]]:
    """All rows of some narrow columns, as (row group, offset in it, values)."""
    for number in range(file.metadata.num_row_groups):
        table = file.read_row_group(number, columns=list(columns), use_threads=False)
        for offset, record in enumerate(table.to_pylist()):
            yield number, offset, record


def wide_rows(
    file: pq.ParquetFile, group: int, columns: Sequence[str], offsets: Collection[int]
) -> Iterator[tuple[int, Record]]:
    """The rows at some offsets of a row group, in order, one decoded at a time."""
    last = max(offsets, default=-1)
    batches = file.iter_batches(
        batch_size=1, row_groups=[group], columns=list(columns), use_threads=False
    )
    for offset, batch in enumerate(batches):
        if offset in offsets:
            yield offset, batch.to_pylist()[0]
        if offset == last:
            return


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


def _check(path: Path) -> None:
    """Tell the usual kinds of files that are no parquet apart, before pyarrow cannot."""
    try:
        with path.open("rb") as file:
            start = file.read(len(_LFS))
            file.seek(max(0, path.stat().st_size - len(_MAGIC)))
            end = file.read()
    except FileNotFoundError as error:
        raise DataError(f"no such file: {path}") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if start.startswith(_LFS):
        raise DataError(f"{path} is a git-lfs pointer, not the data; run: git lfs pull")
    if not start.startswith(_MAGIC):
        raise DataError(f"{path} is not a parquet file")
    if end != _MAGIC:
        raise DataError(f"{path} is truncated (no parquet footer); copy or download it again")


def _covers(columns: Collection[str], path: str) -> bool:
    return any(path == name or path.startswith(name + ".") for name in columns)


def _settle(partial: Path, path: Path) -> None:
    """Put the finished file in its place, with the permissions of any new file."""
    mask = os.umask(0)
    os.umask(mask)
    partial.chmod(0o666 & ~mask)
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(path)
