"""Errors of run directories. Every message is meant for the user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.errors import UserError


class RunError(UserError):
    """A run directory cannot be used or written; the message says which file and why."""


class OtherFormat(RunError):
    """The run is of another format than this version reads."""


class RunInUse(RunError):
    """Another process is working on the run."""


class RunDiffers(RunError):
    """The run was started with other settings. `lines` names them, a setting a line."""

    def __init__(self, path: Path, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        listed = "\n".join(f"  {line}" for line in lines)
        super().__init__(f"{path} was started with other settings:\n{listed}")


class DiskFull(RunError):
    """The disk has no room for another line. Lines synced before are kept."""


class DataGone(Exception):
    """The picture or page of a step is not available; the message says why."""
