"""The files of packs: requests that gather for a batch of the provider, and their results."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import secrets
from collections.abc import Callable, Container, Iterator

from adapters.contract import Request
from harness.batches.log import NEW, BatchLog, Pack, PackedCall
from harness.errors import RunError
from harness.runs.batches import PACKS
from harness.runs.files import replace_file, sealed, sync_folder, write_error

HALF = 20
"""Hexadecimal digits of each hash in the id of a request."""


class NewPack:
    """A pack that is being filled. It does not exist before `seal`, and then as a whole.

    calls: those of its requests, by id.
    """

    def __init__(self, log: BatchLog) -> None:
        """Raises `RunError`, `DiskFull`."""
        self.calls: dict[str, PackedCall] = {}
        self.bytes = self.tokens = 0
        self._log = log
        self._path = log.path / PACKS / f"{NEW}.requests.jsonl"
        try:
            self._path.parent.mkdir(exist_ok=True)
            self._file = self._path.open("wb")
        except OSError as error:
            raise write_error(self._path, error) from error

    def add(self, call: PackedCall, line: bytes, tokens: int) -> None:
        """Add a request. Raises `RunError`, `DiskFull`."""
        try:
            self._file.write(line + b"\n")
        except OSError as error:
            raise write_error(self._path, error) from error
        self.calls[call.id] = call
        self.bytes += len(line) + 1
        self.tokens += tokens

    def seal(self) -> Pack:
        """Put the pack among those that are to be sent. Raises `RunError`, `DiskFull`."""
        n = max(self._log.packs, default=0) + 1
        calls = self.calls.values()
        replace_file(self._log.file(n, "ids"), map(sealed, calls))
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._path.replace(self._log.file(n, "requests"))
            sync_folder(self._path.parent)
        except OSError as error:
            raise write_error(self._path, error) from error
        return self._log.note(
            n,
            "sealed",
            token=f"vlm-eval-{secrets.token_hex(8)}",
            requests=len(calls),
            bytes=self.bytes,
            tokens=self.tokens,
            upper=math.fsum(call.upper for call in calls),
        )

    def drop(self) -> None:
        """Forget what was added."""
        with contextlib.suppress(OSError):
            self._file.close()
            self._path.unlink(missing_ok=True)


class Results:
    """Results by the ids of requests, read from disk one at a time.

    id_of: returns the id in a line; raises ValueError for a line without one.
    """

    def __init__(self, log: BatchLog, id_of: Callable[[bytes], str]) -> None:
        self._log = log
        self._id_of = id_of
        self._places: dict[str, tuple[int, int]] = {}

    def __contains__(self, id: object) -> bool:
        return id in self._places

    def add(self, n: int, ids: Container[str]) -> int:
        """Take up the results of a pack with these requests. Returns how many lines are of none of
        them, or of one that has a result already. Raises `RunError`."""
        strange = 0
        for id, offset in self.ids(n):
            if id in ids and id not in self._places:
                self._places[id] = n, offset
            else:
                strange += 1
        return strange

    def ids(self, n: int) -> Iterator[tuple[str, int]]:
        """Yield the ids in the results of a pack, "" for none, and where their lines begin. Raises
        `RunError`."""
        offset = 0
        for line in self._lines(n, 0):
            try:
                yield self._id_of(line), offset
            except ValueError:
                yield "", offset
            offset += len(line)

    def line(self, id: str) -> bytes:
        """Return the line of a request. Raises `RunError`."""
        return next(self._lines(*self._places[id]), b"")

    def forget(self, id: str) -> None:
        """Leave out the result of a request."""
        self._places.pop(id, None)

    def _lines(self, n: int, offset: int) -> Iterator[bytes]:
        path = self._log.file(n, "results")
        try:
            with path.open("rb") as file:
                file.seek(offset)
                yield from file
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror or error}") from error


def packed_id(request: Request, attempt: int) -> str:
    """Return the id of a request in a batch.

    It follows from the call, from everything that the reply depends on, and from the attempt: a
    reply reaches its own call only, whatever becomes of the order of a file. Ids of equal calls
    begin alike.
    """
    call = f"{request.id}\n{request.equal}\n{attempt}"
    hashes = (hashlib.sha256(text.encode()).hexdigest() for text in (request.equal, call))
    return "v" + "".join(one[:HALF] for one in hashes)


def beginning(id: str) -> str:
    """Return the part of a request's id that those of equal calls share."""
    return id[: 1 + HALF]
