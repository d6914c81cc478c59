"""The files of packs: requests that gather for a batch of the provider, and their results."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Container, Iterator

from harness.batches.log import NEW, BatchLog, Pack, PackedCall
from harness.errors import RunError
from harness.runs.batches import PACKS
from harness.runs.files import sealed, sync_folder, write_error


class NewPack:
    """A pack that is being filled. It does not exist before `seal`, and then as a whole."""

    def __init__(self, log: BatchLog) -> None:
        self._log = log
        self.requests = self.bytes = self.tokens = 0
        self.upper = 0.0
        folder = log.path / PACKS
        try:
            folder.mkdir(exist_ok=True)
            self._names = [folder / f"{NEW}.{what}.jsonl" for what in ("ids", "requests")]
            self._files = [name.open("wb") for name in self._names]
        except OSError as error:
            raise write_error(folder, error) from error

    def add(self, call: PackedCall, line: bytes, tokens: int) -> None:
        """Add a request. Raises `RunError`, `DiskFull`."""
        data = line + b"\n"
        try:
            for file, part in zip(self._files, (sealed(call), data), strict=True):
                file.write(part)
        except OSError as error:
            raise write_error(self._names[1], error) from error
        self.requests += 1
        self.bytes += len(data)
        self.tokens += tokens
        self.upper += call.upper

    def seal(self) -> Pack:
        """Put the pack among those that are to be sent. Raises `RunError`, `DiskFull`."""
        n = max(self._log.packs, default=0) + 1
        try:
            for file, name, what in zip(self._files, self._names, ("ids", "requests"), strict=True):
                file.flush()
                os.fsync(file.fileno())
                file.close()
                name.replace(self._log.file(n, what))
            sync_folder(self._log.path / PACKS)
        except OSError as error:
            raise write_error(self._names[1], error) from error
        sizes = {"requests": self.requests, "bytes": self.bytes, "tokens": self.tokens}
        token = f"vlm-eval-{secrets.token_hex(8)}"
        return self._log.note(n, "sealed", token=token, upper=self.upper, **sizes)

    def drop(self) -> None:
        """Forget what was added."""
        for file, name in zip(self._files, self._names, strict=True):
            with contextlib.suppress(OSError):
                file.close()
                name.unlink(missing_ok=True)


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
