"""Opening the runs of a report, and giving each a name of its own.

A run with a line that cannot be read is shown without it, and says so: what is left of somebody's
run is worth looking at. A complete run whose table of steps is damaged is read from its lines, and
says so, too. Continuing or scoring such a run stays an error elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from harness.runs import CallRecord, Run, RunError, StepRecord

T = TypeVar("T")

RunLike = Run | Path | str
"""A run, or where it is."""


class ReportedRun(Run):
    """A run whose unreadable lines are left out; `corrupt` names those found so far.

    `damaged` says why its table of steps was not read, None if it was or was not needed.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._corrupt: dict[str, None] = {}
        self.damaged: str | None = None

    @property
    def corrupt(self) -> tuple[str, ...]:
        """Which lines cannot be read and why, one text each."""
        return tuple(self._corrupt)

    def records(self) -> list[StepRecord]:
        try:
            return super().records()
        except RunError:
            latest = {(r.step_id, r.repeat): r for r in self._kept("steps.jsonl", StepRecord)}
            return sorted(latest.values(), key=_order)

    def calls(self) -> Iterator[CallRecord]:
        return self._kept("calls.jsonl", CallRecord)

    def calls_of(self, step_id: str, repeat: int = 0) -> list[CallRecord]:
        try:
            return super().calls_of(step_id, repeat)
        except RunError:
            found = (call for call in self.calls() if call.step_id == step_id)
            return [call for call in found if call.repeat == repeat]

    def _kept(self, name: str, kind: type[T]) -> Iterator[T]:
        path = self.path / name
        decoder = msgspec.json.Decoder(kind)
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if not line.endswith(b"\n"):
                        continue  # never finished
                    try:
                        yield decoder.decode(line)
                    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                        self._corrupt[f"{name} line {number} cannot be read: {error}"] = None
        except FileNotFoundError:
            return
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error}") from error


def _order(record: StepRecord) -> tuple[str, str, int, str, int]:
    return record.split, record.task_id, record.index, record.step_id, record.repeat


def corrupt_lines(runs: dict[str, Run]) -> tuple[str, ...]:
    """A line per unreadable line and per damaged table of the runs that was met so far."""
    lines: list[str] = []
    for label, run in runs.items():
        if not isinstance(run, ReportedRun):
            continue
        if run.damaged is not None:
            lines.append(f"DAMAGED in {label}: {run.damaged}; read from steps.jsonl instead")
        lines += (f"LEFT OUT of {label}: {line}" for line in run.corrupt)
    return tuple(lines)


def without_table(run: Run, error: RunError) -> None:
    """Note that the run's table is damaged, so that its lines are read instead.

    Raises the error for a run that could not say so, or that has no lines.
    """
    if not isinstance(run, ReportedRun) or not (run.path / "steps.jsonl").is_file():
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
        run = one if isinstance(one, Run) else ReportedRun(Path(one))
        opened.setdefault(run.path.resolve(), run)
    names = [run.name for run in opened.values()]
    return {
        run.name if names.count(run.name) == 1 else run.path.as_posix(): run
        for run in opened.values()
    }
