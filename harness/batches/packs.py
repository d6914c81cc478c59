"""The files of packs: requests that gather for a batch of the provider, and their results."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.batches.log import NEW, PACKS, BatchLog, Pack, PackedCall
from harness.errors import RunError
from harness.runs.files import sealed, sync_folder, write_error


class NewPack:
    """A pack that is being filled. It does not exist before `seal`, and then as a whole."""

    def __init__(self, log: BatchLog) -> None:
        self._log = log
        self._hash = hashlib.sha256()
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
        self._hash.update(data)
        self.requests += 1
        self.bytes += len(data)
        self.tokens += tokens
        self.upper += call.upper

    def seal(self, token: str) -> Pack:
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
        return self._log.note(
            n,
            "sealed",
            token=token,
            requests=self.requests,
            bytes=self.bytes,
            sha256=self._hash.hexdigest(),
            tokens=self.tokens,
            upper=self.upper,
        )

    def drop(self) -> None:
        """Forget what was added."""
        for file, name in zip(self._files, self._names, strict=True):
            with contextlib.suppress(OSError):
                file.close()
                name.unlink(missing_ok=True)


class Results:
    """Results by the ids of requests, read from disk one at a time."""

    def __init__(self, log: BatchLog) -> None:
        self._log = log
        self._places: dict[str, tuple[int, int, int]] = {}

    def __contains__(self, id: object) -> bool:
        return id in self._places

    def add(
        self, n: int, ids: Mapping[str, Any], id_of: Callable[[bytes], str]
    ) -> tuple[list[str], int]:
        """Take up the results of a pack. Returns which of its ids have none, and how many lines
        are of no request of it, or of one that has a result already. Raises `RunError`."""
        strange = 0
        found: set[str] = set()
        for id, offset, length in self._ids_in(n, id_of):
            if id in ids and id not in found:
                found.add(id)
                self._places[id] = n, offset, length
            else:
                strange += 1
        return [id for id in ids if id not in found], strange

    def any_of(self, n: int, ids: Mapping[str, Any], id_of: Callable[[bytes], str]) -> bool:
        """Return True if the results of a pack hold one of these ids. Raises `RunError`."""
        return any(id in ids for id, _, _ in self._ids_in(n, id_of))

    def _ids_in(self, n: int, id_of: Callable[[bytes], str]) -> Iterator[tuple[str, int, int]]:
        """Yield the ids in the results of a pack, "" where there is none, with the places of their
        lines
        and their lengths in bytes."""
        offset, path = 0, self._log.file(n, "results")
        try:
            with path.open("rb") as file:
                for line in file:
                    try:
                        id = id_of(line)
                    except ValueError:
                        id = ""
                    yield id, offset, len(line)
                    offset += len(line)
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror or error}") from error

    def line(self, id: str) -> bytes:
        """Return the line of a request. Raises `RunError`."""
        n, offset, length = self._places[id]
        path = self._log.file(n, "results")
        try:
            with path.open("rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror or error}") from error

    def forget(self, ids: Mapping[str, Any]) -> None:
        """Leave out the results of these requests."""
        for id in ids:
            self._places.pop(id, None)
