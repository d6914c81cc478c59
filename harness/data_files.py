"""Data files: which there are, the splits in their names, and their digests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.digests import digests
from harness.errors import DataError, suggestion

_SHARD = re.compile(r"-(\d{5})-of-(\d{5})")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file to read.

    split: None if a column holds the split.
    sha256: None until the file has been hashed.
    """

    path: Path
    split: str | None
    name: str
    size: int
    sha256: str | None = None


def split_of(name: str, splits: Sequence[str]) -> str | None:
    """Find the split in the name of a file (`data/test_task-00000-of-00005.parquet`) or folder."""
    *folders, base = name.replace("\\", "/").split("/")
    for part in (base.rsplit(".", 1)[0], *reversed(folders)):
        for split in sorted(splits, key=len, reverse=True):
            if part == split or re.match(rf"{re.escape(split)}[^A-Za-z0-9]", part):
                return split
    return None


def missing_shards(names: Sequence[str]) -> bool:
    """Return True if names like `x-00000-of-00005` show that shards of a series are missing."""
    series: dict[tuple[str, int], set[int]] = {}
    for name in names:
        match = _SHARD.search(name)
        if match:
            key = (name[: match.start()], int(match[2]))
            series.setdefault(key, set()).add(int(match[1]))
    # A series that does not start at zero is a stray file, not part of a larger data set.
    return any(0 in have and len(have) < count for (_, count), have in series.items())


def check_splits(requested: Sequence[str] | None, known: Sequence[str], benchmark: str) -> None:
    """Raise a `DataError` for a split that the benchmark does not have."""
    for split in requested or ():
        if split not in known:
            raise DataError(f"{benchmark} has no split '{split}'; {suggestion(split, known)}")


def local_files(data: Path, *suffixes: str) -> list[DataFile]:
    """List a file, or all data files in a folder and its subfolders, by name, without splits.

    In a folder, data files are those with one of the suffixes (`.parquet` if none is given).
    """
    suffixes = suffixes or (".parquet",)
    if data.is_dir():
        paths = sorted(
            path
            for path in data.rglob("*")
            if path.name.endswith(suffixes)
            and path.is_file()
            and not any(part.startswith(".") for part in path.relative_to(data).parts)
        )
        if not paths:
            raise DataError(f"no {' or '.join(s[1:] for s in suffixes)} file in {data}")
        names = [path.relative_to(data).as_posix() for path in paths]
    elif data.is_file():
        paths, names = [data], [data.name]
    elif data.exists():
        raise DataError(f"{data} is a pipe or a device, neither a file nor a folder")
    else:
        raise DataError(f"no such file or folder: {data}")
    return [
        DataFile(path, None, name, path.stat().st_size)
        for path, name in zip(paths, names, strict=True)
    ]


def fingerprint(files: Sequence[DataFile]) -> list[dict[str, object]]:
    """Name, size in bytes and SHA-256 of each file, in order."""
    hashed = digests(file.path for file in files if file.sha256 is None)
    return [
        {"name": file.name, "size": file.size, "sha256": file.sha256 or hashed[file.path]}
        for file in files
    ]
