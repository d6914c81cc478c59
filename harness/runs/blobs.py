"""Large things that belong to a run (vectors, observations of live pages), by SHA-256 in `blobs/`.

    blobs/3f/3fa0...   the bytes whose digest that is

A file is written next to its place, synced and then moved there: it is whole or missing.
Lines refer to blobs by digest and are written after them. Nothing is ever changed or removed.
"""

from __future__ import annotations

import hashlib
import re
import threading
from pathlib import Path

from harness.errors import RunError
from harness.runs.files import replace_file, sync_folder, write_error

BLOBS = "blobs"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def digest_of(data: bytes) -> str:
    """Return the name of these bytes."""
    return hashlib.sha256(data).hexdigest()


class Blobs:
    """The blobs of the run at `path`. May be used from several threads."""

    def __init__(self, path: Path) -> None:
        self._folder = path / BLOBS
        self._lock = threading.Lock()

    def put(self, data: bytes) -> str:
        """Keep bytes and return their digest, once they are on disk. Raises `RunError`."""
        digest = digest_of(data)
        path = self._path(digest)
        with self._lock:
            try:
                if not (path.exists() and path.stat().st_size == len(data)):
                    self._make(path.parent)
                    replace_file(path, [data])
            except OSError as error:
                raise write_error(path, error) from error
        return digest

    def get(self, digest: str) -> bytes:
        """Return the bytes of this digest. Raises `RunError` if they are missing or damaged."""
        path = self._path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise RunError(f"{path} is missing, which the run refers to: put it back") from None
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
        if digest_of(data) != digest:
            raise RunError(f"{path} is damaged: its content differs from its name")
        return data

    def copy(self, into: Blobs) -> None:
        """Keep all of them in another run, too. Raises `RunError`."""
        for path in sorted(self._folder.glob("??/*")):
            if _DIGEST.fullmatch(path.name):
                into.put(self.get(path.name))

    def _make(self, folder: Path) -> None:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(self._folder)
            sync_folder(self._folder.parent)

    def _path(self, digest: str) -> Path:
        # It may come from another user's run and must not lead out of this folder.
        if not _DIGEST.fullmatch(digest):
            raise RunError(f"{digest[:80]!r} is not the digest of a blob")
        return self._folder / digest[:2] / digest
