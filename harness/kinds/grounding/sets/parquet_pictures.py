"""Pictures in parquet files, one row group in memory at a time.

The pictures of a file and their sizes are remembered in the user's cache folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from adapters.digests import cache_folder, file_key, write_cached
from harness.benchmarks.parquet import column_names, opened
from harness.errors import DataError
from harness.pictures import PictureError, read_size

_FORM = 1
"""Format version of what is remembered; anything of another version is ignored."""


class Cell(NamedTuple):
    """Where a picture is: a row group of a file and the row in it, both from 0."""

    path: Path
    group: int
    offset: int


class Facts(NamedTuple):
    """Facts about a picture: its place, its SHA-256, width and height."""

    cell: Cell
    digest: str
    size: tuple[int, int]


_FACTS = msgspec.json.Decoder(tuple[int, list[tuple[int, int, str, tuple[int, int]]]])


@dataclass
class ParquetPictures:
    """Reads the pictures of a column, best in the order of the files."""

    column: str
    _loaded: tuple[tuple[Path, int], list[bytes | None]] | None = None

    def __call__(self, cell: Cell) -> bytes:
        """Return the encoded picture of a row. Raises `DataError` if there is none."""
        loaded = self._loaded  # one reference, since a server may ask from several threads
        if loaded is None or loaded[0] != (cell.path, cell.group):
            loaded = self._loaded = ((cell.path, cell.group), self.read(cell.path, cell.group))
        data = loaded[1][cell.offset]
        if not data:
            raise DataError(f"{cell.path}, row group {cell.group}: a row has no picture")
        return data

    def read(self, path: Path, group: int) -> list[bytes | None]:
        """Read the pictures of a row group; None for a row without one. Raises `DataError`."""
        with opened(path) as file:
            if self.column not in column_names(file):
                raise DataError(f"{path} has no column '{self.column}'")
            table = file.read_row_group(group, columns=[self.column], use_threads=False)
        stored = table.column(self.column).to_pylist()
        return [one.get("bytes") if isinstance(one, dict) else one for one in stored]

    def facts(self, path: Path) -> list[Facts]:
        """Return the facts about a file's pictures, in the order of the rows.

        Raises `DataError` for a row without a picture that can be read.
        """
        key = hashlib.sha256(f"{self.column}|{file_key(path)}".encode()).hexdigest()
        store = cache_folder() / "pictures" / key
        try:
            form, known = _FACTS.decode(store.read_bytes())
            if form == _FORM:
                return [
                    Facts(Cell(path, group, offset), digest, size)
                    for group, offset, digest, size in known
                ]
        except (OSError, msgspec.MsgspecError):
            pass
        found = list(self._found(path))
        rows = [(*one.cell[1:], one.digest, one.size) for one in found]
        write_cached(store, msgspec.json.encode((_FORM, rows)))
        return found

    def _found(self, path: Path) -> Iterator[Facts]:
        with opened(path) as file:
            groups = file.metadata.num_row_groups
        for group in range(groups):
            for offset, data in enumerate(self.read(path, group)):
                try:
                    size = read_size(data or b"")
                except PictureError as error:
                    raise DataError(
                        f"{path}, row {offset + 1} of group {group}: {error}"
                    ) from error
                yield Facts(Cell(path, group, offset), size.digest, (size.width, size.height))
