"""Finds the runs below a folder, and says how far each is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, NamedTuple

from harness.errors import RunError
from harness.runs.directory import manifest_before
from harness.runs.lock import is_in_use
from harness.runs.manifest import MANIFEST
from harness.runs.on_record import read_cost
from harness.runs.run import Run, open_run
from harness.settings import Settings, from_record


def settings_of(run: Run) -> Settings:
    """Return the settings that a run was started with. Raises `RunError` if they cannot be read."""
    try:
        return from_record(run.manifest.config)
    except ValueError as error:
        raise RunError(f"the settings of {run.path} cannot be read: {error}") from error


State = Literal["complete", "running", "waiting", "incomplete", "not started"]


class _Found(NamedTuple):
    """The runs below a folder by path, shards inside of their run included.

    passed_over: folders that hold another format, or another program's manifest, with why.
    """

    runs: dict[Path, Run]
    passed_over: dict[Path, str]

    @property
    def note(self) -> str:
        """The first of those passed over, and how many more there are."""
        path, why = next(iter(self.passed_over.items()))
        more = f", and {len(self.passed_over) - 1:,} more" if len(self.passed_over) > 1 else ""
        return f"passed over: {path.as_posix()} ({why}){more}"

    @property
    def outermost(self) -> list[Path]:
        """The runs that are inside of no other."""
        return [path for path in self.runs if not any(one in self.runs for one in path.parents)]


def find_runs(folder: Path) -> _Found:
    """Return the runs at and below `folder`, sorted by path. Hidden folders are left out."""
    found = _Found({}, {})
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if MANIFEST in files:
            path = Path(place)
            try:
                found.runs[path] = open_run(path, tolerant=True)
            except RunError as error:
                found.passed_over[path] = str(error)
    return found


def state_of(run: Run) -> State:
    """Return how far a run is: `incomplete` is one that ended before its last unit.

    Raises `RunError`.
    """
    if run.complete:
        return "complete"
    if is_in_use(run.path):
        return "running"
    if run.waiting:
        return "waiting"
    return "not started" if manifest_before(run.path) is None else "incomplete"


def spent_by(run: Run) -> float:
    """Return what a run has spent so far, in US dollars. Raises `RunError`.

    It includes what may have been spent on calls that are not on record. What another run has paid
    for the steps that this one took over is left out.
    """
    redone = run.manifest.redone
    taken_over = redone.cost if redone else 0.0
    return max(0.0, read_cost(run.path) - taken_over + run.manifest.unrecorded)
