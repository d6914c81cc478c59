"""Where the files of a set are: a folder of the user's, or a commit of a data set on the hub.

Pictures are read one at a time, from folders or directly from zip files. Pictures from the hub
that are in no zip file are downloaded on their first use.

Pictures in parquet files, one row group in memory at a time.

The pictures of a file and their sizes are remembered in the user's cache folder.
"""

from __future__ import annotations

import base64
import hashlib
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

import msgspec

from adapters.decoding import convert_to, decode_json, decoder_of
from adapters.digests import cache_folder, file_key, write_cached
from adapters.input_files import file_toml, open_file, utf8_bytes
from harness.benchmarks.hub import fetch, fetch_one
from harness.data_files import DataFile
from harness.errors import DataError
from harness.parquet import column_names, opened
from harness.pictures import MAX_PIXELS, PictureError, read_size

_FORM = 1
"""Format version of what is remembered; anything of another version is ignored."""


class RowAddress(NamedTuple):
    """Where a picture is: a row group of a file and the row in it, both from 0."""

    path: Path
    group: int
    offset: int


class _Facts(NamedTuple):
    """Facts about a picture: its place, its SHA-256, width and height."""

    cell: RowAddress
    digest: str
    size: tuple[int, int]


_FACTS = decoder_of(tuple[int, list[tuple[int, int, str, tuple[int, int]]]])


@dataclass
class ParquetPictures:
    """Reads the pictures of a column, best in the order of the files. Texts in it are base64."""

    column: str
    _loaded: tuple[tuple[Path, int], list[bytes | str | None]] | None = None

    def __call__(self, cell: RowAddress) -> bytes:
        """Return the encoded picture of a row. Raises `DataError` if there is none."""
        loaded = self._loaded  # one reference, since a server may ask from several threads
        if loaded is None or loaded[0] != (cell.path, cell.group):
            loaded = self._loaded = ((cell.path, cell.group), self.read(cell.path, cell.group))
        data = loaded[1][cell.offset]
        if not data:
            raise DataError(f"{cell.path}, row group {cell.group}: a row has no picture")
        try:
            return base64.b64decode(data, validate=True) if isinstance(data, str) else data
        except ValueError:
            raise DataError(f"{cell.path}: a picture is not base64") from None

    def read(self, path: Path, group: int) -> list[bytes | str | None]:
        """Read the pictures of a row group; None for a row without one. Raises `DataError`."""
        with opened(path) as file:
            if self.column not in column_names(file):
                raise DataError(f"{path} has no column '{self.column}'")
            table = file.read_row_group(group, columns=[self.column], use_threads=False)
        stored = table.column(self.column).to_pylist()
        return [one.get("bytes") if isinstance(one, dict) else one for one in stored]

    def facts(self, path: Path) -> list[_Facts]:
        """Return the facts about a file's pictures, in the order of the rows.

        Raises `DataError` for a row without a picture that can be read.
        """
        key = hashlib.sha256(f"{self.column}|{file_key(path)}".encode()).hexdigest()
        store = cache_folder() / "pictures" / key
        try:
            form, known = _FACTS.decode(store.read_bytes())
            if form == _FORM:
                return [
                    _Facts(RowAddress(path, group, offset), digest, size)
                    for group, offset, digest, size in known
                ]
        except (OSError, msgspec.MsgspecError):
            pass
        found = list(self._found(path))
        rows = [(*one.cell[1:], one.digest, one.size) for one in found]
        write_cached(store, msgspec.json.encode((_FORM, rows)))
        return found

    def _found(self, path: Path) -> Iterator[_Facts]:
        with opened(path) as file:
            groups = file.metadata.num_row_groups
        for group in range(groups):
            for offset, data in enumerate(self.read(path, group)):
                try:
                    size = read_size(data if isinstance(data, bytes) else b"")
                except PictureError as error:
                    raise DataError(
                        f"{path}, row {offset + 1} of group {group}: {error}"
                    ) from error
                yield _Facts(
                    RowAddress(path, group, offset), size.digest, (size.width, size.height)
                )


