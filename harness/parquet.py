"""Read parquet files with little memory, and write them atomically; errors are one line.

Rows of these data sets take about a megabyte. By default pyarrow reads ahead and decodes whole row
groups; here one row is decoded at a time from a memory-mapped file, with only one row and the
decompressed page of each column in memory.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from adapters.faults import first_line
from adapters.input_files import open_file
from harness.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


Record = dict[str, Any]

Kind = Literal["text", "texts", "picture", "step number", "operation", "messages", "truth value"]
"""The type of a column's values; `_KINDS` has the types in files."""

_KINDS: Mapping[Kind, tuple[str, ...]] = {
    "text": ("text",),
    "texts": ("list of text",),
    "picture": ("bytes", "struct with bytes"),
    "step number": ("text", "whole number"),
    "operation": ("text", "struct"),
    "messages": ("text", "list of struct"),
    "truth value": ("bool", "text"),
}

_MAGIC = b"PAR1"
_LFS = b"version https://git-lfs"


def located(path: Path) -> Path:
    """Return the absolute path: pyarrow reads the beginning of `a:b/c` as a file system."""
    return path.absolute()


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a parquet file; whatever pyarrow finds wrong with it is raised as a `DataError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    _check(path)
    try:
        with pq.ParquetFile(located(path), memory_map=True, pre_buffer=False) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an error of the operating system is not about the contents of this file
        raise DataError(f"{path} is damaged: {first_line(error)}") from error


def column_names(file: pq.ParquetFile) -> list[str]:
    """Return the names of a file's top-level columns; a struct is one column."""
    return list(file.schema_arrow.names)


def require(path: Path, present: Collection[str], needed: Iterable[str], what: str) -> None:
    """Raise a `DataError` naming the columns that a file lacks; `what` is what it should hold."""
    missing = [name for name in needed if name not in present]
    if missing:
        names = ", ".join(f"'{name}'" for name in missing)
        word = "column" if len(missing) == 1 else "columns"
        raise DataError(f"{path} has no {word} {names}; is it a file of {what}?")


def check_kinds(path: Path, file: pq.ParquetFile, kinds: Mapping[str, Kind]) -> None:
    """Raise a `DataError` for the first present column that is stored as another type.

    A column of type null, without any value, fits every kind.
    """
    for column in file.schema_arrow:
        kind = kinds.get(column.name)
        if kind is None or (stored := _stored_as(column.type)) in (*_KINDS[kind], "null"):
            continue
        if stored == "struct with bytes" and "struct" in _KINDS[kind]:
            continue
        expected = " or ".join(_KINDS[kind])
        raise DataError(f"{path}: column '{column.name}' holds {stored}, not {expected}")


def _stored_as(kind: pa.DataType) -> str:
    """Return the stored type of a column, in the words of `_KINDS` if possible."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _stored_as(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return "bytes"
    if types.is_integer(kind):
        return "whole number"
    if types.is_list(kind) or types.is_large_list(kind):
        inner = _stored_as(kind.value_type)
        return "list of " + ("struct" if inner.startswith("struct") else inner)
    if types.is_struct(kind):
        index = kind.get_field_index("bytes")
        content = "" if index < 0 else _stored_as(kind.field(index).type)
        return "struct with bytes" if content in ("bytes", "null") else "struct"
    return str(kind)


def small_columns(
    file: pq.ParquetFile, columns: Sequence[str]
) -> Iterator[tuple[int, int, Record]]:
    """Yield all rows of some narrow columns as (row group, offset in the group, values)."""
    for number in range(file.metadata.num_row_groups):
        table = file.read_row_group(number, columns=list(columns), use_threads=False)
        for offset, record in enumerate(table.to_pylist()):
            yield number, offset, record


def wide_rows(
    file: pq.ParquetFile, group: int, columns: Sequence[str], offsets: Collection[int]
) -> Iterator[tuple[int, Record]]:
    """Yield the rows at some offsets of a row group, in order, decoded one at a time."""
    last = max(offsets, default=-1)
    batches = file.iter_batches(
        batch_size=1, row_groups=[group], columns=list(columns), use_threads=False
    )
    for offset, batch in enumerate(batches):
        if offset in offsets:
            yield offset, batch.to_pylist()[0]
        if offset == last:
            return


def _check(path: Path) -> None:
    """Reject files that are not parquet, with a clearer message than pyarrow's."""
    try:
        with open_file(path) as file:
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


ROWS_PER_GROUP = 20
"""Rows per row group: 20 to 30 MB of this data, for reading a single row quickly."""

_VALUES_PER_CHECK = 8
"""Values between checks of the page size; pyarrow's 1,024 would make pages of a gigabyte."""


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

    They go to a temporary file next to `path`, which replaces `path` once everything is written.
    Raises `DataError` as `check_new`, and if `path` cannot be written to.
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
