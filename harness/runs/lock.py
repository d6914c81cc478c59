"""One process at a time writes to a run."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from harness.errors import RunError, RunInUse
from harness.runs.manifest import read_manifest

LOCK = ".lock"
_LOOK_S = 0.2


def is_in_use(path: Path) -> bool:
    """Return True if a process is working on the run at `path`."""
    if not (path / LOCK).exists():
        return False
    lock = FileLock(path / LOCK, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False


def lock_run(path: Path) -> FileLock:
    """Keep other processes from a run. Raises `RunInUse`, `RunError`."""
    # The system lets go of this lock when the process ends, however it ends.
    lock = FileLock(path / LOCK, thread_local=False)
    try:
        # A check for a lock has it for an instant (`is_in_use`).
        lock.acquire(timeout=_LOOK_S, poll_interval=_LOOK_S / 10)
    except Timeout:
        raise RunInUse(f"another process{_owner(path)} is working on {path}") from None
    except OSError as error:
        raise RunError(f"cannot lock {path}: {error.strerror or error}") from error
    return lock


def _owner(path: Path) -> str:
    try:
        sessions = read_manifest(path).sessions
    except RunError:
        return ""
    return f" ({sessions[-1].pid})" if sessions else ""