T = TypeVar("T")
CONVERTED = "-converted"
"""Suffix of folders with files that others have converted."""

_HEAD = 1 << 16
"""Bytes at the start of a picture that are read first to find its size."""
_LFS = b"version https://git-lfs"
_LARGEST = 4 * MAX_PIXELS
"""Most bytes of an accepted picture in its stored form."""


@dataclass(frozen=True)
class Folder:
    """The files of a set.

    Attributes:
        root: where they are, or where those that were downloaded are.
        origin: `repo` and `revision`, or `local`.
        pictures: folders and zip files with pictures, relative to `root`; "" for `root` itself.
        repo: the data set on the hub that other pictures are downloaded from; "" for none.
        stored: pictures in parquet files, by name.
        used: the files that were asked for, by name.
        sizes: known widths and heights of pictures, by name.
    """

    root: Path
    origin: Mapping[str, object]
    pictures: Sequence[str] = ("images",)
    repo: str = ""
    stored: dict[str, RowAddress] = field(default_factory=dict, repr=False, compare=False)
    parquet: ParquetPictures = field(default_factory=lambda: ParquetPictures("image"))
    used: dict[str, DataFile] = field(default_factory=dict, repr=False, compare=False)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False, compare=False)
    _zips: dict[str, zipfile.ZipFile] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def given(cls, data: Path, name: str, pictures: Sequence[str]) -> Folder:
        """Return a folder given with --data: that of the set, or the one that the set's folder is
        in."""
        if not data.is_dir():
            raise DataError(f"{data} is not a folder; {name} is read from a folder with its files")
        return cls(set_folder(data, name) or data, {"origin": "local"}, pictures)

    @classmethod
    def of_hub(
        cls, repo: str, revision: str | None, files: Sequence[str], pictures: Sequence[str]
    ) -> Folder:
        """Return the newest or the named commit of a data set, with its files of some patterns."""
        copy = fetch(
            repo, revision, [partial(fnmatchcase, pat=pattern) for pattern in files], suffix=""
        )
        first = copy.files[0]
        root = first.path.parents[len(PurePosixPath(first.name).parts) - 1]
        return cls(root, copy.origin, pictures, repo)

    def files(self, pattern: str, what: str) -> list[DataFile]:
        """Return the files of a pattern, by name; `what` describes them if there are none."""
        paths = sorted(path for path in self.root.glob(pattern) if path.is_file())
        if not paths:
            raise DataError(f"{self.root} has no {pattern}, {what}")
        found = [
            DataFile(path, None, path.relative_to(self.root).as_posix(), path.stat().st_size)
            for path in paths
        ]
        self.used.update((file.name, file) for file in found)
        return found

    def json(self, pattern: str, what: str, row: type[T]) -> Iterator[tuple[DataFile, int, T]]:
        """Yield the rows of JSON lists in the files of a pattern, each with its number from 0."""
        for file in self.files(pattern, what):
            for number, one in enumerate(decoded(file.path, list[row])):  # type: ignore[valid-type]
                yield file, number, one

    def picture(self, name: str) -> bytes:
        """Return the bytes of a picture. Raises `DataError` if it is missing."""
        if name in self.stored:
            return self.parquet(self.stored[name])
        return self._read(name, None)

    def size(self, name: str) -> tuple[int, int]:
        """Width and height of a picture, by its header. Raises `DataError` as `picture`."""
        if name not in self.sizes:
            try:
                found = read_size(self._read(name, _HEAD), name)
            except PictureError:  # perhaps the header is longer
                found = read_size(self.picture(name), name)
            self.sizes[name] = found.width, found.height
        return self.sizes[name]

    def _read(self, name: str, most: int | None) -> bytes:
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
            raise DataError(f"{self.root}: {name!r} is not a picture name within a folder")
        for place in self.pictures:
            if place.endswith(".zip"):
                if (data := self._unzipped(place, str(path), most)) is not None:
                    return data
                continue
            with suppress(FileNotFoundError, NotADirectoryError):
                return _head(self.root / place / path, most)
        if self.repo:
            folder = next(place for place in self.pictures if not place.endswith(".zip"))
            whole = (PurePosixPath(folder) / path).as_posix()
            return _head(fetch_one(self.repo, str(self.origin["revision"]), whole), most)
        places = ", ".join(place or "." for place in self.pictures)
        raise DataError(
            f"{self.root} has no picture {path} (looked for in {places}); copy it there"
        )

    def _unzipped(self, place: str, name: str, most: int | None) -> bytes | None:
        """Read a picture in a zip file; None without the file, or if the picture is not in it."""
        if place not in self._members:
            return None
        info = self._members[place].get(name)
        if info is None:
            if name in self._members[place]:
                raise DataError(f"{self.root / place} has different pictures named {name}")
            return None
        if info.file_size > _LARGEST:
            raise DataError(f"{self.root / place}: {name} takes {info.file_size:,} bytes unpacked")
        try:
            with self._zips[place].open(info) as file:
                return file.read(info.file_size if most is None else most)
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
            raise DataError(f"{self.root / place}: {name} cannot be read: {error}") from error

    @cached_property
    def _members(self) -> dict[str, dict[str, zipfile.ZipInfo | None]]:
        """Index the existing zip files by member name, with and without the first folders.

        None marks different files that differ only in their folders.
        """
        found: dict[str, dict[str, zipfile.ZipInfo | None]] = {}
        for place in self.pictures:
            if not place.endswith(".zip") or not (self.root / place).is_file():
                continue
            try:
                self._zips[place] = zipfile.ZipFile(self.root / place)
            except (zipfile.BadZipFile, OSError) as error:
                raise DataError(f"{self.root / place} is not a zip file: {error}") from error
            members = found[place] = {}
            stored = [
                info
                for info in self._zips[place].infolist()
                if not info.is_dir() and not info.filename.startswith("__MACOSX/")
            ]
            for info in stored:
                parts = info.filename.split("/")
                for first in range(1, len(parts)):
                    name = "/".join(parts[first:])
                    other = members.setdefault(name, info)
                    if other and (other.CRC, other.file_size) != (info.CRC, info.file_size):
                        members[name] = None
            members |= {info.filename: info for info in stored}
        return found


