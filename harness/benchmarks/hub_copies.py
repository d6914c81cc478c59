"""Copies of any data set on the Hugging Face hub, in our columns, read like local files.

    --data hf://datasets/OWNER/NAME
    --data hf://datasets/OWNER/NAME@REVISION/CONFIG

The rows of a split are streamed once, to a parquet file in the user's cache; without a network, a
copy is all that is needed. `datasets` knows how the files of a data set become rows, whatever their
format. A data set is someone else's: only files of the same commit are followed, and never paths
of this machine.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from adapters.decoding import decode_json
from adapters.digests import write_cached
from harness.benchmarks.hub import (
    HubData,
    copies_of,
    fetch_one,
    otherwise,
    pinned,
    refuse_offline,
    translated,
)
from harness.data_files import DataFile
from harness.errors import DataError, suggestion
from harness.parquet import opened
from harness.parquet_writing import ROWS_PER_GROUP, parquet_writer

_NAME = re.compile(r"\w[\w.-]*")
_SHOWN = 60
_FACTS = b"vlm_eval"
"""Key of the facts about a copy in the metadata of its file."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class HubCopy:
    """Copies of some splits, in our columns.

    Attributes:
        files: a parquet file for each split; its digest is that of the rows' content.
        origin: repository, commit and configuration.
        columns: all columns of the data set.
    """

    files: tuple[DataFile, ...]
    origin: dict[str, object]
    columns: tuple[str, ...]


def copied(
    source: HubData,
    wanted: CopyColumns,
    splits: Sequence[str] | None = None,
) -> HubCopy:
    """Return copies of some splits of a data set, streaming those that there are not yet.

    Args:
        source: the data set.
        wanted: what to copy.
        splits: None for `test`, or for the only one.

    Raises:
        DataError: the hub cannot be reached, or has no such data set, configuration or split, or a
            row cannot be read; the message says what else can be done.
    """
    at = pinned(source)
    root = copies_of(source) / str(at.revision) / (source.config or "default")
    files, columns = [], dict[str, None]()
    for split in _chosen(source, splits, _known_splits(at, root)):
        path = root / f"{split}.{wanted.digest}.parquet"
        if not path.is_file():
            refuse_offline(source.repo)
            with _readable(source):
                write(path, at, split, wanted)
        facts = facts_of(path)
        columns |= dict.fromkeys(facts.columns)
        name = f"{source.config or 'default'}/{split}"
        files.append(DataFile(path, split, name, facts.size, facts.sha256))
    origin = {"origin": "hub", "repo": source.repo, "revision": at.revision}
    config = {"config": source.config} if source.config else {}
    return HubCopy(tuple(files), {**origin, **config}, tuple(columns))


def _known_splits(source: HubData, root: Path) -> list[str]:
    """Return the splits of a configuration, in its order."""
    path = root / "splits.json"
    try:
        return decode_json(path.read_bytes(), list[str])
    except (OSError, msgspec.MsgspecError):
        pass
    refuse_offline(source.repo)
    with _readable(source):
        from datasets import (
            get_dataset_config_names,
            get_dataset_default_config_name,
            load_dataset_builder,
        )

        configs = get_dataset_config_names(source.repo, revision=source.revision)
        usual = get_dataset_default_config_name(source.repo, revision=source.revision)
        if source.config not in configs and (source.config or (len(configs) > 1 and not usual)):
            which = f"no configuration '{source.config}'; {suggestion(source.config, configs)}"
            several = f"the configurations {', '.join(configs)}"
            raise DataError(
                f"{source.repo} has {which if source.config else several}: name one behind the "
                "address, hf://datasets/OWNER/NAME/CONFIG"
            )
        builder = load_dataset_builder(source.repo, source.config or None, revision=source.revision)
        named = builder.config.data_files or builder.info.splits or ()
    known = [str(split) for split in named if _NAME.fullmatch(str(split))]
    write_cached(path, msgspec.json.encode(known))
    return known


