"""`--redo`: ask some steps of a run again with a higher token limit, in a separate run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import fields, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from harness.errors import RunError, UserError
from harness.planning.model import Limits, limits_of
from harness.runs import Run, manifest_before, open_run
from harness.runs.files import (
    CALLS,
    STEPS,
    Blobs,
    built_aside,
    read_records,
    sealed,
    write_error,
)
from harness.runs.manifest import (
    MANIFEST,
    Redone,
    Setup,
    Start,
    check_same,
    read_manifest,
    write_manifest,
)
from harness.runs.on_record import StepKey
from harness.runs.records import CallRecord, Unit
from harness.runs.run import settings_of
from harness.session.deployment import higher, written
from harness.settings import Settings


def take_over(
    old: Path,
    new: Path,
    setup: Setup,
    redone: Redone,
    again: Collection[StepKey],
    shared: Collection[str] = (),
) -> None:
    """Begin the run at `new` with every line of the run `old` but those of the steps `again`, and
    the calls `shared` by some of them.

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
    try:
        with built_aside(new) as part:
            calls = _without(read_records(old / CALLS, CallRecord), again)
            cost = _write(part / CALLS, (call for call in calls if call.id not in shared))
            _write(part / STEPS, _without(read_records(old / STEPS, Unit), again))
            manifest = replace(
                read_manifest(old),
                name=new.name,
                created=Start.now({}).started,
                **{field.name: getattr(setup, field.name) for field in fields(Setup)},
                redone=replace(redone, cost=cost),
                unrecorded=0.0,
                sessions=(),
            )
            Blobs(old).copy(Blobs(part))
            write_manifest(part, manifest)
    except OSError as error:
        raise write_error(new, error) from error


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


LIMIT = "max_tokens"


class Redo:
    """A new run that takes over the lines of the run that `--redo-from` names, else of the usual.

    settings: those given, with what the named run has on record.
    line: for the user, once `takes` has returned.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises `RunError` if the named run cannot be read."""
        self._asked = self.settings = settings
        self.line = ""
        if settings.redo_from is not None:
            self.settings = _with_recorded(settings, open_run(settings.redo_from))

    def takes(self, settings: Settings, setup: Setup, usual: Path) -> frozenset[StepKey]:
        """Return the dialogues that the run takes over from another.

        `settings` are the completed ones; `usual` is the directory that the same command would
        use without `--redo`. Raises `UserError` if nothing would be gained, `RunDiffers` if more
        than the limit would change.
        """
        if settings.out is None:
            raise UserError("--redo makes a new run: name its folder with --out")
        old_path = Path(self._asked.redo_from or usual)
        if not self._asked.redo_from and manifest_before(old_path) is None:
            raise UserError(f"{old_path} is not a run directory: name the run with --redo-from RUN")
        if Path(settings.out).resolve() == old_path.resolve():
            raise UserError(f"--out {settings.out} is the run itself: --redo makes a new one")
        self._old = old = open_run(old_path)
        before, now = limits_of(settings_of(old)), limits_of(settings)
        alike = {**old.manifest.config, LIMIT: setup.config[LIMIT]}
        check_same(old_path, replace(old.manifest, config=alike), setup)
        if not _is_higher(now, before):
            raise UserError(
                f"--redo needs a higher limit than the {written(before)} tokens of {old_path}, not "
                f"{written(now)}: --max-tokens {higher(before)}"
            )
        self._again, taken, self._shared = _split(old, self._asked.redo)
        if not self._again:
            raise UserError(f"no step of {old_path} is {' or '.join(self._asked.redo)}")
        redone = Redone(old.name, self._asked.redo, before, len(self._again))
        self._redone = redone.joined(old.manifest.redone)
        self.line = (
            f"{len(self._again)} {', '.join(self._redone.statuses)} of {old.path} (limit "
            f"{written(self._redone.max_tokens)}), {len(taken)} others taken over"
        )
        return taken

    def begin(self, directory: Path, setup: Setup) -> None:
        """Make the new run, unless it was made before."""
        take_over(self._old.path, directory, setup, self._redone, self._again, self._shared)


def _with_recorded(settings: Settings, old: Run) -> Settings:
    """Return the settings of a run, changed by those that were given. Raises `RunError`."""
    recorded = settings_of(old)
    given = {name: getattr(settings, name) for name in settings.given}
    for name in ("benchmark_option", "protocol_option"):
        if name in given:
            given[name] = tuple({**dict(getattr(recorded, name)), **dict(given[name])}.items())
    if "data" not in given:
        given["data"] = old.manifest.dataset.get("data")
    if LIMIT not in given:
        given[LIMIT] = None
    # Options on record were not given just now: those without an effect are not refused.
    named = settings.given - {"benchmark_option", "protocol_option"}
    return replace(recorded, **given, given=named)


def _is_higher(now: Limits, before: Limits) -> bool:
    rounds = list(zip_longest(now, before))
    pairs = [(new or now[-1], old or before[-1]) for new, old in rounds]
    return now != before and all(new >= old for new, old in pairs)


def _split(
    run: Run, statuses: Collection[str]
) -> tuple[frozenset[StepKey], frozenset[StepKey], frozenset[str]]:
    """Return the steps to ask again, those taken over, and calls of the former that steps share.

    A turn whose earlier reply is asked for again is asked again, too.
    """
    calls: dict[StepKey, tuple[str, ...]] = {}
    again: set[StepKey] = set()
    for record in run.records():
        if record.settled:
            calls[record.key] = record.calls
            if record.prediction and record.prediction.status in statuses:
                again.add(record.key)
    last = {id for key in again for id in calls[key][-1:]}
    again |= {key for key, ids in calls.items() if not last.isdisjoint(ids)}
    gone = {id for key in again for id in calls[key]}
    gone -= {id for key, ids in calls.items() if key not in again for id in ids}
    return frozenset(again), frozenset(calls.keys() - again), frozenset(gone)
