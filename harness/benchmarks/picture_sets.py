"""Sets of pictures with a question or task about each, from published files or the user's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from harness.benchmarks.contract import Benchmark
from harness.benchmarks.dataset import Items
from harness.benchmarks.folders import Folder, set_folder
from harness.data_files import check_splits, fingerprint
from harness.errors import DataError, suggestion
from harness.printing import test_data_note
from harness.runs.records import Unit
from harness.tables import counted
from parsers.records import Scores


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Raise what is found to be wrong with a row as a `DataError` that begins with its place."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise DataError(f"{where}: {error}") from error


def own_folders(data: Path, schema: str) -> list[Path]:
    """Return the folder, or those in it, that hold a schema file of the user's data; for the file
    itself its folder."""
    data = data.parent if data.name == schema else data
    if (data / schema).is_file():
        return [data]
    return sorted(path.parent for path in data.glob(f"*/{schema}"))


def own_folder(
    name: str, data: Path | None, schema: str, says: str, pictures: Sequence[str]
) -> Folder:
    """Return the folder of the user's data: `data`, or the only one in it with a schema file.

    `says`: what the schema declares, for messages. Raises `DataError`.
    """
    if data is None:
        raise DataError(f"{name} are read from a folder of yours: give it with --data")
    found = own_folders(data, schema)
    if not found:
        raise DataError(f"{data} has no {schema}, which says what {says} are")
    if len(found) > 1:
        names = ", ".join(folder.name for folder in found)
        raise DataError(f"{data} has a {schema} in several folders ({names}): give one of them")
    return Folder(found[0], {"origin": "local"}, pictures)


def check_labels(needed: Sequence[str], schema: str, labels: Mapping[str, str], item: str) -> None:
    """Raise `DataError` if an item of the user's data lacks a label that the schema names."""
    for name in needed:
        if name not in labels:
            hint = suggestion(name, labels)
            raise DataError(f"{item} has no label '{name}', which {schema} names; {hint}")


def mean_scores(found: Sequence[Scores]) -> Scores:
    """Return the mean of each score over the answers that have it."""
    means: dict[str, float | None] = {}
    for name in found[0]:
        known = [value for scores in found if (value := scores[name]) is not None]
        means[name] = sum(known) / len(known) if known else None
    return means


@dataclass(frozen=True)
class PictureBenchmark(Benchmark):
    """A set that is declared by fields and a function that reads its rows.

    A set derives from this class first and from its family's second, so that the defaults of these
    fields hold.

    Attributes:
        read: yields the rows of a split, in the order of the files, and raises `DataError`; unless
            `rows` is overridden.
        marks: patterns of files that only this set has; () for a set known by its folder's name.
        repo, revision: the data set on the hub, and its commit (None for the newest, which goes on
            record); "" for a set that is on no hub.
        files: patterns of the files to download from there, except pictures that are downloaded
            one by one; `{split}` stands for the name of a split.
        folders: folders and zip files with pictures, relative to the set's own folder.
        folder_type: a folder whose pictures are stored in another way.
        elsewhere: what to do for a set that is on no hub.
        cell_labels: the labels whose combinations are counted.
        cells: by split, how many units it has of each combination.
    """

    splits: tuple[str, ...] = ("test",)
    default_splits: tuple[str, ...] = ("test",)
    read: Callable[[Folder, str], Iterable[Any]] | None = None
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

    def rows(self, folder: Folder, split: str) -> Iterable[Any]:
        """Yield the rows of a split, in the order of the files. Raises `DataError`."""
        assert self.read is not None
        return self.read(folder, split)

    def units(
        self, read: Mapping[str, Sequence[Any]], folder: Folder
    ) -> Iterator[tuple[Unit[Any], str]]:
        """Yield the units of the rows of each split, with the names of their pictures.

        Raises `DataError`.
        """
        raise NotImplementedError

    def notices(
        self, read: Mapping[str, Sequence[Any]], units: Sequence[Unit[Any]], folder: Folder
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
        read = {split: list(self.rows(folder, split)) for split in wanted}
        made = list(self.units(read, folder))
        units, names = [unit for unit, _ in made], {unit.unit_id: name for unit, name in made}
        for split in wanted:
            self.check_counts([unit for unit in units if unit.split == split], split)
        return Items.of(
            units,
            whole=self.whole,
            origin={**folder.origin, "files": fingerprint(list(folder.used.values()))},
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
