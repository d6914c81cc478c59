"""A data set on the Hugging Face hub, and its rows, streamed through `datasets` into our columns.

`datasets` knows how the files of a data set become rows, whatever their format. A data set is
somebody else's: only files of the same commit are followed, and never paths of this machine.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from harness.benchmarks.hub import fetch_one
from harness.benchmarks.parquet import opened
from harness.benchmarks.parquet_writing import ROWS_PER_GROUP, parquet_writer
from harness.errors import DataError

_ADDRESS = re.compile(
    r"hf:/+datasets/(?P<repo>\w[\w.-]*/\w[\w.-]*)"
    r"(?:@(?P<revision>refs/\w+/\w[\w.-]*|\w[\w.-]*))?(?:/(?P<config>\w[\w.-]*))?/?"
)
_SHOWN = 60
_FACTS = b"vlm_eval"
"""Key of the facts about a copy in the metadata of its file."""

Row = Mapping[str, Any]


class HubData(NamedTuple):
    """A data set on the hub. revision: None for the newest; config: "" for its only one."""

    repo: str
    revision: str | None = None
    config: str = ""

    def __str__(self) -> str:
        at = f"@{self.revision}" if self.revision else ""
        return f"hf://datasets/{self.repo}{at}{'/' if self.config else ''}{self.config}"


def hub_data(data: Path | str | None) -> HubData | None:
    """Return the data set that an address names; None for a path.

    Raises `DataError` for an address of another form.

    >>> hub_data("hf://datasets/me/shop@v2/small")
    HubData(repo='me/shop', revision='v2', config='small')
    """
    text = str(data)
    if data is None or not text.startswith("hf:/"):
        return None
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise DataError(
            f"'{text}' is not the address of a data set: write hf://datasets/OWNER/NAME, "
            "with @REVISION and /CONFIG behind it if needed"
        )
    return HubData(found["repo"], found["revision"], found["config"] or "")


@dataclass(frozen=True)
class Wanted:
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


class Facts(msgspec.Struct):
    """Facts about a copy: number, bytes and digest of its rows, and all columns of the data set."""

    rows: int
    size: int
    sha256: str
    columns: list[str]


def facts_of(path: Path) -> Facts:
    """Return the facts about a copy. Raises `DataError`."""
    with opened(path) as file:
        stored = (file.metadata.metadata or {}).get(_FACTS, b"")
    try:
        return msgspec.json.decode(stored, type=Facts)
    except msgspec.MsgspecError as error:
        raise DataError(f"{path} is not a whole copy; remove it") from error


def write(path: Path, source: HubData, split: str, wanted: Wanted) -> None:
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
        facts = Facts(count, size, digest.hexdigest(), columns)
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

    def __init__(self, source: HubData, wanted: Wanted) -> None:
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
