"""Writing a run: one process at a time, append-only, synced to disk."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from harness.errors import RunError, RunInUse
from harness.runs.files import BLOBS, CALLS, STEPS, Blobs, cut_torn, replace_file, sealed
from harness.runs.journal import Journal
from harness.runs.manifest import (
    MANIFEST,
    REPLY,
    Facts,
    Manifest,
    Redone,
    Setup,
    Start,
    changes,
    check_same,
    is_same,
    read_manifest,
    with_facts,
    write_manifest,
)
from harness.runs.on_record import (
    BATCHES,
    PACKS,
    OnRecord,
    read_on_record,
    read_settled,
    unrecorded_at,
)
from harness.runs.records import SCHEMA, CallRecord, Unit
from parsers.records import READING

LOCK = ".lock"
_LOOK_S = 0.2


def is_in_use(path: Path) -> bool:
    """Return True if a process is working on the run at `path`."""
    if not (path / LOCK).exists():
        return False
    lock = FileLock(path / LOCK, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False


def lock_run(path: Path) -> FileLock:
    """Keep other processes from a run. Raises `RunInUse`, `RunError`."""
    # The system lets go of this lock when the process ends, however it ends.
    lock = FileLock(path / LOCK, thread_local=False)
    try:
        # A check for a lock has it for an instant (`is_in_use`).
        lock.acquire(timeout=_LOOK_S, poll_interval=_LOOK_S / 10)
    except Timeout:
        raise RunInUse(f"another process{_owner(path)} is working on {path}") from None
    except OSError as error:
        raise RunError(f"cannot lock {path}: {error.strerror or error}") from error
    return lock


def _owner(path: Path) -> str:
    try:
        sessions = read_manifest(path).sessions
    except RunError:
        return ""
    return f" ({sessions[-1].pid})" if sessions else ""


SUMMARY = "summary.json"
SERVER_LOG = "server.log"
"""The output of a server that was started for the run."""


class RunDirectory:
    """A run that this process writes to. Use it as a context manager.

    Attributes, as found on disk when the run was opened: `settled`, the steps with a final outcome;
    `recorded`, the calls of the other steps by step and id, to be played back; `shared`, the calls
    of a parent of several steps, by id; `spent`, what the run has cost in US dollars so far, calls
    without a line included. `blobs` holds the large parts of what is recorded. `warn` may be
    replaced by whoever shows lines to the user, `detail` by the type that details of units are read
    with (None: of each unit its own).
    """

    @classmethod
    def start(
        cls, path: Path, setup: Setup, settings: Mapping[str, Any] | None = None
    ) -> RunDirectory:
        """Start the run at `path`, or go on with the one that is there.

        `settings` are those of this session only. Raises `RunInUse` while another process has the
        run, `RunDiffers` when it was started with another setup, `RunError` for a folder that holds
        something else, a run that cannot be read, or one read by another edition of the reading
        rules.
        """
        created = [folder for folder in (path, *path.parents) if not folder.exists()]
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            file = next((one for one in (path, *path.parents) if one.is_file()), None)
            why = f"{file} is a file" if file else error.strerror or error
            raise RunError(f"cannot create {path}: {why}") from error
        lock = lock_run(path)
        try:
            manifest = _begin(path, setup, settings)
            run = cls(path, lock, manifest)
        except BaseException:
            lock.release()
            _remove_folders(created)
            raise
        run._created = created
        return run

    def __init__(self, path: Path, lock: FileLock, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._lock = lock
        self.warn: Callable[[str], None] = lambda line: None
        self._created: list[Path] = []
        self._stale = (path / SUMMARY).exists()
        for name in (CALLS, STEPS):
            cut_torn(path / name)
        found = self._read()
        self.shared = found.shared
        self.blobs = Blobs(path)
        self._on_record = found.spent
        if manifest.redone is not None:  # Another run has paid for what was taken over.
            self._on_record -= manifest.redone.cost
        # Sums of floats may leave a remainder below zero.
        unrecorded = max(manifest.unrecorded, unrecorded_at(path))
        self.spent = max(0.0, self._on_record + unrecorded)
        self._journal = Journal([path / CALLS, path / STEPS])
        self.detail: Any = None

    def refresh(self) -> None:
        """Read anew which dialogues are settled and what of the others is on record.

        Raises `RunError`, `DiskFull`.
        """
        self.sync()
        self._read()

    def _read(self) -> OnRecord:
        found = read_on_record(self.path)
        self.settled, self.recorded = found.settled, found.recorded
        self._asked = found.asked
        return found

    async def record_call(self, record: CallRecord, blobs: Sequence[bytes] = ()) -> None:
        """Append a call with the blobs that it refers to; returns when all of it is on disk.

        Raises `RunError`, `DiskFull`.
        """
        line = sealed(record)
        for data in blobs:
            await asyncio.to_thread(self.blobs.put, data)
        if record.reply.model:
            self.note_answerer(record.role, {REPLY: record.reply.model}, again=False)
        self._on_record += record.cost or 0.0
        await self._journal.append_synced(0, line)

    async def blob(self, digest: str) -> bytes:
        """Return the bytes of a blob. Raises `RunError` if they are missing or damaged."""
        return await asyncio.to_thread(self.blobs.get, digest)

    async def equal(self, request: str) -> CallRecord | None:
        """Return the first call on record with this `request` whose reply ended normally.

        Raises `RunError`.
        """
        return self._asked.equal(request)

    def note_answerer(self, role: str, said: Facts, *, again: bool = True) -> None:
        """Keep which model answers a role from now on, as its server says; warn of another one.

        `again` says whether it is news that a model is back that was there before. Raises
        `RunError`.
        """
        known = self.manifest.answerers.get(role, ())
        now = with_facts(known, said, again=again)
        if now != known:
            self._note(answerers={**self.manifest.answerers, role: now})
        if len(now) > len(known) > 0:
            self.warn("warning: " + changes({role: now[-2:]})[0])

    def note_spent(self, total: float) -> None:
        """Record the total cost of the run: a cost limit covers all sessions.

        Raises `RunError`.
        """
        rest = max(0.0, total - self._on_record)
        if abs(rest - self.manifest.unrecorded) > 1e-9:
            self._note(unrecorded=rest)

    def note_redone(self, redone: Redone | None) -> None:
        """Keep what the run has asked again. Raises `RunError`."""
        if redone is not None:
            self._note(redone=redone)

    def note_measured(self, measured: Mapping[str, Any]) -> None:
        """Keep what this session found out about its own course. Raises `RunError`."""
        *before, last = self.manifest.sessions
        last = replace(last, measured={**last.measured, **measured})
        self._note(sessions=(*before, last))

    def _note(self, **changes: Any) -> None:
        self.manifest = replace(self.manifest, **changes)
        write_manifest(self.path, self.manifest)

    def append_step(self, record: Unit[Any]) -> None:
        """Append a step's line. It is on disk soon, and never before its calls are.

        Raises `RunError` or `DiskFull` when an earlier line could not be written.
        """
        line = sealed(record, self.detail)
        self._unfinish()
        self._journal.append(1, line)

    def copy_lines(self, calls: Iterable[bytes], steps: Iterable[bytes]) -> None:
        """Append lines of another run unchanged. Raises `RunError`, `DiskFull`."""
        self._unfinish()
        for file, lines in enumerate((calls, steps)):
            for data in lines:
                self._journal.append(file, data)
            self._journal.sync()

    def sync(self) -> None:
        """Return when every line is on disk. Raises `RunError`, `DiskFull`."""
        self._journal.sync()

    def finish(self, summary: Mapping[str, Any], *, complete: bool) -> None:
        """Write `summary.json`.

        `complete` says that every selected valid row is settled; it is kept in the summary. Raises
        `RunError`, `DiskFull`.
        """
        self.sync()
        content = {"complete": complete, **summary}
        data = msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
        replace_file(self.path / SUMMARY, [data])
        self._stale = True

    def close(self) -> None:
        """Write what is queued and let others have the run. Raises `RunError`, `DiskFull`."""
        try:
            self._journal.close()
        finally:
            self._lock.release()

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # An error under way is what the user must see; a failed journal would have raised before.
        with contextlib.suppress(RunError) if error else contextlib.nullcontext():
            self.close()
        logged = (self.path / SERVER_LOG).exists()
        if error and _untouched(self.path) and not self.manifest.unrecorded and not logged:
            # It failed before its first call, over a mistake perhaps, and cost nothing.
            _remove_folders(self._created)

    def _unfinish(self) -> None:
        # A summary that lines were added behind would pass for that of the whole run.
        if self._stale:
            (self.path / SUMMARY).unlink(missing_ok=True)
            self._stale = False


def _remove_folders(created: Sequence[Path]) -> None:
    """Remove the folder of a run without records, and the parents that it created."""
    with contextlib.suppress(OSError):
        for name in (LOCK, MANIFEST, CALLS, STEPS) if created else ():
            (created[0] / name).unlink(missing_ok=True)
        for folder in created:
            folder.rmdir()


def _begin(path: Path, setup: Setup, settings: Mapping[str, Any] | None) -> Manifest:
    now = Start.now(settings or {})
    manifest = _manifest_at(path)
    if manifest is not None and not _untouched(path):
        check_same(path, manifest, setup)
        manifest = replace(manifest, dataset=setup.dataset, declaration=setup.declaration)
    elif manifest is None or not is_same(manifest, setup):
        ours = {LOCK, MANIFEST, MANIFEST + ".new", CALLS, STEPS, BLOBS, SERVER_LOG}
        ours |= {BATCHES, PACKS}
        foreign = sorted(p.name for p in path.iterdir() if p.name not in ours)
        if foreign:
            raise RunError(f"{path} is not a run directory and not empty: it holds {foreign[0]}")
        manifest = Manifest(
            schema=SCHEMA,
            name=path.name,
            created=now.started,
            **{one.name: getattr(setup, one.name) for one in fields(Setup)},
            reading=READING,
            unrecorded=manifest.unrecorded if manifest else 0.0,
        )
    manifest = replace(manifest, sessions=(*manifest.sessions, now))
    write_manifest(path, manifest)
    return manifest


def settled_before(path: Path, setup: Setup) -> int:
    """Count the settled dialogues of a run without resuming it; 0 if there is none.

    Raises `RunDiffers` when it was started with another setup, `RunError` when it cannot be read.
    """
    manifest = manifest_before(path)
    if manifest is None:
        return 0
    check_same(path, manifest, setup)
    return len(read_settled(path))


def manifest_before(path: Path) -> Manifest | None:
    """Return the manifest of a run that has something on record, None where there is none.

    Raises `RunError` when it cannot be read.
    """
    manifest = _manifest_at(path)
    return None if _untouched(path) else manifest


def _manifest_at(path: Path) -> Manifest | None:
    """Return the manifest, None where no run was begun. Raises `RunError` for lines without a
    manifest."""
    if (path / MANIFEST).exists():
        return read_manifest(path)
    if not _untouched(path):
        raise RunError(
            f"{path} holds the lines of a run but no {MANIFEST}, so nothing says which model they "
            f"are of: put its {MANIFEST} back, or choose another directory"
        )
    return None


def _untouched(path: Path) -> bool:
    """Return True if nothing is on record: the run ended before its first call, over a mistake
    perhaps."""
    files = [path / name for name in (CALLS, STEPS, SUMMARY, BATCHES)]
    return not any(file.is_file() and file.stat().st_size for file in files)
