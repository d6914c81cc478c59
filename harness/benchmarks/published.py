"""Sets of units that others have published: where their files are, and their published counts.

Files in a folder or on the hub are found by the splits in their names (`files_of`), or by patterns
that a set declares (`PublishedSet`). `fetch_released` downloads files from a fixed address of their
authors.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from adapters.digests import cache_folder
from adapters.faults import first_line
from adapters.hub import OFFLINE
from harness.benchmarks.contract import Benchmark
from harness.benchmarks.folders import Folder, set_folder
from harness.benchmarks.hub import fetch
from harness.benchmarks.items import Items
from harness.data_files import (
    DataFile,
    check_splits,
    fingerprint,
    local_files,
    missing_shards,
    split_of,
)
from harness.errors import DataError, suggestion
from harness.notes import test_data_note
from harness.runs.records import Unit
from harness.tables import counted

LOCAL_SPLIT = "local"
"""The split of files whose names contain none, unless the user asks for one."""


class Found(NamedTuple):
    """The files of some splits, notices for the user, and where the files come from."""

    files: list[DataFile]
    notices: list[str]
    origin: dict[str, object]


def files_of(
    benchmark: Benchmark,
    requested: Sequence[str] | None,
    data: Path | None,
    *,
    repo: str,
    revision: str | None = None,
    suffix: str = ".parquet",
) -> Found:
    """Return the files of the requested splits of a benchmark in `data`, else from the hub.

    `LOCAL_SPLIT` is the split of local files whose names contain none. Raises `DataError`.
    """
    known, default = benchmark.splits, benchmark.default_splits
    requested = tuple(requested) if requested else None
    if requested != (LOCAL_SPLIT,) or data is None:
        check_splits(requested, known, benchmark.name)
    if data is not None:
        listed, where = local_files(data, suffix), str(data)
        origin: dict[str, object] = {"origin": "local"}
    else:
        requested = requested or default
        copy = fetch(repo, revision, [partial(_is_of, known, s) for s in requested], suffix=suffix)
        listed, where, origin = list(copy.files), f"{repo} on the hub", copy.origin
    return Found(*by_split(listed, requested, known, default, where), origin)


def _is_of(known: Sequence[str], split: str, name: str) -> bool:
    return split_of(name, known) == split


def by_split(
    files: Sequence[DataFile],
    requested: Sequence[str] | None,
    known: Sequence[str],
    default: Sequence[str],
    where: str,
) -> tuple[list[DataFile], list[str]]:
    """Return the files of the requested splits (None: the `default` splits present), and notices.

    If no name contains a split, all files belong to the one requested split, or to `LOCAL_SPLIT`.

    Raises:
        DataError: a requested split has no file.
    """
    splits = [(file, split_of(file.name, known)) for file in files]
    present = {split for _, split in splits if split}
    if not present:
        split = requested[0] if requested is not None and len(requested) == 1 else LOCAL_SPLIT
        if requested is not None and len(requested) > 1:
            raise DataError(
                f"no file name in {where} contains a split (such as test_task-....parquet); "
                "ask for one split"
            )
        return [replace(file, split=split) for file in files], []
    notices = []
    unnamed = [file.name for file, split in splits if split is None]
    if unnamed:
        notices.append(f"skipped because their names contain no split: {', '.join(unnamed)}")
    for split in requested or ():
        if split not in present:
            raise DataError(
                f"{where} has no file for split '{split}'; {suggestion(split, present)}"
            )
    selected = list(requested) if requested is not None else [s for s in default if s in present]
    if not selected:
        raise DataError(
            f"{where} has none of the splits {', '.join(default)}; "
            f"available splits: {', '.join(sorted(present))}"
        )
    missing = [s for s in default if s not in present] if requested is None else []
    if missing:
        notices.append(f"{where} has no file for {', '.join(missing)}")
    chosen = [replace(f, split=split) for split in selected for f, of in splits if of == split]
    if missing_shards([f.name for f in chosen]):
        notices.append(f"{where} is missing some shards of {', '.join(selected)}")
    return chosen, notices


class Rows(NamedTuple):
    """The rows of a split, in order, and the files that they are from.

    A kind whose rows come with more has its own.
    """

    rows: Sequence[Any]
    files: Sequence[DataFile]


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Raise what is found to be wrong with a row as a `DataError` that begins with its place."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise DataError(f"{where}: {error}") from error


@dataclass(frozen=True)
class PublishedSet(Benchmark):
    """A set that is declared by fields and a function that reads its rows.

    A set derives from this class first and from its family's second, so the defaults of these
    fields hold.

    Attributes:
        read: returns the rows of a split, and raises `DataError`; unless `rows` is overridden.
        marks: patterns of files that only this set has; () for a set known by its folder's name.
        repo, revision: the data set on the hub, and its commit (None for the newest, which goes on
            record); "" for a set that is on no hub.
        files: patterns of the files to download from there, except pictures that are downloaded
            one by one; `{split}` represents the name of a split.
        folders: folders and zip files with pictures, relative to the set's own folder.
        folder_type: a folder whose pictures are stored in another way.
        elsewhere: what to do for a set that is on no hub.
        cell_labels: the labels whose combinations are counted.
        cells: by split, how many units it has of each combination.
    """

    splits: tuple[str, ...] = ("test",)
    default_splits: tuple[str, ...] = ("test",)
    read: Callable[[Folder, str], Any] | None = None
    marks: tuple[str, ...] = ()
    repo: str = ""
    revision: str | None = None
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ("images",)
    folder_type: type[Folder] = Folder
    elsewhere: str = ""
    cell_labels: tuple[str, ...] = ()
    cells: Mapping[str, Mapping[tuple[str, ...], int]] = field(default_factory=dict)

    note = test_data_note("a model that was trained on it cannot be measured with it")
    pictures: ClassVar[bool] = True

    @property
    def whole(self) -> str:
        """The level whose units are selected together, a class attribute of most; "" for none."""
        return ""

    def rows(self, folder: Folder, split: str) -> Any:
        """Return the rows of a split, in the order of the files. Raises `DataError`."""
        assert self.read is not None
        return self.read(folder, split)

    def units(self, read: Mapping[str, Any], folder: Folder) -> Iterator[tuple[Unit[Any], str]]:
        """Yield the units of what `rows` returned for each split, with the names of their pictures.

        Raises `DataError`.
        """
        raise NotImplementedError

    def notices(
        self, read: Mapping[str, Any], units: Sequence[Unit[Any]], folder: Folder
    ) -> Sequence[str]:
        """Return what everybody should know of the units. Raises `DataError` for wrong ones."""
        return ()

    def remarks(self, units: Sequence[Unit[Any]]) -> Sequence[str]:
        """Return oddities of the units, for users who look at the data."""
        return ()

    def holds(self, data: Path) -> bool:
        """Return whether a folder has the set's files, or is known by its name."""
        found = set_folder(data, self.name)
        if not self.marks:
            return found is not None
        return any(any((found or data).glob(mark)) for mark in self.marks)

    def open(self, *, splits: Sequence[str] | None = None, data: Path | None = None) -> Items:
        """Open `data`, the set's folder or the one above it, or the copy on the hub."""
        check_splits(splits, self.splits, self.name)
        wanted = list(dict.fromkeys(splits or self.default_splits))
        folder = self.folder(data, wanted)
        read = {split: self.rows(folder, split) for split in wanted}
        made = list(self.units(read, folder))
        units, names = [unit for unit, _ in made], {unit.unit_id: name for unit, name in made}
        for split in wanted:
            self.check_counts([unit for unit in units if unit.split == split], split)
        files = {file.name: file for found in read.values() for file in found.files}
        return Items.of(
            units,
            whole=self.whole,
            origin={**folder.origin, "files": fingerprint(list(files.values()))},
            notices=self.notices(read, units, folder),
            remarks=self.remarks(units),
            pictures=lambda unit: (folder.picture(names[unit.unit_id]),),
        )

    def folder(self, data: Path | None, splits: Sequence[str] = ()) -> Folder:
        """Find the files of splits: `data` is the set's folder or the one above it.

        Raises `DataError`.
        """
        if data is not None:
            return self.folder_type.given(data, self.name, self.folders)
        if not self.repo:
            raise DataError(f"{self.name} is on no hub: {self.elsewhere}")
        patterns = [one.format(split=split) for one in self.files for split in splits]
        return self.folder_type.of_hub(self.repo, self.revision, patterns, self.folders)

    def check_counts(self, units: Sequence[Unit[Any]], split: str) -> None:
        """Raise `DataError` if a split has other counts than are published."""
        size = next((size for size in self.sizes if size.split == split), None)
        parent, unit = self.declared.innermost, self.declared.unit
        parents = {one.parents[parent.name] for one in units}
        cells = Counter(tuple(one.labels[name] for name in self.cell_labels) for one in units)
        for found, known, what, of in (
            (len(units), size and size.rows, unit, ""),
            (len(parents), size and size.tasks, parent.one, ""),
            *(
                (cells[cell], known, unit, f" of {' '.join(cell)}")
                for cell, known in self.cells.get(split, {}).items()
            ),
        ):
            if known and found != known:
                raise DataError(
                    f"{self.name}, {split}: {counted(found, what)}{of} where {known:,} are "
                    "published; are files missing, or changed?"
                )


