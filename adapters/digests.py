"""SHA-256 of files, remembered, since weights and data are many gigabytes."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from adapters.input_files import open_file

_THREADS = 4


def digests(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the SHA-256 of files, in hexadecimal.

    A digest is remembered in the user's cache folder by the file's path, size and time of change.
    Takes about a second for each two gigabytes when it is not remembered. Raises OSError.
    """
    keys = {path: file_key(path) for path in paths}
    remembered = _remembered()
    unknown = {key: path for path, key in keys.items() if key not in remembered}
    if unknown:
        with ThreadPoolExecutor(_THREADS) as threads:
            remembered |= zip(unknown, threads.map(_sha256, unknown.values()), strict=True)
        text = json.dumps(remembered, indent=0, sort_keys=True)
        write_cached(_memory(), text.encode())
    return {path: remembered[key] for path, key in keys.items()}


def file_key(path: Path) -> str:
    """Return a key of a file's state without reading its content. Raises OSError."""
    state = path.stat()
    return f"{path.resolve()}|{state.st_size}|{state.st_mtime_ns}"


def cache_folder() -> Path:
    """Return the user's cache folder of this project."""
    import platformdirs

    return platformdirs.user_cache_path("vlm-eval")


def write_cached(path: Path, data: bytes) -> None:
    """Write a file of the cache, whole or not at all.

    A cache that cannot be written costs time next time, and nothing else.
    """
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem}-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)


def _sha256(path: Path) -> str:
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _memory() -> Path:
    return cache_folder() / "digests.json"


def _remembered() -> dict[str, str]:
    try:
        stored: object = json.loads(_memory().read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(stored, dict):
        return {}
    return {key: value for key, value in stored.items() if isinstance(value, str)}
