"""Open the runs of a report and give each a unique label.

Reports tolerate damage and say so, because the rest of a run is still worth looking at: a line that
cannot be read is left out. Resuming or scoring such a run is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

from harness.runs import Run, RunError, manifest_before, open_run
from harness.runs.answerers import another_deployment, changes
from harness.tables import TEST_DATA_NOTE
from parsers import MIND2WEB, Declaration

RunLike = Run | Path | str
"""A run, or the path of its directory."""


def corrupt_lines(runs: dict[str, Run]) -> tuple[str, ...]:
    """Describe every unreadable line met so far, a line each."""
    return tuple(
        f"LEFT OUT of {label}: {line}" for label, run in runs.items() for line in run.unreadable
    )


def changed_lines(runs: dict[str, Run]) -> tuple[str, ...]:
    """Say of every run whose servers began to name another model, a line for each change."""
    return tuple(
        f"MIXED: {label}: {line}"
        for label, run in runs.items()
        for line in changes(run.manifest.answerers)
    )


def deployment_lines(runs: dict[str, Run]) -> Iterator[str]:
    """Say which runs of one model asked two deployments of it, a line for each pair."""
    for (label, run), (other, second) in combinations(runs.items(), 2):
        ours, theirs = run.manifest, second.manifest
        why = another_deployment(ours.deployment or {}, theirs.deployment or {})
        if why and ours.model_name == theirs.model_name:
            yield f"DEPLOYMENTS: {label}, {other}: the same model, two deployments: {why}"


def unfinished_lines(runs: dict[str, Run]) -> tuple[str, ...]:
    """Describe every unfinished run with its progress, a line each."""
    return tuple(
        f"{run.incomplete()} of {label}"
        + (f"; it waits for {batches} of its provider" if (batches := run.waiting) else "")
        + "; what finished first may not be a fair sample"
        for label, run in runs.items()
        if not run.complete
    )


def is_begun(path: Path) -> bool:
    """Return True if a run has something on record; also for what is not a run, which others
    report."""
    return not (path / "manifest.json").is_file() or manifest_before(path) is not None


def notes_of(runs: Iterable[Run]) -> str:
    """Return the notes on test data of the benchmarks of some runs, each once."""
    return " ".join(dict.fromkeys(_note(run) for run in runs)) or TEST_DATA_NOTE


def guarding_notes(runs: Iterable[Path | str]) -> str:
    """Return the notes on data that should not be published where crawlers collect text, each once.

    A benchmark declares whether its data is such; data of an unknown one is. "" if none is.
    """
    return " ".join(dict.fromkeys(filter(None, map(_guarding_note, map(Path, runs)))))


def _guarding_note(path: Path) -> str:
    try:
        run = open_run(path, tolerant=True)
        return _note(run) if getattr(run.benchmark, "guarded", True) else ""
    except RunError:
        return TEST_DATA_NOTE


def _note(run: Run) -> str:
    return str(getattr(run.benchmark, "note", TEST_DATA_NOTE))


def open_runs(runs: RunLike | Iterable[RunLike]) -> dict[str, Run]:
    """Open runs and return them by label, in the same order and each once.

    The label is the run's name, or its path if several have the same name. Raises `RunError` for a
    path that is not a run directory.
    """
    listed = [runs] if isinstance(runs, (Run, Path, str)) else list(runs)
    opened: dict[Path, Run] = {}
    for one in listed:
        run = one if isinstance(one, Run) else open_run(Path(one), tolerant=True)
        opened.setdefault(run.path.resolve(), run)
    names = [run.name for run in opened.values()]
    return {
        run.name if names.count(run.name) == 1 else run.path.as_posix(): run
        for run in opened.values()
    }


def widest(declared: Iterable[Declaration]) -> Declaration:
    """Return the declaration with the most measures, of those that are like the first one."""
    first, *others = declared
    return max([first, *filter(first.is_like, others)], key=lambda one: len(one.measures))


def declarations(runs: Iterable[Run]) -> list[Declaration]:
    """Return the declarations of the runs' benchmarks, each once, in order; at least one."""
    found: list[Declaration] = []
    for run in runs:
        declared = run.manifest.declaration
        if declared not in found:
            found.append(declared)
    return found or [MIND2WEB]
