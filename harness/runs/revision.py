"""Changes to what a run has on record, made before it goes on.

A run is append-only, with two exceptions: newer reading rules may ask something else than before,
and lines may be damaged. Lines that do not count any more are moved to `set_aside.jsonl`, which
nothing reads, so that everything else on record fits together again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.runs.errors import RunError
from harness.runs.files import (
    CALLS,
    STEPS,
    append_lines,
    decode,
    move_lines,
    read_lines,
    sealed,
)
from harness.runs.lines import line_decoder
from harness.runs.manifest import Manifest, write_manifest
from harness.runs.on_record import CallHead
from harness.runs.records import UnitRecord

SET_ASIDE = "set_aside.jsonl"


@dataclass(frozen=True, slots=True)
class Revision:
    """What newer reading rules change in a run.

    reading: their edition.
    reread: number of settled steps that were read anew.
    steps: new lines of those that came out differently; unsettled ones are asked again.
    unused: ids of calls that no dialogue asks for any more.
    sizes: bytes of the run's lines when all this was found out.
    """

    reading: int
    reread: int
    steps: tuple[UnitRecord[Any], ...]
    unused: frozenset[str]
    sizes: tuple[int, ...]

    @property
    def unsettled(self) -> int:
        """Number of steps that were settled and are asked again."""
        return sum(not record.settled for record in self.steps)


def sizes_of(path: Path) -> tuple[int, ...]:
    """Bytes of the files of lines in a run, 0 for one that is missing."""
    files = (path / CALLS, path / STEPS)
    return tuple(file.stat().st_size if file.exists() else 0 for file in files)


def revise(path: Path, manifest: Manifest, revision: Revision) -> Manifest:
    """Carry out a revision and return the new manifest, which is written last.

    It can be repeated if the process ends in between. Raises `RunError`, also when the run has
    changed since the revision was made.
    """
    if sizes_of(path) != revision.sizes:
        raise RunError(f"another process has worked on {path} meanwhile: start the run again")
    lines = [sealed(record, manifest.schema) for record in revision.steps]
    append_lines(path / STEPS, lines)
    manifest = set_calls_aside(path, manifest, revision.unused)
    manifest = replace(manifest, reading=revision.reading, reread=revision.reread)
    write_manifest(path, manifest)
    return manifest


def set_calls_aside(path: Path, manifest: Manifest, unused: Collection[str]) -> Manifest:
    """Set the calls of these ids aside; what they cost stays on record in the manifest."""
    numbers, cost = set(), 0.0
    for line in read_lines(path / CALLS) if unused else ():
        head = decode(line_decoder(CallHead), line, path / CALLS)
        if head.id in unused:
            numbers.add(line.number)
            cost += head.cost or 0.0
    if cost:
        # Before the lines go: if the process ends in between, the cost is counted twice, not never.
        manifest = replace(manifest, unrecorded=manifest.unrecorded + cost)
        write_manifest(path, manifest)
    move_lines(path / CALLS, numbers, path / SET_ASIDE)
    return manifest
