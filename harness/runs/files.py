"""The files of a run: whole ones, replaced in one step, blobs, and lines that survive a crash.

A last line without its newline was never finished: it is skipped when reading and cut off before
appending. Any other line that cannot be read is an error that names the file and the line, because
leaving lines out would change scores; only a reader that says which lines it skipped may go on.

The last key of a line is its checksum, `,"checksum":"0a1b2c3d"}`, the CRC-32 of the bytes before
it. Standing there, it is verified without encoding the line again. A CRC finds what happens by
accident (bits that flip, blocks that are lost, an editor) nearly as fast as memory is read; against
intent, no checksum in the same file would help.

Large things (vectors, observations of live pages) lie under their SHA-256 in `blobs/`, such as
`blobs/3f/3fa0...`. A blob is written next to its place, synced and then moved there: it is whole or
missing. Lines refer to blobs by digest and are written after them. Nothing there is ever changed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from filelock import FileLock, Timeout

from adapters.decoding import decode_json
from harness.errors import DiskFull, RunError
from harness.runs.records import Unit, line_decoder, to_line

T = TypeVar("T")
CALLS, STEPS = "calls.jsonl", "steps.jsonl"
"""Keeps lines that do not count any more; nothing reads it."""
CHUNK = 1 << 16
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
CHECKSUM = "checksum"
_BEFORE, _BEHIND = f',"{CHECKSUM}":"'.encode(), b'"}\n'
_DIGITS = len(_BEHIND) + 8
_SEAL = len(_BEFORE) + _DIGITS
BLOBS = "blobs"
_DIGEST = re.compile(r"[0-9a-f]{64}")
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""The exceptions of decoding a line."""


class Line(NamedTuple):
    """A finished line: its number (from 1), where it starts in the file, its bytes."""

    number: int
    offset: int
    data: bytes


def read_lines(path: Path, after: tuple[int, int] = (0, 0)) -> Iterator[Line]:
    """Yield the finished lines of a file; none when the file is missing. Raises `RunError`.

    `after` is the number of a line and its end, those behind which are yielded.
    """
    before, offset = after
    try:
        with path.open("rb") as file:
            file.seek(offset)
            for number, data in enumerate(file, before + 1):
                if not data.endswith(b"\n"):
                    # It is being written. Its other half would be taken for a line of its own.
                    return
                yield Line(number, offset, data)
                offset += len(data)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error}") from error


def decode(decoder: Callable[[bytes], T], line: Line, path: Path) -> T:
    """Return the record on a line. Raises `RunError` naming the line if it holds none or is
    damaged."""
    try:
        verify(line.data)
        return decoder(line.data)
    except UNREADABLE as error:
        raise RunError(
            f"{path} line {line.number} cannot be read: {error}; without the lines of its step in "
            f"{CALLS} and {STEPS} the same run asks it again"
        ) from error


def verify(data: bytes) -> None:
    """Raise ValueError if a line is not what its checksum says. One without a checksum passes."""
    if data[-_SEAL:-_DIGITS] == _BEFORE:
        if data[-_DIGITS : -len(_BEHIND)] != _checksum(memoryview(data)[:-_SEAL]):
            raise ValueError("it is damaged: its content differs from its checksum")
    elif f'"{CHECKSUM}"'.encode() in data and CHECKSUM in _keys(data):
        raise ValueError("it was written anew, which its checksum does not fit")


def _checksum(data: bytes | memoryview) -> bytes:
    return b"%08x" % zlib.crc32(data)


def _keys(data: bytes) -> Mapping[str, Any]:
    return decode_json(data, dict[str, msgspec.Raw])


def read_records(
    path: Path,
    kind: type[T],
    on_unreadable: Callable[[str], None] | None = None,
    detail: Any = Any,
) -> Iterator[T]:
    """Yield the records of a file of lines; none when the file is missing.

    `detail` is the type of the details of units; by default they are JSON values.

    Raises `RunError` for a line that cannot be read, unless `on_unreadable` is there to be called
    with one text per such line, which is then skipped.
    """
    decoder = line_decoder(kind, detail)
    for line in read_lines(path):
        try:
            record = decode(decoder, line, path)
        except RunError as error:
            if on_unreadable is None:
                raise
            on_unreadable(f"{path.name} line {line.number} cannot be read: {error.__cause__}")
            continue
        yield record


def encode(record: Any) -> bytes:
    """Return a record as a line without a checksum, newline included."""
    return msgspec.json.encode(to_line(record), enc_hook=_plain) + b"\n"


def sealed(record: Any, detail: Any = None) -> bytes:
    """Return a record as a line with its checksum.

    `detail` is the type that the detail of a unit is read with; by default its own. Raises
    `RunError` if it could not be read back.

    Values of an adapter or a data set may have another type than declared: such a line
    would make the whole run unreadable.
    """
    kind = type(record)
    read = line_decoder(kind, detail or type(record.detail)) if kind is Unit else line_decoder(kind)
    try:
        data = encode(record)
        back = read(data)
        same = back == record or _as_json(back) == _as_json(record)
    except (*UNREADABLE, TypeError, OverflowError, NotImplementedError) as error:
        raise _unwritable(record, str(error)) from error
    if not same:
        raise _unwritable(record, "JSON has no form for a value in it")
    content = memoryview(data)[: -len(b"}\n")]
    return b"".join((content, _BEFORE, _checksum(content), _BEHIND))