def set_folder(data: Path, name: str) -> Path | None:
    """Return the folder of a set by its name: the one given, or one in it; None if neither is."""
    names = (name, name + CONVERTED)
    if data.name in names:
        return data
    return next((data / one for one in names if (data / one).is_dir()), None)


def decoded(path: Path, rows: type[T]) -> T:
    """Return the rows of a JSON file. Raises `DataError` if it does not hold such rows."""
    try:
        data = utf8_bytes(path)
        if data.startswith(_LFS):
            raise DataError(f"{path} is a git-lfs pointer, not the data; run: git lfs pull")
        return decode_json(data, rows)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path} is not a file of this set: {error}") from error


def decoded_text(path: Path, row: type[T], hint: str = "") -> Iterator[tuple[int, T]]:
    """Yield the rows of JSON lines with their numbers from 1.

    Raises `DataError` as `decoded`; `hint` follows what is wrong with a line.
    """
    try:
        lines = utf8_bytes(path).splitlines()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield number, decode_json(line, row)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise DataError(f"{path}, line {number}: {error}{hint}") from error


def decoded_toml(
    path: Path,
    schema: type[T],
    hint: str = "",
    check: Callable[[dict[str, Any]], None] = lambda found: None,
) -> T:
    """Read the TOML file that declares a set; `hint` follows what is wrong with a value.

    Raises `DataError`, also what `check` raises of its values.
    """
    try:
        found = file_toml(path)
        check(found)
        return convert_to(found, schema)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not valid TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise DataError(f"{path}: {error}{hint and f'; {hint}'}") from error


def converted(record: object, row: type[T], where: str) -> T:
    """Return a row of a table. Raises `DataError` if it lacks a value or has one of another
    type."""
    try:
        return convert_to(record, row, strict=False)
    except msgspec.ValidationError as error:
        raise DataError(f"{where}: {error}") from error


def _head(path: Path, most: int | None) -> bytes:
    try:
        with open_file(path) as file:
            return file.read() if most is None else file.read(most)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
