"""The cells of a sweep's file, on disk: `sweep.json` in the folder of its runs.

It lists the runs of the sweep and their sizes: another terminal can then show their progress
without opening models and data. Progress itself is read from their directories.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from harness.errors import UserError
from harness.runs.files import replace_file

FILE = "sweep.json"
SCHEMA = 1
LOCK = ".sweep.lock"


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a run in US dollars: with usual replies, and at most."""

    expected: float
    high: float


@dataclass(frozen=True, kw_only=True)
class CellPlan:
    """One run of a sweep.

    label: how a reader tells it from the others.
    directory: the name of its directory.
    options: what the file says of it, secrets masked.
    dialogues: the number of units times that of repeats.
    slot: of runs with the same slot, only one works at a time; "" for those that share nothing.
    server: the command that serves its model, and the model's name for it; None without one.
    sends: whether it sends pictures elsewhere.
    spends: whether its calls may cost money.
    most_calls: the largest number of calls that it can take.
    priced_by: where prices came from, "" where the cost was not estimated.
    cost: None where it was not estimated, or no price is known.
    """

    label: str
    directory: str
    options: dict[str, Any]
    dialogues: int
    slot: str = ""
    server: tuple[str, str] | None = None
    sends: bool = False
    spends: bool = False
    most_calls: int = 0
    priced_by: str = ""
    cost: Cost | None = None

    def log(self, folder: Path) -> Path:
        """Return the file with the output of its processes, next to its directory."""
        return folder / f"{self.directory}.log"


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """The runs of a sweep, in the order of the file."""

    file: str
    cells: Sequence[CellPlan] = field(default_factory=tuple)
    max_cost_total: float | None = None
    schema: int = SCHEMA

    def having(self, cells: Sequence[CellPlan]) -> Expansion:
        """Return the same with these of its cells only."""
        return replace(self, cells=tuple(cells))

    def write(self, folder: Path) -> None:
        """Keep it in the folder of the runs. Raises `RunError`."""
        data = msgspec.json.format(msgspec.json.encode(self), indent=2)
        replace_file(folder / FILE, [data, b"\n"])


def read_expansion(folder: Path) -> Expansion | None:
    """Read the expansion of the sweep in a folder, None where none was begun.

    Raises `UserError` for a file that cannot be read.
    """
    path = folder / FILE
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        found = msgspec.json.decode(data, type=Expansion)
        if found.schema != SCHEMA:
            raise ValueError(f"schema {found.schema}; this version reads {SCHEMA}")
        for cell in found.cells:
            if Path(cell.directory).name != cell.directory or cell.directory in ("", ".."):
                raise ValueError(f"{cell.directory!r} is not a valid name of a directory")
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        raise UserError(
            f"{path} is not the plan of a sweep ({error}); remove it, and start the sweep again: "
            "the runs are kept"
        ) from error
    return found


@contextlib.contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Make the folder of a sweep, and keep others from starting a sweep in it meanwhile.

    Raises `UserError` where another process has it, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK)
        lock.acquire(blocking=False)
    except Timeout:
        raise UserError(f"another process runs a sweep in {folder} (--status shows it)") from None
    except OSError as error:
        raise UserError(f"cannot use {folder}: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()
