"""Files that others have published: those of splits, by their names, and released ones.

`files_of` finds files in a folder or on the hub by the splits in their names. `fetch_released`
downloads files from a fixed address of their authors.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from adapters.digests import cache_folder
from adapters.faults import first_line
from adapters.hub import OFFLINE
from harness.benchmarks.contract import Benchmark
from harness.benchmarks.hub import fetch
from harness.data_files import DataFile, check_splits, local_files, missing_shards, split_of
from harness.errors import DataError, suggestion

LOCAL_SPLIT = "local"
"""The split of files whose names contain none, unless the user asks for one."""


class _Found(NamedTuple):
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
) -> _Found:
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
    return _Found(*by_split(listed, requested, known, default, where), origin)


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