def _chosen(source: HubData, splits: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    for split in splits or ():
        if split not in known:
            raise DataError(f"{source} has no split '{split}'; {suggestion(split, known)}")
    if splits:
        return list(dict.fromkeys(splits))
    if "test" in known or len(known) == 1:
        return ["test"] if "test" in known else list(known)
    raise DataError(f"{source} has the splits {', '.join(known)}: choose with --split")


@contextmanager
def _readable(source: HubData) -> Iterator[None]:
    """Turn whatever `datasets`, the hub's client and pyarrow raise into one-line `DataError`s."""
    with translated(source.repo, source.revision):
        try:
            yield
        except DataError:
            raise
        except Exception as error:
            from datasets.table import CastError

            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__  # `datasets` wraps what happened.
            if isinstance(cause, OSError):
                raise cause from None
            told = str(cause)
            if isinstance(cause, CastError):
                told = f"the columns of its files differ: {cause.details()}"
            reason = (told.splitlines() or [type(cause).__name__])[0].rstrip(".")
            raise DataError(
                f"{source} cannot be read ({reason}); {otherwise(source.repo)}"
            ) from error


@dataclass(frozen=True)
class CopyColumns:
    """The columns of a copy.

    Attributes:
        names: our columns to those of the data set; a dot leads into an object.
        pictures: ours that hold pictures.
        pages: ours that hold a page, or the path of its file in the data set.
    """

    names: Mapping[str, str]
    pictures: frozenset[str] = frozenset()
    pages: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """A short digest, part of a copy's name."""
        parts = sorted(self.names.items()), sorted(self.pictures), sorted(self.pages)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


class _Facts(msgspec.Struct):
    """Facts about a copy: number, bytes and digest of its rows, and all columns of the data set."""

    rows: int
    size: int
    sha256: str
    columns: list[str]


def facts_of(path: Path) -> _Facts:
    """Return the facts about a copy. Raises `DataError`."""
    with opened(path) as file:
        stored = (file.metadata.metadata or {}).get(_FACTS, b"")
    try:
        return decode_json(stored, _Facts)
    except msgspec.MsgspecError as error:
        raise DataError(f"{path} is not a whole copy; remove it") from error


def write(path: Path, source: HubData, split: str, wanted: CopyColumns) -> None:
    """Stream the rows of a split into a parquet file. `source.revision` is a commit."""
    import pyarrow as pa

    batches = _batches(source, split)
    first = next(batches, [])
    columns = list(first[0]) if first else []
    there = [name for name, theirs in wanted.names.items() if theirs.partition(".")[0] in columns]
    schema = pa.schema(
        [(name, pa.binary() if name in wanted.pictures else pa.string()) for name in there]
    )
    reader = _Reader(source, wanted)
    digest, count, size = hashlib.sha256(), 0, 0
    with parquet_writer(path, schema, overwrite=True) as writer:
        for batch in chain([first], batches):
            rows = []
            for row in batch:
                count += 1
                where = f"{source}, split {split}, row {count}"
                rows.append({name: reader.cell(row, name, where) for name in there})
                encoded = msgspec.msgpack.encode(list(rows[-1].values()))
                digest.update(encoded)
                size += len(encoded)
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        facts = _Facts(count, size, digest.hexdigest(), columns)
        writer.add_key_value_metadata({_FACTS: msgspec.json.encode(facts)})


def _batches(source: HubData, split: str) -> Iterator[list[Row]]:
    """Yield the rows of a split in the form that they are stored in, pictures not decoded."""
    from datasets import load_dataset
    from tqdm import tqdm

    stream = load_dataset(
        source.repo, source.config or None, split=split, revision=source.revision, streaming=True
    )
    if stream.features:
        stream = stream.decode(False)
    hide = not sys.stderr.isatty()
    with tqdm(desc=f"{source.repo}, {split}", unit=" rows", disable=hide) as progress:
        for batch in stream.iter(batch_size=ROWS_PER_GROUP):
            every = zip(*batch.values(), strict=True)
            rows: list[Row] = [dict(zip(batch, values, strict=True)) for values in every]
            progress.update(len(rows))
            yield rows


class _Reader:
    """Reads cells of a data set's rows as the cells of a copy."""

    def __init__(self, source: HubData, wanted: CopyColumns) -> None:
        self._source = source
        self._wanted = wanted
        self._inside = f"hf://datasets/{source.repo}@{source.revision}/"

    def cell(self, row: Row, name: str, where: str) -> str | bytes | None:
        """Return a cell: bytes of a picture, a text, or JSON of anything else.

        Raises `DataError`.
        """
        value: Any = row
        for part in self._wanted.names[name].split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None:
            return None
        at = f"{where}: '{self._wanted.names[name]}'"
        if name in self._wanted.pictures:
            return self._picture(value, at)
        if isinstance(value, str):
            if name in self._wanted.pages and "<" not in value:
                return self._file(value, at).decode("utf-8", "replace")
            return value
        return msgspec.json.encode(value, enc_hook=str).decode()

    def _picture(self, value: Any, at: str) -> bytes | None:
        if isinstance(value, Mapping):
            value = value.get("bytes") or value.get("path")
        if not value or isinstance(value, bytes):
            return value or None
        if not isinstance(value, str):
            raise DataError(f"{at} is not a picture")
        try:
            if value.startswith("data:"):
                return base64.b64decode(value.partition(",")[2], validate=True)
        except ValueError as error:
            raise DataError(f"{at} is not a picture: {error}") from error
        return self._file(value, at)

    def _file(self, path: str, at: str) -> bytes:
        """Return a file of the same commit, which may lie in a zip file there."""
        archive, inside, name = path.rpartition("::")
        name = name.removeprefix(self._inside)
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or ":" in name or name.startswith("/") or "\0" in name:
            raise DataError(f"{at} is {path[:_SHOWN]!r}, not a file of the data set")
        if not inside:
            return fetch_one(self._source.repo, str(self._source.revision), name).read_bytes()
        if not archive.startswith("zip://") or "::" in archive:
            raise DataError(f"{at} is {path[:_SHOWN]!r}, not a file of the data set")
        import fsspec

        with fsspec.open(f"{archive}::{self._inside}{name}", "rb") as file:
            return bytes(file.read())
