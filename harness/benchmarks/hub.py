"""Data sets of the Hugging Face hub: their files at a fixed revision.

The files are kept in the hub's own cache and read there like any local file; the `datasets` library
would write a second, uncompressed copy. If the cache already has every file, the hub is not
contacted. A hub that does not answer promptly counts as unreachable instead of being retried for
minutes.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.hub import OFFLINE, hub_error, hub_page
from harness.data_files import DataFile, missing_shards
from harness.errors import DataError

PATIENCE_S = 10.0
"""Seconds to wait for the hub's first answer."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class _HubCopy:
    """Downloaded files of a data set, and their commit."""

    files: tuple[DataFile, ...]
    repo: str
    revision: str

    @property
    def origin(self) -> dict[str, object]:
        """Where the files come from, for the record."""
        return {"origin": "hub", "repo": self.repo, "revision": self.revision}


Kind = Callable[[str], bool]
"""Function that tests a file's path in the data set for one kind, such as one split."""


def fetch(
    repo: str, revision: str | None, kinds: Sequence[Kind], *, suffix: str = ".parquet"
) -> _HubCopy:
    """Return the needed files of a data set, downloading those that are not in the cache.

    Args:
        repo: the data set on the hub, as owner/name.
        revision: a commit, or None for the newest.
        kinds: the kinds of files needed; there must be at least one file of each kind.
        suffix: the file name extension of data files; "" for any.

    Raises:
        DataError: the hub cannot be reached, refuses access, or has no such file; the message says
            what else can be done.
    """
    from huggingface_hub import constants

    cached = _cached(repo, revision, kinds, suffix)
    if cached is not None:
        return cached
    if constants.is_offline_mode():
        raise DataError(hub_error(OSError(OFFLINE), repo, "dataset", revision, otherwise(repo)))
    with translated(repo, revision):
        info = _listing(repo, revision)
        listed = [f for f in info.siblings or () if f.rfilename.endswith(suffix)]
        files = [f for f in listed if any(kind(f.rfilename) for kind in kinds)]
        if not files:
            kind = f"{suffix[1:]} file" if suffix else "file"
            raise DataError(
                f"{repo} on the hub has no matching {kind} at {info.sha}; {otherwise(repo)}"
            )
        found = tuple(_download(repo, str(info.sha), file) for file in files)
        return _HubCopy(found, repo, str(info.sha))


def _cached(repo: str, revision: str | None, kinds: Sequence[Kind], suffix: str) -> _HubCopy | None:
    """Return the needed files if the cache has all, by the shard numbers in their names."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repo, repo_type="dataset")
    if revision is not None:
        return _snapshot(repo, folder / "snapshots" / revision, kinds, suffix)
    if not constants.is_offline_mode():
        return None  # only the hub knows which commit is the newest
    commits = sorted(folder.glob("snapshots/*"), key=lambda p: p.stat().st_mtime, reverse=True)
    return next(filter(None, (_snapshot(repo, path, kinds, suffix) for path in commits)), None)


def _snapshot(repo: str, folder: Path, kinds: Sequence[Kind], suffix: str) -> _HubCopy | None:
    """Return the needed files in the cache's folder of one commit; None if any is missing."""
    by_name = {
        path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob(f"*{suffix}"))
    }
    names = [name for name in by_name if any(kind(name) for kind in kinds)]
    if missing_shards(names) or not all(any(map(kind, names)) for kind in kinds):
        return None
    return _HubCopy(tuple(_data_file(by_name[name], name) for name in names), repo, folder.name)


def _listing(repo: str, revision: str | None) -> Any:
    """Return what the hub knows of a revision. Raises TimeoutError after `PATIENCE_S`.

    A DNS lookup can hang for minutes and cannot be interrupted, so the call runs in a daemon
    thread, which does not keep the process alive.
    """
    from huggingface_hub import HfApi

    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            known = HfApi().dataset_info(
                repo, revision=revision, files_metadata=True, timeout=PATIENCE_S
            )
            answer.set_result(known)
        except BaseException as error:  # re-raised in the calling thread
            answer.set_exception(error)

    threading.Thread(target=ask, name="hub", daemon=True).start()
    wait([answer], PATIENCE_S)
    if not answer.done():
        raise TimeoutError(f"no answer within {PATIENCE_S:g} s")
    return answer.result()


def fetch_one(repo: str, revision: str, name: str) -> Path:
    """Return a single file of a data set, from the cache or the hub. Raises `DataError`."""
    with translated(repo, revision):
        return _downloaded(repo, revision, name)


def _download(repo: str, revision: str, listed: Any) -> DataFile:
    path = _downloaded(repo, revision, listed.rfilename)
    return _data_file(path, listed.rfilename, listed.lfs.sha256 if listed.lfs else None)


def _downloaded(repo: str, revision: str, name: str) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    hide = not sys.stderr.isatty() and not are_progress_bars_disabled()
    if hide:
        disable_progress_bars()
    try:
        return Path(hf_hub_download(repo, name, repo_type="dataset", revision=revision))
    finally:
        if hide:
            enable_progress_bars()


def _data_file(path: Path, name: str, sha256: str | None = None) -> DataFile:
    # The cache stores a large file under its SHA-256 and links to it.
    blob = path.resolve().name
    if sha256 is None and _DIGEST.fullmatch(blob):
        sha256 = blob
    return DataFile(path, None, name, path.stat().st_size, sha256)


@contextmanager
def translated(repo: str, revision: str | None) -> Iterator[None]:
    """Turn the exceptions of huggingface_hub into one-line `DataError`s."""
    from httpx2 import HTTPError

    try:
        yield
    except (HTTPError, TimeoutError, OSError) as error:
        raise DataError(hub_error(error, repo, "dataset", revision, otherwise(repo))) from error


def otherwise(repo: str) -> str:
    """Return what to do without the hub."""
    return (
        f"download its files from {hub_page(repo, 'dataset')} where there is a network and give "
        "their folder with --data PATH, or put them into the hub's cache and set HF_HUB_OFFLINE=1, "
        "or try things out with --benchmark sample"
    )
