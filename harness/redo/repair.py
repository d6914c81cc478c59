"""Repairs a run: sets aside damaged lines, whose steps are then asked again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from harness.runs import Setup, open_run
from harness.runs.directory import manifest_before, remove_results
from harness.runs.files import (
    CALLS,
    SET_ASIDE,
    STEPS,
    UNREADABLE,
    append_lines,
    cut_torn,
    read_lines,
    replace_file,
    verify,
)
from harness.runs.lines import line_decoder
from harness.runs.lock import lock_run
from harness.runs.manifest import Manifest, check_same, write_manifest
from harness.runs.on_record import CallHead, StepHead, StepKey, is_shared
from harness.runs.records import CallRecord, Unit
from harness.tables import counted

H = TypeVar("H", StepHead, CallHead)


def repair(directory: Path, setup: Setup) -> str:
    """Set aside the damaged lines of a run, whose steps are then asked again.

    Returns a line for the user. Raises `RunInUse`, `RunDiffers`, `RunError`.
    """
    lines = dialogues = 0
    manifest = manifest_before(directory)
    if manifest is not None:
        check_same(directory, manifest, setup)
        lock = lock_run(directory)
        try:
            lines, dialogues = mend(directory, manifest)
            if lines or dialogues:
                remove_results(directory)
        finally:
            lock.release()
    words = setup.declaration.unit, setup.declaration.units
    return (
        f"{counted(lines, 'damaged line')} set aside, "
        f"{counted(dialogues, *words)} to be asked again"
    )


@dataclass(slots=True)
class _Lines(Generic[H]):
    """The lines of one file.

    whole: heads of those that can be read, with their numbers, by dialogue.
    damaged: numbers of those that cannot.
    named: dialogues that damaged lines still name.
    nameless: number of damaged lines that name none.
    """

    whole: dict[StepKey, dict[int, H]] = field(default_factory=lambda: defaultdict(dict))
    damaged: set[int] = field(default_factory=set)
    named: set[StepKey] = field(default_factory=set)
    nameless: int = 0

    def numbers(self, keys: Set[StepKey]) -> set[int]:
        return {number for key in keys for number in self.whole.get(key, ())}


def mend(path: Path, manifest: Manifest) -> tuple[int, int]:
    """Set the damaged lines of a run aside, with all lines of the dialogues that lack a call.

    Returns the number of damaged lines, and of dialogues that are asked again.

    The manifest keeps the cost of these calls. The run must be locked by the caller. Raises
    `RunError`.
    """
    for name in (CALLS, STEPS):
        cut_torn(path / name)
    read_unit = line_decoder(Unit, open_run(path).detail)
    steps = _read(path / STEPS, StepHead, read_unit)
    calls = _read(path / CALLS, CallHead, line_decoder(CallRecord))
    again = _lacking(steps, calls)
    lines = len(steps.damaged) + len(calls.damaged)
    if not lines and not again:
        return 0, 0
    cost = sum(_cost(steps, calls, key) for key in again)
    if cost:
        # Before the lines go: if the process ends in between, the cost is counted twice, not never.
        write_manifest(path, replace(manifest, unrecorded=manifest.unrecorded + cost))
    # A step whose line is damaged is played back from its calls; an older line must not hold.
    gone = steps.numbers(again | steps.named) | steps.damaged
    _move_lines(path / STEPS, gone, path / SET_ASIDE)
    gone = calls.numbers(again) | calls.damaged | _shared(steps, calls, again)
    _move_lines(path / CALLS, gone, path / SET_ASIDE)
    return lines, len(again)


def _move_lines(path: Path, numbers: Collection[int], into: Path) -> None:
    """Move lines of a file to the end of another. Raises `RunError`.

    Nothing is lost if the process ends in between: both files may then have the lines.
    """
    if numbers:
        append_lines(into, (line.data for line in read_lines(path) if line.number in numbers))
        replace_file(path, (x.data for x in read_lines(path) if x.number not in numbers))


def _read(path: Path, head: type[H], read_line: Callable[[bytes], Any]) -> _Lines[H]:
    found = _Lines[H]()
    read_head = line_decoder(head)
    for line in read_lines(path):
        try:
            verify(line.data)
            read_line(line.data)
            one = read_head(line.data)
            found.whole[one.key][line.number] = one
        except UNREADABLE:
            found.damaged.add(line.number)
            try:
                found.named.add(read_head(line.data).key)
            except UNREADABLE:
                found.nameless += 1
    return found


def used_only_by(again: Collection[StepKey], calls: Mapping[StepKey, Iterable[str]]) -> set[str]:
    """Return the ids of calls that these dialogues used and no other one did."""
    kept = {id for key, ids in calls.items() if key not in again for id in ids}
    return {id for key, ids in calls.items() if key in again for id in ids} - kept


def _shared(
    steps: _Lines[StepHead], calls: _Lines[CallHead], again: Collection[StepKey]
) -> set[int]:
    """Return the lines of shared calls that only these dialogues used, which may go on from a reply
    that is lost."""
    used = {
        key: [id for head in heads.values() for id in head.calls]
        for key, heads in steps.whole.items()
    }
    gone = used_only_by(again, used)
    shared = (heads for key, heads in calls.whole.items() if is_shared(key))
    return {n for heads in shared for n, head in heads.items() if head.id in gone}


def _lacking(steps: _Lines[StepHead], calls: _Lines[CallHead]) -> set[StepKey]:
    """Return the dialogues that cannot go on with the calls that can be read."""
    ids = {head.id for heads in calls.whole.values() for head in heads.values()}
    settled: dict[StepKey, StepHead] = {}
    for key, heads in steps.whole.items():
        last = heads[max(heads)]
        if last.settled:
            settled[key] = last
    missing = {key: sum(call not in ids for call in settled[key].calls) for key in settled}
    again = {key for key, count in missing.items() if count}
    known = steps.whole.keys() | calls.whole.keys()
    # Shared calls have no step: a dialogue that used a lost one asks again.
    shared = {key for key in calls.whole.keys() | calls.named if is_shared(key)}
    again |= (calls.named & known) - settled.keys() - shared
    unknown = calls.nameless + len(calls.named - known - shared)
    if unknown > sum(missing.values()):
        # It may be a call of any dialogue that is not settled.
        again |= calls.whole.keys() - settled.keys() - shared
    return again


def _cost(steps: _Lines[StepHead], calls: _Lines[CallHead], key: StepKey) -> float:
    """Return the cost of a dialogue's calls: as on its line, or of the calls still readable."""
    costs = [head.cost or 0.0 for head in steps.whole.get(key, {}).values()]
    return max(*costs, 0.0, sum(head.cost or 0.0 for head in calls.whole.get(key, {}).values()))
