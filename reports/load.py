"""Opening the runs of a report, and giving each a name of its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.runs import Run, open_run

RunLike = Run | Path | str
"""A run, or where it is."""


def open_runs(runs: RunLike | Iterable[RunLike]) -> dict[str, Run]:
    """The runs by label, in the order given; a run that is given twice is taken once.

    The label is the run's name, or its path where several have the same name. Raises `RunError`
    for a path that holds no run.
    """
    given = [runs] if isinstance(runs, (Run, Path, str)) else list(runs)
    opened: dict[Path, Run] = {}
    for one in given:
        run = one if isinstance(one, Run) else open_run(Path(one))
        opened.setdefault(run.path.resolve(), run)
    names = [run.name for run in opened.values()]
    return {
        run.name if names.count(run.name) == 1 else run.path.as_posix(): run
        for run in opened.values()
    }