PATIENCE_S = 30.0
"""Seconds to wait for a server that says nothing."""


def fetch_released(address: str, files: Mapping[str, str], otherwise: str) -> Path:
    """Return the folder that holds released files by their names, downloading those that it lacks.

    Args:
        address: where the files are, of one commit; their names follow it.
        files: the SHA-256 of each file by its name. One that was changed is not used.
        otherwise: what else can be done, for messages.

    Raises:
        DataError: a file cannot be downloaded or is another one than was released.
    """
    key = hashlib.sha256(address.encode()).hexdigest()[:16]
    folder = cache_folder() / "released" / key
    for name, digest in files.items():
        if not _is_there(folder / name, digest):
            _download(f"{address}/{name}", folder / name, digest, otherwise)
    return folder


def _is_there(path: Path, digest: str) -> bool:
    try:
        return _sha256(path.read_bytes()) == digest
    except OSError:
        return False


def _download(url: str, path: Path, digest: str, otherwise: str) -> None:
    import httpx2
    from huggingface_hub import constants

    try:
        if constants.is_offline_mode():
            raise OSError(OFFLINE)
        reply = httpx2.get(url, timeout=PATIENCE_S, follow_redirects=True)
        reply.raise_for_status()
        if _sha256(reply.content) != digest:
            raise OSError("it is not the file that was released: its SHA-256 differs")
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}.new")
        new.write_bytes(reply.content)
        new.replace(path)
    except (httpx2.HTTPError, OSError) as error:
        raise DataError(f"cannot get {url} ({first_line(error)}); {otherwise}") from error


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
