"""A new run that takes over the lines of another, but for steps that are to be asked again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from harness.errors import RunError
from harness.runs.files import CALLS, STEPS, Blobs, read_records, sealed, write_error
from harness.runs.manifest import MANIFEST, Redone, Session, Setup, read_manifest, write_manifest
from harness.runs.on_record import StepKey
from harness.runs.records import CallRecord, Unit


def take_over(
    old: Path, new: Path, setup: Setup, redone: Redone, again: Collection[StepKey]
) -> None:
    """Begin the run at `new` with every line of the run `old` but those of the steps `again`.

    It is made next to its place and then moved there: it is complete or absent. A run
    that took over the same before is left unchanged. Raises `RunError` for a folder that holds
    something else, for a line that cannot be read, and if `new` cannot be written.
    """
    if (new / MANIFEST).exists():
        before = read_manifest(new).redone
        if before is None or not before.is_of(redone):
            raise RunError(f"{new} is another run: choose another folder with --out")
        return
    if new.exists() and (not new.is_dir() or any(new.iterdir())):
        raise RunError(f"{new} exists but is not a run directory: choose another folder with --out")
    part = new.with_name(f".{new.name}.{os.getpid()}")
    try:
        part.mkdir(parents=True)
        calls = _without(read_records(old / CALLS, CallRecord), again)
        cost = _write(part / CALLS, calls)
        _write(part / STEPS, _without(read_records(old / STEPS, Unit), again))
        manifest = replace(
            read_manifest(old),
            name=new.name,
            created=Session.now({}).started,
            **{field.name: getattr(setup, field.name) for field in fields(Setup)},
            redone=replace(redone, cost=cost),
            unrecorded=0.0,
            sessions=(),
        )
        Blobs(old).copy(Blobs(part))
        write_manifest(part, manifest)
        part.replace(new)
    except OSError as error:
        raise write_error(new, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _without(records: Iterable[Any], again: Collection[StepKey]) -> Iterable[Any]:
    return (record for record in records if record.key not in again)


def _write(path: Path, records: Iterable[Any]) -> float:
    """Write lines anew and return what they have cost in US dollars."""
    cost = 0.0
    with path.open("wb") as file:
        for record in records:
            file.write(sealed(record))
            cost += record.cost or 0.0
        file.flush()
        os.fsync(file.fileno())
    return cost