def _as_json(record: Any) -> Any:
    # Tuples are lists and keys are texts in JSON; not a number is not null.
    return json.loads(json.dumps(msgspec.to_builtins(to_line(record), enc_hook=_plain)))


def _unwritable(record: Any, why: str) -> RunError:
    kind = getattr(record, "kind", type(record).__name__.removesuffix("Record").lower())
    what = f"{kind} {getattr(record, 'id', getattr(record, 'unit_id', ''))!r}"
    return RunError(f"{what} is not written, since it could not be read back: {why}")


def _plain(value: Any) -> Any:
    # An adapter may send a read-only mapping.
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"a line cannot hold a {type(value).__name__}")


def cut_torn(path: Path) -> int:
    """Cut an unfinished last line off; returns the number of bytes that went."""
    try:
        file = path.open("rb+")
    except FileNotFoundError:
        return 0
    with file:
        size = file.seek(0, os.SEEK_END)
        end = size
        keep = 0
        while end:
            start = max(0, end - CHUNK)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                keep = start + newline + 1
                break
            end = start
        if keep < size:
            file.truncate(keep)
            os.fsync(file.fileno())
    return size - keep


def append_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Append lines to a file without other writers, synced. Raises `RunError`."""
    try:
        with path.open("ab") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise write_error(path, error) from error


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Put `parts` in the place of `path`, synced: a reader finds the old file or the new one.

    Raises `RunError`.
    """
    new = path.with_name(path.name + ".new")
    try:
        with new.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error


@contextmanager
def built_aside(target: Path, *, replaces: bool = False) -> Iterator[Path]:
    """Yield a folder to fill, and move it to `target` when the block has ended well.

    It lies next to `target`, and has its name. A process that is killed leaves `target` unchanged,
    and what it wrote is removed by the next one. `target` is missing or an empty folder; with
    `replaces`, each file takes the place of the one of its name, and others stay.

    Raises `RunError` for a `target` with other content, and while another process writes it.
    """
    target = target.absolute()
    filled = target.is_dir() and any(target.iterdir())
    if (target.exists() and not target.is_dir()) or (filled and not replaces):
        raise RunError(f"{target} exists already: name another folder")
    made = [folder for folder in target.parents if not folder.exists()]
    work = target.with_name(f".{target.name}.part")
    work.mkdir(parents=True, exist_ok=True)
    lock = FileLock(work / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise RunError(f"another process is writing {target}") from None
    new = work / target.name
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        yield new
        if filled:
            for entry in sorted(new.rglob("*")):
                place = target / entry.relative_to(new)
                if entry.is_dir():
                    place.mkdir(exist_ok=True)
                else:
                    entry.replace(place)
        else:
            if target.exists():
                target.rmdir()
            new.replace(target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        lock.release()
        if not target.exists():
            with contextlib.suppress(OSError):
                for folder in made:
                    folder.rmdir()


def sync_folder(path: Path) -> None:
    """Make new names in a folder durable, where the platform can."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_error(path: Path, error: OSError) -> RunError:
    """Return the error to show for a failed write."""
    if error.errno in NO_ROOM:
        return DiskFull(
            f"no room left to write {path} ({error.strerror}); everything on record is kept: "
            "make room and start the same run again"
        )
    return RunError(f"cannot write {path}: {error.strerror or error}")


def digest_of(data: bytes) -> str:
    """Return the name of these bytes."""
    return hashlib.sha256(data).hexdigest()


class Blobs:
    """The blobs of the run at `path`. May be used from several threads."""

    def __init__(self, path: Path) -> None:
        self._folder = path / BLOBS
        self._lock = threading.Lock()

    def put(self, data: bytes) -> str:
        """Keep bytes and return their digest, once they are on disk. Raises `RunError`."""
        digest = digest_of(data)
        path = self._path(digest)
        with self._lock:
            try:
                if not (path.exists() and path.stat().st_size == len(data)):
                    self._make(path.parent)
                    replace_file(path, [data])
            except OSError as error:
                raise write_error(path, error) from error
        return digest

    def get(self, digest: str) -> bytes:
        """Return the bytes of this digest. Raises `RunError` if they are missing or damaged."""
        path = self._path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise RunError(f"{path} is missing, which the run refers to: put it back") from None
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
        if digest_of(data) != digest:
            raise RunError(f"{path} is damaged: its content differs from its name")
        return data

    def copy(self, into: Blobs) -> None:
        """Keep all of them in another run, too. Raises `RunError`."""
        for path in sorted(self._folder.glob("??/*")):
            if _DIGEST.fullmatch(path.name):
                into.put(self.get(path.name))

    def _make(self, folder: Path) -> None:
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(self._folder)
            sync_folder(self._folder.parent)

    def _path(self, digest: str) -> Path:
        # It may come from another user's run and must not lead out of this folder.
        if not _DIGEST.fullmatch(digest):
            raise RunError(f"{digest[:80]!r} is not the digest of a blob")
        return self._folder / digest[:2] / digest
