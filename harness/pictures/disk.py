"""Prepared pictures on disk: runs share them and prepare each one once.

The key of a picture is the digest of its screenshot and its recipe, which names the versions of the
image libraries: a stored picture has the bytes of a new one. The store only saves time: damaged and
half-written entries count as missing, and a full or read-only disk only ends the storing.

An entry is a file: a line with what it is, then the picture. It is written under another name and
renamed. The folder may be used by any number of processes; each removes the entries that were used
longest ago when it finds more than the bound, at the latest after it has added `RECOUNT_BYTES`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from adapters.contract import EncodedPicture
from harness.pictures.recipe import Recipe
from harness.pictures.source import PictureError, read_size

FOLDER = "pictures"
FORM = "vlm-eval picture 1"
LONGEST_LINE = 16_384
KEEP = 0.9
"""Share of the bound that is left after old entries were removed."""
RECOUNT_BYTES = 64 << 20


class DiskPictures:
    """The pictures in a folder, which is created for the first one. Safe for threads.

    most_bytes: the bound of the folder.
    warn: called with a line, once, when pictures cannot be stored.
    """

    def __init__(self, folder: Path, most_bytes: int, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._most = most_bytes
        self._warn = warn
        self._lock = threading.Lock()
        # Count the entries of other processes before adding the first one.
        self._added = RECOUNT_BYTES
        self._gave_up = False

    def get(self, digest: str, recipe: Recipe) -> EncodedPicture | None:
        """Return the stored picture of a screenshot by this recipe, or None. Blocking."""
        line, path = self._place(digest, recipe)
        try:
            with path.open("rb") as file:
                head = file.readline(LONGEST_LINE)
                data = file.read()
        except OSError:
            return None
        stated, _, rest = head.decode("utf-8", "replace").partition(" ")
        try:
            found = read_size(data)
        except PictureError:
            found = None
        if found is None or rest != line or found.digest != stated:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        if (found.width, found.height) != recipe.size:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return EncodedPicture(data, found.media_type, *recipe.size)

    def put(self, digest: str, recipe: Recipe, picture: EncodedPicture) -> None:
        """Store a picture. Blocking; the first failure is reported and ends the storing."""
        if self._gave_up or len(picture.data) > self._most * (1 - KEEP):
            return
        line, path = self._place(digest, recipe)
        head = f"{hashlib.sha256(picture.data).hexdigest()} {line}".encode()
        new = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
        try:
            self._make_room(len(head) + len(picture.data))
            path.parent.mkdir(parents=True, exist_ok=True)
            with new.open("wb") as file:
                file.write(head)
                file.write(picture.data)
            new.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                new.unlink()
            self._give_up(error)

    def _place(self, digest: str, recipe: Recipe) -> tuple[str, Path]:
        """Return the header and the path of an entry."""
        line = f"{FORM} {digest} {recipe.text}\n"
        name = hashlib.sha256(line.encode()).hexdigest()
        return line, self._folder / name[:2] / name

    def _give_up(self, error: OSError) -> None:
        with self._lock:
            first, self._gave_up = not self._gave_up, True
        if first:
            why = error.strerror or error
            self._warn(f"warning: cannot store prepared pictures in {self._folder} ({why})")

    def _make_room(self, more: int) -> None:
        with self._lock:
            self._added += more
            if self._added < min(RECOUNT_BYTES, self._most // 16):
                return
            self._added = more
            entries = sorted(_entries(self._folder))
            total = more + sum(size for _, size, _ in entries)
            for _, size, path in entries if total > self._most else ():
                if total <= KEEP * self._most:
                    break
                with contextlib.suppress(OSError):
                    path.unlink()
                total -= size


def _entries(folder: Path) -> list[tuple[float, int, Path]]:
    """List each entry's time of last use, size in bytes, and path."""
    found = []
    for part in folder.glob("??"):
        with contextlib.suppress(OSError), os.scandir(part) as listed:
            for entry in listed:
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime, status.st_size, Path(entry.path)))
    return found
