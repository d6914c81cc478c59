"""Writing whole files so that a reader finds the old one or the new one, never half of one."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from harness.runs._errors import DiskFull, RunError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` in the place of `path`, synced. Raises `RunError`."""
    new = path.with_name(path.name + ".new")
    try:
        with new.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error


def sync_folder(path: Path) -> None:
    """Make new names in a folder durable, where the platform can."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_error(path: Path, error: OSError) -> RunError:
    """The error to show for a failed write."""
    if error.errno in NO_ROOM:
        return DiskFull(
            f"no room left to write {path} ({error.strerror}); everything on record is kept: "
            "make room and start the same run again"
        )
    return RunError(f"cannot write {path}: {error.strerror or error}")
