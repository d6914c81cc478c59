"""Files that authors released at a fixed address, downloaded once and checked by digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from adapters.hub import OFFLINE
from harness.errors import DataError

PATIENCE_S = 30.0
"""Seconds to wait for a server that says nothing."""


def fetch_released(
    address: str, files: Mapping[str, str], otherwise: str, *, patience_s: float = PATIENCE_S
) -> Path:
    """Return the folder that holds released files by their names, downloading those that it lacks.

    Args:
        address: where the files are, of one commit; their names follow it.
        files: the SHA-256 of each file by its name. One that was changed is not used.
        otherwise: what else can be done, for messages.

    Raises:
        DataError: a file cannot be downloaded or is another one than was released.
    """
    import platformdirs

    key = hashlib.sha256(address.encode()).hexdigest()[:16]
    folder = platformdirs.user_cache_path("vlm-eval") / "released" / key
    for name, digest in files.items():
        if not _is_there(folder / name, digest):
            _download(f"{address}/{name}", folder / name, digest, otherwise, patience_s)
    return folder


def _is_there(path: Path, digest: str) -> bool:
    try:
        return _sha256(path.read_bytes()) == digest
    except OSError:
        return False


def _download(url: str, path: Path, digest: str, otherwise: str, patience_s: float) -> None:
    import httpx2
    from huggingface_hub import constants

    try:
        if constants.is_offline_mode():
            raise OSError(OFFLINE)
        reply = httpx2.get(url, timeout=patience_s, follow_redirects=True)
        reply.raise_for_status()
        if _sha256(reply.content) != digest:
            raise OSError("it is not the file that was released: its SHA-256 differs")
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}.new")
        new.write_bytes(reply.content)
        new.replace(path)
    except (httpx2.HTTPError, OSError) as error:
        text = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise DataError(f"cannot get {url} ({text}); {otherwise}") from error


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
