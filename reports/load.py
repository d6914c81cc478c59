"""Opening the runs of a report, and giving each a name of its own.

A run with a line that cannot be read is shown without it, and says so: what is left of somebody's
run is worth looking at. A complete run whose table of steps is damaged is read from its lines, and
says so, too. Continuing or scoring such a run stays an error elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.runs import Run, RunError, open_run

RunLike = Run | Path | str
"""A run, or where it is."""


def corrupt_lines(runs: dict[str, Run]) -> tuple[str, ...]:
    """A line per unreadable line and per damaged table of the runs that was met so far."""
    lines: list[str] = []
    for label, run in runs.items():
        if run.damaged is not None:
            lines.append(f"DAMAGED in {label}: {run.damaged}; read from steps.jsonl instead")
        lines += (f"LEFT OUT of {label}: {line}" for line in run.unreadable)
    return tuple(lines)


def without_table(run: Run, error: RunError) -> None:
    """Note that the run's table is damaged, so that its lines are read instead.

    Raises the error for a run that could not say so, or that has no lines.
    """
    if not run.tolerant or not (run.path / "steps.jsonl").is_file():
        raise error
    run.damaged = " ".join(str(error).replace(f"{run.path}/", "").split())


def unfinished_lines(runs: dict[str, Run]) -> tuple[str, ...]:
    """A line per run that is not complete, with its share."""
    return tuple(_unfinished(label, run) for label, run in runs.items() if not run.complete)


def _unfinished(label: str, run: Run) -> str:
    records = run.records()
    rows, repeats = run.manifest.dataset.get("rows"), run.manifest.config.get("repeats", 1)
    known = isinstance(rows, int) and isinstance(repeats, int)
    total = max(len(records), rows * repeats if known else 0)
    done = sum(record.settled or record.invalid is not None for record in records)
    share = f", {100 * done / total:.1f} % done" if total else ""
    return (
        f"UNFINISHED: {label} has {done:,} of {total:,} rows{share}; what finished first may not "
        "be a fair sample"
    )


def open_runs(runs: RunLike | Iterable[RunLike]) -> dict[str, Run]:
    """The runs by label, in the order given; a run that is given twice is taken once.

    The label is the run's name, or its path where several have the same name. Raises `RunError`
    for a path that holds no run.
    """
    given = [runs] if isinstance(runs, (Run, Path, str)) else list(runs)
    opened: dict[Path, Run] = {}
    for one in given:
        run = one if isinstance(one, Run) else open_run(Path(one), tolerant=True)
        opened.setdefault(run.path.resolve(), run)
    names = [run.name for run in opened.values()]
    return {
        run.name if names.count(run.name) == 1 else run.path.as_posix(): run
        for run in opened.values()
    }
