"""Builds the files of the sample: every task performed, every step written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from harness.sample import columns
from harness.sample.browser import launch
from harness.sample.columns import Row
from harness.sample.decoys import decoys
from harness.sample.recorder import record
from harness.sample.trajectories import Task


def _quiet(line: str) -> None:
    return None


def rows_of(
    tasks: Iterable[Task],
    browser: Path | None = None,
    tell: Callable[[str], None] = _quiet,
) -> dict[str, list[Row]]:
    """Record tasks and return their rows by split; `tell` hears a line about each task."""
    found: dict[str, list[Row]] = {}
    with launch(browser) as started:
        for task in tasks:
            steps = list(record(started, task))
            found.setdefault(task.site.split, []).extend(columns.rows(steps))
            decoyed = sum(bool(decoys(step.root, step.target)) for step in steps)
            tell(f"{task.site.site}/{task.name}: {len(steps)} steps, {decoyed} with a decoy")
    return found


def build(
    tasks: Iterable[Task],
    out: Path,
    browser: Path | None = None,
    tell: Callable[[str], None] = _quiet,
) -> list[Path]:
    """Record tasks and write a file per split into the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for split, content in rows_of(tasks, browser, tell).items():
        path = out / f"{split}.parquet"
        columns.write(path, content)
        written.append(path)
    return written
